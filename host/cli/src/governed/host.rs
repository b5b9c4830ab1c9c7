//! `bindery host`: the process that owns the store.
//!
//! Rule (C-50): one at a time; in the background it has no terminal and no input, and what
//! it prints goes to its log.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery::{ErrorType, Refusal};
use bindery_service::{Desk, Envelope, Place, Recording, Rendered, Request, ask, serve};
use serde_json::json;
use tokio::runtime::Runtime;

use super::args::{AskArgs, HostArgs, HostVerb};
use super::dispatch::{Shared, answered, builder, no_runtime, place};
use super::render;
use crate::answer::{Answer, Format};
use crate::{ending, operands, screen};

/// How long a host in the background may take until it answers: compiling what is admitted
/// is part of it.
const READY_MAX: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Starts, ends, or asks after a host.
pub(crate) fn host(args: &HostArgs) -> Answer {
    match &args.verb {
        HostVerb::Start {
            foreground: true,
            ask,
        } => foreground(ask),
        HostVerb::Start {
            foreground: false,
            ask,
        } => background(ask),
        HostVerb::Stop(ask) => stop(ask),
        HostVerb::Status(ask) => answered(Request::Status, ask),
    }
}

fn foreground(asked: &AskArgs) -> Answer {
    let format = asked.place.format;
    let ended = Runtime::new()
        .map_err(|error| no_runtime(&error))
        .and_then(|runtime| {
            let ended = runtime.block_on(host_of(asked));
            // The store is closed when the desk is gone; nothing else is waited for.
            runtime.shutdown_timeout(Duration::from_secs(5));
            ended
        });
    match ended {
        Ok(()) if format == Format::Json => Answer::json(&json!({ "status": "stopped" })),
        Ok(()) => Answer::text("the host has ended\n".to_owned()),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    }
}

async fn host_of(asked: &AskArgs) -> Result<(), Refusal> {
    let place = place(&asked.place);
    let told = place.clone();
    let _survived = ending::survive_full_files()?;
    let desk = Desk::open(
        place,
        builder(asked),
        Recording::Store,
        operands::authority(),
    )
    .await?;
    let desk: Shared = Arc::new(desk);
    let reloads = tokio::spawn(reload_on_hang_up(Arc::clone(&desk)));
    let ready = || {
        screen::write_stderr(&format!(
            "the host of {} is ready (process {})\n",
            told.config().display(),
            std::process::id()
        ));
    };
    let served = serve(Arc::clone(&desk), render::render, ended(), ready).await;
    reloads.abort();
    drop(desk);
    served
}

/// Ctrl-C or a system that asks to end; a terminal that goes away does not (it reloads).
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// SIGHUP reads the configuration again (C-53).
async fn reload_on_hang_up(desk: Shared) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
        return;
    };
    while hang_up.recv().await.is_some() {
        match desk.reload().await {
            Ok(_) => screen::write_stderr("the configuration was read again\n"),
            Err(refusal) => {
                let why = refusal.operator().unwrap_or(refusal.message());
                screen::write_stderr(&format!("the configuration stays as it was: {why}\n"));
            }
        }
    }
}

fn background(asked: &AskArgs) -> Answer {
    let format = asked.place.format;
    match started(asked) {
        Ok(rendered) => Answer::rendered(rendered),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    }
}

fn started(asked: &AskArgs) -> Result<Rendered, Refusal> {
    let place = place(&asked.place);
    // A configuration that is wrong is told here, not in a log.
    place.document()?;
    if let Some(status) = status(&place, asked)? {
        let text = "a host of this place runs already";
        return Err(Refusal::new(ErrorType::Usage, text).for_operator(status.stdout));
    }
    place.prepare()?;
    let log = place.open_log()?;
    let told_before = log.metadata().map_or(0, |found| found.len());
    let mut child = spawn(&place, asked, log)?;
    let begun = Instant::now();
    loop {
        if let Some(status) = status(&place, asked)? {
            return Ok(status);
        }
        let over = child.try_wait().ok().flatten();
        if over.is_some() || begun.elapsed() > READY_MAX {
            drop(child.kill());
            let log = place.log_since(told_before);
            let text = "the host did not start";
            return Err(Refusal::new(ErrorType::EnvironmentUnavailable, text).for_operator(log));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn spawn(place: &Place, asked: &AskArgs, log: File) -> Result<Child, Refusal> {
    let broken = |error: std::io::Error| {
        let text = "the host cannot be started";
        Refusal::new(ErrorType::EnvironmentUnavailable, text).for_operator(error.to_string())
    };
    let mut command = Command::new(std::env::current_exe().map_err(broken)?);
    command.args(["host", "start", "--foreground", "--file"]);
    command.arg(place.config()).arg("--data").arg(place.data());
    if let Some(cache) = &asked.store.cache {
        command.arg("--cache").arg(cache);
    }
    for (wanted, flag) in [
        (asked.store.no_cache, "--no-cache"),
        (asked.store.strict_cache, "--strict-cache"),
    ] {
        if wanted {
            command.arg(flag);
        }
    }
    let second = log.try_clone().map_err(broken)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::from(log))
        .stderr(Stdio::from(second))
        // Signals of this terminal are not for it.
        .process_group(0);
    command.spawn().map_err(broken)
}

/// What the host says of itself; nothing when there is none.
fn status(place: &Place, asked: &AskArgs) -> Result<Option<Rendered>, Refusal> {
    let runtime = Runtime::new().map_err(|error| no_runtime(&error))?;
    let envelope = Envelope {
        acting_as: None,
        session: asked.session.clone(),
        json: asked.place.format == Format::Json,
        request: Request::Status,
    };
    runtime.block_on(ask(place, &envelope))
}

/// Asks it to end, and waits until it has.
fn stop(asked: &AskArgs) -> Answer {
    let answer = answered(Request::Stop, asked);
    let place = place(&asked.place);
    let begun = Instant::now();
    while answer.is_success() && !place.is_free() && begun.elapsed() < READY_MAX {
        std::thread::sleep(LOOK_AGAIN);
    }
    answer
}
