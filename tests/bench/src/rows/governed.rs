//! The governed call: decided by a policy of 200 rules and recorded, against the engine
//! alone; the decision alone; what a live binding costs.

use std::time::Instant;

use anyhow::{Context, Result};

use super::threads::together;
use super::{FEW_ROUNDS, ROUNDS};
use crate::goal::Goal;
use crate::measure::in_turns;
use crate::raw::Raw;
use crate::rig::{ASK, Rig};
use crate::row::{Row, Unit};
use crate::stand::{Kind, Stand};
use crate::stats::Pair;

/// Bindings that live at once in the last row.
const BINDINGS: usize = 10_000;

/// The rows.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let raw = Raw::ours(&rig.answer.bytes)?;
    let stand = rig
        .runtime
        .block_on(Stand::new(&rig.answer.bytes, Kind::Reading, None))?;
    let governed = |count| rig.runtime.block_on(stand.call(count));
    let f2 = |count| raw.answer(count);
    let direct = |count| rig.call(&rig.answer, "answer", ASK, count);
    let rounds = rig.pace.rounds(ROUNDS);
    let against_f2 = in_turns(rounds, governed, f2)?;
    let decided = in_turns(rounds, |count| stand.explain(count), f2)?;
    let mut rows = vec![
        Row::new("governed", "a governed read-only call, 200 rules", "F2")
            .goal(Goal::AtMost(1.6))
            .ratio(&against_f2),
        Row::new("governed-run", "the same", "run, JSON to JSON")
            .ratio(&in_turns(rounds, governed, direct)?),
        Row::new("decided", "a bind decided and explained, 200 rules", "F2").ratio(&decided),
    ];
    rows.push(threads(rig)?);
    rows.extend(live(rig)?);
    Ok(rows)
}

/// Governed calls of two threads against those of one, through one host.
fn threads(rig: &Rig) -> Result<Row> {
    let stand = Stand::new(&rig.answer.bytes, Kind::Reading, None);
    let stand = rig.runtime.block_on(stand)?;
    let mut pair = Pair::default();
    for _ in 0..rig.pace.rounds(FEW_ROUNDS) {
        pair.ours.push(together(2, || stand.rate())?);
        pair.theirs.push(together(1, || stand.rate())?);
    }
    let row = Row::new(
        "governed-threads",
        "governed calls a second, two threads",
        "one thread",
    );
    let mut row = row.goal(Goal::AtLeast(1.8)).ratio(&pair);
    // These sides are rates, not times.
    (row.ours_ns, row.theirs_ns) = (None, None);
    Ok(row)
}

/// Resident memory of a live binding, and a call beside 10,000 of them.
fn live(rig: &Rig) -> Result<Vec<Row>> {
    let (few, many) = rig.runtime.block_on(async {
        let few = Stand::new(&rig.answer.bytes, Kind::Reading, None).await?;
        let many = Stand::new(&rig.answer.bytes, Kind::Reading, None).await?;
        Ok::<_, anyhow::Error>((few, many))
    })?;
    let before = resident_bytes()?;
    let begun = Instant::now();
    rig.runtime.block_on(async {
        for _ in 0..BINDINGS {
            many.bind().await?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let count = crate::stats::as_f64(BINDINGS);
    let each = (resident_bytes()? - before) / count;
    let note = format!(
        "{each:.0} bytes of resident memory and {:.1} us of time for each",
        begun.elapsed().as_secs_f64() * 1e6 / count
    );
    let beside = in_turns(
        rig.pace.rounds(FEW_ROUNDS),
        |count| rig.runtime.block_on(many.call(count)),
        |count| rig.runtime.block_on(few.call(count)),
    )?;
    let sizes = [each];
    Ok(vec![
        Row::new(
            "bindings",
            "a call beside 10,000 live bindings",
            "beside one",
        )
        .ratio(&beside)
        .note(note),
        Row::new("binding-size", "bytes of a live binding", "").samples(Unit::Count, &sizes),
    ])
}

/// Bytes of this process in memory, as the system counts them.
pub(super) fn resident_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: f64 = kib.context("the system does not tell")?.parse()?;
    Ok(kib * 1024.0)
}
