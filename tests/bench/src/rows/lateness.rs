//! How late a guest that never ends is stopped, on one worker.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bindery_artefacts::wat;
use bindery_types::{ErrorType, LimitName, Outcome};
use tokio::task::JoinSet;

use crate::goal::Goal;
use crate::rig::{Rig, budget, explain, run, sandbox};
use crate::row::{Row, Unit};

const MANY: u32 = 64;

/// The rows: the latest of each round.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let alone = latest(rig, rig.pace.rounds(20), 1, 20)?;
    let crowd = latest(rig, rig.pace.rounds(8), MANY, 400)?;
    let allowed = 2.0 + f64::from(MANY);
    Ok(vec![
        Row::new("late", "a spinning guest alone, late by", "its deadline")
            .goal(Goal::AtMost(2.0))
            .samples(Unit::Ms, &alone),
        Row::new(
            "late-crowd",
            "64 spinning guests, the latest",
            "their deadline",
        )
        .goal(Goal::AtMost(allowed))
        .samples(Unit::Ms, &crowd),
    ])
}

/// Milliseconds between the deadline and the last of `spinners` that is told of it.
fn latest(rig: &Rig, rounds: usize, spinners: u32, deadline_ms: u64) -> Result<Vec<f64>> {
    let sandbox = sandbox(&budget(&[(LimitName::Concurrent, spinners.into())])?)?;
    let limits = budget(&[(LimitName::Deadline, deadline_ms)])?;
    let allowed = Duration::from_millis(deadline_ms);
    rig.runtime.block_on(async {
        let component = sandbox
            .load(wat("hostile/spin/call")?)
            .await
            .map_err(explain)?;
        let mut latest = Vec::new();
        for _ in 0..rounds {
            let mut crowd = JoinSet::new();
            for _ in 0..spinners {
                let (sandbox, component) = (sandbox.clone(), component.clone());
                let limits = limits.clone();
                crowd.spawn(async move {
                    let started = Instant::now();
                    let run = run(&sandbox, &component, "forever", "{}", &limits).await;
                    (run, started.elapsed())
                });
            }
            let mut worst = Duration::ZERO;
            while let Some(ended) = crowd.join_next().await {
                let (run, elapsed) = ended?;
                let Outcome::Refused(refusal) = run.outcome else {
                    anyhow::bail!("a loop without end has ended");
                };
                ensure!(refusal.kind() == ErrorType::Timeout, "{refusal}");
                worst = worst.max(elapsed.saturating_sub(allowed));
            }
            latest.push(worst.as_secs_f64() * 1e3);
        }
        Ok(latest)
    })
}
