//! The store grants of one call: which there are, what may be asked of them, what was met.

use std::collections::BTreeMap;

use bindery_types::{Budget, Limit, LimitHit, LimitName};

use super::backend::Room;
use super::grant::StoreGrant;
use crate::endpoint::Denial;
use crate::grants::GrantError;

/// Denials kept of one call; later ones are only counted.
const DENIALS_KEPT_MAX: usize = 32;

/// The store grants of a call with its limits.
pub(crate) struct Stores {
    grants: BTreeMap<String, StoreGrant>,
    limits: Limits,
    hits: Vec<LimitHit>,
    denials: Vec<Denial>,
    denials_dropped: u64,
}

#[derive(Clone, Copy)]
struct Limits {
    key: Limit,
    value: Limit,
    read: Limit,
    entries: Limit,
    bytes: Limit,
}

impl Stores {
    pub(crate) fn new(grants: Vec<StoreGrant>, budget: &Budget) -> Result<Self, GrantError> {
        let mut named = BTreeMap::new();
        for grant in grants {
            let name = grant.name().to_owned();
            if let Some(first) = named.insert(name.clone(), grant) {
                return Err(GrantError::Clash {
                    first: first.name().to_owned(),
                    second: name,
                    why: "one name opens one store",
                });
            }
        }
        Ok(Self {
            grants: named,
            limits: Limits {
                key: budget.get(LimitName::StoreKey),
                value: budget.get(LimitName::StoreValue),
                read: budget.get(LimitName::StoreRead),
                entries: budget.get(LimitName::StoreEntries),
                bytes: budget.get(LimitName::StoreBytes),
            },
            hits: Vec::new(),
            denials: Vec::new(),
            denials_dropped: 0,
        })
    }

    pub(super) fn named(&self, name: &str) -> Option<&StoreGrant> {
        self.grants.get(name)
    }

    pub(super) fn room(&self) -> Room {
        Room {
            entries_max: self.limits.entries.or_max(),
            bytes_max: self.limits.bytes.or_max(),
        }
    }

    pub(super) fn read_max(&self) -> u64 {
        self.limits.read.or_max()
    }

    /// # Errors
    ///
    /// [`LimitHit`] when the key is too long.
    pub(super) fn check_key(&mut self, key: &str) -> Result<(), LimitHit> {
        self.check(LimitName::StoreKey, key.len())
    }

    /// # Errors
    ///
    /// [`LimitHit`] when the value is too long.
    pub(super) fn check_value(&mut self, value: &[u8]) -> Result<(), LimitHit> {
        self.check(LimitName::StoreValue, value.len())
    }

    fn check(&mut self, name: LimitName, used: usize) -> Result<(), LimitHit> {
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        match self.limit(name).allows(used) {
            true => Ok(()),
            false => Err(self.met(name, used)),
        }
    }

    fn limit(&self, name: LimitName) -> Limit {
        match name {
            LimitName::StoreKey => self.limits.key,
            LimitName::StoreValue => self.limits.value,
            LimitName::StoreRead => self.limits.read,
            LimitName::StoreEntries => self.limits.entries,
            _ => self.limits.bytes,
        }
    }

    /// The limit `name` was met at `used`: remembered for the receipt, once a name (U5).
    pub(super) fn met(&mut self, name: LimitName, used: u64) -> LimitHit {
        let limit = self.limit(name);
        let hit = LimitHit { name, limit, used };
        if !self.hits.iter().any(|known| known.name == name) {
            self.hits.push(hit);
        }
        hit
    }

    /// Something was refused, or failed: for the operator (U1).
    pub(super) fn deny(&mut self, asked: String, rule: String) {
        match self.denials.len() < DENIALS_KEPT_MAX {
            true => self.denials.push(Denial {
                asked,
                rule,
                allow: None,
            }),
            false => self.denials_dropped = self.denials_dropped.saturating_add(1),
        }
    }

    pub(crate) fn take_hits(&mut self) -> Vec<LimitHit> {
        std::mem::take(&mut self.hits)
    }

    pub(crate) fn take_denials(&mut self) -> (Vec<Denial>, u64) {
        (std::mem::take(&mut self.denials), self.denials_dropped)
    }
}
