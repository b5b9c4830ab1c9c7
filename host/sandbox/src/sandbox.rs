//! The sandbox: one engine, and the two things it does, load and run.
//!
//! Rule: one engine per sandbox, and a loaded component belongs to it (H11). What a run
//! may reach is in the grants of that run; the sandbox itself holds no authority.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_grants::Grants;
use bindery_types::{Budget, ErrorType, LimitHit, LimitName, Refusal, Run};
use tracing::{Instrument, field::Empty, info_span};
use wasmtime::Engine;

use crate::artefacts::ArtefactStore;
use crate::cancel::Cancel;
use crate::checked::Checked;
use crate::compile::{CompileLimits, Compiler, ComponentBytes, Loader, LoaderConfig, ProgressSink};
use crate::loaded::LoadedComponent;
use crate::permits::Permits;
use crate::pool;
use crate::run::{Ask, Host, run};
use crate::start::{Reset, StartReport};
use crate::ticker::Ticker;
use bindery_inspect::outline_of;

/// How a sandbox is built.
pub struct SandboxConfig {
    /// The limits of the host; those of calls size the pool.
    pub budget: Budget,
    /// Where components are compiled.
    pub compiler: Compiler,
    /// Where compiled code is kept between processes; `None` keeps it in memory only.
    pub store: Option<ArtefactStore>,
    /// Who is told about long compiles.
    pub progress: Option<ProgressSink>,
    /// How memory is reset between calls; `None` takes the fastest the host allows.
    pub reset: Option<Reset>,
}

impl Default for SandboxConfig {
    /// Default limits, compiling on a thread, nothing kept between processes, nobody told,
    /// the fastest reset that the host allows.
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            compiler: Compiler::Thread,
            store: None,
            progress: None,
            reset: None,
        }
    }
}

/// Loads components and runs their functions. Clones are the same sandbox.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    // Dropped in this order: the ticker looks for the engine when it is woken last.
    loader: Loader,
    engine: Engine,
    permits: Permits,
    /// Stores made for calls so far.
    started: AtomicU64,
    budget: Budget,
    report: StartReport,
    ticker: Ticker,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("report", &self.inner.report)
            .finish_non_exhaustive()
    }
}

/// Marks a call that another one waits for.
#[derive(Clone, Copy)]
struct Nested;

