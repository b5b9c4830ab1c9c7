//! Component bytes to machine code, and machine code to a component the engine can run.
//!
//! Rule (H14, R-026): [`CompiledCode`] comes from this compiler only: made here in this
//! process, or in a worker that ran this very function. Nobody else's precompiled code
//! has a way in.

use bindery_types::Refusal;
use wasmtime::component::Component;
use wasmtime::{Engine, OutOfMemory};

use crate::engine::compile_config;

/// What every component binary begins with: the magic, the component layer's version.
const PREAMBLE: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Why compiling gave no code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CompileFault {
    /// The bytes are no component this engine takes.
    Invalid(String),
    /// There was not enough memory.
    Memory,
    /// The compiler itself could not be set up.
    Setup(String),
}

/// Machine code that this compiler made, in wasmtime's serialised form.
pub(crate) struct CompiledCode(Vec<u8>);

impl CompiledCode {
    /// Code a worker process sent back; `child` has checked its digest.
    pub(super) fn from_worker(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// The serialised form.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// Makes the code runnable in `engine`.
    ///
    /// # Errors
    ///
    /// `budget_exhausted` when the component demands more than a slot of the
    /// engine holds, `internal` when `engine` is configured otherwise than
    /// the compiler.
    pub(crate) fn load(&self, engine: &Engine) -> Result<Component, Refusal> {
        #[allow(
            unsafe_code,
            reason = "loading code is the purpose; its origin is proven"
        )]
        // SAFETY: the contract is that the bytes come unmodified from
        // `Engine::precompile_component`. The field is private and set in two places:
        // `compile` below, which calls it, and `from_worker`, whose bytes come over a
        // pipe, digest checked, from a process this one started to run `compile`. The
        // bytes are owned and immutable, so nothing changes them while they are read.
        let component = unsafe { Component::deserialize(engine, &self.0) };
        component.map_err(|error| crate::faults::unloadable(&error, engine))
    }
}

/// How many threads a compile uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The one that calls.
    One,
    /// Those of the process's pool as well.
    Several,
}

/// Compiles `bytes`; the caller's thread waits.
pub(crate) fn compile(bytes: &[u8], threads: Threads) -> Result<CompiledCode, CompileFault> {
    // Another crate of the build may have switched on wasmtime's text format; text is
    // refused here whatever the features are (H14).
    if !bytes.starts_with(&PREAMBLE) {
        return Err(CompileFault::Invalid("it is not a component binary".into()));
    }
    let mut config = compile_config();
    config.parallel_compilation(threads == Threads::Several);
    let engine = Engine::new(&config).map_err(|error| fault(error, CompileFault::Setup))?;
    let code = engine.precompile_component(bytes);
    code.map(CompiledCode)
        .map_err(|error| fault(error, CompileFault::Invalid))
}

/// Memory that ran out is no property of the component; everything else is `kind`.
fn fault(error: wasmtime::Error, kind: fn(String) -> CompileFault) -> CompileFault {
    let no_memory = error.is::<OutOfMemory>()
        || error.chain().any(|cause| {
            cause
                .downcast_ref::<std::io::Error>()
                .is_some_and(|io| io.kind() == std::io::ErrorKind::OutOfMemory)
        });
    if no_memory {
        CompileFault::Memory
    } else {
        kind(format!("{error:#}"))
    }
}
