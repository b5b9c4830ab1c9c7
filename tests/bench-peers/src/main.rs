//! Peers of the bench: `bindery-bench-peers ANSWER.wasm` reads lines `PEER COUNT` from its
//! standard input and answers each with the nanoseconds of its thread that so many calls
//! took, or with words when they failed.
//!
//! Rule: a peer does what its own documentation shows, at its own defaults: a fresh
//! instance of code that is compiled already, one call, and the instance dropped.

mod engine;
mod plugin;

use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use rustix::time::{ClockId, clock_gettime};

use engine::Defaults;
use plugin::Extism;

/// What is asked, by the bench too.
const QUESTION: &str = "how far is it to Oslo?";

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("which component?")?;
    let peers = Peers {
        extism: Extism::new()?,
        pooled: Defaults::pooled(std::path::Path::new(&path))?,
        on_demand: Defaults::on_demand(std::path::Path::new(&path))?,
    };
    for line in std::io::stdin().lines() {
        let answer = match peers.measure(&line?) {
            Ok(nanoseconds) => nanoseconds.to_string(),
            Err(error) => format!("{error:#}").replace('\n', " "),
        };
        let mut out = std::io::stdout();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

struct Peers {
    extism: Extism,
    pooled: Defaults,
    on_demand: Defaults,
}

impl Peers {
    fn measure(&self, line: &str) -> Result<u128> {
        let (peer, count) = line.split_once(' ').context("PEER COUNT, please")?;
        let count: u32 = count.parse()?;
        let before = busy();
        for _ in 0..count {
            let answer = match peer {
                "extism" => self.extism.answer(QUESTION)?,
                "pooled" => self.pooled.answer(QUESTION)?,
                "on-demand" => self.on_demand.answer(QUESTION)?,
                _ => bail!("no peer is called {peer}"),
            };
            ensure!(answer.ends_with(QUESTION), "the answer is {answer:?}");
            black_box(answer);
        }
        Ok(busy().saturating_sub(before).as_nanos())
    }
}

/// Time that this thread has spent on a processor so far.
fn busy() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}
