//! The capability ledger's record: the fields of R-319 … R-339.

use bindery_types::{
    Digest, EnvironmentId, EvidenceId, ExecutionState, Moment, Provider, ProviderFamily, Risk,
    SideEffectClass, SourceKind, TrustStatus, ValidationStatus,
};
use serde::{Deserialize, Serialize};

use crate::key::CapabilityKey;
use crate::text::{Line, Summary};
use crate::words::{EvidenceKind, Lifecycle};

/// One build of one capability, in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    ///
    pub environment: EnvironmentId,
    ///
    pub environment_generation: u64,
    ///
    pub catalog_version: Digest,
    /// how it came to be known; no later text changes it.
    pub source: SourceKind,
    ///
    pub origin_ref: Line,
    /// Who provides it.
    pub provider: Provider,
    /// C-23.
    pub family: ProviderFamily,
    /// set by the host alone.
    pub trust_status: TrustStatus,
    /// Whether a person looked at it.
    pub reviewed: bool,
    /// Where it stands, of the first six words of [`Lifecycle`].
    pub lifecycle: Lifecycle,
    /// What its descriptor says; from `described` on.
    pub description: Option<Description>,
    ///
    pub evidence_refs: Vec<EvidenceId>,
    ///
    pub last_observed_at: Moment,
    ///
    pub expires_at: Moment,
    /// The record that changed it last.
    pub changed_by: u64,
}

impl Capability {
    /// the five words that the outside knows.
    pub fn validation_status(&self) -> ValidationStatus {
        match self.lifecycle {
            Lifecycle::StructurallyValid => ValidationStatus::StructurallyValid,
            Lifecycle::Probed => ValidationStatus::Probed,
            Lifecycle::Bindable => ValidationStatus::Bindable,
            Lifecycle::Rejected => ValidationStatus::Rejected,
            Lifecycle::Discovered
            | Lifecycle::Described
            | Lifecycle::Bound
            | Lifecycle::Stale
            | Lifecycle::Revoked
            | Lifecycle::Unavailable
            | Lifecycle::Released => ValidationStatus::Candidate,
        }
    }
}

/// What a descriptor says, and what the host makes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    ///
    pub descriptor_digest: Digest,
    ///
    pub implementation_version: Line,
    ///
    pub input_schema_ref: Digest,
    ///
    pub output_schema_ref: Digest,
    /// What it depends on.
    pub dependencies: Vec<Digest>,
    /// Whether anything can run.
    pub execution_state: ExecutionState,
    ///
    pub risk_class: Risk,
    /// C-57.
    pub risk_possible: Risk,
    ///
    pub side_effect_class: SideEffectClass,
    ///
    pub resource_scope: Summary,
    ///
    pub authentication_requirements: Vec<Line>,
}

/// A stored observation; never authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// About what.
    pub capability: CapabilityKey,
    /// Where it comes from.
    pub kind: EvidenceKind,
    /// Digest of the whole observation.
    pub digest: Digest,
    /// What the host concludes, redacted.
    pub verdict: Summary,
    /// Thousandths of certainty, where somebody claims one.
    pub confidence_permille: Option<u16>,
    /// When it is too old.
    pub fresh_until: Moment,
    /// The record that stored it.
    pub recorded_by: u64,
}
