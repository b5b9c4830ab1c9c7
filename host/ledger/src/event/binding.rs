//! Bindings: leased references with everything pinned that made them right.

use bindery_types::{
    BindingHandle, Digest, EnvironmentId, ErrorType, Moment, Principal, ProposalId, Risk,
    SessionId, SideEffectClass, Tenant, canonical_digest,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Decision;
use crate::key::CapabilityKey;
use crate::text::{Line, Summary};
use crate::words::{Lifecycle, Route, Trigger};

/// All that a binding pins (R-478 … R-492).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    ///
    pub environment: EnvironmentId,
    ///
    pub environment_generation: u64,
    /// the session's.
    pub catalog_version: Digest,
    /// the digest is always there.
    pub capability: CapabilityKey,
    ///
    pub descriptor_digest: Digest,
    /// The schema that arguments are checked against.
    pub input_schema_ref: Digest,
    /// The schema that results are checked against.
    pub output_schema_ref: Digest,
    /// What the implementation depends on.
    pub dependencies: Vec<Digest>,
    ///
    pub principal: Principal,
    ///
    pub tenant: Tenant,
    /// which resources, one grant for each import.
    pub resource_scope: Summary,
    /// how it proves who it is; never with what.
    pub authentication_mode: Line,
    /// the most it may do.
    pub operation_scope: Summary,
    /// the most it may see.
    pub data_scope: Summary,
    /// The host's risk of the capability under these grants (C-57).
    pub risk: Risk,
    /// The host's class under these grants (C-62).
    pub side_effect_class: SideEffectClass,
    ///
    pub policy_version: Digest,
    /// R-491, where one is required.
    pub approval: Option<ProposalId>,
    /// from this moment on it is not callable.
    pub lease_until: Moment,
}

impl Pins {
    /// The digest of the three scopes together: what an approval is bound to.
    pub fn scope_digest(&self) -> Digest {
        canonical_digest(&json!({
            "data": self.data_scope,
            "operation": self.operation_scope,
            "resource": self.resource_scope,
        }))
    }
}

/// A binding was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingOpened {
    /// The handle; random, useless outside its session.
    pub binding: BindingHandle,
    /// Whose.
    pub session: SessionId,
    /// What it was narrowed from.
    pub parent: Option<BindingHandle>,
    /// How it came about.
    pub route: Route,
    /// What it rests on.
    pub pins: Pins,
    /// What policy said.
    pub decision: Decision,
}

/// Its lease was prolonged, within its session's and its parent's (I10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingRenewed {
    /// Which.
    pub binding: BindingHandle,
    /// The new end.
    pub lease_until: Moment,
}

/// It was decided again and pinned anew: same capability, same bytes, same scope, at newer
/// versions (R-546, C-53). Both pins are in the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingRefreshed {
    /// Which.
    pub binding: BindingHandle,
    /// What made the host look.
    pub trigger: Trigger,
    /// The old pins.
    pub before: Pins,
    /// The new pins.
    pub after: Pins,
    /// What policy said this time.
    pub decision: Decision,
}

/// It ended: stale, revoked, unavailable or released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingMoved {
    /// Which.
    pub binding: BindingHandle,
    /// What it is from now on.
    pub to: Lifecycle,
    /// Why.
    pub trigger: Trigger,
}

/// A binding was asked for and refused; nothing else changed (I42).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindRefused {
    /// Of what.
    pub capability: CapabilityKey,
    /// How.
    pub error: ErrorType,
    /// What policy said, when it was asked.
    pub decision: Option<Decision>,
}
