//! Runs any component's function from JSON under real limits: compile, load, call.
//!
//! Rule: a fresh store for every call, dropped after it, whatever happened; nothing is
//! linked that the closed table of imports does not name; every budget is enforced here
//! or in the grants; nothing a component, an argument or a file does ends the process.

mod abi;
#[cfg(test)]
mod agreement;
mod artefacts;
#[cfg(test)]
mod canary;
mod cancel;
mod checked;
mod compile;
mod descriptors;
mod engine;
mod faults;
mod fuel;
mod leash;
mod limiter;
mod loaded;
mod nested;
mod permits;
mod pool;
mod run;
mod sandbox;
mod start;
mod state;
mod stopwatch;
mod ticker;

pub use artefacts::{
    ArtefactStore, BadFile, Check, Cleared, EngineId, StoreOptions, StoredArtefact, Verified,
};
pub use cancel::Cancel;
pub use checked::Checked;
pub use compile::{
    CompilePhase, CompileProgress, Compiler, ComponentBytes, ProgressSink, compile_worker_main,
};
pub use descriptors::stdout_was_closed;
pub use loaded::LoadedComponent;
pub use nested::Misfit;
pub use sandbox::{Sandbox, SandboxConfig};
pub use start::{Allocation, Reset, StartReport};
