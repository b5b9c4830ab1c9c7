//! The groups of rows, in the order of the table.

mod allocations;
mod arguments;
mod bytes;
mod compute;
mod decision;
mod effectful;
mod floor;
mod governed;
mod lateness;
mod load;
pub mod memory;
mod neighbours;
pub mod opening;
mod peers;
mod process;
mod threads;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::pace::Pace;
use crate::rig::Rig;
use crate::row::Row;

/// Rounds of a row whose batches are short.
const ROUNDS: usize = 41;
/// Rounds of a row whose rounds take long.
const FEW_ROUNDS: usize = 15;

type Group = (&'static str, fn(&Rig) -> Result<Vec<Row>>);

const GROUPS: [Group; 18] = [
    ("floor", floor::rows),
    ("governed", governed::rows),
    ("decision", decision::rows),
    ("effectful", effectful::rows),
    ("opening", opening::rows),
    ("defaults", peers::defaults),
    ("allocations", allocations::rows),
    ("compute", compute::rows),
    ("bytes", bytes::rows),
    ("arguments", arguments::rows),
    ("refused", arguments::refused),
    ("threads", threads::rows),
    ("load", load::rows),
    ("process", process::rows),
    ("extism", peers::extism),
    ("neighbours", neighbours::rows),
    ("lateness", lateness::rows),
    ("memory", memory::rows),
];

/// Measures every group whose name has `wanted` in it. A group that fails is a row that
/// says so: the others are worth having.
///
/// # Errors
///
/// When no name has it, or what all of them need is missing.
pub fn measure(wanted: &str, pace: Pace) -> Result<Vec<Row>> {
    if !GROUPS.iter().any(|(name, _)| name.contains(wanted)) {
        let names = GROUPS.map(|(name, _)| name).join(", ");
        bail!("no group has `{wanted}` in its name; the groups are {names}");
    }
    let rig = Rig::new(pace)?;
    let mut rows = Vec::new();
    for (name, group) in GROUPS.iter().filter(|(name, _)| name.contains(wanted)) {
        let started = Instant::now();
        match group(&rig) {
            Ok(found) => rows.extend(found),
            Err(error) => rows.push(Row::new(name, "", "").absent(format!("{error:#}"))),
        }
        progress(name, started.elapsed().as_secs_f64());
    }
    Ok(rows)
}

#[expect(
    clippy::print_stderr,
    reason = "who waits wants to see that it goes on"
)]
fn progress(group: &str, seconds: f64) {
    eprintln!("measured {group} in {seconds:.1} s");
}
