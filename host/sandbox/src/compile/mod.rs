//! Compiling components where they can do no harm, and loading them at most once.
//!
//! Rule (H15, B8, D4): compiling is bounded in wall time always, in memory and processor
//! time where it has a process of its own; a few compiles run at once, one per component;
//! code is loaded from this compiler or from the authenticated store, from nowhere else.

mod bytes;
mod child;
mod code;
mod flight;
mod frame;
mod limits;
mod loader;
mod memory;
mod progress;
mod thread;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use bindery_types::{ErrorType, Refusal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use bytes::ComponentBytes;
pub(crate) use code::CompiledCode;
#[cfg(test)]
pub(crate) use code::{Threads, compile as compile_here};
pub(crate) use limits::CompileLimits;
pub(crate) use loader::{Loader, LoaderConfig};
pub use progress::{CompilePhase, CompileProgress, ProgressSink};
pub use worker::compile_worker_main;

/// Compiles at once, and threads of one: each compile may use `compile_memory`, and each
/// thread adds to it.
const PROCESSORS_MAX: usize = 4;

/// Where compiling happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// In a child process that has nothing but its pipes, bounded by the system and killed
    /// at its wall limit. `program` calls [`compile_worker_main`] first thing in its
    /// `main`, as `bindery` does.
    Child {
        /// The program.
        program: PathBuf,
    },
    /// On a thread of this process: the wall time holds, but a compile over its time ends
    /// by itself only, and its memory is the process's own.
    Thread,
}

/// A compiler and its slots.
pub(crate) struct CompileJobs {
    compiler: Compiler,
    limits: CompileLimits,
    slots: Arc<Semaphore>,
}

impl CompileJobs {
    pub(crate) fn new(compiler: Compiler, limits: CompileLimits) -> Self {
        Self {
            compiler,
            limits,
            slots: Arc::new(Semaphore::new(processors_to_use())),
        }
    }

    /// Compiles `component`, waiting for a slot first.
    pub(crate) async fn compile(
        &self,
        component: &ComponentBytes,
    ) -> Result<CompiledCode, Refusal> {
        match &self.compiler {
            Compiler::Child { program } => {
                // Each holder ends within its time limit, so this wait ends, too.
                let _slot = self.slot().await?;
                child::compile(program, component, self.limits).await
            }
            Compiler::Thread => {
                // Threads past their limit keep their slots for as long as they run.
                let slot = tokio::time::timeout(self.limits.wall(), self.slot()).await;
                let slot = slot.unwrap_or_else(|_| Err(busy()))?;
                thread::compile(component, self.limits, slot).await
            }
        }
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let slots = Arc::clone(&self.slots);
        slots.acquire_owned().await.map_err(|_| busy())
    }
}

/// As many as there are, up to [`PROCESSORS_MAX`].
fn processors_to_use() -> usize {
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    here.min(PROCESSORS_MAX)
}

fn busy() -> Refusal {
    Refusal::new(ErrorType::Busy, "too many components are being compiled")
}
