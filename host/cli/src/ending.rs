//! Being asked to end: the work of a command stops, and the command still answers.
//!
//! Rule (R-019, U1): whoever interrupts a command gets the one answer it owes, with exit
//! code 130, whatever the command was doing; work that cannot be interrupted is left
//! behind, and ends with the process.

use std::time::Duration;

use anyhow::Context;
use bindery::{Cancel, ErrorType, Refusal};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long blocking work of the host may outlive its command before the process goes.
const SHUTDOWN_MAX: Duration = Duration::from_millis(500);
/// A file that may not grow any more is an error of its write, not the end of the process.
const FILE_TOO_LARGE: i32 = 25;

/// Drives `work`, which is given the switch that whoever ends the command turns.
pub(crate) fn drive<T, F>(work: impl FnOnce(Cancel) -> F) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let runtime = Runtime::new().context("the threads of the runtime");
    let runtime = runtime.map_err(|error| failed(&error))?;
    let done = runtime.block_on(async {
        let cancel = Cancel::new();
        // Heard from here on: before anything is read or waited for.
        let ending = listen().map_err(|error| failed(&error))?;
        tokio::spawn(turn(ending, cancel.clone()));
        work(cancel).await
    });
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    done
}

/// Blocking work, until somebody ends the command.
pub(crate) async fn unless_ended<T: Send + 'static>(
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let working = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ended_early()),
        done = working => done.map_err(|error| failed(&error.into()))?,
    }
}

/// The command was ended before there was a call to tell of.
pub(crate) fn ended_early() -> Refusal {
    Refusal::new(
        ErrorType::Cancelled,
        "the command was ended before its work was done",
    )
}

/// Ctrl-C, and the two ways in which a system asks a command to end.
fn listen() -> anyhow::Result<[Signal; 4]> {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::from_raw(FILE_TOO_LARGE),
    ];
    let [interrupt, terminate, hang_up, survived] = kinds.map(signal);
    Ok([interrupt?, terminate?, hang_up?, survived?])
}

async fn turn([mut interrupt, mut terminate, mut hang_up, _survived]: [Signal; 4], cancel: Cancel) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    cancel.cancel();
}

/// As long as what is given is kept, a file that may not grow any more is an error of its
/// write, and not the end of the process.
pub(crate) fn survive_full_files() -> Result<Signal, Refusal> {
    let survived = signal(SignalKind::from_raw(FILE_TOO_LARGE));
    survived.map_err(|error| failed(&error.into()))
}

fn failed(error: &anyhow::Error) -> Refusal {
    Refusal::new(ErrorType::Internal, "the host could not start its threads")
        .for_operator(format!("{error:#}"))
}
