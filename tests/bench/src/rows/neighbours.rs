//! Calls that behave, beside one in twenty that does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bindery_artefacts::wat;
use bindery_sandbox::{LoadedComponent, Sandbox};
use bindery_types::{Budget, LimitName};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::compute::rounds_of_a_millisecond;
use crate::goal::Goal;
use crate::measure::nanoseconds;
use crate::raw::Raw;
use crate::rig::{ASK, Rig, budget, explain, run, value};
use crate::row::Row;
use crate::stats::{Pair, quantile};

/// What a hostile call is given; one that behaves has the default, so that on a busy
/// machine it is slow and not refused.
const DEADLINE_MS: u64 = 20;
const ROUNDS: usize = 9;
/// Clients that each wait for their answer before they ask again.
const CLIENTS: usize = 8;
/// One in so many calls is hostile.
const HOSTILE_EVERY: usize = 20;
/// Hostile guests with the function to call: each ends in its own kind of limit or trap.
const HOSTILE: [(&str, &str, &str); 4] = [
    ("hostile/trap/each", "unreachable", "{}"),
    ("hostile/spin/call", "forever", "{}"),
    ("hostile/grow/memory", "forever", "{}"),
    ("hostile/host-calls/log", "say", r#"{"bytes": 1000000}"#),
];

/// A call: component, function, arguments.
#[derive(Clone)]
struct Ask {
    component: LoadedComponent,
    function: &'static str,
    arguments: String,
    budget: Budget,
}

/// Everything that clients share.
struct Town {
    sandbox: Sandbox,
    hostile: Vec<Ask>,
}

/// The rows: a small call, and one of a millisecond.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let town = Arc::new(town(rig)?);
    let rounds = rounds_of_a_millisecond(&Raw::ours(&rig.answer.bytes)?)?;
    let turns = rig.pace.rounds(ROUNDS);
    let small = ask(rig, "answer", ASK.to_owned());
    let long = ask(rig, "compute", format!(r#"{{"rounds": {rounds}}}"#));
    let row = |id: &str, what: &str| Row::new(id, what, "without them").goal(Goal::AtMost(2.0));
    Ok(vec![
        row("neighbours", "p99 of small calls, 5 % of all hostile")
            .ratio(&pair(&town, &small, 1_000, turns)?),
        row("neighbours-1ms", "p99 of calls of 1 ms, 5 % of all hostile")
            .ratio(&pair(&town, &long, 100, turns)?),
    ])
}

fn town(rig: &Rig) -> Result<Town> {
    let mut hostile = Vec::new();
    for (guest, function, arguments) in HOSTILE {
        let loading = rig.sandbox.load(wat(guest)?);
        hostile.push(Ask {
            component: rig.runtime.block_on(loading).map_err(explain)?,
            function,
            arguments: arguments.to_owned(),
            budget: budget(&[(LimitName::Deadline, DEADLINE_MS)])?,
        });
    }
    Ok(Town {
        sandbox: rig.sandbox.clone(),
        hostile,
    })
}

fn ask(rig: &Rig, function: &'static str, arguments: String) -> Ask {
    Ask {
        component: rig.answer.loaded.clone(),
        function,
        arguments,
        budget: Budget::default(),
    }
}

fn pair(town: &Arc<Town>, ask: &Ask, calls: usize, rounds: usize) -> Result<Pair> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let p99 = |hostile: bool| {
        let times = crowd(&runtime, town, ask, calls, hostile)?;
        quantile(&times, 0.99).context("no call was measured")
    };
    p99(true)?;
    crate::measure::turns(rounds, || p99(true), || p99(false))
}

/// Nanoseconds of every call that behaves, from asking to the answer: waiting for a
/// worker is part of it.
fn crowd(
    runtime: &Runtime,
    town: &Arc<Town>,
    ask: &Ask,
    calls: usize,
    hostile: bool,
) -> Result<Vec<f64>> {
    runtime.block_on(async {
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            clients.spawn(client_of(
                Arc::clone(town),
                ask.clone(),
                client,
                calls,
                hostile,
            ));
        }
        let mut times = Vec::new();
        while let Some(client) = clients.join_next().await {
            times.extend(client??);
        }
        Ok(times)
    })
}

async fn client_of(
    town: Arc<Town>,
    ask: Ask,
    client: usize,
    calls: usize,
    hostile: bool,
) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for call in 0..calls {
        // Clients take their turns at being hostile, and each its kinds in turn.
        let turn = call.saturating_add(client.saturating_mul(HOSTILE_EVERY / CLIENTS));
        let attack = town
            .hostile
            .get(turn / HOSTILE_EVERY % town.hostile.len().max(1))
            .filter(|_| hostile && turn.is_multiple_of(HOSTILE_EVERY));
        let elapsed = one(&town, attack.unwrap_or(&ask).clone(), attack.is_some()).await?;
        if attack.is_none() {
            times.push(nanoseconds(elapsed));
        }
    }
    Ok(times)
}

/// One call in a task of its own, as a server would have it.
async fn one(town: &Arc<Town>, ask: Ask, hostile: bool) -> Result<Duration> {
    let asked = Instant::now();
    let town = Arc::clone(town);
    let task = tokio::spawn(async move {
        run(
            &town.sandbox,
            &ask.component,
            ask.function,
            &ask.arguments,
            &ask.budget,
        )
        .await
    });
    let run = task.await?;
    let elapsed = asked.elapsed();
    if !hostile {
        value(run)?;
    }
    Ok(elapsed)
}
