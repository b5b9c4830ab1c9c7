//! The artefact store: compiled code between processes, content-addressed, authenticated.
//!
//! Rule (architecture § 5, H40, R-026): only code whose MAC was made here with the store's
//! own key is loaded; everything else (damaged, foreign, made for another engine) is a
//! miss and is compiled. A store that can't be written to still serves what it has.

mod directory;
mod engine_id;
mod entry;
mod key;
mod maintain;
mod read;
mod seal;
mod write;

use std::io;
use std::path::Path;

use bindery_types::{Digest, ErrorType, Refusal};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::compile::CompiledCode;
use directory::Directory;
pub use engine_id::EngineId;
use entry::{EntryName, trailer_bytes};
use key::Key;
pub use maintain::{BadFile, Cleared, StoredArtefact, Verified};

/// How much a store holds unless said otherwise: 4 GiB.
const BYTES_MAX_DEFAULT: u64 = 4 << 30;

/// How a store is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Size in bytes above which the least recently used entries go.
    pub bytes_max: u64,
    /// What is checked at each load.
    pub check: Check,
}

impl Default for StoreOptions {
    /// 4 GiB; a file unchanged since it was last hashed is not hashed again.
    fn default() -> Self {
        Self {
            bytes_max: BYTES_MAX_DEFAULT,
            check: Check::Unchanged,
        }
    }
}

/// What is checked at each load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The MAC of every file that is new or has changed; then it is mapped.
    Unchanged,
    /// The MAC of every file, always; it is copied, so a later change can't matter.
    Strict,
}

/// A directory of compiled code.
pub struct ArtefactStore {
    directory: Directory,
    key: Key,
    options: StoreOptions,
    access: Access,
}

/// Whether this process stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadWrite,
    /// There is no key and none was made: nothing can be stored that anybody could load.
    Useless,
}

impl ArtefactStore {
    /// Opens the store at `path`, making directory and key when they are not there, and
    /// removes what dead processes left unfinished.
    ///
    /// # Errors
    ///
    /// `store_unavailable` with the reason: the directory is a symbolic link, belongs to
    /// another user, is writable by others, is on a network file system, or can't be made;
    /// the key is readable by others.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, Refusal> {
        let directory = Directory::open(path).map_err(|error| unusable(path, &error))?;
        let (key, access) = match Key::obtain(&directory) {
            Ok(key) => (key, Access::ReadWrite),
            Err(error) if is_full_or_read_only(&error) => {
                tracing::warn!(store = %path.display(), %error, "the artefact store can't be written to; nothing is stored");
                let key = Key::fresh().map_err(|error| unusable(path, &error))?;
                (key, Access::Useless)
            }
            Err(error) => return Err(unusable(path, &error)),
        };
        match directory.clean() {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "unfinished files of dead processes removed"),
            Err(error) => {
                tracing::warn!(store = %path.display(), %error, "unfinished files can't be removed")
            }
        }
        Ok(Self {
            directory,
            key,
            options,
            access,
        })
    }

    /// Opens the store at `path` to look at it: nothing is made, removed or repaired. `None`
    /// when there is no store.
    ///
    /// # Errors
    ///
    /// As [`ArtefactStore::open`].
    pub fn open_existing(path: &Path) -> Result<Option<Self>, Refusal> {
        let unusable = |error| unusable(path, &error);
        let Some(directory) = Directory::open_existing(path).map_err(unusable)? else {
            return Ok(None);
        };
        let key = match Key::read(&directory).map_err(unusable)? {
            Some(key) => key,
            // Of no entry, so every entry that is there is another store's.
            None => Key::fresh().map_err(unusable)?,
        };
        Ok(Some(Self {
            directory,
            key,
            options: StoreOptions::default(),
            access: Access::Useless,
        }))
    }

    /// The stored code of `component` for `engine`, if it is there and sound. What is
    /// there and not sound is told to the operator and counts as not there.
    pub(crate) fn load(
        &self,
        engine: &Engine,
        engine_id: &EngineId,
        component: Digest,
    ) -> Option<Component> {
        let name = EntryName::of(component, engine_id);
        match read::load(&self.directory, &self.key, engine, name, self.options.check) {
            Ok(component) => Some(component),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let file = self.directory.path().join(name.file());
                tracing::warn!(file = %file.display(), %error, "stored code is not loaded; compiling again");
                None
            }
        }
    }

    /// Stores `code`, then makes room.
    ///
    /// # Errors
    ///
    /// `store_unavailable`, both paths in the operator's text; nothing half-written stays.
    pub(crate) fn put(
        &self,
        engine: &EngineId,
        component: Digest,
        code: &CompiledCode,
    ) -> Result<(), Refusal> {
        let size = u64::try_from(code.as_slice().len()).unwrap_or(u64::MAX);
        if size.saturating_add(trailer_bytes()) > self.options.bytes_max {
            let why = format!("{size} bytes of code are more than the store holds");
            return Err(unusable(self.directory.path(), &io::Error::other(why)));
        }
        if self.access == Access::Useless {
            let error = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
            return Err(unusable(self.directory.path(), &error));
        }
        write::put(&self.directory, &self.key, engine, component, code)
            .and_then(|()| write::evict(&self.directory, self.options.bytes_max))
            .map_err(|error| unusable(self.directory.path(), &error))
    }
}

fn is_full_or_read_only(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(
        error.kind(),
        QuotaExceeded | ReadOnlyFilesystem | StorageFull
    )
}

fn unusable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        ErrorType::StoreUnavailable,
        "the artefact store cannot be used",
    )
    .for_operator(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
