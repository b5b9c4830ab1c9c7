//! Keys made of several ids: a build of a capability, what a switch hits, whose budget.
//!
//! Rule (architecture § 3): two versions, two publishers or two digests are two
//! capabilities, so the key of a record is the id together with the digest.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bindery_types::{
    BindingHandle, CapabilityId, Digest, IdempotencyKey, Namespace, Principal, SessionId, Tenant,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words::Meter;

/// One build of one capability; without a digest, a capability nobody has bytes of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapabilityKey {
    /// Which capability.
    pub id: CapabilityId,
    /// SHA-256 of the component that implements it.
    pub implementation: Option<Digest>,
}

impl fmt::Display for CapabilityKey {
    /// `namespace:package#function@digest`; no id contains `@`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.implementation {
            Some(digest) => write!(f, "{}@{digest}", self.id),
            None => fmt::Display::fmt(&self.id, f),
        }
    }
}

impl FromStr for CapabilityKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, digest) = match text.split_once('@') {
            Some((id, digest)) => (id, Some(digest)),
            None => (text, None),
        };
        let implementation = digest.map(str::parse).transpose();
        Ok(Self {
            id: id.parse().map_err(|error| format!("{error}"))?,
            implementation: implementation.map_err(|error| format!("{error}"))?,
        })
    }
}

impl Serialize for CapabilityKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CapabilityKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What a revocation switch hits (H56).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// One binding and what was narrowed from it.
    Binding(BindingHandle),
    /// Every build of one capability.
    Capability(CapabilityId),
    /// Whatever these bytes implement.
    Digest(Digest),
    /// Whatever one publisher ships.
    Namespace(Namespace),
    /// Whatever one principal holds, in every tenant.
    Principal(Principal),
    /// Everything: the global stop.
    All,
}

/// Whose aggregate budget it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    /// One session's.
    Session(SessionId),
    /// One principal's within a tenant, over all of its sessions.
    Principal(Tenant, Principal),
    /// Everybody's together.
    Environment,
}

/// One aggregate budget: a total without a window, a rate with one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketKey {
    /// Whose.
    pub scope: BudgetScope,
    /// Of what.
    pub meter: Meter,
    /// The length of the window of a rate, in milliseconds; `None` for a total.
    pub window_ms: Option<u64>,
}

/// What makes requests one effect (C-56): a new binding does not repeat it, another build
/// or another principal is another effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectKey {
    /// Whose data.
    pub tenant: Tenant,
    /// Who asks.
    pub principal: Principal,
    /// Which build of which capability.
    pub capability: CapabilityKey,
    /// The caller's key.
    pub key: IdempotencyKey,
}
