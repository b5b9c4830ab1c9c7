//! Whole processes: our command line against wasmtime's, and a process per call against a
//! call.

use std::process::Command;

use anyhow::{Result, ensure};

use super::{FEW_ROUNDS, ROUNDS};
use crate::goal::Goal;
use crate::measure::{fitting, time, turns};
use crate::rig::{ASK, QUESTION, Rig};
use crate::row::Row;
use crate::tools::{Tool, process, said};

/// The rows.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let cached = Row::new("cli", "bindery run, warm store", "wasmtime run, warm cache");
    let cached = cached.goal(Goal::AtMost(1.0));
    let compiling = Row::new("cli-compiling", "bindery run, warm store", "wasmtime run");
    rows.push(cli(rig, cached, &["-C", "cache=y"]));
    // Its cache is on unless it is told otherwise.
    rows.push(cli(rig, compiling, &["-C", "cache=n"]));
    let row = Row::new("bubblewrap", "run", "bubblewrap and a static program");
    let row = row.goal(Goal::AtLeast(100.0));
    rows.push(match bubblewrap(rig, row.clone()) {
        Ok(row) => row,
        Err(reason) => row.absent(format!("{reason:#}")),
    });
    Ok(rows)
}

fn cli(rig: &Rig, row: Row, flags: &[&str]) -> Row {
    match against_wasmtime(rig, flags) {
        Ok(pair) => row.ratio(&pair),
        Err(reason) => row.absent(format!("{reason:#}")),
    }
}

fn against_wasmtime(rig: &Rig, flags: &[&str]) -> Result<crate::stats::Pair> {
    let (bindery, wasmtime) = (Tool::Bindery.find()?, Tool::Wasmtime.find()?);
    let home = tempfile::tempdir()?;
    let ours = || {
        let mut command = Command::new(&bindery);
        command
            .arg("run")
            .arg(&rig.answer.path)
            .args(["answer", ASK]);
        command.arg("--cache").arg(home.path().join("store"));
        command
    };
    let theirs = || {
        let mut command = Command::new(&wasmtime);
        command
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path());
        command.arg("run").args(flags);
        command.args(["--invoke", &format!("answer(\"{QUESTION}\")")]);
        command.arg(&rig.answer.path);
        command
    };
    for command in [&ours as &dyn Fn() -> Command, &theirs] {
        let answer = said(&mut command())?;
        ensure!(answer.contains(QUESTION), "the answer is {answer:?}");
        process(&mut command())?;
    }
    turns(
        rig.pace.rounds(ROUNDS),
        || process(&mut ours()),
        || process(&mut theirs()),
    )
}

fn bubblewrap(rig: &Rig, row: Row) -> Result<Row> {
    let (wall, native) = (Tool::Bubblewrap.find()?, Tool::Native.find()?);
    let walled = || {
        let mut command = Command::new(&wall);
        command.args(["--unshare-all", "--die-with-parent", "--ro-bind"]);
        command.arg(&native).args(["/answer", "/answer", QUESTION]);
        command
    };
    let answer = said(&mut walled())?;
    ensure!(answer.contains(QUESTION), "the answer is {answer:?}");
    let mut call = |count| rig.call(&rig.answer, "answer", ASK, count);
    let count = fitting(&mut call)?;
    let pair = turns(
        rig.pace.rounds(FEW_ROUNDS),
        || time(&mut call, count),
        || process(&mut walled()),
    )?;
    Ok(row.speedup(&pair))
}
