//! Imports against the table: what satisfies one, whether the grants cover it, and the
//! linking of exactly what is imported.
//!
//! Rule (H12, H13, C-46): interface by interface, never all and then some taken away;
//! nothing is shadowed, nothing unknown is stubbed.

use std::collections::BTreeSet;

use bindery_types::{Import, InterfaceName, Satisfier};
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random, sockets};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtxView};
use wasmtime_wasi_io::bindings::wasi::io;

use crate::bindings::bindery::runtime;
use crate::call::{CallGrants, GrantView};
use crate::grants::Grants;
use crate::table::{Need, Provider, Row, Socket, TABLE, Versions};
use crate::{config, endpoint, log, store};

const PREVIEW2_OFFERED: &str = "0.2.0 … 0.2.12";
const PREVIEW2_NEWEST_PATCH: u32 = 12;

/// What satisfies the import of `name`, of which the component names `functions`.
pub fn satisfier(name: &InterfaceName, functions: &[String]) -> Satisfier {
    let Some(row) = TABLE.iter().find(|row| row.path == name.path()) else {
        return Satisfier::Unknown {
            nearest: nearest(name.path()),
        };
    };
    let unknown = functions.iter().filter(|function| !row.has(function));
    let missing: Vec<String> = unknown.cloned().collect();
    let newer = !missing.is_empty() && is_newer(name.version());
    if newer || !offers(row, name.version()) {
        return Satisfier::Version {
            offered: offered(row),
        };
    }
    if !missing.is_empty() {
        return Satisfier::Functions { missing };
    }
    match row.need {
        Need::Linked(grant) => Satisfier::Linked { grant },
        Need::Grant(grant) => Satisfier::Grant { grant },
    }
}

fn offers(row: &Row, version: Option<&str>) -> bool {
    match row.versions {
        Versions::Exactly(texts) => texts.contains(&version.unwrap_or("")),
        Versions::Preview2 => patch(version).is_some(),
    }
}

/// The patch of a version of WASI 0.2; none for drafts and other lines.
fn patch(version: Option<&str>) -> Option<u32> {
    let patch = version?.strip_prefix("0.2.")?;
    let digits = patch.bytes().all(|byte| byte.is_ascii_digit());
    patch.parse().ok().filter(|_| digits)
}

/// Whether the version may have functions that were not there when this host was made.
fn is_newer(version: Option<&str>) -> bool {
    patch(version).is_some_and(|patch| patch > PREVIEW2_NEWEST_PATCH)
}

fn offered(row: &Row) -> Vec<&'static str> {
    match row.versions {
        Versions::Preview2 => vec![PREVIEW2_OFFERED],
        Versions::Exactly(texts) => texts
            .iter()
            .map(|text| if text.is_empty() { "none" } else { text })
            .collect(),
    }
}

/// The known path that differs in the fewest letters, when that is few.
fn nearest(path: &str) -> Option<String> {
    const LETTERS_MAX: usize = 3;
    TABLE
        .iter()
        .map(|row| (distance(path, row.path), row.path))
        .min()
        .filter(|(letters, _)| *letters <= LETTERS_MAX)
        .map(|(_, path)| path.to_owned())
}

