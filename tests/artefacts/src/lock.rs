//! One builder at a time, across threads and processes.

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

/// Holds the lock of one file until dropped; the system lets go when a process dies.
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not read: closing it unlocks")] File);

impl Lock {
    /// Waits for the lock.
    pub(crate) fn hold(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .with_context(|| format!("cannot open the lock {}", path.display()))?;
        flock(&file, FlockOperation::LockExclusive)
            .with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Self(file))
    }
}