impl Sandbox {
    /// Builds the engine, reads its limits back and starts its ticker.
    ///
    /// # Errors
    ///
    /// `environment_unavailable` when the engine does not start on this host as it must.
    pub fn new(config: SandboxConfig) -> Result<Self, Refusal> {
        let SandboxConfig {
            budget,
            compiler,
            store,
            progress,
            reset,
        } = config;
        let (engine, mut report) = pool::build(&budget, reset)?;
        report.compiling = match &compiler {
            Compiler::Child { .. } => "in a child process".to_owned(),
            Compiler::Thread => {
                "on a thread of this process: its memory is not bounded by the system".to_owned()
            }
        };
        let ticker = Ticker::start(&engine)?;
        let loader = LoaderConfig {
            compiler,
            limits: CompileLimits::of(&budget),
            store,
            progress,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                loader: Loader::new(engine.clone(), loader),
                engine,
                permits: Permits::new(&budget),
                started: AtomicU64::new(0),
                budget,
                report,
                ticker,
            }),
        })
    }

    /// What was decided at the start, for the operator.
    pub fn start_report(&self) -> &StartReport {
        &self.inner.report
    }

    /// Calls running now.
    pub fn running(&self) -> usize {
        self.inner.permits.running()
    }

    /// Calls waiting for another to end.
    pub fn waiting(&self) -> usize {
        self.inner.permits.waiting()
    }

    /// Compilations since the start.
    pub fn compiles(&self) -> u64 {
        self.inner.loader.compiles()
    }

    /// Calls that a store was made for since the start; a call refused before (wrong
    /// arguments, a missing grant) is not among them.
    pub fn started(&self) -> u64 {
        self.inner.started.load(Ordering::Relaxed)
    }

    /// Lets no further call in; those that run go on, those that wait are refused.
    pub fn shut_down(&self) {
        self.inner.permits.close();
    }

    /// Inspects and loads a component: compiled here, or taken from the store.
    ///
    /// # Errors
    ///
    /// `component_invalid` with the kind of file it is, `budget_exhausted` when it is too
    /// large or compiling it takes too much.
    pub async fn load(&self, bytes: impl Into<Arc<[u8]>>) -> Result<LoadedComponent, Refusal> {
        let bytes: Arc<[u8]> = bytes.into();
        let budget = self.inner.budget.clone();
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let limit = budget.get(LimitName::Component);
        if !limit.allows(size) {
            let name = LimitName::Component;
            let used = size;
            return Err(LimitHit { name, limit, used }.into());
        }
        let span = info_span!("inspect", bytes = size, component = Empty);
        let (component, shape) = tokio::task::spawn_blocking(move || {
            let _inside = span.enter();
            let component = ComponentBytes::new(bytes);
            span.record("component", tracing::field::display(component.digest()));
            // Its code is checked before it is compiled; what the store holds was.
            let shape = outline_of(component.as_slice(), component.digest(), &budget)?;
            Ok::<_, Refusal>((component, shape))
        })
        .await
        .map_err(|_| {
            Refusal::new(
                ErrorType::Internal,
                "inspecting the component was interrupted",
            )
        })??;
        let loaded = self.inner.loader.load(&component).await?;
        Ok(LoadedComponent::new(
            shape,
            loaded.component,
            loaded.compiles,
        ))
    }

    /// Reads `arguments` (a JSON object of its parameters) against the types of `function`;
    /// its name may be short when only one function answers to it. Nothing is started.
    ///
    /// # Errors
    ///
    /// `arguments_invalid` with every fault, each with its place.
    pub fn check(
        &self,
        component: &LoadedComponent,
        function: &str,
        arguments: &str,
        budget: &Budget,
    ) -> Result<Checked, Refusal> {
        Checked::new(component, function, arguments, budget)
    }

    /// Runs a checked call: one fresh instance, holding `grants` and nothing else, within
    /// `budget`.
    ///
    /// Whatever happens is in the [`Run`]: a value, the capability's own error, or a
    /// refusal; its receipt is `None` when nothing was started. Dropping the future ends
    /// the call.
    pub async fn run_checked(
        &self,
        checked: Checked,
        grants: Grants,
        budget: &Budget,
        cancel: &Cancel,
    ) -> Run {
        self.started_by(None, checked, grants, (budget, cancel))
            .await
    }

    /// The same for a call that another call waits for: it does not wait for a permit, and
    /// is `busy` where there is none, because the one that it would wait for may be waiting
    /// for it.
    pub async fn run_nested(
        &self,
        checked: Checked,
        grants: Grants,
        budget: &Budget,
        cancel: &Cancel,
    ) -> Run {
        let nested = Some(Nested);
        self.started_by(nested, checked, grants, (budget, cancel))
            .await
    }

    async fn started_by(
        &self,
        nested: Option<Nested>,
        checked: Checked,
        grants: Grants,
        (budget, cancel): (&Budget, &Cancel),
    ) -> Run {
        let span = info_span!(
            "run",
            component = %checked.component().digest(),
            fuel = Empty,
            wall_us = Empty,
            host_calls = Empty,
            exit_code = Empty,
            outcome = Empty,
        );
        let host = Host {
            engine: &self.inner.engine,
            permits: &self.inner.permits,
            started: &self.inner.started,
            ticker: &self.inner.ticker,
        };
        let ask = Ask {
            checked,
            grants,
            budget,
            cancel,
            nested: nested.is_some(),
        };
        run(&host, ask).instrument(span).await
    }

    /// [`Self::check`], then [`Self::run_checked`].
    pub async fn run(
        &self,
        component: &LoadedComponent,
        function: &str,
        arguments: &str,
        grants: Grants,
        budget: &Budget,
        cancel: &Cancel,
    ) -> Run {
        match self.check(component, function, arguments, budget) {
            Ok(checked) => self.run_checked(checked, grants, budget, cancel).await,
            Err(refusal) => Run::refused(refusal),
        }
    }
}
