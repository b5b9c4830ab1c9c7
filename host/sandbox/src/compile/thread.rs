//! Compiling on a thread of this process, for embedders without a worker program.
//!
//! Rule (B8): the caller gets its answer or its limit error in time. What a thread can't
//! give is said, not pretended: it can't be killed, so after the error it runs on until
//! the compiler is done, keeping its slot (so at most as many as there are slots run at
//! once); of `compile_time` only the wall clock that follows from it is enforced, and
//! `compile_memory` is not, because processor time and memory belong to the process.

use std::time::Instant;

use bindery_types::{ErrorType, Refusal};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::bytes::ComponentBytes;
use super::code::{self, CompileFault, CompiledCode, Threads};
use super::limits::{Clock, CompileLimits, invalid};

const STACK_BYTES: usize = 32 << 20;

/// Compiles `component`; `slot` is given back when the thread ends.
pub(super) async fn compile(
    component: &ComponentBytes,
    limits: CompileLimits,
    slot: OwnedSemaphorePermit,
) -> Result<CompiledCode, Refusal> {
    let started = Instant::now();
    let (reply, answer) = oneshot::channel();
    let component = component.clone();
    let thread = std::thread::Builder::new()
        .name("bindery-compile".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let _slot = slot;
            // A caller that went away does not want the answer.
            let _unwanted = reply.send(code::compile(component.as_slice(), Threads::One));
        });
    thread.map_err(|error| failed(&format!("no thread can be started: {error}")))?;
    match tokio::time::timeout(limits.wall(), answer).await {
        Err(_) => Err(limits.time_hit(Clock::Wall, started.elapsed())),
        Ok(Err(_)) => Err(failed("the compiler panicked")),
        Ok(Ok(Ok(code))) => Ok(code),
        Ok(Ok(Err(CompileFault::Invalid(why)))) => Err(invalid(&why)),
        Ok(Ok(Err(CompileFault::Memory))) => Err(limits.memory_hit().into()),
        Ok(Ok(Err(CompileFault::Setup(why)))) => Err(failed(&why)),
    }
}

fn failed(why: &str) -> Refusal {
    Refusal::new(ErrorType::Internal, "the compiler failed").for_operator(why)
}
