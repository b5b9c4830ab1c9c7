//! Measuring in turns: one batch of ours, one of theirs, and again.
//!
//! What only computes is measured by the clock of its thread: what other programs take of
//! the machine meanwhile is not in it. What waits, or works on other threads, is measured
//! by the clock on the wall.

use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

use crate::stats::Pair;

/// How long one batch of a fast operation takes at least: many ticks of the clock, few
/// slices of the scheduler.
const BATCH: Duration = Duration::from_millis(5);

/// Time that this thread has spent on a processor so far.
fn busy() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Nanoseconds of this thread that one of `count` repetitions took, of an operation that
/// is told how often to do what it does.
///
/// # Errors
///
/// Those of the operation.
pub fn time(operation: &mut impl FnMut(u32) -> Result<()>, count: u32) -> Result<f64> {
    let before = busy();
    operation(count)?;
    Ok(nanoseconds(busy().saturating_sub(before)) / f64::from(count))
}

/// A time as a number.
#[must_use]
pub fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// How often an operation fits into a batch; warms it up on the way.
///
/// # Errors
///
/// Those of the operation.
pub fn fitting(operation: &mut impl FnMut(u32) -> Result<()>) -> Result<u32> {
    let mut count = 1_u32;
    loop {
        let before = busy();
        operation(count)?;
        if busy().saturating_sub(before) >= BATCH || count > 1 << 24 {
            return Ok(count);
        }
        count = count.saturating_mul(2);
    }
}

/// Measures two operations in turns: a batch of each in every round, after one that does
/// not count.
///
/// # Errors
///
/// Those of the operations.
pub fn in_turns(
    rounds: usize,
    mut ours: impl FnMut(u32) -> Result<()>,
    mut theirs: impl FnMut(u32) -> Result<()>,
) -> Result<Pair> {
    let (our_count, their_count) = (fitting(&mut ours)?, fitting(&mut theirs)?);
    turns(
        rounds,
        || time(&mut ours, our_count),
        || time(&mut theirs, their_count),
    )
}

/// The same for two measurements that time themselves.
///
/// # Errors
///
/// Those of the measurements.
pub fn turns(
    rounds: usize,
    mut ours: impl FnMut() -> Result<f64>,
    mut theirs: impl FnMut() -> Result<f64>,
) -> Result<Pair> {
    let mut pair = Pair::default();
    for _ in 0..rounds {
        pair.ours.push(ours()?);
        pair.theirs.push(theirs()?);
    }
    Ok(pair)
}