/// Letters to insert, delete or replace to make one text of the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.chars().enumerate() {
        let mut next = vec![line + 1];
        for (pair, to) in row.windows(2).zip(&right) {
            let (Some(diagonal), Some(above)) = (pair.first(), pair.last()) else {
                continue;
            };
            let beside = next.last().copied().unwrap_or(0);
            let replaced = diagonal + usize::from(from != *to);
            next.push(replaced.min(above + 1).min(beside + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

impl Grants {
    /// Whether a component that imports this can be linked under these grants.
    pub fn covers(&self, import: &Import) -> bool {
        match import.satisfier {
            Satisfier::Linked { .. } => true,
            Satisfier::Grant { grant: "config" } => self.config.is_some(),
            Satisfier::Grant { grant: "store" } => !self.stores.is_empty(),
            Satisfier::Unknown { .. } => {
                crate::nested::answers(self.nested.as_ref(), &import.name, &import.functions)
            }
            Satisfier::Grant { .. } | Satisfier::Version { .. } | Satisfier::Functions { .. } => {
                false
            }
        }
    }
}

/// Host functions see the grants of their call, nothing else.
pub(crate) struct Granted;

impl HasData for Granted {
    type Data<'a> = &'a mut CallGrants;
}

/// Links what `imports` names and the table has: host functions that read the grants of
/// the call in whose store they run. Grants are data there, so one linker serves every
/// call of a component, whatever it was granted.
///
/// # Errors
///
/// The engine's, when two definitions clash.
pub fn link<T: GrantView>(linker: &mut Linker<T>, imports: &[Import]) -> wasmtime::Result<()> {
    let mut linked = BTreeSet::new();
    for import in imports {
        let known = matches!(
            import.satisfier,
            Satisfier::Linked { .. } | Satisfier::Grant { .. }
        );
        let row = TABLE.iter().find(|row| row.path == import.name.path());
        let (true, Some(row)) = (known, row) else {
            continue;
        };
        // Two patch versions of one interface are served by one definition; a text that
        // is matched exactly needs one each.
        let key = match row.versions {
            Versions::Preview2 => row.path,
            Versions::Exactly(_) => import.name.as_str(),
        };
        if linked.insert(key) {
            link_one(linker, row.provider, &import.name)?;
        }
    }
    Ok(())
}

fn link_one<T: GrantView>(
    l: &mut Linker<T>,
    provider: Provider,
    name: &InterfaceName,
) -> wasmtime::Result<()> {
    match provider {
        Provider::IoError => io::error::add_to_linker::<T, Granted>(l, T::grants),
        Provider::IoPoll => io::poll::add_to_linker::<T, Granted>(l, T::grants),
        Provider::IoStreams => io::streams::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Environment => cli::environment::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Exit => cli::exit::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Stdin => cli::stdin::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Stdout => cli::stdout::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Stderr => cli::stderr::add_to_linker::<T, Granted>(l, T::grants),
        Provider::TerminalInput => cli::terminal_input::add_to_linker::<T, Granted>(l, T::grants),
        Provider::TerminalOutput => cli::terminal_output::add_to_linker::<T, Granted>(l, T::grants),
        Provider::TerminalStdin => cli::terminal_stdin::add_to_linker::<T, Granted>(l, T::grants),
        Provider::TerminalStdout => cli::terminal_stdout::add_to_linker::<T, Granted>(l, T::grants),
        Provider::TerminalStderr => cli::terminal_stderr::add_to_linker::<T, Granted>(l, T::grants),
        Provider::MonotonicClock => {
            clocks::monotonic_clock::add_to_linker::<T, Granted>(l, T::grants)
        }
        Provider::WallClock => clocks::wall_clock::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Random => random::random::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Insecure => random::insecure::add_to_linker::<T, Granted>(l, T::grants),
        Provider::InsecureSeed => random::insecure_seed::add_to_linker::<T, Granted>(l, T::grants),
        Provider::FilesystemTypes => filesystem::types::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Preopens => filesystem::preopens::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Socket(socket) => link_socket(l, socket),
        Provider::HttpTypes => endpoint::link_types(l, |view| view.grants().endpoint()),
        Provider::OutgoingHandler => endpoint::link_handler(l, |view| view.grants().endpoint()),
        Provider::Logging => log::link_logging(l, name),
        Provider::ConfigStore => config::link(l, name),
        Provider::Bindings => runtime::bindings::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Log => runtime::log::add_to_linker::<T, Granted>(l, T::grants),
        Provider::Types => l.instance(name.as_str()).map(drop),
        Provider::KeyValue => store::link(l, name),
    }
}

/// C7, H26: sockets exist by name only. The interfaces that make one report the refused
/// attempt; those of a socket that can never exist are the engine's own.
fn link_socket<T: GrantView>(l: &mut Linker<T>, socket: Socket) -> wasmtime::Result<()> {
    fn closed<T: GrantView>(view: &mut T) -> WasiSocketsCtxView<'_> {
        view.grants().closed_sockets()
    }
    match socket {
        Socket::Network => {
            let options = sockets::network::LinkOptions::default();
            sockets::network::add_to_linker::<T, Granted>(l, &options, T::grants)
        }
        Socket::InstanceNetwork => {
            sockets::instance_network::add_to_linker::<T, Granted>(l, T::grants)
        }
        Socket::IpNameLookup => sockets::ip_name_lookup::add_to_linker::<T, Granted>(l, T::grants),
        Socket::TcpCreate => sockets::tcp_create_socket::add_to_linker::<T, Granted>(l, T::grants),
        Socket::UdpCreate => sockets::udp_create_socket::add_to_linker::<T, Granted>(l, T::grants),
        Socket::Tcp => sockets::tcp::add_to_linker::<T, WasiSockets>(l, closed::<T>),
        Socket::Udp => sockets::udp::add_to_linker::<T, WasiSockets>(l, closed::<T>),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, functions: &[&str]) -> Satisfier {
        let functions: Vec<String> = functions.iter().map(|f| (*f).to_owned()).collect();
        satisfier(&name.parse().unwrap(), &functions)
    }

    #[test]
    fn patch_versions_run_in_both_directions_and_other_versions_name_what_is_offered() {
        let linked = Satisfier::Linked { grant: None };
        for version in ["0.2.0", "0.2.3", "0.2.12", "0.2.40"] {
            assert_eq!(
                of(&format!("wasi:io/poll@{version}"), &["poll"]),
                linked,
                "D3"
            );
        }
        for version in [
            "0.2.0-rc-2023-11-10",
            "0.3.0",
            "0.1.0",
            "0.2.",
            "0.2.+1",
            "1.2.0",
        ] {
            assert_eq!(
                of(&format!("wasi:io/poll@{version}"), &["poll"]),
                Satisfier::Version {
                    offered: vec![PREVIEW2_OFFERED]
                },
                "D3: {version}"
            );
        }
        assert!(matches!(
            of("wasi:io/poll", &["poll"]),
            Satisfier::Version { .. }
        ));
    }

    #[test]
    fn a_function_that_no_version_here_has_is_a_question_of_version() {
        let satisfier = of("wasi:io/poll@0.2.40", &["poll", "poll-forever"]);
        assert!(matches!(satisfier, Satisfier::Version { .. }), "D3");
        let satisfier = of("wasi:io/poll@0.2.12", &["poll", "poll-forever"]);
        let missing = vec!["poll-forever".to_owned()];
        assert_eq!(
            satisfier,
            Satisfier::Functions { missing },
            "U3: no newer tools, a wrong name"
        );
    }

    #[test]
    fn what_is_misspelt_names_its_neighbour_and_what_is_foreign_names_nothing() {
        let near = of("wasi:io/pol@0.2.0", &[]);
        assert_eq!(
            near,
            Satisfier::Unknown {
                nearest: Some("wasi:io/poll".into())
            },
            "U3"
        );
        let far = of("acme:weather/forecast@1.0.0", &["lookup"]);
        assert_eq!(far, Satisfier::Unknown { nearest: None }, "U3");
        assert_eq!(of("host", &[]), Satisfier::Unknown { nearest: None });
    }

    #[test]
    fn nothing_that_starts_a_process_has_a_row() {
        for row in TABLE {
            for word in ["process", "spawn", "exec", "command", "thread", "ffi"] {
                assert!(!row.path.contains(word), "R-009: {}", row.path);
                assert!(!row.functions.contains(word), "R-009: {}", row.path);
            }
        }
    }

    #[test]
    fn every_path_has_one_row() {
        let paths: BTreeSet<&str> = TABLE.iter().map(|row| row.path).collect();
        assert_eq!(paths.len(), TABLE.len());
    }

    #[test]
    fn a_config_import_is_covered_by_a_config_grant_and_by_nothing_else() {
        let import = Import {
            name: "wasi:config/store@0.2.0-rc.1".parse().unwrap(),
            functions: vec!["get".into()],
            satisfier: of("wasi:config/store@0.2.0-rc.1", &["get"]),
        };
        let mut grants = Grants::default();
        assert!(!grants.covers(&import), "C-46");
        grants.config = Some(Default::default());
        assert!(grants.covers(&import));
    }

    #[test]
    fn a_store_import_is_covered_by_a_store_grant_and_by_nothing_else() {
        for interface in ["store", "atomics", "batch"] {
            let name = format!("wasi:keyvalue/{interface}@0.2.0-draft");
            let import = Import {
                name: name.parse().unwrap(),
                functions: Vec::new(),
                satisfier: of(&name, &[]),
            };
            let mut grants = Grants {
                config: Some(Default::default()),
                ..Grants::default()
            };
            assert!(!grants.covers(&import), "C-46");
            let backend = std::sync::Arc::new(crate::MemoryStore::default());
            let grant = crate::StoreGrant::new("notes", backend, crate::Access::ReadOnly);
            grants.stores.push(grant.unwrap());
            assert!(grants.covers(&import), "C-46");
        }
    }

    #[test]
    fn a_draft_fits_only_itself() {
        for version in ["", "@0.2.0-draft2", "@0.2.0", "@0.2.0-draft.1"] {
            assert_eq!(
                of(&format!("wasi:keyvalue/store{version}"), &["open"]),
                Satisfier::Version {
                    offered: vec!["0.2.0-draft"]
                },
                "D3 {version}"
            );
        }
        let swaps = of("wasi:keyvalue/atomics@0.2.0-draft", &["increment", "swap"]);
        let missing = vec!["swap".to_owned()];
        assert_eq!(swaps, Satisfier::Functions { missing }, "U3: of this draft");
    }
}
