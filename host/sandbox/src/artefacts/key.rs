//! The store's key and what is authenticated with it.
//!
//! Rule (architecture § 5): the MAC guards stored code against other users, corruption and
//! mix-ups, not against code of the same user. A key that was damaged is replaced, which
//! makes everything under it worthless: it is compiled again, never loaded.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use super::directory::{Directory, Modes};

/// Its file.
pub(super) const NAME: &str = "key";
const SECRET_BYTES: usize = 32;
const FILE_BYTES: usize = SECRET_BYTES + 32;

/// The secret. Not `Debug`: it is printed nowhere.
pub(super) struct Key([u8; SECRET_BYTES]);

/// Which key it was, told without telling the key: what was copied from another store is
/// told apart from what is damaged. Half of it is a check, so that damage is not taken for
/// another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyId([u8; 32]);

impl KeyId {
    fn of(hash: [u8; 32]) -> Self {
        let check: [u8; 32] = Sha256::digest(hash.first_chunk::<16>().unwrap_or(&[0; 16])).into();
        let both = hash.iter().take(16).chain(check.iter().take(16));
        let mut id = [0; 32];
        id.iter_mut().zip(both).for_each(|(to, from)| *to = *from);
        Self(id)
    }

    /// From its bytes in a stored file, if they are some key's.
    pub(super) fn parse(bytes: [u8; 32]) -> Option<Self> {
        Some(Self(bytes)).filter(|id| Self::of(bytes) == *id)
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// What a MAC speaks of, so that one kind is never taken for another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A file of compiled code.
    Entry,
    /// The statement that a file was checked.
    Seal,
}

/// A MAC being computed.
pub(super) struct Mac(Hmac<Sha256>);

impl Key {
    /// The key of `directory`, made when there is none.
    ///
    /// # Errors
    ///
    /// When it can't be read or made, or belongs to somebody else.
    pub(super) fn obtain(directory: &Directory) -> io::Result<Self> {
        if let Some(key) = Self::read(directory)? {
            return Ok(key);
        }
        // One process makes it; the others, waiting here, find it.
        let _lock = directory.lock()?;
        if let Some(key) = Self::read(directory)? {
            return Ok(key);
        }
        let key = Self::fresh()?;
        let check = key.check();
        directory.create(NAME, 0o600, |file| {
            file.write_all(&key.0)?;
            file.write_all(&check)
        })?;
        Ok(key)
    }

    /// A key for this process alone, for a store that can't be written to.
    pub(super) fn fresh() -> io::Result<Self> {
        let mut secret = [0; SECRET_BYTES];
        random(&mut secret)?;
        Ok(Self(secret))
    }

    /// Its name among keys.
    pub(super) fn id(&self) -> KeyId {
        let hash = Sha256::new().chain_update(b"bindery store key id 1\0");
        KeyId::of(hash.chain_update(self.0).finalize().into())
    }

    /// The key in the file; `None` when there is none or it is damaged.
    pub(super) fn read(directory: &Directory) -> io::Result<Option<Self>> {
        let (file, _) = match directory.open_own(NAME, Modes::Private) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        let bound = u64::try_from(FILE_BYTES + 1).unwrap_or(u64::MAX);
        file.take(bound).read_to_end(&mut bytes)?;
        // A file of another size was never a key: it is somebody's, and is not touched.
        if !bytes.is_empty() && bytes.len() != FILE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the file `{NAME}` in it is not the key of a store; choose a folder of its own"
                ),
            ));
        }
        let parts = bytes.split_first_chunk::<SECRET_BYTES>();
        let sound = parts
            .map(|(secret, check)| (Self(*secret), check))
            .filter(|(key, check)| key.check() == *check)
            .map(|(key, _)| key);
        if sound.is_none() {
            tracing::warn!(
                store = %directory.path().display(),
                "the key of the artefact store is damaged: nothing in the store can be loaded, a run replaces the key and compiles again"
            );
        }
        Ok(sound)
    }

    /// Finds damage, not forgery: who can write the key needs no forgery.
    fn check(&self) -> [u8; 32] {
        let hash = Sha256::new().chain_update(b"bindery store key 1\0");
        hash.chain_update(self.0).finalize().into()
    }

    /// Starts a MAC.
    pub(super) fn mac(&self, purpose: Purpose) -> io::Result<Mac> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).map_err(io::Error::other)?;
        mac.update(match purpose {
            Purpose::Entry => b"bindery entry\0",
            Purpose::Seal => b"bindery seal \0",
        });
        Ok(Mac(mac))
    }
}

impl Mac {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }

    /// Whether it is `expected`, in constant time.
    pub(super) fn is(self, expected: &[u8; 32]) -> bool {
        self.0.verify(expected.into()).is_ok()
    }
}

/// Fills `bytes` from the system's generator.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}
