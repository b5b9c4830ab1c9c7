//! The database: its settings, read back, and its few statements.
//!
//! Rule (H51): WAL, `synchronous=FULL`, foreign keys, untrusted schema, defensive, cells
//! checked; a setting that is not what was asked for ends the start. The schema is
//! compared with ours word for word, so that nobody's trigger runs.

use std::path::Path;
use std::time::Duration;

use bindery_ledger::Kept;
use bindery_types::{Digest, Moment};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::StoreError;

const VERSION: i64 = 1;

/// How long one statement waits for somebody else's lock.
const BUSY: Duration = Duration::from_secs(5);

const SCHEMA: [&str; 5] = [
    "CREATE TABLE records (sequence INTEGER PRIMARY KEY, session TEXT, subject TEXT NOT NULL, line TEXT NOT NULL) STRICT",
    "CREATE INDEX by_subject ON records (subject)",
    "CREATE INDEX by_session ON records (session) WHERE session IS NOT NULL",
    "CREATE TABLE kept (digest BLOB PRIMARY KEY, expires_at INTEGER NOT NULL, text TEXT NOT NULL) STRICT",
    "CREATE TABLE checkpoints (sequence INTEGER PRIMARY KEY, state TEXT NOT NULL, signature BLOB NOT NULL) STRICT",
];

/// A database that this process may write.
pub(crate) fn writable(path: &Path, new: bool) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection =
        Connection::open_with_flags(path, flags).map_err(StoreError::sql("cannot open"))?;
    settings(&connection)?;
    set(&connection, "journal_mode", "wal")?;
    set(&connection, "secure_delete", "1")?;
    connection
        .pragma_update(None, "wal_autocheckpoint", 4_000)
        .map_err(StoreError::sql("cannot set the size of the log"))?;
    if new {
        create(&connection)?;
    }
    sound(&connection)?;
    Ok(connection)
}

/// A database that this process only reads.
pub(crate) fn readable(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection =
        Connection::open_with_flags(path, flags).map_err(StoreError::sql("cannot open"))?;
    settings(&connection)?;
    Ok(connection)
}

fn settings(connection: &Connection) -> Result<(), StoreError> {
    connection
        .busy_timeout(BUSY)
        .map_err(StoreError::sql("cannot set the time to wait"))?;
    set(connection, "synchronous", "2")?;
    set(connection, "foreign_keys", "1")?;
    set(connection, "trusted_schema", "0")?;
    set(connection, "cell_size_check", "1")?;
    let defensive = connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)
        .map_err(StoreError::sql("cannot make it defensive"))?;
    if defensive {
        return Ok(());
    }
    Err(StoreError::Setting {
        pragma: "defensive",
        got: "0".to_owned(),
        wanted: "1",
    })
}

/// Sets a pragma and reads it back: some builds change what was asked.
fn set(
    connection: &Connection,
    pragma: &'static str,
    wanted: &'static str,
) -> Result<(), StoreError> {
    let changed = connection.pragma_update(None, pragma, wanted);
    changed.map_err(StoreError::sql("cannot change a setting"))?;
    let got = connection.pragma_query_value(None, pragma, |row| {
        let value: rusqlite::types::Value = row.get(0)?;
        Ok(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Null
            | rusqlite::types::Value::Real(_)
            | rusqlite::types::Value::Blob(_) => String::new(),
        })
    });
    let got = got.map_err(StoreError::sql("cannot read a setting"))?;
    if got == wanted {
        return Ok(());
    }
    Err(StoreError::Setting {
        pragma,
        got,
        wanted,
    })
}

fn create(connection: &Connection) -> Result<(), StoreError> {
    let all = SCHEMA.join(";");
    connection
        .execute_batch(&format!(
            "BEGIN IMMEDIATE;{all};PRAGMA user_version={VERSION};COMMIT"
        ))
        .map_err(StoreError::sql("cannot make the tables"))
}

/// Whether pages and tables are whole, and the schema is exactly ours.
pub(crate) fn sound(connection: &Connection) -> Result<(), StoreError> {
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(StoreError::sql("cannot read the version"))?;
    if version != VERSION {
        let (got, wanted) = (version, VERSION);
        return Err(StoreError::Version { got, wanted });
    }
    let said: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(StoreError::sql("cannot check the pages"))?;
    if said != "ok" {
        return Err(StoreError::integrity(said));
    }
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        .map_err(StoreError::sql("cannot read the schema"))?;
    let found: Result<Vec<String>, _> = statement
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect);
    let found = found.map_err(StoreError::sql("cannot read the schema"))?;
    if found == SCHEMA {
        return Ok(());
    }
    Err(StoreError::integrity("the schema is another"))
}

