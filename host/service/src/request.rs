//! What can be asked of a host, as data.
//!
//! Rule (architecture § 7): closed sets. What a session does and what an operator does are
//! told apart here, once; the second is refused to everybody else.

use bindery::policy::{Registration, Stage};
use bindery::{
    CapabilityId, Contract, Digest, Namespace, PermissionMode, Principal, ProposalId, Rights,
    TrustStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request with whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// In whose name, when it is not the user of the command.
    pub acting_as: Option<Principal>,
    /// In which of its sessions.
    pub session: String,
    /// Whether the answer is wanted as JSON.
    pub json: bool,
    /// What is asked.
    pub request: Request,
}

/// What a request needs to be answered where no host runs (C-50).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Configuration and components; nothing is recorded.
    Catalogue,
    /// The store, read only.
    Record,
    /// The store, owned for as long as it takes.
    Owner,
    /// A host that lives on: handles and proposals die with it.
    Host,
}

/// How a binding is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindWish {
    /// The implementation; a model has to say it.
    pub digest: Option<Digest>,
    /// The descriptor that it was described by.
    pub descriptor: Option<Digest>,
    /// The environment generation it speaks of.
    pub generation: Option<u64>,
    /// The scope: grants, budget, time.
    pub scope: Option<Value>,
}

/// How a session is wanted; what is left out is as C-65 says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionWish {
    /// For which agent.
    pub agent: Option<String>,
    /// In which kind of workspace.
    pub archetype: Option<String>,
    /// The run that its calls are actions of, when it is named from outside.
    pub run: Option<String>,
    /// In which workspace; one called like the archetype, when none is said.
    pub workspace: Option<String>,
    /// Whose implementations alone its run uses.
    pub provider: Option<String>,
    /// In which mode.
    pub mode: Option<PermissionMode>,
    /// Nothing but these.
    pub allow: Option<Vec<String>>,
    /// None of these.
    pub deny: Vec<String>,
}

/// What a revocation hits, as an operator says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RevokeTarget {
    /// A handle, an id, a digest, a namespace or a principal, told apart by its form.
    Named(String),
    /// Everything.
    All,
}

/// One thing that is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The manifest.
    Environment,
    /// A candidate descriptor.
    Describe {
        /// An id, or a public name.
        id: String,
    },
    /// The verdict over it, layer by layer.
    Validate {
        /// An id, or a public name.
        id: String,
    },
    /// A binding.
    Bind {
        /// An id, or a public name.
        id: String,
        /// How.
        wish: BindWish,
    },
    /// A call through a handle; of an id, through a binding for this call alone.
    Call {
        /// A handle, an id, or a public name.
        target: String,
        /// JSON text.
        arguments: String,
        /// Makes repetitions one effect.
        idempotency_key: Option<String>,
        /// How the binding is wanted, when there is none yet.
        wish: BindWish,
    },
    /// Gives a binding back.
    Release {
        /// Its handle.
        handle: String,
        /// Why.
        reason: String,
    },
    /// Opens a session by name.
    SessionNew {
        /// How.
        wish: SessionWish,
    },
    /// The six fixed fields of the session, and where it stands.
    SessionShow,
    /// Ends it.
    SessionEnd,
    /// Ends what runs in it, and it.
    SessionCancel,
    /// Every open session.
    SessionList,
    /// Moves a run along its table.
    RunMove {
        /// Which.
        run: String,
        /// Where to.
        to: String,
        /// Why.
        reason: String,
    },
    /// Prolongs a binding's lease.
    Renew {
        /// Its handle.
        handle: String,
        /// By how much, from now.
        ttl_ms: u64,
    },
    /// Says that something does not hold any more; what rests on it ends.
    Invalidate {
        /// A handle, an id, or a public name.
        subject: String,
        /// What was found.
        finding: String,
        /// How that is known.
        evidence: String,
    },
    /// Says who vouches for a capability.
    Review {
        /// An id, or a public name.
        id: String,
        /// How far.
        trust: TrustStatus,
        /// What was looked at.
        evidence: String,
    },
    /// Takes a component into the catalogue.
    Admit {
        /// The file; absolute.
        path: String,
        /// Who publishes it.
        namespace: Namespace,
        /// The package in its ids.
        package: Option<String>,
        /// What is declared of its functions.
        contract: Box<Contract>,
        /// Whether sessions have it from their beginning, or bind it (C-51).
        registration: Registration,
    },
    /// What the ledger knows of something; of everything, in short.
    Ledger {
        /// An id, a handle, a call, a proposal.
        id: Option<String>,
        /// From this record on.
        from: u64,
        /// At most so many records.
        count: usize,
    },
    /// A binding, explained.
    Binding {
        /// Its handle.
        handle: String,
    },
    /// A call or a binding, explained; without either, what happened last.
    Trace {
        /// A call or a handle.
        id: Option<String>,
    },
    /// Action records.
    Actions {
        /// Of this session or run only.
        run: Option<String>,
    },
    /// Proposals.
    Proposals {
        /// This one only.
        id: Option<ProposalId>,
    },
    /// Says yes.
    Approve {
        /// To this.
        id: ProposalId,
        /// Why.
        reason: String,
    },
    /// Says no.
    Deny {
        /// To this.
        id: ProposalId,
        /// Why.
        reason: String,
    },
    /// Withdraws authority.
    Revoke {
        /// Of what.
        target: RevokeTarget,
        /// Why.
        reason: String,
        /// Whether a withdrawal is lifted instead.
        lift: bool,
    },
    /// Settles an uncertain call.
    Reconcile {
        /// Which.
        call: String,
        /// Whether its effect happened.
        done: bool,
        /// How that is known.
        evidence: String,
    },
    /// The stages of the next session.
    Stages,
    /// Switches one.
    StageSet {
        /// Which.
        stage: Stage,
        /// On or off.
        on: bool,
        /// Why that is right.
        evidence: String,
    },
    /// Reads the configuration again.
    ConfigReload,
    /// Accepts that late-bound capabilities write (C-54).
    AcceptWrites {
        /// On what evidence.
        evidence: String,
    },
    /// A decision, explained axis by axis.
    Explain {
        /// An id, or a public name.
        id: String,
        /// JSON text of the arguments of a call; none for a bind.
        arguments: Option<String>,
        /// In whose name it is decided.
        principal: Option<Principal>,
        /// How the binding is wanted.
        wish: BindWish,
        /// How the session is opened.
        session: SessionWish,
    },
    /// How the host is.
    Status,
    /// Ends the host.
    Stop,
}

