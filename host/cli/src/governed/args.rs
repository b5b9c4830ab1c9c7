//! The words of the governed commands, as clap reads them; nothing is converted here yet.

use std::path::PathBuf;

use bindery::policy::Stage;
use bindery::{
    CapabilityId, Digest, Namespace, PermissionMode, Principal, ProposalId, TrustStatus,
};
use clap::{Args, Subcommand, ValueEnum};

use crate::answer::Format;
use crate::args::StoreArgs;

/// Where the host is, whose request it is, how to print.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Configuration [default: bindery.toml]
    #[arg(long = "file", value_name = "FILE", env = "BINDERY_CONFIG")]
    pub(crate) file: Option<PathBuf>,
    /// Folder of the host's data [default: .bindery beside the configuration]
    #[arg(long, value_name = "DIR", env = "BINDERY_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// How to print
    #[arg(short = 'o', long = "format", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The same, with the session that it is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Session, by name
    #[arg(
        long,
        value_name = "NAME",
        env = "BINDERY_SESSION",
        default_value = "default"
    )]
    pub(crate) session: String,
    /// Act as this principal of the configuration, with its rights
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) acting_as: Option<Principal>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How a binding is wanted.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WishArgs {
    /// Implementation that is wanted, by the SHA-256 that `describe` shows; a principal with
    /// model rights has to say it
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<Digest>,
    /// Descriptor that it was described by, by its SHA-256
    #[arg(long, value_name = "DIGEST")]
    pub(crate) descriptor: Option<Digest>,
    /// Environment generation the request speaks of
    #[arg(long, value_name = "N")]
    pub(crate) generation: Option<u64>,
    /// Grants that are wanted, as JSON: '{"src": {"path": "docs", "access": "read_only"}}'
    /// [default: the least that the capability needs]
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) scope: Option<String>,
    /// How long the binding lives, such as 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<String>,
    /// Limit of each call through it, such as fuel=5e7 (see `bindery limits`)
    #[arg(long = "budget", value_name = "NAME=VALUE")]
    pub(crate) budget: Vec<String>,
}

/// How a session is wanted.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionWishArgs {
    /// Registered agent it acts for [default: cli]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Kind of workspace [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) archetype: Option<String>,
    /// Run that its calls are actions of [default: one of its own]
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Workspace of the run [default: the one called like its kind]
    #[arg(long, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// Provider whose implementations alone the run uses [default: any of the agent's]
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// plan_only, read_only, safe_edit or full_access [default: the configuration's]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<PermissionMode>,
    /// Nothing but this capability; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow: Vec<String>,
    /// Never this capability; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) deny: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery init
  bindery init --file ops/bindery.toml")]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery config check
  bindery config show --origin
  bindery config reload
  bindery config accept-writes --evidence 'reviewed by two people on 2 May'")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Say whether the configuration is well-formed, with every fault and its place
    Check(PlaceArgs),
    /// Show the effective configuration
    Show {
        /// With the line that each value comes from
        #[arg(long)]
        origin: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Let the running host read its configuration again; live bindings are decided again
    Reload(AskArgs),
    /// Accept that capabilities found at run time may write
    AcceptWrites {
        /// On what evidence
        #[arg(long, value_name = "TEXT")]
        evidence: String,
        #[command(flatten)]
        ask: AskArgs,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "What is declared can only make a capability stricter; without a declared approval it is
described and never called.

Examples:
  bindery admit file-tools.wasm --namespace acme --approval no_approval
  bindery admit mail.wasm --namespace acme --as mail --contract @mail.json"
)]
pub(crate) struct AdmitArgs {
    /// Component file
    pub(crate) component: PathBuf,
    /// Who publishes it
    #[arg(long, value_name = "NAMESPACE", default_value = "local")]
    pub(crate) namespace: Namespace,
    /// Package in its ids [default: the component's own WIT package, else the file's name]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// What is declared of its functions, as JSON: risk, side_effects, approval, aliases …
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) contract: Option<String>,
    /// Who has to say yes: no_approval, confirm_once, confirm_every_time, blocked
    #[arg(long, value_name = "WORD")]
    pub(crate) approval: Option<String>,
    /// Register it for every session that policy lets have it, callable at stage 1 by its
    /// name; else it is bound at run time
    #[arg(long = "static")]
    pub(crate) is_static: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery describe acme:file-tools/files#read-file -o json
  bindery validate read_file")]