/// One record's row.
pub(crate) struct Row<'a> {
    pub(crate) sequence: u64,
    pub(crate) session: Option<&'a str>,
    pub(crate) subject: &'a str,
    pub(crate) line: &'a str,
}

pub(crate) fn number(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

pub(crate) fn insert(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO records (sequence, session, subject, line) VALUES (?1, ?2, ?3, ?4)",
    )?;
    statement.execute(params![
        number(row.sequence),
        row.session,
        row.subject,
        row.line
    ])?;
    Ok(())
}

/// Keeps a result; the later of two times to forget it counts.
pub(crate) fn keep(connection: &Connection, kept: &Kept) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO kept (digest, expires_at, text) VALUES (?1, ?2, ?3) \
         ON CONFLICT (digest) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)",
    )?;
    statement.execute(params![
        kept.digest.as_bytes().as_slice(),
        number(kept.expires_at.unix_ms()),
        kept.text
    ])?;
    Ok(())
}

/// Forgets the results whose time is over.
pub(crate) fn forget(connection: &Connection, now: Moment) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM kept WHERE expires_at <= ?1")?;
    statement.execute([number(now.unix_ms())])?;
    Ok(())
}

/// The kept result with this digest, if its text is the one that was kept.
pub(crate) fn kept(connection: &Connection, digest: Digest) -> Result<Option<String>, StoreError> {
    let found: Option<String> = connection
        .query_row(
            "SELECT text FROM kept WHERE digest = ?1",
            [digest.as_bytes().as_slice()],
            |row| row.get(0),
        )
        .optional()
        .map_err(StoreError::sql("cannot read a result"))?;
    match found {
        Some(text) if Digest::of(text.as_bytes()) != digest => {
            Err(StoreError::integrity("a kept result is another"))
        }
        Some(text) => Ok(Some(text)),
        None => Ok(None),
    }
}

/// A stored state with its signature.
pub(crate) struct Checkpoint {
    pub(crate) sequence: u64,
    pub(crate) state: String,
    pub(crate) signature: Vec<u8>,
}

/// The latest checkpoint.
pub(crate) fn checkpoint(connection: &Connection) -> Result<Option<Checkpoint>, StoreError> {
    let found = connection.query_row(
        "SELECT sequence, state, signature FROM checkpoints ORDER BY sequence DESC LIMIT 1",
        [],
        |row| {
            let sequence: i64 = row.get(0)?;
            Ok(Checkpoint {
                sequence: u64::try_from(sequence).unwrap_or(u64::MAX),
                state: row.get(1)?,
                signature: row.get(2)?,
            })
        },
    );
    found
        .optional()
        .map_err(StoreError::sql("cannot read a checkpoint"))
}

/// Stores a checkpoint in place of all before it.
pub(crate) fn store_checkpoint(
    connection: &Connection,
    checkpoint: &Checkpoint,
) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO checkpoints (sequence, state, signature) VALUES (?1, ?2, ?3)",
        params![
            number(checkpoint.sequence),
            checkpoint.state,
            checkpoint.signature
        ],
    )?;
    connection.execute(
        "DELETE FROM checkpoints WHERE sequence < ?1",
        [number(checkpoint.sequence)],
    )?;
    Ok(())
}

/// Shows every row from `first` on, in order, until `see` has enough or fails.
pub(crate) fn walk(
    connection: &Connection,
    first: u64,
    see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let reading = || StoreError::sql("cannot read the records");
    let mut statement = connection
        .prepare_cached(
            "SELECT sequence, session, subject, line FROM records \
             WHERE sequence >= ?1 ORDER BY sequence",
        )
        .map_err(reading())?;
    let mut rows = statement.query([number(first)]).map_err(reading())?;
    while let Some(row) = rows.next().map_err(reading())? {
        if !see(&read(row).map_err(reading())?)? {
            break;
        }
    }
    Ok(())
}

/// Reads a row without copying its texts.
pub(crate) fn read<'a>(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Row<'a>> {
    let sequence: i64 = row.get(0)?;
    Ok(Row {
        sequence: u64::try_from(sequence).unwrap_or_default(),
        session: row.get_ref(1)?.as_str_or_null()?,
        subject: row.get_ref(2)?.as_str()?,
        line: row.get_ref(3)?.as_str()?,
    })
}
