//! Peers in a process of their own: engines that must not be linked with ours. They are
//! told how often to call and answer with the time it took, so that turns can be taken.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::ROUNDS;
use crate::goal::Goal;
use crate::measure::{fitting, time, turns};
use crate::raw::Raw;
use crate::rig::{ASK, Rig};
use crate::row::Row;
use crate::stats::Pair;
use crate::tools::Tool;

/// How long a batch of a peer takes, in nanoseconds.
const BATCH_NS: f64 = 1e7;

/// F2 against the engine as its own default build has it.
pub(super) fn defaults(rig: &Rig) -> Result<Vec<Row>> {
    let raw = Raw::ours(&rig.answer.bytes)?;
    let rows = [
        (
            "f2-pooled-default",
            "pooled",
            "pooling defaults, default features",
            0.5,
        ),
        (
            "f2-on-demand-default",
            "on-demand",
            "on-demand defaults, default features",
            0.33,
        ),
    ];
    let row = |(id, kind, against, goal)| {
        let row = Row::new(id, "F2", against).goal(Goal::AtMost(goal));
        let pair = Peer::start(rig).and_then(|mut peer| {
            let mut f2 = |count| raw.answer(count);
            let (ours, theirs) = (fitting(&mut f2)?, peer.fitting(kind)?);
            turns(
                rig.pace.rounds(ROUNDS),
                || time(&mut f2, ours),
                || peer.time(kind, theirs),
            )
        });
        with(row, pair, Row::ratio)
    };
    Ok(rows.map(row).into())
}

/// A call of ours against a fresh plug-in of a compiled module and a call.
pub(super) fn extism(rig: &Rig) -> Result<Vec<Row>> {
    let row = Row::new("extism", "run", "extism, fresh plug-in and call");
    let row = row.goal(Goal::AtMost(0.33));
    let pair = Peer::start(rig).and_then(|mut peer| {
        let mut call = |count| rig.call(&rig.answer, "answer", ASK, count);
        let (ours, theirs) = (fitting(&mut call)?, peer.fitting("extism")?);
        turns(
            rig.pace.rounds(ROUNDS),
            || time(&mut call, ours),
            || peer.time("extism", theirs),
        )
    });
    Ok(vec![with(row, pair, Row::ratio)])
}

fn with(row: Row, pair: Result<Pair>, figure: fn(Row, &Pair) -> Row) -> Row {
    match pair {
        Ok(pair) => figure(row, &pair),
        Err(reason) => row.absent(format!("{reason:#}")),
    }
}

/// The process of the peers; it ends with its standard input.
struct Peer {
    child: Child,
    ask: Option<ChildStdin>,
    answer: BufReader<ChildStdout>,
}

impl Peer {
    fn start(rig: &Rig) -> Result<Self> {
        let mut child = Command::new(Tool::Peers.find()?)
            .arg(&rig.answer.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the peers")?;
        let ask = child.stdin.take();
        let answer = child.stdout.take().context("the peers have no output")?;
        Ok(Self {
            child,
            ask,
            answer: BufReader::new(answer),
        })
    }

    /// Nanoseconds of one call of `kind`, of `count`.
    fn time(&mut self, kind: &str, count: u32) -> Result<f64> {
        let ask = self.ask.as_mut().context("the peers are gone")?;
        writeln!(ask, "{kind} {count}")?;
        ask.flush()?;
        let mut line = String::new();
        self.answer.read_line(&mut line)?;
        match line.trim().parse::<f64>() {
            Ok(total) => Ok(total / f64::from(count)),
            Err(_) => bail!("the peers answered {kind} with {:?}", line.trim()),
        }
    }

    fn fitting(&mut self, kind: &str) -> Result<u32> {
        let mut count = 1_u32;
        while self.time(kind, count)? * f64::from(count) < BATCH_NS && count < 1 << 20 {
            count = count.saturating_mul(2);
        }
        Ok(count)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Closed first, so that the process ends and can be waited for.
        drop(self.ask.take());
        let _ = self.child.wait();
    }
}
