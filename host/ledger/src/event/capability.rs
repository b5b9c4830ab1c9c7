//! Capabilities: how they came to be known, what they say, and what the host made of it.

use bindery_types::{
    Digest, EnvironmentId, ErrorType, EvidenceId, ExecutionState, Moment, Provider, ProviderFamily,
    Risk, SideEffectClass, SourceKind, TrustStatus,
};
use serde::{Deserialize, Serialize};

use crate::key::CapabilityKey;
use crate::text::{Line, Summary};
use crate::words::{EvidenceKind, Lifecycle, Operation, Trigger};

/// A capability came to be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityDiscovered {
    /// Which.
    pub capability: CapabilityKey,
    /// Where.
    pub environment: EnvironmentId,
    /// At which generation.
    pub environment_generation: u64,
    /// At which registry-wide version.
    pub catalog_version: Digest,
    /// How.
    pub source: SourceKind,
    /// From where.
    pub origin_ref: Line,
    /// Who provides it.
    pub provider: Provider,
    /// What kind of provider that is (C-23).
    pub family: ProviderFamily,
    /// When it was last seen; not in the future.
    pub last_observed_at: Moment,
    /// When it has to be looked at again.
    pub expires_at: Moment,
}

/// Its descriptor was read; what the host makes of risk and trust is the host's (R-330,
///
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityDescribed {
    /// Which.
    pub capability: CapabilityKey,
    /// Digest of the canonical descriptor.
    pub descriptor_digest: Digest,
    /// The version its package carries.
    pub implementation_version: Line,
    /// Digest of the schema of the arguments.
    pub input_schema_ref: Digest,
    /// Digest of the schema of the result.
    pub output_schema_ref: Digest,
    /// Digests of what it depends on.
    pub dependencies: Vec<Digest>,
    /// Whether anything can run.
    pub execution_state: ExecutionState,
    /// The host's risk.
    pub risk_class: Risk,
    /// The risk of what it imports, granted or not (C-57).
    pub risk_possible: Risk,
    /// The host's class.
    pub side_effect_class: SideEffectClass,
    /// What it may touch at most.
    pub resource_scope: Summary,
    /// What it needs to prove who it is; names, never values.
    pub authentication_requirements: Vec<Line>,
    /// Who vouches for it.
    pub trust_status: TrustStatus,
}

/// The host moved its record along the table of [`Lifecycle`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityMoved {
    /// Which.
    pub capability: CapabilityKey,
    /// From where.
    pub from: Lifecycle,
    /// To where.
    pub to: Lifecycle,
    /// What that rests on.
    pub evidence: Vec<EvidenceId>,
    /// The registry-wide version it was judged at.
    pub catalog_version: Digest,
    /// The rules it was judged under.
    pub policy_version: Digest,
}

/// It was looked at again, at a newer version, and its digests are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityObserved {
    /// Which.
    pub capability: CapabilityKey,
    /// Its descriptor's digest, equal to the recorded one.
    pub descriptor_digest: Digest,
    /// Whether anything can run now.
    pub execution_state: ExecutionState,
    /// At which generation.
    pub environment_generation: u64,
    /// At which registry-wide version.
    pub catalog_version: Digest,
    /// When; not in the future.
    pub last_observed_at: Moment,
    /// When it has to be looked at again.
    pub expires_at: Moment,
}

/// What is stale or unavailable, a binding or the record itself, sends a capability back
/// to validation (C-22, C-60).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityRevalidated {
    /// Which.
    pub capability: CapabilityKey,
    /// The state that is left: `stale` or `unavailable`.
    pub from: Lifecycle,
    /// What made that so.
    pub trigger: Trigger,
    /// What the new validation rests on.
    pub evidence: Vec<EvidenceId>,
    /// The descriptor, when it is not the recorded one any more.
    pub described: Option<CapabilityDescribed>,
    /// At which generation.
    pub environment_generation: u64,
    /// At which registry-wide version.
    pub catalog_version: Digest,
    /// When; not in the future.
    pub last_observed_at: Moment,
    /// When it has to be looked at again.
    pub expires_at: Moment,
}

/// A person looked at it, and perhaps vouched for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityReviewed {
    /// Which.
    pub capability: CapabilityKey,
    /// Who vouches for it from now on.
    pub trust_status: TrustStatus,
    /// What was looked at.
    pub evidence: Vec<EvidenceId>,
}

/// An observation was stored. It never raises authority, and its confidence raises no
/// trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRecorded {
    /// Which.
    pub evidence: EvidenceId,
    /// About what.
    pub capability: CapabilityKey,
    /// Where it comes from.
    pub kind: EvidenceKind,
    /// Digest of the whole observation (R-793: the record holds no more of it).
    pub digest: Digest,
    /// What the host concludes, redacted.
    pub verdict: Summary,
    /// Thousandths of certainty, where somebody claims one.
    pub confidence_permille: Option<u16>,
    /// When it is too old.
    pub fresh_until: Moment,
}

/// A discovery operation was served, or refused; no query and no result is in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationServed {
    /// What was asked.
    pub operation: Operation,
    /// About what, when it was about one entry.
    pub capability: Option<CapabilityKey>,
    /// How many entries were shown.
    pub shown: u64,
    /// How it was refused, if it was.
    pub refused: Option<ErrorType>,
}
