//! The compile worker: the process that compiles one component and can do nothing else.
//!
//! Rule (H15): before it reads a byte of the component it has closed every inherited
//! descriptor, can open no file and no socket (no descriptor is left to number one), can
//! write no file, leave no core, and has its address space and processor time bounded.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::code::{self, CompileFault, CompiledCode, Threads};
use super::frame::{self, Kind};

/// The argument that makes the binary a worker; memory and processor time follow it.
pub(super) const COMMAND: &str = "compile-worker";
/// Stack of the thread that compiles; deep nesting must not end the worker.
const STACK_BYTES: usize = 32 << 20;
/// Stack of each thread of the pool that helps it.
pub(super) const HELPER_STACK_BYTES: usize = 8 << 20;
/// Below this bound one thread compiles: helpers' stacks and arenas take address space.
const HELPERS_FROM_BYTES: u64 = 512 << 20;
/// How much the worker yields to everybody else, on the system's scale of 0 to 19.
const NICENESS: i32 = 5;
/// Stack of the thread that watches for the parent's end.
const WATCH_STACK_BYTES: usize = 64 << 10;

/// Serves as the compile worker when the process was started as one (its first argument is
/// `compile-worker`), returning when it has answered; `None` in any other process.
///
/// The program named to `Compiler::Child` calls this first thing in `main`, before it
/// opens anything or starts a thread: every descriptor above 2 is closed.
pub fn compile_worker_main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != COMMAND {
        return None;
    }
    Some(match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // The parent is gone or the stream is cut: there is nobody to tell.
        Err(_) => ExitCode::FAILURE,
    })
}

fn serve(arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let threads = match confine(arguments) {
        Ok(memory_bytes) if memory_bytes >= HELPERS_FROM_BYTES => Threads::Several,
        Ok(_) => Threads::One,
        Err(reason) => return frame::write(&mut stdout, Kind::Fault, reason.as_bytes()),
    };
    let mut stdin = io::stdin();
    let (kind, component) = frame::read(&mut stdin)?;
    if kind != Kind::Component {
        return frame::write(&mut stdout, Kind::Fault, b"a component was expected");
    }
    let (kind, payload) = match compile(stdin, &component, threads) {
        Ok(Ok(code)) => return frame::write(&mut stdout, Kind::Code, code.as_slice()),
        Ok(Err(CompileFault::Invalid(text))) => (Kind::Invalid, text),
        Ok(Err(CompileFault::Memory)) => (Kind::Memory, String::new()),
        Ok(Err(CompileFault::Setup(text))) => (Kind::Fault, text),
        // A thread is refused when there is no room for its stack.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => (Kind::Memory, String::new()),
        Err(error) => (Kind::Fault, error.to_string()),
    };
    frame::write(&mut stdout, kind, payload.as_bytes())
}

/// Compiles on a thread with room for deep nesting, while another watches the parent.
fn compile(
    stdin: io::Stdin,
    component: &[u8],
    threads: Threads,
) -> io::Result<Result<CompiledCode, CompileFault>> {
    let thread = |stack_bytes| std::thread::Builder::new().stack_size(stack_bytes);
    thread(WATCH_STACK_BYTES).spawn(|| leave_with_parent(stdin))?;
    std::thread::scope(|scope| {
        let compiling =
            thread(STACK_BYTES).spawn_scoped(scope, || code::compile(component, threads))?;
        compiling
            .join()
            .map_err(|_| io::Error::other("the compiler panicked"))
    })
}

/// Ends the process when the parent's end of stdin closes: a parent that was killed
/// leaves no compiler behind. The parent keeps that end open until it has its answer.
fn leave_with_parent(mut stdin: io::Stdin) {
    let mut byte = [0];
    while stdin.read(&mut byte).is_ok_and(|count| count > 0) {}
    std::process::exit(1);
}

/// Gives up everything the work does not need; the memory bound that is left.
fn confine(mut arguments: impl Iterator<Item = OsString>) -> Result<u64, String> {
    let mut number = |what: &str| {
        let text = arguments.next().and_then(|text| text.into_string().ok());
        text.and_then(|text| text.parse::<u64>().ok())
            .ok_or_else(|| format!("the worker needs {what}"))
    };
    let memory_bytes = number("a memory bound in bytes")?;
    let cpu_seconds = number("a processor bound in seconds")?;
    close_inherited()?;
    // B8: calls that are being served come first. Being nice is no guard: where it isn't
    // allowed, the bounds below are what protects.
    let _niceness = rustix::process::nice(NICENESS);
    let bounds = [
        (Resource::As, memory_bytes, 0),
        // At the bound itself the system says which one it was; where that is not heard, it
        // kills a second later.
        (Resource::Cpu, cpu_seconds, 1),
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        // 0, 1 and 2 are taken, so nothing can be opened any more: no file, no socket.
        (Resource::Nofile, 3, 0),
    ];
    bounds
        .into_iter()
        .try_for_each(|(resource, bound, grace)| limit(resource, bound, grace))?;
    Ok(memory_bytes)
}

/// Closes every descriptor above 2 and checks that none is left.
fn close_inherited() -> Result<(), String> {
    for descriptor in inherited()? {
        #[allow(
            unsafe_code,
            reason = "a number from the listing is closed, not an owned value"
        )]
        // SAFETY: `compile_worker_main` is called first thing in `main` (its contract), so
        // no value in this process owns a descriptor above 2: they were inherited. It is
        // open, for it was listed after the listing itself was closed.
        unsafe {
            rustix::io::close(descriptor);
        }
    }
    match inherited()?.len() {
        0 => Ok(()),
        more => Err(format!("{more} descriptors cannot be closed")),
    }
}

/// The open descriptors above 2.
fn inherited() -> Result<Vec<i32>, String> {
    const LIST: &str = "/proc/self/fd";
    let unreadable = |error: io::Error| format!("{LIST} cannot be read: {error}");
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(LIST).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        numbers.extend(number.filter(|number| *number > 2));
    }
    // The descriptor that read the list was in it and is closed by now.
    numbers.retain(|number| std::fs::symlink_metadata(format!("{LIST}/{number}")).is_ok());
    Ok(numbers)
}

/// Bounds `resource`, never above what the process may have; `grace` is what the bound may
/// be passed by once it was told.
fn limit(resource: Resource, bound: u64, grace: u64) -> Result<(), String> {
    let most = getrlimit(resource).maximum;
    let at_most = |bound: u64| most.map_or(bound, |most| most.min(bound));
    let both = Rlimit {
        current: Some(at_most(bound)),
        maximum: Some(at_most(bound.saturating_add(grace))),
    };
    setrlimit(resource, both).map_err(|error| format!("{resource:?} cannot be bounded: {error}"))
}
