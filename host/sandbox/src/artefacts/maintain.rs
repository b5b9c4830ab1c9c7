//! What the operator does with a store: list, clear, verify.
//!
//! Rule: listing reads, verifying checks every byte by MAC, clearing removes what is ours
//! and nothing else. A file nobody of us made is named, never touched or loaded.

use std::io;

use bindery_types::{Digest, Refusal};

use super::directory::Modes;
use super::entry::{EntryName, damaged, is_foreign};
use super::read::{check_mac, read_trailer, size};
use super::{ArtefactStore, EngineId, key, seal, unusable};

/// One stored component, as its file says (`verify` tells whether that is true).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredArtefact {
    /// Digest of the component.
    pub component: Digest,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// When it was stored, in seconds since 1970.
    pub created_s: u64,
    /// Whether this build on this processor would load it.
    pub fits_this_engine: bool,
}

/// What clearing removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Entries.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What verifying found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Entries and seals that are what was stored.
    pub sound: u64,
    /// Files that are not, with the reason; loading them is refused and compiles instead.
    pub bad: Vec<BadFile>,
    /// Files that are not damaged, but of another store or place (the folder was copied or
    /// moved): they are as good as not there, and compiling or hashing makes them anew.
    pub foreign: Vec<BadFile>,
}

/// A file of the store that is not what was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    /// Its name within the store.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ArtefactStore {
    /// The entries, newest first; damaged ones are left to [`ArtefactStore::verify`].
    ///
    /// # Errors
    ///
    /// `store_unavailable` when the directory can't be read.
    pub fn list(&self, engine: &EngineId) -> Result<Vec<StoredArtefact>, Refusal> {
        let mut entries = Vec::new();
        for name in self
            .names()?
            .iter()
            .filter_map(|file| EntryName::of_file(file))
        {
            let opened = self.directory.open_own(&name.file(), Modes::ReadOnly);
            let Ok((file, stat)) = opened else { continue };
            let Ok((trailer, _)) = read_trailer(&file, &stat) else {
                continue;
            };
            entries.push(StoredArtefact {
                component: trailer.component,
                bytes: size(&stat),
                created_s: trailer.created_s,
                fits_this_engine: trailer.engine == *engine,
            });
        }
        entries.sort_by_key(|entry| (std::cmp::Reverse(entry.created_s), entry.component));
        Ok(entries)
    }

    /// Removes every entry and seal; the key stays.
    ///
    /// # Errors
    ///
    /// `store_unavailable` when something can't be removed.
    pub fn clear(&self) -> Result<Cleared, Refusal> {
        let mut cleared = Cleared::default();
        for file in self.names()? {
            let is_entry = EntryName::of_file(&file).is_some();
            if !is_entry && EntryName::of_seal(&file).is_none() {
                continue;
            }
            let bytes = self.directory.stat(&file).map_or(0, |stat| size(&stat));
            let removed = self
                .directory
                .remove(&file)
                .map_err(|error| self.unusable(&error))?;
            if removed && is_entry {
                cleared.entries += 1;
                cleared.bytes = cleared.bytes.saturating_add(bytes);
            }
        }
        Ok(cleared)
    }

    /// Checks every file of the store by its MAC, seals included.
    ///
    /// # Errors
    ///
    /// `store_unavailable` when the directory can't be read.
    pub fn verify(&self) -> Result<Verified, Refusal> {
        let mut verified = Verified::default();
        for name in self.names()? {
            match self.verify_file(&name) {
                Ok(()) => verified.sound += 1,
                // It went while we looked: another process evicted or replaced it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let list = match is_foreign(&error) {
                        true => &mut verified.foreign,
                        false => &mut verified.bad,
                    };
                    let reason = error.to_string();
                    list.push(BadFile { name, reason });
                }
            }
        }
        verified.bad.sort_by(|a, b| a.name.cmp(&b.name));
        verified.foreign.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(verified)
    }

    fn verify_file(&self, file: &str) -> io::Result<()> {
        if file == key::NAME {
            // It was checked when the store was opened.
            return self.directory.open_own(file, Modes::Private).map(drop);
        }
        if let Some(name) = EntryName::of_file(file) {
            let (open, stat) = self.directory.open_own(file, Modes::ReadOnly)?;
            return check_mac(&open, &stat, &self.key, name);
        }
        if let Some(name) = EntryName::of_seal(file) {
            let (open, stat) = self.directory.open_own(&name.file(), Modes::ReadOnly)?;
            // A seal does not say whose it is; its entry does.
            let entry = read_trailer(&open, &stat)?
                .0
                .fits(name, size(&stat), &self.key);
            return match entry {
                Err(error) if is_foreign(&error) => Err(error),
                _ => seal::check(&self.directory, &self.key, name, &stat),
            };
        }
        Err(damaged("it is no file of the store"))
    }

    fn names(&self) -> Result<Vec<String>, Refusal> {
        self.directory
            .names()
            .map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &io::Error) -> Refusal {
        unusable(self.directory.path(), error)
    }
}
