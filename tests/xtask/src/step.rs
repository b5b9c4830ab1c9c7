//! One step of a task: said before it starts, fatal when it fails.

use std::process::Command;

use anyhow::{Context, Result, bail};
use bindery_artefacts::repository;

/// Announces a step.
pub(crate) fn say(line: &str) {
    println!("== {line}");
}

/// Runs a command in the repository's root with its output on the screen.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = written(command);
    say(&line);
    if command.get_current_dir().is_none() {
        command.current_dir(repository());
    }
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Cargo as the toolchain that runs us brings it.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What the outer cargo set for this program must not look like a change of settings to
    // the inner one, which would build everything again.
    cargo
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH")
        .args(arguments);
    cargo
}

/// A command as a person would type it.
pub(crate) fn written(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,#@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}
