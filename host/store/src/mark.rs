//! The high-water mark: how far the chain went, signed, outside the database.
//!
//! Rule (H53, I39): it is set after each commit and before anybody is told, so whatever
//! was acknowledged is at or below it. A database that ends before it was cut or rolled
//! back. Two places take turns, so that one torn write leaves the other. Kept on another
//! disk it also tells when the whole folder was restored from an older copy.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bindery_ledger::Head;
use bindery_types::Digest;

use crate::StoreError;
use crate::folder::{Key, open};

/// Where the second of the two places begins: on another page of the disk.
const PLACE_BYTES: u64 = 4_096;
const BYTES: usize = 8 + 32 + 32;

/// The mark of an owned store.
pub(crate) struct Mark {
    file: File,
    path: PathBuf,
    key: Key,
    turn: u64,
}

impl Mark {
    /// The length of one place.
    pub(crate) const BYTES: u64 = 72;

    /// Makes the mark of a new store.
    pub(crate) fn make(path: &Path, key: &Key) -> Result<Self, StoreError> {
        let mut how = OpenOptions::new();
        let file = open(path, how.read(true).write(true).create_new(true))?;
        let mut mark = Self::over(file, path, key);
        mark.set(Head::default())?;
        mark.sync()?;
        Ok(mark)
    }

    /// The mark of a store that exists, with the head it names.
    pub(crate) fn read(path: &Path, key: &Key, write: bool) -> Result<(Self, Head), StoreError> {
        let file = open(path, OpenOptions::new().read(true).write(write))?;
        let mut mark = Self::over(file, path, key);
        let places = [mark.place(0), mark.place(1)];
        let heads = places.into_iter().flatten();
        let head = heads.max_by_key(|head| head.sequence);
        let head = head.ok_or_else(|| StoreError::integrity("the high-water mark is no mark"))?;
        // The other place is the next to be written.
        mark.turn = u64::from(places.first().copied().flatten() == Some(head));
        Ok((mark, head))
    }

    fn over(file: File, path: &Path, key: &Key) -> Self {
        Self {
            file,
            path: path.to_owned(),
            key: key.clone(),
            turn: 0,
        }
    }

    fn place(&self, turn: u64) -> Option<Head> {
        let mut bytes = [0; BYTES];
        let at = turn.saturating_mul(PLACE_BYTES);
        self.file.read_exact_at(&mut bytes, at).ok()?;
        let (sequence, rest) = bytes.split_first_chunk::<8>()?;
        let (digest, signature) = rest.split_first_chunk::<32>()?;
        let signed = self.key.signed(&[b"mark", sequence, digest], signature);
        signed.then(|| Head {
            sequence: u64::from_be_bytes(*sequence),
            digest: Digest::from_bytes(*digest),
        })
    }

    /// Sets the mark; seen by whoever reads the file, durable with the next sync.
    pub(crate) fn set(&mut self, head: Head) -> Result<(), StoreError> {
        let sequence = head.sequence.to_be_bytes();
        let digest = head.digest.as_bytes();
        let signature = self.key.sign(&[b"mark", &sequence, digest]);
        let bytes = [&sequence[..], &digest[..], &signature[..]].concat();
        let at = self.turn.saturating_mul(PLACE_BYTES);
        self.file
            .write_all_at(&bytes, at)
            .map_err(StoreError::io("cannot write", &self.path))?;
        self.turn = 1 - self.turn;
        Ok(())
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.file
            .sync_data()
            .map_err(StoreError::io("cannot make durable", &self.path))
    }
}
