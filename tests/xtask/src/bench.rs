//! `bench`: gets the peers, builds everything as it is shipped, measures, prints the table.
//!
//! A peer that cannot be had is no reason to measure nothing: its row says why.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use bindery_artefacts::{repository, rust_guest};

use crate::setup;
use crate::step::{cargo, run, say};

/// wasmtime's command line, of the release that we build on.
const WASMTIME: &str = "48.0.8";
/// What `wasmtime run --invoke` of a component takes, its cache included.
const WASMTIME_FEATURES: &str =
    "run,component-model,cranelift,cache,pooling-allocator,parallel-compilation";

/// A program that rows start: its name, how it is got, and the groups of those rows.
type Program = (
    &'static str,
    fn() -> Result<PathBuf>,
    &'static [&'static str],
);

const PROGRAMS: [Program; 4] = [
    ("WASMTIME", wasmtime, &["process"]),
    ("PEERS", peers, &["defaults", "extism"]),
    ("NATIVE", native, &["process"]),
    ("BUBBLEWRAP", setup::bubblewrap, &["process"]),
];

/// Measures the rows of the groups whose names have the given part in them; all of them
/// when none is given.
pub(crate) fn bench(words: &[&str]) -> Result<()> {
    let (quick, rows) = match words {
        [] => (false, ""),
        ["--quick"] => (true, ""),
        ["--quick", rows] | [rows, "--quick"] => (true, *rows),
        [rows] if !rows.starts_with('-') => (false, *rows),
        _ => bail!("`bench` takes `--quick` and one part of the names of groups"),
    };
    setup::toolchain(None)?;
    for guest in ["answer", "crossing", "file-tools"] {
        rust_guest(guest)?;
    }
    run(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "bindery-cli",
        "--package",
        "bindery-bench",
    ]))?;
    let built = target().join("release");
    let mut bench = Command::new(built.join("bindery-bench"));
    bench.env("BINDERY_BENCH_CLI", built.join("bindery"));
    bench.env(
        "BINDERY_BENCH_ALLOCATIONS",
        built.join("bindery-bench-allocations"),
    );
    for (name, get, groups) in PROGRAMS {
        // Getting a program takes minutes; a row that is not measured needs none.
        if groups.iter().any(|group| group.contains(rows)) {
            lend(&mut bench, name, get());
        }
    }
    let table = folder()?.join("bench.json");
    if quick {
        bench.arg("--quick");
    }
    run(bench.arg("--json").arg(&table).arg(rows))?;
    say(&format!("written to {}", table.display()));
    Ok(())
}

/// Tells the bench where a program is, or why it is not.
fn lend(bench: &mut Command, name: &str, program: Result<PathBuf>) {
    match program {
        Ok(path) => bench.env(format!("BINDERY_BENCH_{name}"), path),
        Err(reason) => {
            say(&format!("{} is missing: {reason:#}", name.to_lowercase()));
            let variable = format!("BINDERY_BENCH_{name}_ABSENT");
            bench.env(variable, format!("{reason:#}"))
        }
    };
}

fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) if !target.is_empty() => repository().join(target),
        _ => repository().join("target"),
    }
}

/// What belongs to the bench alone.
fn folder() -> Result<PathBuf> {
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn present(path: PathBuf) -> Result<PathBuf> {
    match path.is_file() {
        true => Ok(path),
        false => bail!("{} was not made", path.display()),
    }
}

fn wasmtime() -> Result<PathBuf> {
    let root = folder()?.join("tools");
    let program = root.join("bin/wasmtime");
    if !program.is_file() {
        let mut install = cargo(&["install", "--locked", "--version", WASMTIME]);
        install.arg("--root").arg(&root);
        install.args(["wasmtime-cli", "--no-default-features"]);
        install.args(["--features", WASMTIME_FEATURES]);
        run(install.env("CARGO_TARGET_DIR", root.join("build")))?;
    }
    present(program)
}

/// The peers with engines of their own: another workspace, another target folder.
fn peers() -> Result<PathBuf> {
    let target = folder()?.join("peers");
    let mut build = cargo(&["build", "--release", "--locked"]);
    build.current_dir(repository().join("tests/bench-peers"));
    run(build.env("CARGO_TARGET_DIR", &target))?;
    present(target.join("release/bindery-bench-peers"))
}

/// The program that a process per call starts: as small as a static program gets here.
fn native() -> Result<PathBuf> {
    let program = folder()?.join("answer");
    let source: &Path = &repository().join("tests/bench/native/answer.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "-O", "-C", "panic=abort"]);
    rustc.args([
        "-C",
        "target-feature=+crt-static",
        "-C",
        "strip=symbols",
        "-o",
    ]);
    run(rustc.arg(&program).arg(source))?;
    present(program)
}
