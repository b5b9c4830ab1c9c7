//! Counts what a small call allocates, ours and the engine's alone: prints calls of the
//! allocator and bytes, each per call, for `Sandbox::run`, for F2, for a governed call.

use std::alloc::System;

use anyhow::Result;
use bindery_bench::pace::Pace;
use bindery_bench::raw::Raw;
use bindery_bench::rig::{ASK, Rig};
use bindery_bench::stand::{Kind, Stand};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CALLS: u32 = 1_000;

#[expect(clippy::print_stdout, reason = "the bench reads it")]
fn main() -> Result<()> {
    let rig = Rig::new(Pace::Full)?;
    let raw = Raw::ours(&rig.answer.bytes)?;
    let ours = counted(|count| rig.call(&rig.answer, "answer", ASK, count))?;
    let floor = counted(|count| raw.answer(count))?;
    let stand = Stand::new(&rig.answer.bytes, Kind::Reading, None);
    let stand = rig.runtime.block_on(stand)?;
    let governed = counted(|count| rig.runtime.block_on(stand.call(count)))?;
    println!(
        "{} {} {} {} {} {}",
        ours.0, ours.1, floor.0, floor.1, governed.0, governed.1
    );
    Ok(())
}

/// Calls of the allocator and bytes asked for, per repetition, after a warm-up.
fn counted(repeat: impl Fn(u32) -> Result<()>) -> Result<(f64, f64)> {
    repeat(CALLS)?;
    let region = Region::new(COUNTING);
    repeat(CALLS)?;
    let change = region.change();
    let calls = change.allocations.saturating_add(change.reallocations);
    let per_call = |sum: usize| u32::try_from(sum).map_or(f64::INFINITY, f64::from);
    let (calls, bytes) = (per_call(calls), per_call(change.bytes_allocated));
    Ok((calls / f64::from(CALLS), bytes / f64::from(CALLS)))
}
