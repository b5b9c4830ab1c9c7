//! Calls of two threads against those of one.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use bindery_types::Budget;

use super::FEW_ROUNDS;
use crate::goal::Goal;
use crate::rig::{ASK, Rig, run, value};
use crate::row::Row;
use crate::stats::{Pair, Summary};

/// How long the threads of one round work.
const ROUND: Duration = Duration::from_millis(200);
/// Steps of plain computation between two looks at the clock.
const STEPS: u32 = 10_000;

/// The row, with what two threads of plain computation reach at the same time as its note.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let (mut calls, mut plain) = (Pair::default(), Pair::default());
    for _ in 0..rig.pace.rounds(FEW_ROUNDS) {
        calls.ours.push(together(2, || calling(rig))?);
        calls.theirs.push(together(1, || calling(rig))?);
        plain.ours.push(together(2, computing)?);
        plain.theirs.push(together(1, computing)?);
    }
    let control = Summary::of(&plain.ratios()).ok_or_else(|| anyhow!("no rounds"))?;
    let note = format!(
        "two threads of plain computation reach {:.2} times one here (median of the same rounds; {:.2}-{:.2})",
        control.median, control.min, control.max
    );
    let row = Row::new("threads", "calls a second, two threads", "one thread");
    let mut row = row.goal(Goal::AtLeast(1.8)).ratio(&calls).note(note);
    // These sides are rates, not times.
    (row.ours_ns, row.theirs_ns) = (None, None);
    Ok(vec![row])
}

/// What so many threads that work at the same time do in a second, all together.
pub(super) fn together(threads: usize, work: impl Fn() -> Result<f64> + Sync) -> Result<f64> {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let one = || {
            barrier.wait();
            work()
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let mut sum = 0.0;
        for handle in handles {
            sum += handle.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        Ok(sum)
    })
}

fn calling(rig: &Rig) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (sandbox, component) = (&rig.sandbox, &rig.answer.loaded);
    let budget = Budget::default();
    runtime.block_on(async {
        let (started, mut calls) = (Instant::now(), 0_u32);
        while started.elapsed() < ROUND {
            for _ in 0..32 {
                value(run(sandbox, component, "answer", ASK, &budget).await)?;
                calls = calls.saturating_add(1);
            }
        }
        Ok(f64::from(calls) / started.elapsed().as_secs_f64())
    })
}

fn computing() -> Result<f64> {
    let (started, mut blocks, mut state) = (Instant::now(), 0_u32, 1_u64);
    while started.elapsed() < ROUND {
        for _ in 0..STEPS {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
        blocks = blocks.saturating_add(1);
    }
    Ok(f64::from(blocks) / started.elapsed().as_secs_f64())
}
