//! `bindery run`: one function of one component, under a budget and grants made from flags.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bindery::ledger::{Journal, Memory};
use bindery::{
    Budget, Cancel, Check, CompilePhase, CompileProgress, Compiler, Direct, ErrorType, Grants,
    Host, HostBuilder, LoadedComponent, ProgressSink, Refusal, Run,
};

use crate::answer::Answer;
use crate::args::{RunArgs, StoreArgs};
use crate::{cache_dir, ending, operands, screen};

/// How often a log that nobody watches is told of a long compile.
const LOGGED_EVERY: Duration = Duration::from_secs(10);

/// What a run needs, once everything was read.
struct Prepared {
    budget: Budget,
    grants: Grants,
    component: Vec<u8>,
    function: String,
    arguments: String,
    host: Host,
    journal: Arc<dyn Journal>,
}

/// Runs the function and says what came of it.
pub(crate) fn run(args: RunArgs) -> Answer {
    let format = args.format.format;
    match ending::drive(async move |cancel| call(args, &cancel).await) {
        Ok(run) => Answer::run(format, &run),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    }
}

/// Whoever ends the command asks the run to end; its effects are still in the receipt.
async fn call(args: RunArgs, cancel: &Cancel) -> Result<Run, Refusal> {
    let prepared = ending::unless_ended(cancel, move || prepare(args)).await?;
    let Prepared {
        budget,
        grants,
        component,
        function,
        arguments,
        host,
        journal,
    } = prepared;
    let component = load(&host, component, cancel).await?;
    let direct = Direct {
        component: &component,
        function: &function,
        arguments: &arguments,
        grants,
        budget: &budget,
        cancel,
    };
    Ok(host.run_recorded(journal, direct).await)
}

/// Everything that reads: it may wait for standard input as long as that is open.
fn prepare(args: RunArgs) -> Result<Prepared, Refusal> {
    let budget = operands::budget(&args)?;
    Ok(Prepared {
        grants: operands::grants(&args)?,
        component: bindery::read_component(&args.component, &budget)?,
        arguments: operands::arguments(&args.arguments, &budget)?,
        host: host(&args.store, &budget)?,
        journal: journal(args.record.as_deref())?,
        function: args.function,
        budget,
    })
}

/// Where the call is recorded: in memory, unless a folder is named.
fn journal(record: Option<&Path>) -> Result<Arc<dyn Journal>, Refusal> {
    Ok(match record {
        Some(folder) => Arc::new(bindery_service::store(folder)?),
        None => Arc::new(Memory::default()),
    })
}

/// Inspects and compiles on another thread, where neither can keep an end from being heard.
async fn load(host: &Host, bytes: Vec<u8>, cancel: &Cancel) -> Result<LoadedComponent, Refusal> {
    let host = host.clone();
    let mut loading = tokio::spawn(async move { host.load(bytes).await });
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            // Its worker ends with it.
            loading.abort();
            Err(ending::ended_early())
        }
        loaded = &mut loading => loaded.unwrap_or_else(|error| {
            let message = "the component could not be loaded";
            Err(Refusal::new(ErrorType::Internal, message).for_operator(error.to_string()))
        }),
    }
}

fn host(store: &StoreArgs, budget: &Budget) -> Result<Host, Refusal> {
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
    // This program as it runs, whatever has become of its file since.
    let program = PathBuf::from("/proc/self/exe");
    if program.exists() {
        builder = builder.compiler(Compiler::Child { program });
    }
    builder.on_progress(progress())
}

fn artefact_dir(store: &StoreArgs) -> Option<PathBuf> {
    match store.no_cache {
        true => None,
        false => store.cache.clone().or_else(cache_dir::default_dir),
    }
}

/// Says how a long compile goes on: every report to a person, to a log the first and then
/// one in ten seconds.
fn progress() -> ProgressSink {
    let watched = screen::stderr_is_terminal();
    // When the log was last told; held for a look and a store only.
    let told: Mutex<Option<Duration>> = Mutex::new(None);
    Arc::new(move |progress: CompileProgress| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if watched || is_due(*told, progress.elapsed) {
            *told = Some(progress.elapsed);
            drop(told);
            screen::write_stderr(&progress_line(progress));
        }
    })
}

fn is_due(told: Option<Duration>, now: Duration) -> bool {
    told.is_none_or(|told| now.saturating_sub(told) >= LOGGED_EVERY)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_told_of_a_long_compile_at_once_and_then_every_ten_seconds() {
        let seconds = Duration::from_secs;
        assert!(is_due(None, Duration::from_millis(300)));
        assert!(!is_due(Some(seconds(1)), seconds(10)));
        assert!(is_due(Some(seconds(1)), seconds(11)));
    }
}
