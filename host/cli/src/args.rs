//! The words of the command line, as clap reads them; nothing is converted here yet.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::answer::Format;
use crate::governed::args as governed;

/// Run any WebAssembly component's function from JSON, with nothing granted unless said.
#[derive(Debug, Parser)]
#[command(
    name = "bindery",
    version,
    about,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "With -o json each command prints one JSON object, its --help and --version included."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a component exports and imports; runs nothing
    Inspect(InspectArgs),
    /// Run one function of a component with JSON arguments
    Run(Box<RunArgs>),
    /// Look after the store of compiled code
    Cache(CacheArgs),
    /// Show every limit: name, default, unit, meaning
    Limits(LimitsArgs),
    /// Write a commented configuration that denies everything
    Init(governed::InitArgs),
    /// Check, show or reload the configuration
    Config(governed::ConfigArgs),
    /// Start, stop or ask after the host that owns the store
    Host(governed::HostArgs),
    /// Take a component into the catalogue; callable by nobody yet
    Admit(Box<governed::AdmitArgs>),
    /// Show the environment as a session sees it
    Env(governed::EnvArgs),
    /// Show a capability's candidate descriptor
    Describe(governed::IdArgs),
    /// Examine a capability, layer by layer
    Validate(governed::IdArgs),
    /// Ask for a binding of a capability
    Bind(Box<governed::BindArgs>),
    /// Call through a binding, or once by id
    Call(Box<governed::CallArgs>),
    /// Prolong the lease of a binding
    Renew(governed::RenewArgs),
    /// Give a binding back
    Release(governed::ReleaseArgs),
    /// Open, show, cancel or end a session
    Session(governed::SessionArgs),
    /// Show what was recorded
    Ledger(governed::LedgerArgs),
    /// Explain a binding
    Binding(governed::HandleArgs),
    /// Explain a call or a binding; without either, what happened last
    Trace(governed::TraceArgs),
    /// Show action records
    Actions(governed::ActionsArgs),
    /// Show what waits for an answer
    Proposals(governed::ProposalsArgs),
    /// Say yes to a proposal
    Approve(governed::AnswerArgs),
    /// Say no to a proposal
    Deny(governed::AnswerArgs),
    /// Withdraw authority
    Revoke(governed::RevokeArgs),
    /// Say that something does not hold any more: what rests on it ends
    Invalidate(governed::InvalidateArgs),
    /// Say who vouches for a capability
    Review(governed::ReviewArgs),
    /// Say what an uncertain call did
    Reconcile(governed::ReconcileArgs),
    /// Show or switch the ten stages
    Stages(governed::StagesArgs),
    /// Explain a decision, or test the policy
    Policy(governed::PolicyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FormatArg {
    /// How to print
    #[arg(short = 'o', long = "format", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// Folder of compiled code [default: $XDG_CACHE_HOME/bindery or ~/.cache/bindery]
    #[arg(
        long,
        value_name = "DIR",
        env = "BINDERY_CACHE",
        hide_env_values = true
    )]
    pub(crate) cache: Option<PathBuf>,
    /// Neither read nor write stored code, whatever --cache says
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Read, check and load stored code from memory instead of mapping the checked file
    #[arg(long)]
    pub(crate) strict_cache: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery inspect file-tools.wasm
  bindery inspect file-tools.wasm -o json")]
pub(crate) struct InspectArgs {
    /// Component file
    pub(crate) component: PathBuf,
    /// Set a host limit, such as component=128MiB (see `bindery limits`)
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub(crate) limits: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is granted unless a flag grants it: no files, no network, no real clock, no real
randomness, no environment. Every limit has a finite default; `bindery limits` lists them.

Examples:
  bindery run calc.wasm add '{\"a\": 1, \"b\": 2}'
  bindery run file-tools.wasm grep-files @query.json --dir .::/src
  bindery run http-json.wasm get-json - --endpoint 'GET https://api.test/v1/' < args.json
  bindery run calc.wasm '#spin' --fuel 5e7 --deadline 500ms -o json

Exit codes: 0 value, 1 fault of the component or the host, 2 usage and arguments, 3 not
authenticated, 4 denied, 5 the capability's own error, 6 approval pending, 7 limit, 8 integrity,
9 unavailable, 10 outcome uncertain, 75 temporary, 130 interrupted."
)]
pub(crate) struct RunArgs {
    /// Component file
    pub(crate) component: PathBuf,
    /// Exported function: `go`, `api#go` or `ex:thing/api@1.0.0#go`
    pub(crate) function: String,
    /// Arguments: JSON text, @FILE, or - for standard input
    #[arg(
        default_value = "{}",
        value_name = "JSON|@FILE|-",
        allow_hyphen_values = true
    )]
    pub(crate) arguments: String,
    /// Grant a directory: HOST::GUEST, read-only unless it ends in :rw
    #[arg(long = "dir", value_name = "HOST::GUEST[:ro|:rw]")]
    pub(crate) directories: Vec<String>,
    /// Grant an endpoint: URL prefix, with methods before it (default GET,HEAD)
    #[arg(long = "endpoint", value_name = "[METHODS ]URL-PREFIX")]
    pub(crate) endpoints: Vec<String>,
    /// Grant one configuration value
    #[arg(long = "config", value_name = "KEY=VALUE")]
    pub(crate) config: Vec<String>,
    /// Grant the real clock
    #[arg(long)]
    pub(crate) clock: bool,
    /// Grant real randomness
    #[arg(long)]
    pub(crate) random: bool,
    /// Limit of computation, such as 5e9
    #[arg(long, value_name = "N")]
    pub(crate) fuel: Option<String>,
    /// Limit of wall time, such as 500ms or 2s
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<String>,
    /// Limit of linear memory, such as 64MiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Limit of the result's JSON text, such as 256KiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) output: Option<String>,
    /// Limit of the log, such as 64KiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) log: Option<String>,
    /// Set any limit by its name (see `bindery limits`)
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub(crate) limits: Vec<String>,
    /// Keep the record of this call in a folder, made if it is not there [default: none is kept]
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery cache list
  bindery cache verify -o json
  bindery cache clear")]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) verb: CacheVerb,
    /// Folder of compiled code [default: $XDG_CACHE_HOME/bindery or ~/.cache/bindery]
    #[arg(
        long,
        value_name = "DIR",
        env = "BINDERY_CACHE",
        hide_env_values = true,
        global = true
    )]
    pub(crate) cache: Option<PathBuf>,
    /// How to print
    #[arg(short = 'o', long = "format", value_enum, default_value_t = Format::Text, global = true)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum CacheVerb {
    /// List stored code
    List,
    /// Remove all stored code
    Clear,
    /// Check every stored file; exits 8 when one is damaged
    Verify,
}

#[derive(Debug, Args)]
pub(crate) struct LimitsArgs {
    #[command(flatten)]
    pub(crate) format: FormatArg,
}
