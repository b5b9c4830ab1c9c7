//! The catalogue: the single inventory against which everything is resolved.
//!
//! Rule: one id is one entry; a change replaces it as a whole, moves nothing that was bound
//! to the old one, and changes the version (C-09). Another provider cannot take an id or an
//! alias that is in use.

use std::collections::BTreeMap;

use bindery_types::{
    CapabilityId, Digest, ErrorType, Moment, Refusal, TrustStatus, ValidationStatus,
};

use crate::entry::Entry;

/// The inventory.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: BTreeMap<CapabilityId, Entry>,
    aliases: BTreeMap<String, CapabilityId>,
}

/// What a change did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new id.
    Added,
    /// The id had another descriptor or implementation.
    Replaced {
        /// digest of the descriptor it had
        descriptor: Digest,
        /// digest of the component it had
        implementation: Digest,
    },
    /// Nothing that counts changed.
    Same,
}

/// Why an entry is not taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmitError {
    /// Another provider ships this id.
    #[error("{id} is shipped by {owner} already; {other} cannot take its place")]
    Taken {
        /// the id
        id: CapabilityId,
        /// who has it
        owner: String,
        /// who wants it
        other: String,
    },
    /// An alias is in use.
    #[error("the alias `{alias}` of {id} belongs to {owner} already")]
    AliasTaken {
        /// the alias
        alias: String,
        /// the id
        id: CapabilityId,
        /// whose it is
        owner: CapabilityId,
    },
}

impl From<AdmitError> for Refusal {
    fn from(error: AdmitError) -> Self {
        Refusal::new(ErrorType::CapabilityAmbiguous, error.to_string())
    }
}

/// How a principal's session sees an entry, for the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether it may be called at all.
    pub invokable: bool,
    /// Digest of the rules that speak of it.
    pub policy: Digest,
}

impl Catalogue {
    /// Takes `entry` in, in place of the one with its id.
    ///
    /// # Errors
    ///
    /// [`AdmitError`]; the catalogue is then what it was.
    pub fn admit(&mut self, entry: Entry) -> Result<Change, AdmitError> {
        let descriptor = &entry.descriptor;
        let id = descriptor.id().clone();
        let provider = &descriptor.origin().provider;
        let old = self.entries.get(&id);
        if let Some(old) = old
            && &old.descriptor.origin().provider != provider
        {
            return Err(AdmitError::Taken {
                id,
                owner: old.descriptor.origin().provider.to_string(),
                other: provider.to_string(),
            });
        }
        for alias in &descriptor.contract().aliases {
            if let Some(owner) = self.aliases.get(alias)
                && owner != &id
            {
                return Err(AdmitError::AliasTaken {
                    alias: alias.clone(),
                    owner: owner.clone(),
                    id,
                });
            }
        }
        let change = match old {
            None => Change::Added,
            Some(old) if old.version_parts() == entry.version_parts() => Change::Same,
            Some(old) => Change::Replaced {
                descriptor: old.descriptor.digest(),
                implementation: old.descriptor.implementation_digest(),
            },
        };
        self.aliases.retain(|_, owner| *owner != id);
        let aliases = descriptor.contract().aliases.iter();
        self.aliases
            .extend(aliases.map(|alias| (alias.clone(), id.clone())));
        self.entries.insert(id, entry);
        Ok(change)
    }

    /// Takes the entry out.
    pub fn remove(&mut self, id: &CapabilityId) -> Option<Entry> {
        self.aliases.retain(|_, owner| owner != id);
        self.entries.remove(id)
    }

    /// The entry of an id.
    pub fn get(&self, id: &CapabilityId) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// The entry an alias stands for.
    pub fn by_alias(&self, alias: &str) -> Option<&Entry> {
        self.aliases.get(alias).and_then(|id| self.entries.get(id))
    }

    /// Notes how far the entry was examined; false when there is no such entry.
    pub fn set_validation(&mut self, id: &CapabilityId, status: ValidationStatus) -> bool {
        let entry = self.entries.get_mut(id);
        entry.map(|entry| entry.validation = status).is_some()
    }

    /// Notes who vouches for the entry; false when there is no such entry.
    pub fn set_trust(&mut self, id: &CapabilityId, trust: TrustStatus) -> bool {
        let entry = self.entries.get_mut(id);
        entry.map(|entry| entry.trust = trust).is_some()
    }

    /// The host looked at an entry again; whether there is one.
    pub fn observe(&mut self, id: &CapabilityId, at: Moment, expires_at: Moment) -> bool {
        let entry = self.entries.get_mut(id);
        entry
            .map(|entry| {
                entry.last_observed_at = at;
                entry.expires_at = Some(expires_at);
            })
            .is_some()
    }

    /// Every entry, in the order of ids.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The version of the catalogue as somebody sees it: `see` says how, `None` for an
    /// entry that is hidden, which then leaves no trace in the version (architecture § 11).
    pub fn version(&self, see: impl Fn(&Entry) -> Option<Seen>) -> Digest {
        let mut text = String::new();
        for (id, entry) in &self.entries {
            let Some(seen) = see(entry) else { continue };
            text.push_str(id.as_str());
            for part in entry.version_parts() {
                text.push('\n');
                text.push_str(&part);
            }
            text.push_str(&format!("\n{}\n{}\n\n", seen.invokable, seen.policy));
        }
        Digest::of(text.as_bytes())
    }
}
