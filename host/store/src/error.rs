//! Why a store cannot be used.

use std::path::Path;

use bindery_ledger::{ChainError, JournalError, Rejection};
use bindery_types::{ErrorType, Refusal};

/// A store that cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process owns it.
    #[error("the store is owned by process {pid}; stop it, or ask it")]
    Owned {
        /// the process, as it wrote it down
        pid: String,
    },
    /// The folder or a file of it is not as it must be.
    #[error("{path} {what}")]
    Unsafe {
        /// which
        path: String,
        /// what is wrong, and what to do
        what: &'static str,
    },
    /// The operating system says no.
    #[error("{what} {path}: {source}")]
    Io {
        /// what was tried
        what: &'static str,
        /// on what
        path: String,
        /// what it says
        source: std::io::Error,
    },
    /// SQLite says no.
    #[error("{what}: {source}")]
    Sql {
        /// what was tried
        what: &'static str,
        /// what it says
        source: rusqlite::Error,
    },
    /// A setting that durability rests on could not be made.
    #[error("`{pragma}` is `{got}` and must be `{wanted}`")]
    Setting {
        /// which
        pragma: &'static str,
        /// what it is
        got: String,
        /// what it must be
        wanted: &'static str,
    },
    /// Made by another version of this program.
    #[error("the store has version {got}, this program reads version {wanted}")]
    Version {
        /// its version
        got: i64,
        /// the version that can be read
        wanted: i64,
    },
    /// What is stored is not what was stored.
    #[error("the store was changed by something else: {what}")]
    Integrity {
        /// how that shows
        what: String,
    },
    /// A record of the chain is not as it was written.
    #[error("the store was changed by something else: {0}")]
    Chain(#[from] ChainError),
    /// The records do not add up.
    #[error(
        "the store was changed by something else: record {sequence} cannot be applied: {rejection}"
    )]
    Fold {
        /// which
        sequence: u64,
        /// why
        rejection: Rejection,
    },
    /// An earlier write failed; the process has to be started again (H52).
    #[error("an earlier write failed, start again: {0}")]
    Poisoned(String),
}

impl StoreError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { what, path, source }
    }

    pub(crate) fn sql(what: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| Self::Sql { what, source }
    }

    pub(crate) fn integrity(what: impl Into<String>) -> Self {
        Self::Integrity { what: what.into() }
    }

    /// The refusal that a caller gets; paths and causes are the operator's.
    pub fn refusal(&self) -> Refusal {
        let (kind, text) = match self {
            Self::Integrity { .. } | Self::Chain(_) | Self::Fold { .. } => (
                ErrorType::IntegrityFailed,
                "the store is not as it was written",
            ),
            Self::Owned { .. }
            | Self::Unsafe { .. }
            | Self::Io { .. }
            | Self::Sql { .. }
            | Self::Setting { .. }
            | Self::Version { .. }
            | Self::Poisoned(_) => (ErrorType::StoreUnavailable, "the store cannot be used"),
        };
        let refusal = Refusal::new(kind, text).for_operator(self.to_string());
        match self {
            Self::Owned { pid } => refusal.with("owned_by", pid.as_str()),
            _ => refusal,
        }
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Poisoned(why) => Self::Poisoned(why),
            other => Self::Unreadable(other.to_string()),
        }
    }
}