pub(crate) struct IdArgs {
    /// Id `namespace:package/interface#function`, or a public name
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery bind acme:file-tools/files#read-file --ttl 10m
  bindery bind read_file --scope '{\"src\": {\"path\": \"docs\"}}' --budget fuel=5e7 -o json")]
pub(crate) struct BindArgs {
    /// Id, or a public name
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) wish: WishArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery call bindh_… '{\"path\": \"/src/a.txt\"}'
  bindery call read_file '{\"path\": \"/src/a.txt\"}' -o json
  bindery call acme:mail#send @mail.json --idempotency-key 2026-05-02-1")]
pub(crate) struct CallArgs {
    /// Handle of a binding, or an id or public name for one call
    pub(crate) target: String,
    /// Arguments: JSON text, @FILE, or - for standard input
    #[arg(
        default_value = "{}",
        value_name = "JSON|@FILE|-",
        allow_hyphen_values = true
    )]
    pub(crate) arguments: String,
    /// Makes calls with the same key and equal arguments one effect
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    #[command(flatten)]
    pub(crate) wish: WishArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// Handle of the binding
    pub(crate) handle: String,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "no longer needed")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RenewArgs {
    /// Handle of the binding
    pub(crate) handle: String,
    /// How long from now, such as 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery ledger                                   every capability and the first records
  bindery ledger acme:file-tools/files#read-file   one capability, every field
  bindery ledger call_…                            the records about one call")]
pub(crate) struct LedgerArgs {
    /// Id of a capability, a binding, a call, a proposal
    pub(crate) id: Option<String>,
    /// From this record on
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) from: u64,
    /// At most so many records
    #[arg(long = "count", value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) count: u64,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HandleArgs {
    /// Handle of the binding
    pub(crate) handle: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery trace             what happened last
  bindery trace call_…      one call: pins, decision, outcome, each with the record that proves it
  bindery trace bindh_…     one binding")]
pub(crate) struct TraceArgs {
    /// A call or a handle
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ActionsArgs {
    /// Of this session or run only
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProposalsArgs {
    /// This one only
    pub(crate) id: Option<ProposalId>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Nothing starts by an answer: whoever asked repeats the same call.

Examples:
  bindery proposals
  bindery approve prop_… --reason 'the recipient is right'
  bindery deny prop_… --reason 'not on a Friday'"
)]
pub(crate) struct AnswerArgs {
    /// The proposal
    pub(crate) id: ProposalId,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "the operator decided so")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery revoke bindh_…
  bindery revoke acme:mail#send --reason 'under review'
  bindery revoke 4593cf73…          whatever these bytes implement (the whole SHA-256)
  bindery revoke acme               a whole namespace
  bindery revoke token:assistant    a principal
  bindery revoke --all
  bindery revoke --all --lift")]
pub(crate) struct RevokeArgs {
    /// Handle, id, digest, namespace or principal
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) target: Option<String>,
    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
    /// Lift the withdrawal instead; what it ended stays ended
    #[arg(long)]
    pub(crate) lift: bool,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "the operator decided so")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery invalidate read_file --finding semantic_drift --evidence 'run 17 of the bench'
  bindery invalidate bindh_… --finding unexpected_side_effect --evidence 'the server logs it'")]
pub(crate) struct InvalidateArgs {
    /// Handle, id, or a public name
    pub(crate) subject: String,
    /// evidence_contradictory, semantic_drift, unexpected_side_effect,
    /// dependency_invalidated or provider_gone
    #[arg(long, value_name = "FINDING")]
    pub(crate) finding: String,
    /// How that is known
    #[arg(long, value_name = "TEXT")]
    pub(crate) evidence: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery review read_file --trust host_verified --evidence 'two people read its source'
  bindery review read_file --trust untrusted --evidence 'it is not what it was'")]
pub(crate) struct ReviewArgs {
    /// Id, or a public name
    pub(crate) id: String,
    /// Who vouches for it from now on
    #[arg(long, value_name = "TRUST")]
    pub(crate) trust: TrustStatus,
    /// What was looked at
    #[arg(long, value_name = "TEXT")]
    pub(crate) evidence: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery reconcile call_… --done --evidence 'the server lists the message'
  bindery reconcile call_… --failed --evidence 'the server has no such message'")]
pub(crate) struct ReconcileArgs {
    /// The uncertain call
    pub(crate) call: String,
    /// Its effect happened
    #[arg(long, required_unless_present = "failed", conflicts_with = "failed")]
    pub(crate) done: bool,
    /// Its effect did not happen
    #[arg(long)]
    pub(crate) failed: bool,
    /// How that is known
    #[arg(long, value_name = "TEXT")]
    pub(crate) evidence: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Turn it on
    On,
    /// Turn it off
    Off,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery stages
  bindery stages set 2 on
  bindery stages set composition on --evidence 'run 12: fewer round trips'")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StagesArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<StagesVerb>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StagesVerb {
    /// Switch one stage, for sessions that begin from now on
    Set {
        /// Its number or name
        stage: String,
        /// On or off
        to: Switch,
        /// Why that is right; stages 8, 9 and 10 need it
        #[arg(long, value_name = "TEXT", default_value = "")]
        evidence: String,
        #[command(flatten)]
        ask: Box<AskArgs>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery session new --as token:assistant --session work --mode read_only
  bindery session cancel --session work      what runs in it is ended
  bindery session list")]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Open a session
    New {
        #[command(flatten)]
        wish: SessionWishArgs,
        #[command(flatten)]
        ask: AskArgs,
    },
    /// Every open session
    List(AskArgs),
    /// One session: its six fixed fields, and its run
    Show(AskArgs),
    /// Move a run: completed, failed, rejected, cancelled, running, awaiting_approval
    Move {
        /// The run
        run: String,
        /// Where to
        to: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "the operator decided so")]
        reason: String,
        #[command(flatten)]
        ask: AskArgs,
    },
    /// End what runs in it, and it
    Cancel(AskArgs),
    /// End it
    End(AskArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery policy explain read_file --args '{\"path\": \"/src/a\"}' --for token:assistant
  bindery policy test policy-tests.toml")]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) verb: PolicyVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Show the decision about a bind or a call, axis by axis
    Explain {
        /// Id, or a public name
        id: String,
        /// Arguments of the call; left out, the bind is explained
        #[arg(long = "args", value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
        arguments: Option<String>,
        /// In whose name it is decided [default: whoever asks]
        #[arg(long = "for", value_name = "PRINCIPAL")]
        principal: Option<Principal>,
        #[command(flatten)]
        session_wish: Box<SessionWishArgs>,
        #[command(flatten)]
        wish: Box<WishArgs>,
        #[command(flatten)]
        ask: Box<AskArgs>,
    },
    /// Run a table of questions against the configuration
    Test {
        /// File of `[[test]]` tables
        tests: PathBuf,
        /// Capability that tests may name by its public name; may be repeated
        #[arg(long = "capability", value_name = "NAME=ID")]
        capabilities: Vec<NamedCapability>,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

/// `read_file=acme:file-tools/files#read-file`.
#[derive(Clone, Debug)]
pub(crate) struct NamedCapability {
    pub(crate) name: String,
    pub(crate) id: CapabilityId,
}

impl std::str::FromStr for NamedCapability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, id) = text.split_once('=').ok_or("it is NAME=ID")?;
        let id = id.parse().map_err(|error| format!("{error}"))?;
        Ok(Self {
            name: name.to_owned(),
            id,
        })
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bindery host start                in the background, until `bindery host stop`
  bindery host start --foreground   until Ctrl-C
  bindery host status -o json")]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    pub(crate) verb: HostVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostVerb {
    /// Start the host that owns the store
    Start {
        /// Stay in this terminal
        #[arg(long)]
        foreground: bool,
        #[command(flatten)]
        ask: AskArgs,
    },
    /// End it; calls that run are ended and recorded as such
    Stop(AskArgs),
    /// How it is
    Status(AskArgs),
}

/// A stage by number or by name.
pub(crate) fn stage(text: &str) -> Result<Stage, String> {
    let by_number = text.parse::<u8>().ok();
    let found = by_number.and_then(|n| Stage::ALL.iter().find(|stage| stage.number() == n));
    match found {
        Some(stage) => Ok(*stage),
        None => text.parse().map_err(|error| format!("{error}")),
    }
}
