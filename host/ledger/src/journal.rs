//! The journal: where records go, in memory or in a store, behind one trait.
//!
//! Rule (I18, I21): what [`Journal::append`] has answered is as durable as the journal can
//! make it; an error means that nothing of the batch counts, and of a store that it is
//! over. The state that decides is always the one that the accepted records make.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bindery_types::{Digest, ErrorType, Refusal};

use crate::event::Event;
use crate::record::{Entry, Record};
use crate::rejection::Rejection;
use crate::state::State;

/// Why nothing was recorded.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum JournalError {
    /// The state says no; nothing changed.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The journal cannot keep anything any more: effects stop (H52).
    #[error("the ledger cannot be written any more: {0}")]
    Poisoned(String),
    /// The journal is full of waiting records.
    #[error("{waiting} records wait for the ledger already")]
    Busy {
        /// how many
        waiting: usize,
    },
    /// Something stored cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Unreadable(String),
}

impl JournalError {
    /// The refusal that a caller gets; what went wrong in the store is the operator's.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Rejected(rejection) => rejection.refusal(),
            Self::Poisoned(_) => {
                let text = "the ledger cannot be written; nothing with effects starts";
                Refusal::new(ErrorType::StoreUnavailable, text).for_operator(self.to_string())
            }
            Self::Busy { .. } => Refusal::new(ErrorType::Busy, self.to_string()),
            Self::Unreadable(_) => {
                let text = "the ledger cannot be read";
                Refusal::new(ErrorType::StoreUnavailable, text).for_operator(self.to_string())
            }
        }
    }
}

/// What is recorded together with a batch, outside the records: results that an
/// idempotency key has to give back, by their digest, until they may be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The digest that the record names.
    pub digest: Digest,
    /// The screened text.
    pub text: String,
    /// When it is deleted.
    pub expires_at: bindery_types::Moment,
}

/// Where records go.
pub trait Journal: Send + Sync {
    /// Records a batch, all or nothing, and answers when it is durable: the sequence of
    /// its first record.
    ///
    /// # Errors
    ///
    /// When the state refuses one of the entries, or the journal cannot be written.
    fn append(&self, batch: Vec<Entry>, kept: Vec<Kept>) -> Result<u64, JournalError>;

    /// Records a batch without waiting: for calls without effects. It becomes durable with
    /// the next batch that is waited for, after a bounded number of records, or at the end.
    ///
    /// # Errors
    ///
    /// As [`Journal::append`].
    fn append_lazy(&self, batch: Vec<Entry>) -> Result<u64, JournalError>;

    /// Whether what an earlier host left was recorded as such when it was opened; else the
    /// host does that.
    fn has_recovered(&self) -> bool {
        false
    }

    /// Whether it still takes records; after a failed write it does not (H52).
    ///
    /// # Errors
    ///
    /// [`JournalError::Poisoned`], with what failed.
    fn standing(&self) -> Result<(), JournalError> {
        Ok(())
    }

    /// Shows the current state.
    fn look(&self, see: &mut dyn FnMut(&State));

    /// The records about one subject (see [`Event::subject`](crate::event::Event::subject)),
    /// or of one session, in order.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn records(&self, query: &Query) -> Result<Vec<Record>, JournalError>;

    /// A kept result.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn kept(&self, digest: Digest) -> Result<Option<String>, JournalError>;
}

/// Which records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// Those about one id.
    Subject(String),
    /// Those of one session.
    Session(bindery_types::SessionId),
    /// All from a sequence on, at most so many.
    From {
        /// the first
        sequence: u64,
        /// the most
        count: usize,
    },
}

impl Query {
    /// Whether a record is one of them; `From` counts for itself.
    pub fn fits(&self, record: &Record) -> bool {
        match self {
            Self::Subject(subject) => record.entry.event.subject() == *subject,
            Self::Session(session) => record.entry.session == Some(*session),
            Self::From { sequence, .. } => record.sequence >= *sequence,
        }
    }
}

impl State {
    /// an action that names no step of its run gets the next one here, where no
    /// other can come between: callers that act at once do not have to agree.
    fn counted(&self, mut entry: Entry) -> Entry {
        if let Event::CallIntent(intent) = &mut entry.event
            && intent.step == 0
            && let Some(run) = intent.run.and_then(|id| self.run(id))
        {
            intent.step = run.steps.saturating_add(1);
        }
        entry
    }

    /// Applies a batch, all of it or nothing, and gives its records.
    ///
    /// # Errors
    ///
    /// The reason for which one of the entries cannot be; the state is then what it was.
    pub fn apply_batch(&mut self, batch: Vec<Entry>) -> Result<Vec<Record>, Rejection> {
        let one = batch.len() == 1;
        // A single record is all or nothing by itself; for more, what was is kept until the
        // last is accepted. Parts that are not touched are not copied.
        let before = if one { None } else { Some(self.clone()) };
        let mut records = Vec::with_capacity(batch.len());
        for entry in batch {
            let sequence = self.sequence().saturating_add(1);
            let entry = self.counted(entry);
            let record = Record { sequence, entry };
            if let Err(rejection) = self.apply(&record) {
                if let Some(before) = before {
                    *self = before;
                }
                return Err(rejection);
            }
            records.push(record);
        }
        Ok(records)
    }
}

/// A journal that lasts as long as its process, for runs without a record.
#[derive(Debug, Default)]
pub struct Memory {
    /// Guards state and records together: they are one fold.
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: State,
    records: Vec<Record>,
    kept: Vec<Kept>,
}

impl Memory {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Memory {
    fn append(&self, batch: Vec<Entry>, kept: Vec<Kept>) -> Result<u64, JournalError> {
        let mut inner = self.inner();
        let first = inner.state.sequence().saturating_add(1);
        let records = inner.state.apply_batch(batch)?;
        inner.records.extend(records);
        let now = inner.state.now();
        inner.kept.retain(|kept| now < kept.expires_at);
        inner.kept.extend(kept);
        Ok(first)
    }

    fn append_lazy(&self, batch: Vec<Entry>) -> Result<u64, JournalError> {
        self.append(batch, Vec::new())
    }

    fn look(&self, see: &mut dyn FnMut(&State)) {
        see(&self.inner().state);
    }

    fn records(&self, query: &Query) -> Result<Vec<Record>, JournalError> {
        let inner = self.inner();
        let fitting = inner.records.iter().filter(|record| query.fits(record));
        Ok(match query {
            Query::From { count, .. } => fitting.take(*count).cloned().collect(),
            Query::Subject(_) | Query::Session(_) => fitting.cloned().collect(),
        })
    }

    fn kept(&self, digest: Digest) -> Result<Option<String>, JournalError> {
        let inner = self.inner();
        let found = inner.kept.iter().find(|kept| kept.digest == digest);
        Ok(found.map(|kept| kept.text.clone()))
    }
}
