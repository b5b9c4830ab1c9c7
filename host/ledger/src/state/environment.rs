//! The environment and the aggregate budgets, as they stand.

use bindery_types::{Digest, EnvironmentId, Moment, Provider, Tenant};
use serde::{Deserialize, Serialize};

/// The admitted environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Which.
    pub id: EnvironmentId,
    /// Whose.
    pub tenant: Tenant,
    /// Its generation.
    pub generation: u64,
    /// The registry-wide version.
    pub catalog_version: Digest,
    /// The current rules.
    pub policy_version: Digest,
    /// Who provides implementations.
    pub providers: Vec<Provider>,
    /// When its time ends.
    pub expires_at: Moment,
}

/// One aggregate budget or rate. Always: limit ≥ what is admitted; remaining = limit −
/// spent − reserved (I22, case G4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The most that may be spent.
    pub limit: u64,
    /// What ended calls spent; in a rate's window, what was taken.
    pub spent: u64,
    /// What running calls hold.
    pub reserved: u64,
    /// When the window of a rate began; without meaning for a total.
    pub since: Moment,
}

impl Bucket {
    /// What is neither spent nor reserved.
    pub fn remaining(&self) -> u64 {
        let used = self.spent.saturating_add(self.reserved);
        self.limit.saturating_sub(used)
    }
}
