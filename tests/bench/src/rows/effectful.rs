//! Calls with effects, whose intent and outcome are each on the disk before anybody goes on,
//! against one commit of SQLite for each record, with the same settings on the same disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use bindery::ledger::{Actor, Line};
use bindery::{Moment, Rights};
use bindery_store::{Options, Store};
use rusqlite::{Connection, params};

use super::FEW_ROUNDS;
use crate::goal::Goal;
use crate::measure::{nanoseconds, turns};
use crate::rig::Rig;
use crate::row::Row;
use crate::stand::{Kind, Stand};
use crate::stats::Pair;

/// Callers at once.
const CLIENTS: u32 = 64;
/// Calls of each caller in a round.
const EACH: u32 = 8;
/// Calls of a round with one caller, and commits of the other side.
const ALONE: u32 = 32;
/// Records of one call.
const RECORDS: u32 = 2;
/// Bytes of a record with its decision, about.
const RECORD: usize = 4_096;

/// The rows.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let journal = Arc::new(store(&folder.path().join("store"))?);
    let stand = runtime.block_on(Stand::new(&rig.answer.bytes, Kind::Writing, Some(journal)))?;
    let stand = Arc::new(stand);
    let plain = plain(&folder.path().join("plain.sqlite"))?;
    let measured = |clients: u32, each: u32| -> Result<Pair> {
        turns(
            rig.pace.rounds(FEW_ROUNDS),
            || runtime.block_on(together(&stand, clients, each)),
            || committed(&plain),
        )
    };
    let many = measured(CLIENTS, EACH)?;
    let one = measured(1, ALONE)?;
    let against = "a SQLite FULL commit a record";
    Ok(vec![
        Row::new("effectful", "a call with effects, 64 clients", against)
            .goal(Goal::AtLeast(20.0))
            .speedup(&many),
        Row::new("effectful-1", "the same, one client", against).speedup(&one),
    ])
}

/// Nanoseconds of a call when so many callers make so many each.
async fn together(stand: &Arc<Stand>, clients: u32, each: u32) -> Result<f64> {
    let started = Instant::now();
    let callers = (0..clients).map(|_| {
        let stand = Arc::clone(stand);
        tokio::spawn(async move { stand.call(each).await })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.context("a caller panicked")??;
    }
    let calls = clients.saturating_mul(each);
    Ok(nanoseconds(started.elapsed()) / f64::from(calls))
}

/// Nanoseconds of what one call records, a commit for each record.
fn committed(plain: &Connection) -> Result<f64> {
    let line = "x".repeat(RECORD);
    let started = Instant::now();
    for _ in 0..ALONE.saturating_mul(RECORDS) {
        plain.execute("INSERT INTO records (line) VALUES (?1)", params![line])?;
    }
    Ok(nanoseconds(started.elapsed()) / f64::from(ALONE))
}

fn plain(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch(
        "CREATE TABLE records (sequence INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT",
    )?;
    Ok(connection)
}

/// A store in `folder`, owned.
pub(super) fn store(folder: &Path) -> Result<Store> {
    let options = Options {
        now: Moment::from_unix_ms(0),
        actor: Actor {
            principal: "host".parse()?,
            rights: Rights::Operator,
        },
        provider: "bindery".parse()?,
        runtime: Line::cut("the bench"),
        mark: None,
    };
    Store::open(folder, &options).map_err(|error| anyhow!("{error}"))
}
