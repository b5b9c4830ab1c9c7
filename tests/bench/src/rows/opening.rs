//! Opening a ledger that has run for long: time until it can be used, and memory.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};

use super::effectful::store;
use crate::pace::Pace;
use crate::rig::Rig;
use crate::row::{Row, Unit};
use crate::stand::{Kind, Stand};
use crate::tools::said;

/// The argument of the process that opens one.
pub const VERB: &str = "open-ledger";

/// Records of the ledger; a tenth of them are of calls.
const RECORDS: u32 = 1_000_000;
/// The same for a quick run.
const FEWER: u32 = 20_000;
/// Times that it is opened.
const ROUNDS: usize = 3;

/// The rows; each opening is a process of its own.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let records = match rig.pace {
        Pace::Full => RECORDS,
        Pace::Quick => FEWER,
    };
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("store");
    let begun = Instant::now();
    rig.runtime.block_on(async {
        let journal = Arc::new(store(&place)?);
        let stand = Stand::new(&rig.answer.bytes, Kind::Reading, Some(journal.clone())).await?;
        for round in 0..records / 20 {
            stand.call(1).await?;
            stand.describe(18)?;
            // More than a queue holds are written; the writer is given its turns.
            if round % 1_000 == 0 {
                journal.flush().map_err(|error| anyhow!("{error}"))?;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let written = begun.elapsed().as_secs_f64();
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..rig.pace.long_rounds(ROUNDS) {
        let text = said(Command::new(std::env::current_exe()?).arg(VERB).arg(&place))?;
        let (ms, mib) = text.trim().split_once(' ').context("two numbers")?;
        times.push(ms.parse()?);
        sizes.push(mib.parse()?);
    }
    let what = format!("opening a ledger of {records} records");
    let each = written * 1e6 / f64::from(records);
    let note = format!("written in {written:.1} s, {each:.1} us a record");
    Ok(vec![
        Row::new("opening", &what, "")
            .samples(Unit::Ms, &times)
            .note(note),
        Row::new("opening-memory", "MiB of memory that this takes", "")
            .samples(Unit::Count, &sizes),
    ])
}

/// What the process prints that opens the ledger in `folder`: milliseconds and MiB.
///
/// # Errors
///
/// When it cannot be opened or the system does not tell.
pub fn child(folder: &str) -> Result<String> {
    let before = super::governed::resident_bytes()?;
    let begun = Instant::now();
    let opened = store(folder.as_ref())?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let taken = super::governed::resident_bytes()? - before;
    drop(opened);
    Ok(format!("{ms} {}", taken / f64::from(1 << 20)))
}
