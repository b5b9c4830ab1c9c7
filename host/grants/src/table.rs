//! The closed table of imports: every interface a component may ask for, and what it
//! takes. Rule (C-46, R-009): what has no row here is refused before any code runs;
//! there is no row for a process, a shared library or a raw descriptor.
//!
//! `satisfier`, `covers` and `link` all read this one table, so what is shown is what is
//! linked. Functions are listed because a newer patch version of an interface may name
//! one that this host does not have.

/// Who serves an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    IoError,
    IoPoll,
    IoStreams,
    Environment,
    Exit,
    Stdin,
    Stdout,
    Stderr,
    TerminalInput,
    TerminalOutput,
    TerminalStdin,
    TerminalStdout,
    TerminalStderr,
    MonotonicClock,
    WallClock,
    Random,
    Insecure,
    InsecureSeed,
    FilesystemTypes,
    Preopens,
    Socket(Socket),
    HttpTypes,
    OutgoingHandler,
    Logging,
    ConfigStore,
    Bindings,
    Log,
    Types,
    KeyValue,
}

/// Whose functions of sockets: there by name, always closed (H26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    Network,
    InstanceNetwork,
    IpNameLookup,
    Tcp,
    TcpCreate,
    Udp,
    UdpCreate,
}

/// Whether an interface is there without a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Always linked; inert unless the named grant feeds it (C-46).
    Linked(Option<&'static str>),
    /// Refused unless the named grant is given.
    Grant(&'static str),
}

/// Which versions of an interface this host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// Every patch version of 0.2: older ones have less, and a newer one runs as long as
    /// it names no function that is not listed.
    Preview2,
    /// Exactly these texts; `""` is an import without a version.
    Exactly(&'static [&'static str]),
}

/// One interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) path: &'static str,
    pub(crate) versions: Versions,
    pub(crate) need: Need,
    pub(crate) provider: Provider,
    /// Its functions, separated by spaces.
    pub(crate) functions: &'static str,
}

impl Row {
    pub(crate) fn has(&self, function: &str) -> bool {
        self.functions
            .split_ascii_whitespace()
            .any(|known| known == function)
    }
}

const fn row(path: &'static str, provider: Provider, need: Need, functions: &'static str) -> Row {
    Row {
        path,
        versions: Versions::Preview2,
        need,
        provider,
        functions,
    }
}

const fn exact(row: Row, versions: &'static [&'static str]) -> Row {
    Row {
        versions: Versions::Exactly(versions),
        ..row
    }
}

const INERT: Need = Need::Linked(None);
const CLOCK: Need = Need::Linked(Some("clock"));
const RANDOM: Need = Need::Linked(Some("random"));
const DIRECTORY: Need = Need::Linked(Some("directory"));
const ENDPOINT: Need = Need::Linked(Some("endpoint"));
const OURS: &[&str] = &["0.1.0"];
const LOGGING: &[&str] = &["", "0.1.0-draft"];
const CONFIG: &[&str] = &["", "0.2.0-draft", "0.2.0-rc.1"];
const KEYVALUE: &[&str] = &["0.2.0-draft"];

