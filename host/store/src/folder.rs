//! The store's folder: who may look into it, who owns it, and its key.
//!
//! Rule (X71, X74, H53): the folder is 0700 and ours, its files are 0600, ours and never
//! links; one process at a time owns it, by a lock that dies with it; the key that marks
//! are signed with is made once and never leaves.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use rustix::fs::{FlockOperation, flock};
use sha2::Sha256;

use crate::StoreError;

const NOT_A_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// A checked folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

/// The lock of the one owner; the system takes it back however the process ends.
#[derive(Debug)]
pub(crate) struct Owner {
    file: File,
    path: PathBuf,
}

impl Owner {
    /// Whether the folder that is owned is still where it was: what is written into a
    /// folder that was moved away or deleted is lost to the next start.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let held = self.file.metadata();
        let held = held.map_err(StoreError::io("cannot look at", &self.path))?;
        let found = self.path.symlink_metadata();
        let found = found.map_err(StoreError::io("the store is gone from", &self.path))?;
        if (held.dev(), held.ino()) == (found.dev(), found.ino()) {
            return Ok(());
        }
        Err(StoreError::Unsafe {
            path: self.path.display().to_string(),
            what: "is another store than the one that was opened",
        })
    }
}

/// Whether a process owns the store in `folder`; what is not there is nobody's.
pub fn is_owned(folder: &Path) -> bool {
    let file = OpenOptions::new().read(true).open(folder.join("owner"));
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}

/// What marks and checkpoints are signed with.
#[derive(Clone)]
pub(crate) struct Key([u8; BLOCK]);

/// A key of the length of the hash's block is used as it is.
const BLOCK: usize = 64;
const KEY_BYTES: u64 = 64;

impl Folder {
    /// The folder at `path`, made if its parent exists.
    pub(crate) fn make(path: &Path) -> Result<Self, StoreError> {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => sync_folder(path.parent().unwrap_or(Path::new("/")))?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::io("cannot make", path)(error)),
        }
        Self::existing(path)
    }

    /// The folder at `path`, which must be ours alone.
    pub(crate) fn existing(path: &Path) -> Result<Self, StoreError> {
        let found = path
            .symlink_metadata()
            .map_err(StoreError::io("cannot look at", path))?;
        let unsafe_because = |what| StoreError::Unsafe {
            path: path.display().to_string(),
            what,
        };
        if !found.is_dir() {
            return Err(unsafe_because("is no folder (a link is none)"));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(unsafe_because("belongs to somebody else"));
        }
        if found.mode() & 0o077 != 0 {
            return Err(unsafe_because("is open to others; `chmod 700` it"));
        }
        let whole = path
            .canonicalize()
            .map_err(StoreError::io("cannot look at", path))?;
        Ok(Self(whole))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Takes the lock, or says who has it.
    pub(crate) fn own(&self) -> Result<Owner, StoreError> {
        let path = self.path("owner");
        let mut file = open(
            &path,
            OpenOptions::new().read(true).write(true).create(true),
        )?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let read = file.read_to_string(&mut pid);
            let known = read.is_ok() && !pid.trim().is_empty();
            let pid = if known { pid.trim() } else { "unknown" };
            return Err(StoreError::Owned {
                pid: pid.to_owned(),
            });
        }
        let written = file
            .set_len(0)
            .and_then(|()| write!(file, "{}", std::process::id()));
        written.map_err(StoreError::io("cannot write", &path))?;
        Ok(Owner { file, path })
    }

    /// The key; made when the store is.
    pub(crate) fn key(&self, make: bool) -> Result<Key, StoreError> {
        let path = self.path("key");
        if make && !path.exists() {
            let mut bytes = [0; BLOCK];
            getrandom::fill(&mut bytes)
                .map_err(std::io::Error::other)
                .map_err(StoreError::io("no randomness for", &path))?;
            let mut file = open(&path, OpenOptions::new().write(true).create_new(true))?;
            let written = file.write_all(&bytes).and_then(|()| file.sync_all());
            written.map_err(StoreError::io("cannot write", &path))?;
            sync_folder(&self.0)?;
            return Ok(Key(bytes));
        }
        let file = open(&path, OpenOptions::new().read(true))?;
        let mut bytes = [0; BLOCK];
        let length = file.metadata().map(|found| found.len());
        let read = file.read_exact_at(&mut bytes, 0);
        match (length, read) {
            (Ok(KEY_BYTES), Ok(())) => Ok(Key(bytes)),
            (Ok(_) | Err(_), Ok(()) | Err(_)) => Err(StoreError::integrity("the key is no key")),
        }
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        sync_folder(&self.0)
    }
}

impl Key {
    /// The signature of `parts`, each told apart by its length.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Whether `signature` is that of `parts`.
    pub(crate) fn signed(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        self.mac(parts).verify_slice(signature).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&self.0.into());
        for part in parts {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            mac.update(&length.to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

/// Opens a file of the store: ours, 0600, one name, no link.
pub(crate) fn open(path: &Path, how: &mut OpenOptions) -> Result<File, StoreError> {
    let file = how
        .mode(0o600)
        .custom_flags(NOT_A_LINK)
        .open(path)
        .map_err(StoreError::io("cannot open", path))?;
    let found = file
        .metadata()
        .map_err(StoreError::io("cannot look at", path))?;
    let unsafe_because = |what| StoreError::Unsafe {
        path: path.display().to_string(),
        what,
    };
    if !found.is_file() || found.nlink() != 1 {
        return Err(unsafe_because("is no file of its own"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(unsafe_because("belongs to somebody else"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(unsafe_because("is open to others; `chmod 600` it"));
    }
    Ok(file)
}

fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(StoreError::io("cannot make durable", path))
}
