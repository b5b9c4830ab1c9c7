//! An open session, as it stands.

use bindery_types::{
    Agent, Archetype, Digest, EnvironmentId, Moment, PermissionMode, Principal, Rights, Tenant,
};
use serde::{Deserialize, Serialize};

/// An open session; everything but the version it sees is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// In which environment.
    pub environment: EnvironmentId,
    /// Who asks.
    pub principal: Principal,
    /// With which rights.
    pub rights: Rights,
    /// Whose data.
    pub tenant: Tenant,
    /// For which agent.
    pub agent: Agent,
    /// In which kind of workspace.
    pub archetype: Archetype,
    /// Its ceiling.
    pub mode: PermissionMode,
    /// Its configuration snapshot.
    pub configuration: Digest,
    /// The hash over what it sees now.
    pub catalog_version: Digest,
    /// The stages that are on for it.
    pub stages: Vec<u8>,
    /// When its time ends.
    pub expires_at: Moment,
    /// The record that opened it.
    pub opened_by: u64,
}
