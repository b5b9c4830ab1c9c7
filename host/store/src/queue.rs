//! What waits for the writer, and who waits for it.
//!
//! Rule (I21): a waiter is answered when its record is durable, or never will be; the
//! first error ends every wait, and every one after it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bindery_ledger::{Entry, JournalError, Kept, Record, State};
use bindery_types::Moment;

/// Records that may wait; more are `busy` (H44).
pub(crate) const WAITING_MAX: usize = 65_536;
/// Records without a waiter that are written at the latest when so many have come …
const LAZY_MAX: usize = 1_024;
/// … or when the first of them has waited so long.
const LAZY: Duration = Duration::from_millis(100);

/// Records between two checkpoints of the state.
const CHECKPOINT_EVERY: u64 = 20_000;

/// The state as accepted, and what of it is not written yet.
pub(crate) struct Queue {
    /// Guards state and queue together: a record is queued in the step that accepts it.
    front: Mutex<Front>,
    /// Told when there is something to write.
    work: Condvar,
    /// Guards what is known to be durable.
    durable: Mutex<Durable>,
    /// Told when that changes.
    written: Condvar,
}

struct Front {
    state: State,
    records: Vec<Record>,
    kept: Vec<Kept>,
    urgent: bool,
    closed: bool,
    poisoned: Option<String>,
}

struct Durable {
    sequence: u64,
    poisoned: Option<String>,
}

/// What the writer takes at once.
pub(crate) struct Batch {
    pub(crate) records: Vec<Record>,
    pub(crate) kept: Vec<Kept>,
    /// The latest moment that was seen.
    pub(crate) now: Moment,
    /// The state that the batch ends in, when a checkpoint of it is due. While somebody
    /// holds it, whatever changes is copied first: so not longer, and not oftener.
    pub(crate) checkpoint: Option<State>,
    /// Nothing will come after it.
    pub(crate) last: bool,
}

impl Queue {
    pub(crate) fn new(state: State) -> Self {
        let sequence = state.sequence();
        Self {
            front: Mutex::new(Front {
                state,
                records: Vec::new(),
                kept: Vec::new(),
                urgent: false,
                closed: false,
                poisoned: None,
            }),
            work: Condvar::new(),
            durable: Mutex::new(Durable {
                sequence,
                poisoned: None,
            }),
            written: Condvar::new(),
        }
    }

    fn front(&self) -> MutexGuard<'_, Front> {
        self.front.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn durable(&self) -> MutexGuard<'_, Durable> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a batch: its first and its last sequence.
    pub(crate) fn accept(
        &self,
        batch: Vec<Entry>,
        kept: Vec<Kept>,
        urgent: bool,
    ) -> Result<(u64, u64), JournalError> {
        let mut front = self.front();
        if let Some(why) = &front.poisoned {
            return Err(JournalError::Poisoned(why.clone()));
        }
        if front.closed {
            return Err(JournalError::Poisoned("it was closed".to_owned()));
        }
        let waiting = front.records.len();
        if waiting.saturating_add(batch.len()) > WAITING_MAX {
            return Err(JournalError::Busy { waiting });
        }
        let first = front.state.sequence().saturating_add(1);
        let records = front.state.apply_batch(batch)?;
        front.records.extend(records);
        front.kept.extend(kept);
        front.urgent |= urgent;
        // The writer looks by itself after a while; it is woken for those who wait, for
        // the first of those who do not, and before they become too many.
        if urgent || waiting == 0 || front.records.len() >= LAZY_MAX {
            self.work.notify_one();
        }
        Ok((first, front.state.sequence()))
    }

    pub(crate) fn look(&self, see: &mut dyn FnMut(&State)) {
        see(&self.front().state);
    }

    /// Asks for everything accepted so far; gives the state it comes to.
    pub(crate) fn hurry(&self) -> State {
        let mut front = self.front();
        front.urgent = true;
        self.work.notify_one();
        front.state.clone()
    }

    /// Waits until `sequence` is durable.
    pub(crate) fn wait(&self, sequence: u64) -> Result<(), JournalError> {
        let mut durable = self.durable();
        loop {
            // What is durable stays so, whatever failed after it.
            if durable.sequence >= sequence {
                return Ok(());
            }
            if let Some(why) = &durable.poisoned {
                return Err(JournalError::Poisoned(why.clone()));
            }
            durable = self
                .written
                .wait(durable)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The writer's side: waits for something to write. A checkpoint is due so many records
    /// after the last one, and at the end.
    pub(crate) fn take(&self, last_checkpoint: u64) -> Batch {
        let mut front = self.front();
        let mut since_first = None;
        loop {
            let ready = front.urgent || front.closed || front.records.len() >= LAZY_MAX;
            if ready || since_first.is_some_and(|since: std::time::Instant| since.elapsed() >= LAZY)
            {
                break;
            }
            front = if front.records.is_empty() {
                let woken = self.work.wait(front);
                woken.unwrap_or_else(PoisonError::into_inner)
            } else {
                since_first.get_or_insert_with(std::time::Instant::now);
                let woken = self.work.wait_timeout(front, LAZY);
                woken.unwrap_or_else(PoisonError::into_inner).0
            };
        }
        front.urgent = false;
        let since = front.state.sequence().saturating_sub(last_checkpoint);
        let due = since >= CHECKPOINT_EVERY || (front.closed && since > 0);
        Batch {
            records: std::mem::take(&mut front.records),
            kept: std::mem::take(&mut front.kept),
            now: front.state.now(),
            checkpoint: due.then(|| front.state.clone()),
            last: front.closed,
        }
    }

    /// The writer's side: everything up to `sequence` is durable.
    pub(crate) fn done(&self, sequence: u64) {
        self.durable().sequence = sequence;
        self.written.notify_all();
    }

    /// The writer's side: nothing will be durable any more (H52).
    pub(crate) fn poison(&self, why: &str) {
        let mut front = self.front();
        front.poisoned = Some(why.to_owned());
        front.records.clear();
        front.kept.clear();
        drop(front);
        self.durable().poisoned = Some(why.to_owned());
        self.written.notify_all();
    }

    pub(crate) fn close(&self) {
        self.front().closed = true;
        self.work.notify_one();
    }

    pub(crate) fn poisoned(&self) -> Option<String> {
        self.durable().poisoned.clone()
    }
}
