//! Reading a store: the records of one subject or session, the export, the full check.
//!
//! Rule (C-50, R-690 … R-695): whoever may read the folder may read it while another
//! process owns it, and changes nothing by that.

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bindery_ledger::{Query, Record, State, read_checked};
use bindery_types::Digest;
use rusqlite::Connection;

use crate::check::{Verified, whole};
use crate::database::{self, Row, kept, read, walk};
use crate::folder::Folder;
use crate::mark::Mark;
use crate::{StoreError, check};

/// The name of the database in its folder.
pub(crate) const DATABASE: &str = "ledger.sqlite";
/// The name of the mark, when it is kept in the folder.
pub(crate) const MARK: &str = "mark";

/// A store that is looked at, not owned.
pub struct Inspection {
    /// SQLite's connections are for one thread at a time; held for one read.
    connection: Mutex<Connection>,
    state: State,
}

impl Inspection {
    /// Opens the store in `folder` to read it; its chain is checked up to the mark, which
    /// is in the folder unless `mark` says where.
    ///
    /// # Errors
    ///
    /// When there is no store, or it is not as it was written.
    pub fn open(folder: &Path, mark: Option<&Path>) -> Result<Self, StoreError> {
        let folder = Folder::existing(folder)?;
        let key = folder.key(false)?;
        let place = mark.map_or_else(|| folder.path(MARK), Path::to_owned);
        // The mark first: an owner that writes meanwhile is then ahead of it, never behind.
        let (_, marked) = Mark::read(&place, &key, false)?;
        let connection = database::readable(&folder.path(DATABASE))?;
        database::sound(&connection)?;
        let found = check::open(&connection, &key, marked)?;
        Ok(Self {
            connection: Mutex::new(connection),
            state: found.state,
        })
    }

    pub(crate) fn beside(path: &Path, state: State) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Mutex::new(database::readable(path)?),
            state,
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The state as it was when the store was opened for reading.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The records that fit `query`, in order.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn records(&self, query: &Query) -> Result<Vec<Record>, StoreError> {
        let connection = self.connection();
        match query {
            Query::Subject(subject) => by(&connection, "subject", subject),
            Query::Session(session) => by(&connection, "session", &session.to_string()),
            Query::From { sequence, count } => {
                let mut records = Vec::new();
                walk(&connection, *sequence, &mut |row| {
                    if records.len() >= *count {
                        return Ok(false);
                    }
                    records.push(read_checked(row.line, row.sequence)?);
                    Ok(true)
                })?;
                Ok(records)
            }
        }
    }

    /// A kept result.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is not what was kept.
    pub fn kept(&self, digest: Digest) -> Result<Option<String>, StoreError> {
        kept(&self.connection(), digest)
    }

    /// Writes every record as one line of JSON.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or `out` not be written.
    pub fn export(&self, out: &mut dyn Write) -> Result<u64, StoreError> {
        let mut count = 0;
        walk(&self.connection(), 1, &mut |row| {
            let written = out
                .write_all(row.line.as_bytes())
                .and_then(|()| out.write_all(b"\n"));
            written.map_err(StoreError::io("cannot write", Path::new("the export")))?;
            count = row.sequence;
            Ok(true)
        })?;
        Ok(count)
    }

    /// Reads everything, folds it from the first record, and compares it with the state.
    ///
    /// # Errors
    ///
    /// When anything is not as it was written.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        self.verify_against(&self.state)
    }

    pub(crate) fn verify_against(&self, state: &State) -> Result<Verified, StoreError> {
        let connection = self.connection();
        database::sound(&connection)?;
        let (head, folded) = whole(&connection, state.sequence())?;
        if folded != *state {
            return Err(StoreError::integrity("the records come to another state"));
        }
        Ok(Verified {
            records: head.sequence,
            digest: head.digest,
        })
    }
}

fn by(
    connection: &Connection,
    column: &'static str,
    wanted: &str,
) -> Result<Vec<Record>, StoreError> {
    let reading = || StoreError::sql("cannot read the records");
    let sql = match column {
        "session" => {
            "SELECT sequence, session, subject, line FROM records \
             WHERE session = ?1 ORDER BY sequence"
        }
        _ => {
            "SELECT sequence, session, subject, line FROM records \
             WHERE subject = ?1 ORDER BY sequence"
        }
    };
    let mut statement = connection.prepare_cached(sql).map_err(reading())?;
    let mut rows = statement.query([wanted]).map_err(reading())?;
    let mut records = Vec::new();
    while let Some(row) = rows.next().map_err(reading())? {
        let row: Row<'_> = read(row).map_err(reading())?;
        records.push(read_checked(row.line, row.sequence)?);
    }
    Ok(records)
}
