//! Checking what is stored: the whole chain at every start, every word on demand.
//!
//! Rule (I19, I20, I39): at a start every line's digest is computed and compared with the
//! line after it, the columns beside it, and the mark; the state is a signed checkpoint
//! and the fold of what came after it. `verify` reads every record and folds from the
//! first.

use bindery_ledger::{Head, State, ends_with, read_checked};
use bindery_types::Digest;
use rusqlite::Connection;

use crate::StoreError;
use crate::database::{Checkpoint, Row, checkpoint, walk};
use crate::folder::Key;

/// What a check found whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records.
    pub records: u64,
    /// The digest of the last line.
    pub digest: Digest,
}

/// What a start found: where the chain ends, and what it comes to.
pub(crate) struct Found {
    pub(crate) head: Head,
    pub(crate) state: State,
    /// The last record that a checkpoint holds; 0 without one.
    pub(crate) checkpoint: u64,
}

/// Follows the chain up to its end and past its mark.
pub(crate) fn open(connection: &Connection, key: &Key, mark: Head) -> Result<Found, StoreError> {
    let stored = checkpoint(connection)?;
    let from = stored.as_ref().map_or(0, |stored| stored.sequence);
    let mut state = (from == 0).then(State::default);
    let mut head = Head::default();
    let mut marked = mark == head;
    walk(connection, 1, &mut |row| {
        follow(&mut head, row)?;
        marked = marked || mark == head;
        if let Some(state) = &mut state {
            fold(state, row)?;
        } else if row.sequence == from {
            state = stored.as_ref().map(|s| load(s, head, key)).transpose()?;
        }
        Ok(true)
    })?;
    if !marked {
        return Err(StoreError::integrity(format!(
            "it ends with record {}, or in another way; {} were acknowledged",
            head.sequence, mark.sequence
        )));
    }
    let Some(state) = state else {
        return Err(StoreError::integrity("a checkpoint is of no record"));
    };
    Ok(Found {
        head,
        state,
        checkpoint: from,
    })
}

/// Reads and folds every record up to `last`.
pub(crate) fn whole(connection: &Connection, last: u64) -> Result<(Head, State), StoreError> {
    let mut head = Head::default();
    let mut state = State::default();
    walk(connection, 1, &mut |row| {
        if row.sequence > last {
            return Ok(false);
        }
        beside(row)?;
        let record = head.read(row.line)?;
        apply(&mut state, &record)?;
        Ok(true)
    })?;
    if head.sequence != last {
        return Err(StoreError::integrity(format!(
            "it ends with record {} of {last}",
            head.sequence
        )));
    }
    Ok((head, state))
}

fn follow(head: &mut Head, row: &Row<'_>) -> Result<(), StoreError> {
    head.follow(row.line)?;
    if row.sequence != head.sequence {
        return Err(StoreError::integrity(format!(
            "record {} is in the place of {}",
            row.sequence, head.sequence
        )));
    }
    beside(row)
}

/// What a record is found by is what its line says.
fn beside(row: &Row<'_>) -> Result<(), StoreError> {
    if ends_with(row.line, row.session, row.subject) {
        return Ok(());
    }
    Err(StoreError::integrity(format!(
        "record {} is filed under something else",
        row.sequence
    )))
}

fn fold(state: &mut State, row: &Row<'_>) -> Result<(), StoreError> {
    let record = read_checked(row.line, row.sequence)?;
    apply(state, &record)
}

fn apply(state: &mut State, record: &bindery_ledger::Record) -> Result<(), StoreError> {
    let sequence = record.sequence;
    state.apply(record).map_err(|rejection| StoreError::Fold {
        sequence,
        rejection,
    })
}

fn load(stored: &Checkpoint, head: Head, key: &Key) -> Result<State, StoreError> {
    let parts = parts(head, &stored.state);
    if !key.signed(&parts.each(), &stored.signature) {
        return Err(StoreError::integrity("a checkpoint is not ours"));
    }
    serde_json::from_str(&stored.state)
        .map_err(|error| StoreError::integrity(format!("a checkpoint is no state: {error}")))
}

/// The checkpoint of a state whose last record is at `head`.
pub(crate) fn sign(state: &State, head: Head, key: &Key) -> Result<Checkpoint, StoreError> {
    let text = serde_json::to_string(state)
        .map_err(|error| StoreError::integrity(format!("the state is no JSON: {error}")))?;
    let signature = key.sign(&parts(head, &text).each()).to_vec();
    Ok(Checkpoint {
        sequence: head.sequence,
        state: text,
        signature,
    })
}

struct Parts {
    sequence: [u8; 8],
    line: Digest,
    state: Digest,
}

impl Parts {
    fn each(&self) -> [&[u8]; 4] {
        let (line, state) = (self.line.as_bytes(), self.state.as_bytes());
        [b"checkpoint", &self.sequence, line, state]
    }
}

fn parts(head: Head, state: &str) -> Parts {
    Parts {
        sequence: head.sequence.to_be_bytes(),
        line: head.digest,
        state: Digest::of(state.as_bytes()),
    }
}
