//! A component's bytes to a component that can run: memory, store, compiler, in this order.
//!
//! Rule (I9, D4): what is loaded is keyed by the digest of the bytes in hand; a store that
//! fails never fails a load, it only makes it slower and is told to the operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_types::{Digest, ErrorType, Refusal};
use tracing::Instrument as _;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::flight::Flights;
use super::memory;
use super::progress::{ProgressSink, watched};
use super::{CompileJobs, CompileLimits, CompiledCode, Compiler, ComponentBytes};
use crate::artefacts::{ArtefactStore, EngineId};

/// What a loader is made of.
pub(crate) struct LoaderConfig {
    /// Where compiling happens.
    pub(crate) compiler: Compiler,
    /// What one compile may use.
    pub(crate) limits: CompileLimits,
    /// Where code is kept between processes; `None` keeps it in memory only.
    pub(crate) store: Option<ArtefactStore>,
    /// Who is told about long compiles.
    pub(crate) progress: Option<ProgressSink>,
}

/// A component ready to be linked.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// The component.
    pub(crate) component: Component,
    /// Compilations this load waited for: 0 or 1.
    pub(crate) compiles: u64,
}

/// Loads components for one engine.
pub(crate) struct Loader {
    shared: Arc<Shared>,
    flights: Flights<Digest, Loaded>,
}

/// What the load in progress needs, on whatever task it runs.
struct Shared {
    engine: Engine,
    engine_id: EngineId,
    jobs: CompileJobs,
    store: Option<Arc<ArtefactStore>>,
    progress: Option<ProgressSink>,
    loaded: memory::Loaded,
    compiles: AtomicU64,
}

impl Loader {
    /// A loader for `engine`, which must be configured as the compiler is.
    pub(crate) fn new(engine: Engine, config: LoaderConfig) -> Self {
        let LoaderConfig {
            compiler,
            limits,
            store,
            progress,
        } = config;
        let shared = Shared {
            engine_id: EngineId::of(&engine),
            engine,
            jobs: CompileJobs::new(compiler, limits),
            store: store.map(Arc::new),
            progress,
            loaded: memory::Loaded::default(),
            compiles: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            flights: Flights::new(),
        }
    }

    /// Loads `component`; concurrent loads of one component are one. Needs a tokio runtime
    /// with time and processes enabled.
    ///
    /// # Errors
    ///
    /// `component_invalid`, `budget_exhausted` (`compile_time`, `compile_memory`), `busy`,
    /// or `internal` when the worker cannot be started.
    pub(crate) async fn load(&self, component: &ComponentBytes) -> Result<Loaded, Refusal> {
        let digest = component.digest();
        if let Some(component) = self.shared.loaded.get(digest) {
            let compiles = 0;
            return Ok(Loaded {
                component,
                compiles,
            });
        }
        let start = || {
            let (shared, component) = (Arc::clone(&self.shared), component.clone());
            let span =
                tracing::info_span!("load", component = %digest, bytes = component.len_bytes());
            async move { shared.load(&component).await }.instrument(span)
        };
        self.flights.join(digest, start).await
    }

    /// Compilations since this loader was made.
    pub(crate) fn compiles(&self) -> u64 {
        self.shared.compiles.load(Ordering::Relaxed)
    }
}

impl Shared {
    async fn load(self: Arc<Self>, component: &ComponentBytes) -> Result<Loaded, Refusal> {
        let digest = component.digest();
        // A load that landed between the look into memory and this flight.
        let ready = match self.loaded.get(digest) {
            Some(ready) => Some(ready),
            None => self.stored(digest).await?,
        };
        let (ready, compiles) = match ready {
            Some(ready) => (ready, 0),
            None => (self.compile(component).await?, 1),
        };
        self.loaded.keep(digest, ready.clone());
        Ok(Loaded {
            component: ready,
            compiles,
        })
    }

    /// From the store, if it is there and sound.
    async fn stored(self: &Arc<Self>, digest: Digest) -> Result<Option<Component>, Refusal> {
        let Some(store) = self.store.clone() else {
            return Ok(None);
        };
        let shared = Arc::clone(self);
        blocking(move || store.load(&shared.engine, &shared.engine_id, digest)).await
    }

    async fn compile(self: &Arc<Self>, component: &ComponentBytes) -> Result<Component, Refusal> {
        let bytes = component.clone();
        blocking(move || bindery_inspect::check_code(bytes.as_slice())).await??;
        self.compiles.fetch_add(1, Ordering::Relaxed);
        let compile = self.jobs.compile(component);
        let span = tracing::info_span!("compile", component = %component.digest());
        let code = watched(self.progress.as_ref(), component, compile.instrument(span)).await?;
        let (shared, digest) = (Arc::clone(self), component.digest());
        blocking(move || shared.take_in(digest, &code)).await?
    }

    /// Makes fresh code runnable, then stores it: code the engine refuses is not stored.
    fn take_in(&self, digest: Digest, code: &CompiledCode) -> Result<Component, Refusal> {
        let component = code.load(&self.engine)?;
        if let Some(store) = &self.store
            && let Err(refusal) = store.put(&self.engine_id, digest, code)
        {
            tracing::warn!(
                component = %digest,
                reason = refusal.operator().unwrap_or_else(|| refusal.message()),
                "compiled code is not stored"
            );
        }
        Ok(component)
    }
}

/// Runs file work where it blocks nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let span = tracing::Span::current();
    let task = tokio::task::spawn_blocking(move || span.in_scope(work));
    task.await
        .map_err(|_| Refusal::new(ErrorType::Internal, "loading the component was interrupted"))
}
