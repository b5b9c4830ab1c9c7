//! The one writer: takes what waits, writes it in one transaction, sets the mark, answers.
//!
//! Rule (I18, I21, H52): commit, then mark, then acknowledgement. After the first error
//! nothing is tried again: whether the disk has it is known only to the next start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_ledger::{Head, Record, State};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::StoreError;
use crate::check::sign;
use crate::database::{Row, forget, insert, keep, store_checkpoint};
use crate::folder::{Key, Owner};
use crate::mark::Mark;
use crate::queue::{Batch, Queue};

/// How long somebody else's lock is waited for before the store is given up (X72).
const LOCKED_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) mark: Mark,
    pub(crate) key: Key,
    pub(crate) head: Head,
    pub(crate) checkpoint: u64,
    pub(crate) queue: Arc<Queue>,
    /// Held until the last byte is written.
    pub(crate) owner: Owner,
}

impl Writer {
    /// Writes until the queue is closed, or something fails.
    pub(crate) fn run(mut self) {
        loop {
            let batch = self.queue.take(self.checkpoint);
            let last = batch.last;
            if let Err(error) = self.write(&batch) {
                self.queue.poison(&error.to_string());
                return self.give_up();
            }
            if last {
                if let Err(error) = self.mark.sync() {
                    self.queue.poison(&error.to_string());
                    self.give_up();
                }
                return;
            }
        }
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if batch.records.is_empty() && batch.checkpoint.is_none() {
            return Ok(());
        }
        self.owner.check()?;
        let started = Instant::now();
        let transaction = loop {
            let begun = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate);
            match begun {
                Ok(transaction) => break transaction,
                // Nothing was written yet, so trying again repeats nothing.
                Err(error) if locked(&error) && started.elapsed() < LOCKED_MAX => {}
                Err(error) => return Err(StoreError::sql("cannot begin to write")(error)),
            }
        };
        let mut head = self.head;
        for record in &batch.records {
            line(&transaction, &mut head, record)?;
        }
        for result in &batch.kept {
            keep(&transaction, result).map_err(StoreError::sql("cannot keep a result"))?;
        }
        if !batch.kept.is_empty() || batch.checkpoint.is_some() {
            forget(&transaction, batch.now).map_err(StoreError::sql("cannot forget a result"))?;
        }
        if let Some(state) = &batch.checkpoint {
            store(&transaction, state, head, &self.key)?;
        }
        transaction
            .commit()
            .map_err(StoreError::sql("cannot make records durable"))?;
        self.mark.set(head)?;
        self.head = head;
        if batch.checkpoint.is_some() {
            self.checkpoint = head.sequence;
        }
        self.queue.done(head.sequence);
        Ok(())
    }

    /// Leaves everything as it is: closing must not write what a failed write left behind.
    fn give_up(self) {
        let config = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        if self.connection.set_db_config(config, true).is_err() {
            // Then it is not closed at all; the process is to end.
            std::mem::forget(self.connection);
        }
    }
}

fn line(connection: &Connection, head: &mut Head, record: &Record) -> Result<(), StoreError> {
    let text = head.write(record)?;
    let subject = record.entry.event.subject();
    let session = record.entry.session.map(|session| session.to_string());
    let row = Row {
        sequence: record.sequence,
        session: session.as_deref(),
        subject: &subject,
        line: &text,
    };
    insert(connection, &row).map_err(StoreError::sql("cannot write a record"))
}

fn store(connection: &Connection, state: &State, head: Head, key: &Key) -> Result<(), StoreError> {
    let checkpoint = sign(state, head, key)?;
    store_checkpoint(connection, &checkpoint).map_err(StoreError::sql("cannot write a checkpoint"))
}

fn locked(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}
