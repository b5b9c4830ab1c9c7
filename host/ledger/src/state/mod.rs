//! The state: what the records so far come to, and nothing that they do not say.
//!
//! Rule: this is the host's, never a prompt's. Ended things leave it when nothing
//! can refer to them any more: the log keeps them, the state keeps what decides.

mod binding;
mod call;
mod capability;
mod environment;
mod proposal;
mod run;
mod session;

pub use binding::{Binding, Ended};
pub use call::{Call, CallStanding, EffectEntry, EffectStanding};
pub use capability::{Capability, Description, Evidence};
pub use environment::{Bucket, Environment};
pub use proposal::Proposal;
pub use run::{AgentEntry, Run};
pub use session::Session;

use std::collections::{BTreeMap, BTreeSet};

use bindery_types::{
    Agent, Archetype, BindingHandle, CallId, Digest, EvidenceId, Moment, ProposalId, RunId,
    SessionId, Workspace,
};
use serde::{Deserialize, Serialize};

use crate::key::{BucketKey, CapabilityKey, EffectKey, Target};
use crate::shared::{Shared, pairs};

/// Everything that decides what may happen next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The last record applied; 0 before the first.
    pub(crate) sequence: u64,
    /// The latest moment seen: time never goes back for a lease (I10).
    pub(crate) now: Moment,
    /// The admitted environment.
    pub(crate) environment: Option<Environment>,
    /// Stages that were switched, and how.
    pub(crate) stages: BTreeMap<u8, bool>,
    /// The record that opened the write gate (C-54).
    pub(crate) write_gate: Option<u64>,
    /// Switches that are on, with the record that threw them.
    #[serde(with = "pairs")]
    pub(crate) switches: Shared<BTreeMap<Target, u64>>,
    /// Open sessions.
    pub(crate) sessions: Shared<BTreeMap<SessionId, Session>>,
    /// Known capabilities, one record for each build.
    pub(crate) capabilities: Shared<BTreeMap<CapabilityKey, Capability>>,
    /// Stored observations.
    pub(crate) evidence: Shared<BTreeMap<EvidenceId, Evidence>>,
    /// Bindings of open sessions, ended ones included: their session may ask (C-48).
    pub(crate) bindings: Shared<BTreeMap<BindingHandle, Binding>>,
    /// Calls that run, and calls nobody knows the end of.
    pub(crate) calls: Shared<BTreeMap<CallId, Call>>,
    /// Idempotency keys, until they may be forgotten.
    #[serde(with = "pairs")]
    pub(crate) effects: Shared<BTreeMap<EffectKey, EffectEntry>>,
    /// The keys with a known outcome, in the order in which they may be forgotten.
    pub(crate) forgettable: Shared<BTreeSet<(Moment, EffectKey)>>,
    /// Proposals of open sessions.
    pub(crate) proposals: Shared<BTreeMap<ProposalId, Proposal>>,
    /// Aggregate budgets and rates.
    #[serde(with = "pairs")]
    pub(crate) buckets: Shared<BTreeMap<BucketKey, Bucket>>,
    /// Registered agents.
    pub(crate) agents: Shared<BTreeMap<Agent, AgentEntry>>,
    /// Registered workspaces and their kinds.
    pub(crate) workspaces: Shared<BTreeMap<Workspace, Archetype>>,
    /// Runs of open sessions.
    pub(crate) runs: Shared<BTreeMap<RunId, Run>>,
}

impl State {
    /// The last record applied; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The latest moment that any record named.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// The environment, while one is admitted.
    pub fn environment(&self) -> Option<&Environment> {
        self.environment.as_ref()
    }

    /// The digest of the current rules.
    pub fn policy_version(&self) -> Option<Digest> {
        self.environment.as_ref().map(|e| e.policy_version)
    }

    /// Whether a stage was switched on or off, if it ever was.
    pub fn stage(&self, stage: u8) -> Option<bool> {
        self.stages.get(&stage).copied()
    }

    /// The record that accepted late-bound writes, if one did (C-54).
    pub fn write_gate(&self) -> Option<u64> {
        self.write_gate
    }

    /// The switches that are on, with the records that threw them.
    pub fn switches(&self) -> impl Iterator<Item = (&Target, u64)> {
        self.switches.iter().map(|(target, at)| (target, *at))
    }

    /// An open session.
    pub fn session(&self, session: SessionId) -> Option<&Session> {
        self.sessions.get(&session)
    }

    /// Every open session.
    pub fn sessions(&self) -> impl Iterator<Item = (&SessionId, &Session)> {
        self.sessions.iter()
    }

    /// The record of one build of a capability.
    pub fn capability(&self, key: &CapabilityKey) -> Option<&Capability> {
        self.capabilities.get(key)
    }

    /// Every record of a capability.
    pub fn capabilities(&self) -> impl Iterator<Item = (&CapabilityKey, &Capability)> {
        self.capabilities.iter()
    }

    /// A stored observation.
    pub fn evidence(&self, evidence: EvidenceId) -> Option<&Evidence> {
        self.evidence.get(&evidence)
    }

    /// Everything that was observed of one build.
    pub fn evidence_about<'a>(
        &'a self,
        capability: &'a CapabilityKey,
    ) -> impl Iterator<Item = &'a Evidence> {
        let all = self.evidence.values();
        all.filter(move |evidence| evidence.capability == *capability)
    }

    /// A binding of an open session, whoever asks: for the operator.
    pub fn binding(&self, binding: BindingHandle) -> Option<&Binding> {
        self.bindings.get(&binding)
    }

    /// Every binding of every open session.
    pub fn bindings(&self) -> impl Iterator<Item = (&BindingHandle, &Binding)> {
        self.bindings.iter()
    }

    /// A call that runs, or that nobody knows the end of.
    pub fn call(&self, call: CallId) -> Option<&Call> {
        self.calls.get(&call)
    }

    /// Every such call.
    pub fn calls(&self) -> impl Iterator<Item = (&CallId, &Call)> {
        self.calls.iter()
    }

    /// A proposal of an open session.
    pub fn proposal(&self, proposal: ProposalId) -> Option<&Proposal> {
        self.proposals.get(&proposal)
    }

    /// Every such proposal.
    pub fn proposals(&self) -> impl Iterator<Item = (&ProposalId, &Proposal)> {
        self.proposals.iter()
    }

    /// An aggregate budget or a rate.
    pub fn bucket(&self, key: &BucketKey) -> Option<&Bucket> {
        self.buckets.get(key)
    }

    /// A registered agent.
    pub fn agent(&self, agent: &Agent) -> Option<&AgentEntry> {
        self.agents.get(agent)
    }

    /// Every registered agent.
    pub fn agents(&self) -> impl Iterator<Item = (&Agent, &AgentEntry)> {
        self.agents.iter()
    }

    /// The kind of a registered workspace.
    pub fn workspace(&self, workspace: &Workspace) -> Option<&Archetype> {
        self.workspaces.get(workspace)
    }

    /// Every run of every open session.
    pub fn runs(&self) -> impl Iterator<Item = (&RunId, &Run)> {
        self.runs.iter()
    }

    /// A run of an open session.
    pub fn run(&self, run: RunId) -> Option<&Run> {
        self.runs.get(&run)
    }
}
