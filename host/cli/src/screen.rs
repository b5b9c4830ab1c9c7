//! Standard output, standard error and the log: written once, never a reason to panic.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::EnvFilter;

/// Writes the answer.
///
/// # Errors
///
/// When it could not be written whole, or to nowhere: the stream was closed.
#[allow(
    clippy::print_stdout,
    reason = "this is the one place that writes to it"
)]
pub(crate) fn write_stdout(text: &str) -> io::Result<()> {
    if !text.is_empty() && bindery::stdout_was_closed() {
        return Err(io::Error::other("standard output is closed"));
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes beside the answer.
#[allow(
    clippy::print_stderr,
    reason = "this is the one place that writes to it"
)]
pub(crate) fn write_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether a person sees standard error, and wants to see it move.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Starts the operator's log on standard error; `BINDERY_LOG` filters it, default `warn`.
pub(crate) fn start_log() {
    let filter = EnvFilter::try_from_env("BINDERY_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .try_init();
    // A log that is already there serves as well.
    drop(started);
}
