//! Sessions: one admitted use of an environment.

use bindery_types::{
    Agent, Archetype, Digest, EnvironmentId, Moment, PermissionMode, Principal, Rights, SessionId,
    Tenant,
};
use serde::{Deserialize, Serialize};

use crate::words::SessionEnd;

/// A session began; the six fields of R-299 are fixed from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOpened {
    /// Which.
    pub session: SessionId,
    /// In which environment.
    pub environment: EnvironmentId,
    /// At which generation.
    pub generation: u64,
    /// Fixed: who asks.
    pub principal: Principal,
    /// With which rights.
    pub rights: Rights,
    /// Fixed: whose data.
    pub tenant: Tenant,
    /// Fixed: the agent profile.
    pub agent: Agent,
    /// Fixed: the workspace's archetype.
    pub archetype: Archetype,
    /// Fixed: the permission mode.
    pub mode: PermissionMode,
    /// Fixed: digest of the configuration snapshot.
    pub configuration: Digest,
    /// The hash over what this session can see.
    pub catalog_version: Digest,
    /// The rules it was admitted under.
    pub policy_version: Digest,
    /// The stages that are on for it (C-53).
    pub stages: Vec<u8>,
    /// When its time ends.
    pub expires_at: Moment,
}

/// A session ended; its handles mean nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionClosed {
    /// Which.
    pub session: SessionId,
    /// Why.
    pub end: SessionEnd,
}
