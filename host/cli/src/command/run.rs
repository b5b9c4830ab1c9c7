//! `bindery run`: one function of one component, under a budget and grants made from flags.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bindery::{
    Cancel, Check, CompilePhase, CompileProgress, Compiler, Host, HostBuilder, Refusal, Run,
};
use tokio::runtime::Runtime;

use crate::answer::Answer;
use crate::args::{RunArgs, StoreArgs};
use crate::{cache_dir, operands, screen};

/// How long a blocking operation of the host may outlive its run before the process goes.
const SHUTDOWN_MAX: Duration = Duration::from_millis(500);

/// Runs the function and says what came of it.
pub(crate) fn run(args: &RunArgs) -> Answer {
    let format = args.format.format;
    let runtime = match Runtime::new().context("the threads of the runtime") {
        Ok(runtime) => runtime,
        Err(error) => return Answer::refusal(format, &no_runtime(&error), None),
    };
    let answer = match runtime.block_on(call(args)) {
        Ok(run) => Answer::run(format, &run),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    };
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    answer
}

async fn call(args: &RunArgs) -> Result<Run, Refusal> {
    let budget = operands::budget(args)?;
    let grants = operands::grants(args)?;
    let bytes = bindery::read_component(&args.component, &budget)?;
    let arguments = operands::arguments(&args.arguments, &budget)?;
    let host = host(&args.store, &budget)?;
    let cancel = Cancel::new();
    let interrupted = cancel.clone();
    // Whoever ends the command asks the run to end; its effects are still in the receipt.
    tokio::spawn(async move {
        if asked_to_end().await.is_ok() {
            interrupted.cancel();
        }
    });
    let component = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ended_before_the_run()),
        loaded = host.load(bytes) => loaded?,
    };
    Ok(host
        .run(
            &component,
            &args.function,
            &arguments,
            grants,
            &budget,
            &cancel,
        )
        .await)
}

/// Ctrl-C, and the two ways in which a system asks a command to end. A file that may not
/// grow any more is an error of its write, not the end of the process.
pub(crate) async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    const FILE_TOO_LARGE: i32 = 25;
    let _survived = signal(SignalKind::from_raw(FILE_TOO_LARGE))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
        _ = hang_up.recv() => Ok(()),
    }
}

fn ended_before_the_run() -> Refusal {
    let message = "the command was ended while the component was being compiled";
    Refusal::new(bindery::ErrorType::Cancelled, message)
}

fn host(store: &StoreArgs, budget: &bindery::Budget) -> Result<Host, Refusal> {
    prepared(Host::builder().budget(budget.clone()), store).build()
}

/// A builder as the flags of the store say, with a child that compiles.
pub(crate) fn prepared(builder: HostBuilder, store: &StoreArgs) -> HostBuilder {
    let check = if store.strict_cache {
        Check::Strict
    } else {
        Check::Unchanged
    };
    let mut builder = builder.artefact_check(check);
    if let Some(directory) = artefact_dir(store) {
        builder = builder.artefacts(directory);
    }
    if let Ok(program) = std::env::current_exe() {
        builder = builder.compiler(Compiler::Child { program });
    }
    if screen::stderr_is_terminal() {
        builder = builder.on_progress(Arc::new(|progress| {
            screen::write_stderr(&progress_line(progress))
        }));
    }
    builder
}

fn artefact_dir(store: &StoreArgs) -> Option<PathBuf> {
    match store.no_cache {
        true => None,
        false => store.cache.clone().or_else(cache_dir::default_dir),
    }
}

fn progress_line(progress: CompileProgress) -> String {
    let verb = match progress.phase {
        CompilePhase::Compiling => "compiling",
        CompilePhase::Compiled => "compiled",
        CompilePhase::Failed => "could not compile",
    };
    let seconds = progress.elapsed.as_secs_f32();
    format!(
        "{verb} {} ({} bytes), {seconds:.1} s\n",
        progress.digest, progress.bytes
    )
}

fn no_runtime(error: &anyhow::Error) -> Refusal {
    Refusal::new(
        bindery::ErrorType::Internal,
        "the host could not start its threads",
    )
    .for_operator(format!("{error:#}"))
}