/// Every interface there is.
pub(crate) const TABLE: &[Row] = &[
    row(
        "wasi:io/error",
        Provider::IoError,
        INERT,
        "[method]error.to-debug-string",
    ),
    row(
        "wasi:io/poll",
        Provider::IoPoll,
        INERT,
        "[method]pollable.ready [method]pollable.block poll",
    ),
    row("wasi:io/streams", Provider::IoStreams, INERT, STREAMS),
    row(
        "wasi:cli/environment",
        Provider::Environment,
        INERT,
        "get-environment get-arguments initial-cwd",
    ),
    row(
        "wasi:cli/exit",
        Provider::Exit,
        INERT,
        "exit exit-with-code",
    ),
    row("wasi:cli/stdin", Provider::Stdin, INERT, "get-stdin"),
    row("wasi:cli/stdout", Provider::Stdout, INERT, "get-stdout"),
    row("wasi:cli/stderr", Provider::Stderr, INERT, "get-stderr"),
    row(
        "wasi:cli/terminal-input",
        Provider::TerminalInput,
        INERT,
        "",
    ),
    row(
        "wasi:cli/terminal-output",
        Provider::TerminalOutput,
        INERT,
        "",
    ),
    row(
        "wasi:cli/terminal-stdin",
        Provider::TerminalStdin,
        INERT,
        "get-terminal-stdin",
    ),
    row(
        "wasi:cli/terminal-stdout",
        Provider::TerminalStdout,
        INERT,
        "get-terminal-stdout",
    ),
    row(
        "wasi:cli/terminal-stderr",
        Provider::TerminalStderr,
        INERT,
        "get-terminal-stderr",
    ),
    row(
        "wasi:clocks/monotonic-clock",
        Provider::MonotonicClock,
        CLOCK,
        "now resolution subscribe-instant subscribe-duration",
    ),
    row(
        "wasi:clocks/wall-clock",
        Provider::WallClock,
        CLOCK,
        "now resolution",
    ),
    row(
        "wasi:random/random",
        Provider::Random,
        RANDOM,
        "get-random-bytes get-random-u64",
    ),
    row(
        "wasi:random/insecure",
        Provider::Insecure,
        RANDOM,
        "get-insecure-random-bytes get-insecure-random-u64",
    ),
    row(
        "wasi:random/insecure-seed",
        Provider::InsecureSeed,
        RANDOM,
        "insecure-seed",
    ),
    row(
        "wasi:filesystem/types",
        Provider::FilesystemTypes,
        DIRECTORY,
        FILESYSTEM,
    ),
    row(
        "wasi:filesystem/preopens",
        Provider::Preopens,
        DIRECTORY,
        "get-directories",
    ),
    row(
        "wasi:sockets/network",
        Provider::Socket(Socket::Network),
        INERT,
        "",
    ),
    row(
        "wasi:sockets/instance-network",
        Provider::Socket(Socket::InstanceNetwork),
        INERT,
        "instance-network",
    ),
    row(
        "wasi:sockets/ip-name-lookup",
        Provider::Socket(Socket::IpNameLookup),
        INERT,
        "[method]resolve-address-stream.resolve-next-address [method]resolve-address-stream.subscribe resolve-addresses",
    ),
    row(
        "wasi:sockets/tcp",
        Provider::Socket(Socket::Tcp),
        INERT,
        TCP,
    ),
    row(
        "wasi:sockets/tcp-create-socket",
        Provider::Socket(Socket::TcpCreate),
        INERT,
        "create-tcp-socket",
    ),
    row(
        "wasi:sockets/udp",
        Provider::Socket(Socket::Udp),
        INERT,
        UDP,
    ),
    row(
        "wasi:sockets/udp-create-socket",
        Provider::Socket(Socket::UdpCreate),
        INERT,
        "create-udp-socket",
    ),
    row("wasi:http/types", Provider::HttpTypes, ENDPOINT, HTTP),
    row(
        "wasi:http/outgoing-handler",
        Provider::OutgoingHandler,
        ENDPOINT,
        "handle",
    ),
    exact(
        row("wasi:logging/logging", Provider::Logging, INERT, "log"),
        LOGGING,
    ),
    exact(
        row(
            "wasi:config/store",
            Provider::ConfigStore,
            Need::Grant("config"),
            "get get-all",
        ),
        CONFIG,
    ),
    exact(
        row(
            "wasi:keyvalue/store",
            Provider::KeyValue,
            Need::Grant("store"),
            KEYVALUE_STORE,
        ),
        KEYVALUE,
    ),
    exact(
        row(
            "wasi:keyvalue/atomics",
            Provider::KeyValue,
            Need::Grant("store"),
            "increment",
        ),
        KEYVALUE,
    ),
    exact(
        row(
            "wasi:keyvalue/batch",
            Provider::KeyValue,
            Need::Grant("store"),
            "get-many set-many delete-many",
        ),
        KEYVALUE,
    ),
    exact(
        row(
            "bindery:runtime/bindings",
            Provider::Bindings,
            INERT,
            "[method]binding.describe [method]binding.call [method]binding.narrow names get",
        ),
        OURS,
    ),
    exact(
        row("bindery:runtime/log", Provider::Log, INERT, "write"),
        OURS,
    ),
    exact(
        row("bindery:runtime/types", Provider::Types, INERT, ""),
        OURS,
    ),
];

const STREAMS: &str = "[method]input-stream.read [method]input-stream.blocking-read \
    [method]input-stream.skip [method]input-stream.blocking-skip \
    [method]input-stream.subscribe [method]output-stream.check-write \
    [method]output-stream.write [method]output-stream.blocking-write-and-flush \
    [method]output-stream.flush [method]output-stream.blocking-flush \
    [method]output-stream.subscribe [method]output-stream.write-zeroes \
    [method]output-stream.blocking-write-zeroes-and-flush [method]output-stream.splice \
    [method]output-stream.blocking-splice";

