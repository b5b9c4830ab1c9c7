//! Compiling in a process of its own, seen from the parent.
//!
//! Rule (H15, B8): whatever a component does to the compiler happens to a process that
//! has nothing, is bounded in memory, processor and wall time, and is killed when the
//! caller goes away; the parent reads a bounded answer and reports a typed error.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bindery_types::{ErrorType, Refusal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::bytes::ComponentBytes;
use super::code::CompiledCode;
use super::frame::{HEADER_BYTES, Header, Kind};
use super::limits::{Clock, CompileLimits, invalid};
use super::processors_to_use;
use super::worker::{COMMAND, HELPER_STACK_BYTES};

/// How much of a worker's stderr is kept for the operator.
const STDERR_BYTES: u64 = 4 << 10;
/// What the standard library prints before it aborts for want of memory.
const ALLOCATION_FAILED: &str = "memory allocation of";
const STACK_OVERFLOWED: &str = "overflowed its stack";

/// Compiles `component` with `program` as the worker.
pub(super) async fn compile(
    program: &Path,
    component: &ComponentBytes,
    limits: CompileLimits,
) -> Result<CompiledCode, Refusal> {
    let started = Instant::now();
    let mut child = spawn(program, limits)?;
    let conversation = async {
        let said = converse(&mut child, component, limits).await;
        // A worker that has closed its outputs ends at once.
        (said, child.wait().await.ok())
    };
    let ended = tokio::time::timeout(limits.wall(), conversation).await;
    if let Ok((said, status)) = ended {
        return judge(said, status, limits, started.elapsed());
    }
    // The worker is killed and reaped before the error is told.
    let reaped = child.kill().await.is_ok();
    tracing::debug!(reaped, "compile worker killed at its time limit");
    Err(limits.time_hit(Clock::Wall, started.elapsed()))
}

/// What came back from a worker.
struct Said {
    /// The frame, if a whole and sound one came.
    frame: Option<(Kind, Vec<u8>)>,
    /// The beginning of its stderr.
    stderr: String,
}

fn spawn(program: &Path, limits: CompileLimits) -> Result<Child, Refusal> {
    let threads = processors_to_use();
    let mut command = Command::new(program);
    command
        .arg(COMMAND)
        .arg(limits.memory.or_max().to_string())
        .arg(limits.processor_seconds().to_string())
        // Two settings of the worker's threads are all its environment.
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .env("RUST_MIN_STACK", HELPER_STACK_BYTES.to_string())
        .current_dir("/")
        // An interrupt typed at the terminal is the parent's to answer, not the worker's.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A load that is cancelled at any await point takes its worker with it.
        .kill_on_drop(true);
    command.spawn().map_err(|error| {
        Refusal::new(ErrorType::Internal, "the compile worker cannot be started")
            .for_operator(format!("{}: {error}", program.display()))
    })
}

/// Sends the component, reads the answer; stdin stays open until then (its end tells the
/// worker that the parent is gone).
async fn converse(child: &mut Child, component: &ComponentBytes, limits: CompileLimits) -> Said {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (_open, frame, stderr) = tokio::join!(
        send(stdin, component),
        receive(stdout, limits),
        drain(stderr)
    );
    Said { frame, stderr }
}

async fn send(stdin: Option<ChildStdin>, component: &ComponentBytes) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    let header = Header {
        kind: Kind::Component,
        len_bytes: component.len_bytes(),
        digest: component.digest(),
    };
    // A worker that stops reading says why on its stdout or by how it ends.
    stdin.write_all(&header.to_bytes()).await.ok()?;
    stdin.write_all(component.as_slice()).await.ok()?;
    Some(stdin)
}

/// A whole frame whose digest is right and whose length a worker within its memory bound
/// can have; `None` for anything else.
async fn receive(stdout: Option<ChildStdout>, limits: CompileLimits) -> Option<(Kind, Vec<u8>)> {
    let mut stdout = stdout?;
    let mut head = [0; HEADER_BYTES];
    stdout.read_exact(&mut head).await.ok()?;
    let header = Header::parse(&head)?;
    if !limits.memory.allows(header.len_bytes) {
        return None;
    }
    let mut payload = Vec::new();
    let mut bounded = stdout.take(header.len_bytes);
    bounded.read_to_end(&mut payload).await.ok()?;
    let checked = tokio::task::spawn_blocking(move || {
        (Header::of(header.kind, &payload) == header).then_some((header.kind, payload))
    });
    checked.await.ok()?
}

/// Reads stderr to its end, so that a chatty worker never blocks, and keeps its start.
async fn drain(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else {
        return String::new();
    };
    let mut kept = Vec::new();
    let mut bounded = (&mut stderr).take(STDERR_BYTES);
    // A stream that breaks leaves what was read: it is for the operator only.
    let _kept_what_came = bounded.read_to_end(&mut kept).await;
    let _dropped = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

/// The answer, or what the way the worker ended means.
fn judge(
    said: Said,
    status: Option<ExitStatus>,
    limits: CompileLimits,
    elapsed: Duration,
) -> Result<CompiledCode, Refusal> {
    match said.frame {
        Some((Kind::Code, code)) => return Ok(CompiledCode::from_worker(code)),
        Some((Kind::Invalid, text)) => return Err(invalid(&String::from_utf8_lossy(&text))),
        Some((Kind::Memory, _)) => return Err(limits.memory_hit().into()),
        Some((Kind::Fault, text)) => return Err(broken(&String::from_utf8_lossy(&text), status)),
        Some((Kind::Component, _)) => return Err(broken("it answered with a component", status)),
        None => {}
    }
    Err(match death(status) {
        Death::Processor => limits.time_hit(Clock::Processor, elapsed),
        Death::Killed => limits.memory_hit().into(),
        Death::Aborted if said.stderr.contains(ALLOCATION_FAILED) => limits.memory_hit().into(),
        Death::Aborted if said.stderr.contains(STACK_OVERFLOWED) => {
            invalid("it nests deeper than the compiler can follow")
        }
        Death::Aborted | Death::Other => broken(&said.stderr, status),
    })
}

/// How a worker without an answer ended.
enum Death {
    /// Its processor time was used up.
    Processor,
    /// Killed, and not by this process: the system ran out of memory.
    Killed,
    /// It gave up by itself.
    Aborted,
    /// Anything else.
    Other,
}

fn death(status: Option<ExitStatus>) -> Death {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = status
        .and_then(|status| status.signal())
        .and_then(rustix::process::Signal::from_named_raw);
    match signal {
        Some(rustix::process::Signal::XCPU) => Death::Processor,
        Some(rustix::process::Signal::KILL) => Death::Killed,
        Some(rustix::process::Signal::ABORT) => Death::Aborted,
        _ => Death::Other,
    }
}

fn broken(what: &str, status: Option<ExitStatus>) -> Refusal {
    let status = status.map_or_else(|| "status unknown".to_owned(), |status| status.to_string());
    Refusal::new(ErrorType::Internal, "the compile worker failed")
        .for_operator(format!("{status}: {what}"))
}
