//! What the host and its operator do to everybody: environment, policy, stages, budgets,
//! switches.

use bindery_types::{Digest, EnvironmentId, Moment, Provider, SessionId, Tenant};
use serde::{Deserialize, Serialize};

use crate::key::{BucketKey, CapabilityKey, Target};
use crate::text::Line;
use crate::words::{CatalogueInput, RaisedBy};

/// A host took over the store; what an earlier one left in flight follows, record by record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostStarted {
    /// Version of the runtime.
    pub runtime: Line,
    /// Calls with effects that were found without an outcome.
    pub uncertain: u64,
    /// Calls without effects that were found without an outcome.
    pub interrupted: u64,
    /// Sessions that were found open.
    pub sessions: u64,
}

/// An environment was admitted, with everything that its generation stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentAdmitted {
    /// Which.
    pub environment: EnvironmentId,
    /// Whose.
    pub tenant: Tenant,
    /// Its generation; never lower than one that was seen.
    pub generation: u64,
    /// The registry-wide version, the operator's.
    pub catalog_version: Digest,
    /// The digest of the effective rules.
    pub policy_version: Digest,
    /// Who provides implementations.
    pub providers: Vec<Provider>,
    /// When it has to be admitted again.
    pub expires_at: Moment,
}

/// The generation rose by at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationRaised {
    /// The old one.
    pub from: u64,
    /// The new one.
    pub to: u64,
    /// What raised it.
    pub raised_by: RaisedBy,
    /// The tenant from now on.
    pub tenant: Tenant,
    /// The providers from now on.
    pub providers: Vec<Provider>,
    /// When the new generation ends.
    pub expires_at: Moment,
}

/// A catalogue version changed: a session's (`tool_registry_changed`), or the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueChanged {
    /// Who sees the change; `None` for the registry-wide version.
    pub session: Option<SessionId>,
    /// The old version.
    pub from: Digest,
    /// The new version.
    pub to: Digest,
    /// Which of the eight inputs changed.
    pub inputs: Vec<CatalogueInput>,
    /// What of the old version is in the new one as it was; `None` when nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

/// The host looked at every record that was current at the old version, and found it as it
/// was: one statement, where a record for each would make the ledger grow with the square
/// of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Those that are not there any more.
    pub except: Vec<CapabilityKey>,
    /// When it looked; not in the future.
    pub last_observed_at: Moment,
    /// When it has to be looked at again.
    pub expires_at: Moment,
}

/// The effective rules changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyReplaced {
    /// Digest of the old rules.
    pub from: Digest,
    /// Digest of the new rules.
    pub to: Digest,
}

/// One of the ten stages was switched; sessions that exist keep what they were opened with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSwitched {
    /// 1 to 10.
    pub stage: u8,
    /// On or off.
    pub on: bool,
    /// Why that is right.
    pub evidence: Line,
}

/// Late-bound capabilities that write may be bound from now on (C-54).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteGateAccepted {
    /// The run of the bench, or the operator's statement.
    pub evidence: Line,
}

/// An aggregate budget was set; what was spent stays spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetSet {
    /// Which.
    pub bucket: BucketKey,
    /// The most that may be spent, in all or in one window; `None` takes the budget away.
    pub limit: Option<u64>,
}

/// A switch was thrown; every binding that it hits ends in this record (I6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    /// What it hits.
    pub target: Target,
}

/// A switch was lifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationLifted {
    /// What it hit.
    pub target: Target,
}
