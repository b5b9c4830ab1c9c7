//! What being governed costs a guest that computes for a millisecond.

use anyhow::Result;

use super::ROUNDS;
use crate::goal::Goal;
use crate::measure::{in_turns, time};
use crate::raw::Raw;
use crate::rig::Rig;
use crate::row::Row;

/// Rounds of the guest's computation that the first guess is made with.
const TRIAL_ROUNDS: u32 = 1_000_000;

/// The row.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let raw = Raw::ours(&rig.answer.bytes)?;
    let rounds = rounds_of_a_millisecond(&raw)?;
    let arguments = format!(r#"{{"rounds": {rounds}}}"#);
    let pair = in_turns(
        rig.pace.rounds(ROUNDS),
        |count| rig.call(&rig.answer, "compute", &arguments, count),
        |count| raw.compute(rounds, count),
    )?;
    let row = Row::new("compute", "1 ms of guest computation", "F2, same flags");
    Ok(vec![row.goal(Goal::AtMost(1.03)).ratio(&pair)])
}

/// How many rounds take about a millisecond.
pub(super) fn rounds_of_a_millisecond(raw: &Raw) -> Result<u32> {
    let mut trial = |count| raw.compute(TRIAL_ROUNDS, count);
    time(&mut trial, 3)?;
    let ns = time(&mut trial, 10)?;
    // The nearest thousand, found by counting: floats are not converted to integers here.
    let wanted = f64::from(TRIAL_ROUNDS) * 1e6 / ns;
    let thousands = (1..100_000_u32).find(|n| f64::from(*n) * 1e3 >= wanted);
    Ok(thousands.unwrap_or(1).saturating_mul(1_000))
}
