//! Keys and values of store grants on disk: one SQLite file a store.
//!
//! Rule (case G5): what was acknowledged is on the disk; each operation is one transaction,
//! its bounds included, so that calls in parallel and a crash see it whole or not at all.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bindery_grants::{Change, KeyValueStore, Keys, Room, StoreFault, Swap};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

/// How long a writer of another process is waited for.
const BUSY: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS size (entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
    INSERT INTO size SELECT 0, 0 WHERE NOT EXISTS (SELECT * FROM size);";

/// A store in one file.
pub struct DiskStore {
    path: PathBuf,
    /// Held for one operation.
    connection: Mutex<Connection>,
}

impl std::fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn broken(error: impl std::fmt::Display) -> StoreFault {
    StoreFault::Unavailable(error.to_string())
}

impl DiskStore {
    /// Opens the store in the file `path`, or makes one that only its owner reads.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Unavailable`] when there can be none, or it is no store.
    pub fn open(path: &Path) -> Result<Self, StoreFault> {
        let unusable = |error: &dyn std::fmt::Display| {
            StoreFault::Unavailable(format!("{}: {error}", path.display()))
        };
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path);
        drop(made.map_err(|error| unusable(&error))?);
        let connection = Connection::open(path).map_err(|error| unusable(&error))?;
        let prepared = connection
            .busy_timeout(BUSY)
            .and_then(|()| connection.pragma_update(None, "journal_mode", "WAL"))
            .and_then(|()| connection.pragma_update(None, "synchronous", "FULL"))
            .and_then(|()| connection.execute_batch(TABLES));
        prepared.map_err(|error| unusable(&error))?;
        Ok(Self {
            path: path.to_owned(),
            connection: Mutex::new(connection),
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// One step: what `change` does is kept if it says so, and undone otherwise.
    fn step<R>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<R, StoreFault>,
    ) -> Result<R, StoreFault> {
        let mut connection = self.connection();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(broken)?;
        let result = change(&transaction)?;
        transaction.commit().map_err(broken)?;
        Ok(result)
    }
}

fn value_of(connection: &Connection, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
    let mut statement = connection
        .prepare_cached("SELECT value FROM entry WHERE key = ?1")
        .map_err(broken)?;
    statement
        .query_row([key.as_bytes()], |row| row.get(0))
        .optional()
        .map_err(broken)
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// SQLite counts with a sign; nothing here is ever negative.
fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn entry_bytes(key: &str, value: &[u8]) -> u64 {
    size(key.len()).saturating_add(size(value.len()))
}

/// Puts all of `changes`, unless there is no room for what they add. A store that is too
/// large already may still shrink.
fn put_all(
    transaction: &Transaction<'_>,
    changes: &BTreeMap<&str, Option<&[u8]>>,
    room: Room,
) -> Result<(), StoreFault> {
    let row = |row: &rusqlite::Row<'_>| Ok((count(row.get(0)?), count(row.get(1)?)));
    let before = transaction
        .query_row("SELECT entries, bytes FROM size", [], row)
        .map_err(broken)?;
    let (mut entries, mut bytes) = before;
    for (key, value) in changes {
        if let Some(old) = value_of(transaction, key)? {
            entries = entries.saturating_sub(1);
            bytes = bytes.saturating_sub(entry_bytes(key, &old));
        }
        if let Some(value) = value {
            entries = entries.saturating_add(1);
            bytes = bytes.saturating_add(entry_bytes(key, value));
        }
    }
    if entries > room.entries_max && entries > before.0 {
        return Err(StoreFault::Entries { entries });
    }
    if bytes > room.bytes_max && bytes > before.1 {
        return Err(StoreFault::Full { bytes });
    }
    for (key, value) in changes {
        let written = match value {
            Some(value) => transaction.execute(
                "INSERT INTO entry VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2",
                params![key.as_bytes(), value],
            ),
            None => transaction.execute("DELETE FROM entry WHERE key = ?1", [key.as_bytes()]),
        };
        written.map_err(broken)?;
    }
    transaction
        .execute(
            "UPDATE size SET entries = ?1, bytes = ?2",
            [stored(entries), stored(bytes)],
        )
        .map_err(broken)?;
    Ok(())
}

impl KeyValueStore for DiskStore {
    fn get(&self, keys: &[String], bytes_max: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault> {
        let mut connection = self.connection();
        // One moment for all of them.
        let reading = connection.transaction().map_err(broken)?;
        let mut bytes = 0_u64;
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            let long = reading
                .query_row(
                    "SELECT length(value) FROM entry WHERE key = ?1",
                    [key.as_bytes()],
                    |row| row.get(0).map(count),
                )
                .optional()
                .map_err(broken)?;
            // Counted before it is read.
            bytes = bytes.saturating_add(long.unwrap_or(0));
            if bytes > bytes_max {
                return Err(StoreFault::Long { bytes });
            }
            values.push(value_of(&reading, key)?);
        }
        Ok(values)
    }

    fn exists(&self, key: &str) -> Result<bool, StoreFault> {
        let connection = self.connection();
        let found = connection
            .query_row(
                "SELECT 1 FROM entry WHERE key = ?1",
                [key.as_bytes()],
                |_| Ok(()),
            )
            .optional();
        Ok(found.map_err(broken)?.is_some())
    }

    fn keys(&self, skip: u64, max: usize) -> Result<Keys, StoreFault> {
        let connection = self.connection();
        let mut statement = connection
            .prepare_cached("SELECT key FROM entry ORDER BY key LIMIT ?1 OFFSET ?2")
            .map_err(broken)?;
        let one_more = stored(size(max).saturating_add(1));
        let rows = statement
            .query_map([one_more, stored(skip)], |row| row.get::<_, Vec<u8>>(0))
            .map_err(broken)?;
        let mut keys = Vec::new();
        for row in rows {
            keys.push(String::from_utf8(row.map_err(broken)?).map_err(broken)?);
        }
        let more = keys.len() > max;
        keys.truncate(max);
        Ok(Keys { keys, more })
    }

    fn apply(&self, changes: &[Change], room: Room) -> Result<(), StoreFault> {
        let last_of_each = changes.iter().map(|change| match change {
            Change::Set(key, value) => (key.as_str(), Some(value.as_slice())),
            Change::Delete(key) => (key.as_str(), None),
        });
        let last_of_each = last_of_each.collect();
        self.step(|transaction| put_all(transaction, &last_of_each, room))
    }

    fn increment(&self, key: &str, by: u64, room: Room) -> Result<u64, StoreFault> {
        self.step(|transaction| {
            let before = match value_of(transaction, key)? {
                Some(value) => std::str::from_utf8(&value)
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|text| text.parse::<u64>().ok())
                    .ok_or(StoreFault::NotANumber)?,
                None => 0,
            };
            let after = before.checked_add(by).ok_or(StoreFault::Overflow)?;
            let text = after.to_string();
            let change = BTreeMap::from([(key, Some(text.as_bytes()))]);
            put_all(transaction, &change, room)?;
            Ok(after)
        })
    }

    fn swap(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        value: &[u8],
        room: Room,
    ) -> Result<Swap, StoreFault> {
        self.step(|transaction| {
            let current = value_of(transaction, key)?;
            if current.as_deref() != expected {
                return Ok(Swap::Differs(current));
            }
            put_all(transaction, &BTreeMap::from([(key, Some(value))]), room)?;
            Ok(Swap::Done)
        })
    }
}

#[cfg(test)]
mod tests;
