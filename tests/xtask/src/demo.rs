//! `demo`: the main job on real input, step by step; every line comes from the run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bindery_artefacts::{javascript, python, repository, rust_guest, wat_file};
use serde_json::Value;

use crate::lifecycle;
use crate::setup;
use crate::step::{cargo, run, say, written};

/// Exit codes of the command line, as its documentation lists them.
const VALUE: i32 = 0;
const LIMIT: i32 = 7;

/// Sets up, builds, and shows.
pub(crate) fn demo() -> Result<()> {
    setup::toolchain(None)?;
    let file_tools = rust_guest("file-tools")?;
    // With `--examples` cargo chooses the features that `cargo test` chooses, so that the
    // engine is built once for both commands of the README.
    run(&mut cargo(&["build", "--bins", "--examples"]))?;
    let bindery = binary();
    inspect(&bindery, &file_tools)?;
    search(&bindery, &file_tools)?;
    another_language(&bindery)?;
    limits(&bindery, &wat_file("hostile/spin/call")?)?;
    lifecycle::lifecycle(&bindery)?;
    say("every step did what it should");
    Ok(())
}

/// What the component wants and offers; nothing of it runs.
fn inspect(bindery: &Path, file_tools: &Path) -> Result<()> {
    say("1. what a component offers and what it wants, without running it");
    let text = show(Command::new(bindery).arg("inspect").arg(file_tools), VALUE)?;
    print!("{text}");
    let json = object(&quiet(
        Command::new(bindery)
            .arg("inspect")
            .arg(file_tools)
            .args(["-o", "json"]),
        VALUE,
    )?)?;
    ensure!(
        json.to_string().contains("grep-files"),
        "the description does not name grep-files"
    );
    ensure!(
        json.to_string().contains("wasi:filesystem"),
        "the description does not name the imports"
    );
    Ok(())
}

/// `grep-files` over this repository through a read-only grant.
fn search(bindery: &Path, file_tools: &Path) -> Result<()> {
    say("2. grep-files over this repository's sources, through a read-only grant");
    let grant = format!("{}::/src:ro", repository().display());
    let arguments =
        r#"{"pattern": "fn main", "options": {"fixed-strings": true, "globs": ["*.rs"]}}"#;
    let mut command = Command::new(bindery);
    command.arg("run").arg(file_tools).args([
        "grep-files",
        arguments,
        "--dir",
        &grant,
        "-o",
        "json",
    ]);
    let reply = object(&show(&mut command, VALUE)?)?;
    let files = reply
        .pointer("/value/files")
        .and_then(Value::as_array)
        .context("the value has no files")?;
    ensure!(
        !files.is_empty(),
        "no file of this repository has a main function"
    );
    for file in files {
        let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
        for line in file
            .get("lines")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            println!(
                "{path}:{}: {}",
                at(line, "/number"),
                at(line, "/text").as_str().unwrap_or_default()
            );
        }
    }
    receipt(&reply)?;
    ensure!(
        reply.pointer("/receipt/effects/0/kind").is_some(),
        "the receipt shows no effect"
    );
    Ok(())
}

/// A component that another language's tools made.
fn another_language(bindery: &Path) -> Result<()> {
    say("3. a component written in another language");
    let foreign: [Option<PathBuf>; 2] = [python("echo")?, javascript("echo")?];
    for component in foreign.iter().flatten() {
        let arguments = r#"{"dividend": "9007199254740993", "divisor": 1}"#;
        let mut command = Command::new(bindery);
        command
            .arg("run")
            .arg(component)
            .args(["values#divide", arguments, "-o", "json"]);
        let reply = object(&show(&mut command, VALUE)?)?;
        println!("value: {}", at(&reply, "/value"));
        ensure!(
            *at(&reply, "/value") == "9007199254740993",
            "the number lost a digit"
        );
        receipt(&reply)?;
    }
    Ok(())
}

/// Two loops that never end: one runs out of fuel, one out of time.
fn limits(bindery: &Path, forever: &Path) -> Result<()> {
    for (title, flags, limit) in [
        (
            "4. a loop that is stopped by its fuel",
            ["--fuel", "100000000", "--deadline", "60s"],
            "fuel",
        ),
        (
            "5. a loop that is stopped by its deadline",
            ["--fuel", "unlimited", "--deadline", "300ms"],
            "deadline",
        ),
    ] {
        say(title);
        let mut command = Command::new(bindery);
        command
            .arg("run")
            .arg(forever)
            .arg("forever")
            .args(flags)
            .args(["-o", "json"]);
        let reply = object(&show(&mut command, LIMIT)?)?;
        println!(
            "{}: {}",
            at(&reply, "/error/type"),
            at(&reply, "/error/message")
        );
        ensure!(
            *at(&reply, "/error/details/limit") == limit,
            "another limit was reached"
        );
        receipt(&reply)?;
    }
    Ok(())
}

/// Prints the figures of a receipt.
fn receipt(reply: &Value) -> Result<()> {
    let receipt = reply
        .get("receipt")
        .and_then(Value::as_object)
        .context("there is no receipt")?;
    let figures = [
        "fuel_used",
        "wall_us",
        "guest_us",
        "host_us",
        "memory_peak_bytes",
        "host_calls",
        "bytes_out",
    ];
    let shown = figures.map(|name| format!("{name} {}", receipt.get(name).unwrap_or(&Value::Null)));
    println!("receipt: {}", shown.join(", "));
    let effects = receipt
        .get("effects")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    println!(
        "effects: {effects} listed, {} dropped",
        receipt.get("effects_dropped").unwrap_or(&Value::Null)
    );
    Ok(())
}

/// Runs a command that must end with that code; its standard output.
pub(crate) fn quiet(command: &mut Command, code: i32) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start `{}`", written(command)))?;
    let (said, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    ensure!(
        output.status.code() == Some(code),
        "`{}` ended with {} instead of {code}:\n{said}{complained}",
        written(command),
        output.status
    );
    Ok(said.into_owned())
}

/// The same, with the command shown first.
pub(crate) fn show(command: &mut Command, code: i32) -> Result<String> {
    println!("$ {}", written(command));
    quiet(command, code)
}

/// The value at a JSON Pointer; null where there is none.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

pub(crate) fn object(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("this is not one JSON object: {text}"))
}

fn binary() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository().join("target"), |t| repository().join(t));
    target.join("debug/bindery")
}
