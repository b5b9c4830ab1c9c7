//! F2 and what stands on it: the engine as configured, and a call through the sandbox.

use anyhow::Result;

use super::ROUNDS;
use crate::goal::Goal;
use crate::measure::in_turns;
use crate::raw::Raw;
use crate::rig::{ASK, Rig};
use crate::row::Row;

/// The rows.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let bytes = &rig.answer.bytes;
    let ours = Raw::ours(bytes)?;
    let f2 = |count| ours.answer(count);
    let pooled = Raw::pooled(bytes)?;
    let on_demand = Raw::on_demand(bytes)?;
    let run = |count| rig.call(&rig.answer, "answer", ASK, count);
    let on_a_stack = |count| rig.runtime.block_on(ours.answer_on_a_stack(count));
    Ok(vec![
        Row::new(
            "f2-pooled",
            "F2: fresh store, call, drop",
            "pooling defaults, our features",
        )
        .ratio(&in_turns(rig.pace.rounds(ROUNDS), f2, |count| {
            pooled.answer(count)
        })?),
        Row::new("f2-on-demand", "F2", "on-demand defaults, our features").ratio(&in_turns(
            rig.pace.rounds(ROUNDS),
            f2,
            |count| on_demand.answer(count),
        )?),
        Row::new("f2-stack", "F2 on a pooled stack", "F2").ratio(&in_turns(
            rig.pace.rounds(ROUNDS),
            on_a_stack,
            f2,
        )?),
        Row::new("run", "run, JSON to JSON", "F2")
            .goal(Goal::AtMost(1.35))
            .ratio(&in_turns(rig.pace.rounds(ROUNDS), run, f2)?),
    ])
}
