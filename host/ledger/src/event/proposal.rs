//! Proposals: questions to the operator, each bound to one action.

use bindery_types::{
    ApprovalRequirement, Archetype, BindingHandle, CallId, Digest, EvidenceId, Moment, Principal,
    ProposalId, Risk, RunId, SessionId, SideEffectClass, Tenant,
};
use serde::{Deserialize, Serialize};

use crate::key::CapabilityKey;
use crate::text::{Line, Summary};
use crate::words::Trigger;

/// A question was made; its id is the nonce of the approval (I14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalMade {
    /// Which.
    pub proposal: ProposalId,
    /// The call that was refused for want of it; `None` for a binding.
    pub call: Option<CallId>,
    /// The binding it was asked under; `None` for a binding that is asked for.
    pub binding: Option<BindingHandle>,
    /// Whose session.
    pub session: SessionId,
    /// Who asks.
    pub principal: Principal,
    /// Whose data.
    pub tenant: Tenant,
    /// In which run.
    pub run: Option<RunId>,
    /// In which kind of workspace.
    pub archetype: Archetype,
    /// Of what.
    pub capability: CapabilityKey,
    /// Digest of its descriptor.
    pub descriptor_digest: Digest,
    /// Digest of the canonical arguments (X47).
    pub arguments: Digest,
    /// Digest of the scopes.
    pub scope_digest: Digest,
    /// At which generation.
    pub environment_generation: u64,
    /// Under which rules.
    pub policy_version: Digest,
    /// Once, or every time.
    pub requirement: ApprovalRequirement,
    /// The risk, shown first.
    pub risk: Risk,
    /// The class.
    pub side_effect_class: SideEffectClass,
    /// What a reviewer sees: arguments redacted, scope, expected effect.
    pub summary: Summary,
    /// What it rests on.
    pub evidence: Vec<EvidenceId>,
    /// When the answer is worth nothing any more.
    pub expires_at: Moment,
}

/// An operator said yes to this one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalApproved {
    /// Which.
    pub proposal: ProposalId,
}

/// An operator said no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalDenied {
    /// Which.
    pub proposal: ProposalId,
    /// What the caller may be told.
    pub note: Option<Line>,
}

/// Its time ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalExpired {
    /// Which.
    pub proposal: ProposalId,
}

/// What it was about changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalVoided {
    /// Which.
    pub proposal: ProposalId,
    /// What changed.
    pub trigger: Trigger,
}