const FILESYSTEM: &str = "[method]descriptor.read-via-stream \
    [method]descriptor.write-via-stream [method]descriptor.append-via-stream \
    [method]descriptor.advise [method]descriptor.sync-data [method]descriptor.get-flags \
    [method]descriptor.get-type [method]descriptor.set-size [method]descriptor.set-times \
    [method]descriptor.read [method]descriptor.write [method]descriptor.read-directory \
    [method]descriptor.sync [method]descriptor.create-directory-at \
    [method]descriptor.stat [method]descriptor.stat-at [method]descriptor.set-times-at \
    [method]descriptor.link-at [method]descriptor.open-at [method]descriptor.readlink-at \
    [method]descriptor.remove-directory-at [method]descriptor.rename-at \
    [method]descriptor.symlink-at [method]descriptor.unlink-file-at \
    [method]descriptor.is-same-object [method]descriptor.metadata-hash \
    [method]descriptor.metadata-hash-at \
    [method]directory-entry-stream.read-directory-entry filesystem-error-code";

const TCP: &str = "[method]tcp-socket.start-bind [method]tcp-socket.finish-bind \
    [method]tcp-socket.start-connect [method]tcp-socket.finish-connect \
    [method]tcp-socket.start-listen [method]tcp-socket.finish-listen \
    [method]tcp-socket.accept [method]tcp-socket.local-address \
    [method]tcp-socket.remote-address [method]tcp-socket.is-listening \
    [method]tcp-socket.address-family [method]tcp-socket.set-listen-backlog-size \
    [method]tcp-socket.keep-alive-enabled [method]tcp-socket.set-keep-alive-enabled \
    [method]tcp-socket.keep-alive-idle-time [method]tcp-socket.set-keep-alive-idle-time \
    [method]tcp-socket.keep-alive-interval [method]tcp-socket.set-keep-alive-interval \
    [method]tcp-socket.keep-alive-count [method]tcp-socket.set-keep-alive-count \
    [method]tcp-socket.hop-limit [method]tcp-socket.set-hop-limit \
    [method]tcp-socket.receive-buffer-size [method]tcp-socket.set-receive-buffer-size \
    [method]tcp-socket.send-buffer-size [method]tcp-socket.set-send-buffer-size \
    [method]tcp-socket.subscribe [method]tcp-socket.shutdown";

const UDP: &str = "[method]udp-socket.start-bind [method]udp-socket.finish-bind \
    [method]udp-socket.stream [method]udp-socket.local-address \
    [method]udp-socket.remote-address [method]udp-socket.address-family \
    [method]udp-socket.unicast-hop-limit [method]udp-socket.set-unicast-hop-limit \
    [method]udp-socket.receive-buffer-size [method]udp-socket.set-receive-buffer-size \
    [method]udp-socket.send-buffer-size [method]udp-socket.set-send-buffer-size \
    [method]udp-socket.subscribe [method]incoming-datagram-stream.receive \
    [method]incoming-datagram-stream.subscribe \
    [method]outgoing-datagram-stream.check-send [method]outgoing-datagram-stream.send \
    [method]outgoing-datagram-stream.subscribe";

const HTTP: &str = "[constructor]fields [static]fields.from-list [method]fields.get \
    [method]fields.has [method]fields.set [method]fields.delete [method]fields.append \
    [method]fields.entries [method]fields.clone [method]incoming-request.method \
    [method]incoming-request.path-with-query [method]incoming-request.scheme \
    [method]incoming-request.authority [method]incoming-request.headers \
    [method]incoming-request.consume [constructor]outgoing-request \
    [method]outgoing-request.body [method]outgoing-request.method \
    [method]outgoing-request.set-method [method]outgoing-request.path-with-query \
    [method]outgoing-request.set-path-with-query [method]outgoing-request.scheme \
    [method]outgoing-request.set-scheme [method]outgoing-request.authority \
    [method]outgoing-request.set-authority [method]outgoing-request.headers \
    [constructor]request-options [method]request-options.connect-timeout \
    [method]request-options.set-connect-timeout \
    [method]request-options.first-byte-timeout \
    [method]request-options.set-first-byte-timeout \
    [method]request-options.between-bytes-timeout \
    [method]request-options.set-between-bytes-timeout [static]response-outparam.set \
    [method]incoming-response.status [method]incoming-response.headers \
    [method]incoming-response.consume [method]incoming-body.stream \
    [static]incoming-body.finish [method]future-trailers.subscribe \
    [method]future-trailers.get [constructor]outgoing-response \
    [method]outgoing-response.status-code [method]outgoing-response.set-status-code \
    [method]outgoing-response.headers [method]outgoing-response.body \
    [method]outgoing-body.write [static]outgoing-body.finish \
    [method]future-incoming-response.subscribe [method]future-incoming-response.get \
    http-error-code";

const KEYVALUE_STORE: &str = "open [method]bucket.get [method]bucket.set \
    [method]bucket.delete [method]bucket.exists [method]bucket.list-keys";