impl Request {
    /// The rights that whoever asks has to have.
    pub fn rights(&self) -> Rights {
        match self {
            Self::Environment
            | Self::Describe { .. }
            | Self::Validate { .. }
            | Self::Bind { .. }
            | Self::Call { .. }
            | Self::Release { .. }
            | Self::Renew { .. }
            | Self::SessionNew { .. }
            | Self::SessionShow
            | Self::SessionEnd
            | Self::SessionCancel => Rights::Model,
            Self::SessionList
            | Self::RunMove { .. }
            | Self::Invalidate { .. }
            | Self::Review { .. }
            | Self::Admit { .. }
            | Self::Ledger { .. }
            | Self::Binding { .. }
            | Self::Trace { .. }
            | Self::Actions { .. }
            | Self::Proposals { .. }
            | Self::Approve { .. }
            | Self::Deny { .. }
            | Self::Revoke { .. }
            | Self::Reconcile { .. }
            | Self::Stages
            | Self::StageSet { .. }
            | Self::ConfigReload
            | Self::AcceptWrites { .. }
            | Self::Explain { .. }
            | Self::Status
            | Self::Stop => Rights::Operator,
        }
    }

    /// What it needs where no host runs.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Environment
            | Self::Describe { .. }
            | Self::Validate { .. }
            | Self::Explain { .. } => Reach::Catalogue,
            Self::SessionList
            | Self::Ledger { .. }
            | Self::Binding { .. }
            | Self::Trace { .. }
            | Self::Actions { .. }
            | Self::Proposals { .. }
            | Self::Stages => Reach::Record,
            Self::Call { target, .. } if target.starts_with(HANDLE) => Reach::Host,
            Self::Call { .. }
            | Self::Admit { .. }
            | Self::Invalidate { .. }
            | Self::Review { .. }
            | Self::Revoke { .. }
            | Self::Reconcile { .. }
            | Self::StageSet { .. }
            | Self::AcceptWrites { .. } => Reach::Owner,
            Self::Bind { .. }
            | Self::Release { .. }
            | Self::Renew { .. }
            | Self::RunMove { .. }
            | Self::SessionNew { .. }
            | Self::SessionShow
            | Self::SessionEnd
            | Self::SessionCancel
            | Self::Approve { .. }
            | Self::Deny { .. }
            | Self::ConfigReload
            | Self::Status
            | Self::Stop => Reach::Host,
        }
    }

    /// Its verb, for messages.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Environment => "env",
            Self::Describe { .. } => "describe",
            Self::Validate { .. } => "validate",
            Self::Bind { .. } => "bind",
            Self::Call { .. } => "call",
            Self::Release { .. } => "release",
            Self::SessionNew { .. } => "session new",
            Self::SessionShow => "session show",
            Self::SessionEnd => "session end",
            Self::SessionCancel => "session cancel",
            Self::SessionList => "session list",
            Self::RunMove { .. } => "session move",
            Self::Renew { .. } => "renew",
            Self::Invalidate { .. } => "invalidate",
            Self::Review { .. } => "review",
            Self::Admit { .. } => "admit",
            Self::Ledger { .. } => "ledger",
            Self::Binding { .. } => "binding",
            Self::Trace { .. } => "trace",
            Self::Actions { .. } => "actions",
            Self::Proposals { .. } => "proposals",
            Self::Approve { .. } => "approve",
            Self::Deny { .. } => "deny",
            Self::Revoke { lift: false, .. } => "revoke",
            Self::Revoke { lift: true, .. } => "revoke --lift",
            Self::Reconcile { .. } => "reconcile",
            Self::Stages => "stages",
            Self::StageSet { .. } => "stages set",
            Self::ConfigReload => "config reload",
            Self::AcceptWrites { .. } => "config accept-writes",
            Self::Explain { .. } => "policy explain",
            Self::Status => "host status",
            Self::Stop => "host stop",
        }
    }
}

/// How a handle begins.
pub(crate) const HANDLE: &str = "bindh_";

/// A capability, by id or by public name.
pub(crate) fn capability(
    text: &str,
    names: impl IntoIterator<Item = (CapabilityId, String)>,
) -> Option<CapabilityId> {
    let id = text.parse().ok();
    id.or_else(|| {
        let mut named = names.into_iter().filter(|(_, name)| name == text);
        named.next().map(|(id, _)| id)
    })
}
