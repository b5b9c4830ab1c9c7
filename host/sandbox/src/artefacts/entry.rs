//! One stored file: compiled code at offset 0, then a trailer that says what it is.
//!
//! Rule (H40): the file's name is the hash of what it was made from, the trailer says the
//! same, and the MAC covers code and trailer, so neither a flipped byte nor a file under
//! another's name is ever loaded. The code comes first because it is mapped from offset 0.

use std::io;

use bindery_types::Digest;
use sha2::{Digest as _, Sha256};

use super::engine_id::EngineId;
use super::key::{Key, KeyId};

const MAGIC: [u8; 8] = *b"bindery2";
/// Magic, component, engine, key, code length, time of creation.
const FIELDS_BYTES: usize = 8 + 32 + 32 + 32 + 8 + 8;
/// The fields and their MAC.
pub(super) const TRAILER_BYTES: usize = FIELDS_BYTES + 32;
/// How the names of entries and of their seals end.
const ENTRY_SUFFIX: &str = ".cwasm";
const SEAL_SUFFIX: &str = ".seal";

/// The content address of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryName(Digest);

impl EntryName {
    /// The entry of `component` compiled for `engine`.
    pub(super) fn of(component: Digest, engine: &EngineId) -> Self {
        let hash = Sha256::new()
            .chain_update(engine.as_bytes())
            .chain_update(component.as_bytes());
        Self(Digest::from_bytes(hash.finalize().into()))
    }

    /// The entry a file name speaks of.
    pub(super) fn of_file(file: &str) -> Option<Self> {
        file.strip_suffix(ENTRY_SUFFIX)?.parse().ok().map(Self)
    }

    /// The entry the name of a seal speaks of.
    pub(super) fn of_seal(file: &str) -> Option<Self> {
        file.strip_suffix(SEAL_SUFFIX)?.parse().ok().map(Self)
    }

    /// Its file.
    pub(super) fn file(self) -> String {
        format!("{}{ENTRY_SUFFIX}", self.0)
    }

    /// The file of its seal.
    pub(super) fn seal(self) -> String {
        format!("{}{SEAL_SUFFIX}", self.0)
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// What the trailer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) component: Digest,
    pub(super) engine: EngineId,
    /// Of the key that the MAC was made with.
    pub(super) key: KeyId,
    pub(super) code_bytes: u64,
    /// Seconds since 1970.
    pub(super) created_s: u64,
}

impl Trailer {
    /// As stored, its MAC apart.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(TRAILER_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(self.component.as_bytes());
        bytes.extend(self.engine.as_bytes());
        bytes.extend(self.key.as_bytes());
        bytes.extend(self.code_bytes.to_le_bytes());
        bytes.extend(self.created_s.to_le_bytes());
        bytes
    }

    /// Reads the last [`TRAILER_BYTES`] of a file: the trailer and the MAC.
    pub(super) fn parse(bytes: &[u8; TRAILER_BYTES]) -> Option<(Self, [u8; 32])> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (component, rest) = rest.split_first_chunk::<32>()?;
        let (engine, rest) = rest.split_first_chunk::<32>()?;
        let (key, rest) = rest.split_first_chunk::<32>()?;
        let (code_bytes, rest) = rest.split_first_chunk::<8>()?;
        let (created_s, mac) = rest.split_first_chunk::<8>()?;
        let trailer = Self {
            component: Digest::from_bytes(*component),
            engine: EngineId::from_bytes(*engine),
            key: KeyId::parse(*key)?,
            code_bytes: u64::from_le_bytes(*code_bytes),
            created_s: u64::from_le_bytes(*created_s),
        };
        Some((trailer, mac.try_into().ok()?))
    }

    /// Checks that a file of `file_bytes` under the name `name` is what the trailer says,
    /// and that `key` can tell.
    pub(super) fn fits(&self, name: EntryName, file_bytes: u64, key: &Key) -> io::Result<()> {
        if EntryName::of(self.component, &self.engine) != name {
            return Err(damaged("it was made for another component or engine"));
        }
        if self.code_bytes.checked_add(trailer_bytes()) != Some(file_bytes) {
            return Err(damaged("its length is not the one it was written with"));
        }
        match self.key == key.id() {
            true => Ok(()),
            false => Err(foreign("it was made with the key of another store")),
        }
    }
}

/// [`TRAILER_BYTES`] as a file offset.
pub(super) const fn trailer_bytes() -> u64 {
    TRAILER_BYTES as u64
}

/// Stored bytes are not what was stored.
pub(super) fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Sound for all that can be told, and not of this store as it is here: no damage.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Foreign(&'static str);

/// Stored bytes are not of this store as it is here.
pub(super) fn foreign(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Foreign(why))
}

/// Whether `error` is one of [`foreign`].
pub(super) fn is_foreign(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Foreign>())
}
