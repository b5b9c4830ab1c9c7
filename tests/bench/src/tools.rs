//! Programs that the bench starts; `cargo xtask bench` gets them and says where they are.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::measure::nanoseconds;

/// A program that a row needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Our own command line.
    Bindery,
    /// Our program that counts allocations.
    Allocations,
    /// wasmtime's command line.
    Wasmtime,
    /// The peers that link an engine of their own.
    Peers,
    /// The static program that a process per call starts.
    Native,
    /// The wall around that process.
    Bubblewrap,
}

impl Tool {
    /// The variable that holds its path; with `_ABSENT` behind it, the one that says why
    /// there is none.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Tool::Bindery => "BINDERY_BENCH_CLI",
            Tool::Allocations => "BINDERY_BENCH_ALLOCATIONS",
            Tool::Wasmtime => "BINDERY_BENCH_WASMTIME",
            Tool::Peers => "BINDERY_BENCH_PEERS",
            Tool::Native => "BINDERY_BENCH_NATIVE",
            Tool::Bubblewrap => "BINDERY_BENCH_BUBBLEWRAP",
        }
    }

    /// Where it is.
    ///
    /// # Errors
    ///
    /// Why it is not there.
    pub fn find(self) -> Result<PathBuf> {
        let variable = self.variable();
        if let Some(path) = std::env::var_os(variable).map(PathBuf::from) {
            return match path.is_file() {
                true => Ok(path),
                false => bail!("{variable} names {}, which is no file", path.display()),
            };
        }
        match std::env::var(format!("{variable}_ABSENT")) {
            Ok(reason) => bail!("{reason}"),
            Err(_) => bail!("{variable} is not set; `cargo xtask bench` gets the program"),
        }
    }
}

/// Nanoseconds from starting a process to its end; it must succeed.
///
/// # Errors
///
/// When it cannot be started, or fails, with what it printed.
pub fn process(command: &mut Command) -> Result<f64> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = Instant::now();
    let output = command.output().context("cannot start a process")?;
    let elapsed = nanoseconds(started.elapsed());
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed ({}): {}", output.status, said.trim());
    }
    Ok(elapsed)
}

/// What a process printed.
///
/// # Errors
///
/// When it cannot be started, or fails.
pub fn said(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start a process")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed ({}): {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
