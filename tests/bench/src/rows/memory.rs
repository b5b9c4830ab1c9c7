//! Resident memory after many calls of every kind against after a few.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};
use bindery_artefacts::wat;
use bindery_sandbox::LoadedComponent;
use bindery_types::{Budget, LimitName};

use super::effectful::store;
use crate::goal::Goal;
use crate::pace::Pace;
use crate::rig::{ASK, Rig, budget, explain, run};
use crate::row::Row;
use crate::stand::Kind::Reading;
use crate::stand::Stand;
use crate::stats::Pair;
use crate::tools::said;

/// The argument of the process that measures itself.
pub const VERB: &str = "resident-memory";
/// The same, of governed calls that are recorded on disk.
pub const GOVERNED: &str = "resident-memory-governed";

const ROUNDS: usize = 3;
const FEW: usize = 100;
const MANY: usize = 10_000;

/// The rows; each round is a process of its own.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    Ok(vec![
        row(rig, VERB, "memory", "resident after 10,000 mixed calls")?,
        row(
            rig,
            GOVERNED,
            "memory-governed",
            "resident after 10,000 mixed governed calls",
        )?,
    ])
}

fn row(rig: &Rig, verb: &str, id: &str, what: &str) -> Result<Row> {
    let mut pair = Pair::default();
    for _ in 0..rig.pace.long_rounds(ROUNDS) {
        let text = said(Command::new(std::env::current_exe()?).arg(verb))?;
        let (few, many) = text.trim().split_once(' ').context("two numbers")?;
        pair.ours.push(many.parse()?);
        pair.theirs.push(few.parse()?);
    }
    let note = format!(
        "MiB after {MANY}: {:.1}, after {FEW}: {:.1} (last round)",
        mib(&pair.ours),
        mib(&pair.theirs)
    );
    let row = Row::new(id, what, "after 100");
    let mut row = row.goal(Goal::AtMost(1.2)).ratio(&pair).note(note);
    // These sides are bytes, not times.
    (row.ours_ns, row.theirs_ns) = (None, None);
    Ok(row)
}

fn mib(bytes: &[f64]) -> f64 {
    bytes.last().copied().unwrap_or_default() / f64::from(1 << 20)
}

/// What the process prints that measures itself.
///
/// # Errors
///
/// When a guest is missing or the system does not tell.
pub fn child() -> Result<String> {
    let rig = Rig::new(Pace::Full)?;
    let mix = mix(&rig)?;
    let limits = budget(&[(LimitName::Deadline, 5), (LimitName::Memory, 16 << 20)])?;
    let mut sizes = Vec::new();
    for calls in [FEW, MANY.saturating_sub(FEW)] {
        rig.runtime.block_on(calls_of(&rig, &mix, calls, &limits));
        sizes.push(resident()?);
    }
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    Ok(sizes.join(" "))
}

/// The same of governed calls, recorded in a store: values, wrong arguments, a handle of
/// nobody, descriptions.
///
/// # Errors
///
/// When a guest is missing, the store cannot be made, or the system does not tell.
pub fn governed_child() -> Result<String> {
    let rig = Rig::new(Pace::Full)?;
    let folder = tempfile::tempdir()?;
    let journal = Arc::new(store(&folder.path().join("store"))?);
    let stand = Stand::new(&rig.answer.bytes, Reading, Some(journal));
    let stand = rig.runtime.block_on(stand)?;
    let mut sizes = Vec::new();
    for calls in [FEW, MANY.saturating_sub(FEW)] {
        rig.runtime.block_on(async {
            for turn in 0..calls {
                match turn % 4 {
                    0 => stand.describe(1)?,
                    1 => stand.refused(&stand.handle, r#"{"question": 7}"#).await?,
                    2 => stand.refused("nobody's", ASK).await?,
                    _ => stand.call(1).await?,
                }
            }
            Ok::<_, anyhow::Error>(())
        })?;
        sizes.push(resident()?);
    }
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    Ok(sizes.join(" "))
}

type Kind = (LoadedComponent, &'static str, String);

/// Ten kinds of call: answers, bytes, refusals, a guest's own error, traps, limits.
fn mix(rig: &Rig) -> Result<Vec<Kind>> {
    let answer = |arguments: &str| (rig.answer.loaded.clone(), "answer", arguments.to_owned());
    let hostile = |guest: &str, function, arguments: &str| -> Result<Kind> {
        let loading = rig.sandbox.load(wat(guest)?);
        let component = rig.runtime.block_on(loading).map_err(explain)?;
        Ok((component, function, arguments.to_owned()))
    };
    let bytes = format!(r#"{{"data": "{}"}}"#, "AAAA".repeat(16 << 10));
    Ok(vec![
        answer(ASK),
        answer(ASK),
        answer(ASK),
        answer(r#"{"question": ""}"#),
        answer(r#"{"question": 7}"#),
        (rig.crossing.loaded.clone(), "echo", bytes),
        hostile("hostile/trap/each", "unreachable", "{}")?,
        hostile("hostile/grow/memory", "forever", "{}")?,
        hostile("hostile/host-calls/log", "say", r#"{"bytes": 100000}"#)?,
        hostile("hostile/spin/call", "turns", r#"{"turns": 1000}"#)?,
    ])
}

async fn calls_of(rig: &Rig, mix: &[Kind], calls: usize, limits: &Budget) {
    for (component, function, arguments) in mix.iter().cycle().take(calls) {
        // Whatever it comes to: this is about what it leaves behind.
        drop(run(&rig.sandbox, component, function, arguments, limits).await);
    }
}

/// Bytes of this process in memory, as the system counts them.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line
        .and_then(|text| text.trim().strip_suffix(" kB"))
        .context("no VmRSS")?
        .trim()
        .parse()?;
    Ok(kib.saturating_mul(1 << 10))
}
