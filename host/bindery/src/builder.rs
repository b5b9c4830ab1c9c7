//! Builds a [`Host`]: every default is the closed one, every switch is said in words.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bindery_ledger::{Journal, Memory};
use bindery_policy::Document;
use bindery_sandbox::{
    ArtefactStore, Check, Compiler, ProgressSink, Reset, Sandbox, SandboxConfig, StoreOptions,
};
use bindery_types::{Budget, Moment, Refusal};

use crate::clock::{HostClock, system};
use crate::governor::{Governor, Guards};
use crate::hooks::Hook;
use crate::resources::Resources;
use crate::screening::Screening;
use crate::{Host, start};

/// Collects what a [`Host`] is made of.
///
/// A new builder has the default limits, compiles on a thread, keeps compiled code in
/// memory only, tells nobody about progress, resets memory the fastest way this machine
/// allows, has a policy that denies everything, opens no resources, and keeps its record
/// in memory.
pub struct HostBuilder {
    config: SandboxConfig,
    artefacts: Option<PathBuf>,
    options: StoreOptions,
    document: Option<Document>,
    resources: Resources,
    journal: Arc<dyn Journal>,
    clock: fn() -> Moment,
    guards: Guards,
}

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            config: SandboxConfig::default(),
            artefacts: None,
            options: StoreOptions::default(),
            document: None,
            resources: Resources::default(),
            journal: Arc::new(Memory::default()),
            clock: system,
            guards: Guards::default(),
        }
    }
}

impl HostBuilder {
    /// Limits of the host: size of components, compiling, calls at once.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.config.budget = budget;
        self
    }

    /// Keeps compiled code in the directory `path`, made when it is not there.
    #[must_use]
    pub fn artefacts(mut self, path: impl Into<PathBuf>) -> Self {
        self.artefacts = Some(path.into());
        self
    }

    /// What is checked when stored code is loaded.
    #[must_use]
    pub fn artefact_check(mut self, check: Check) -> Self {
        self.options.check = check;
        self
    }

    /// Where components are compiled. A child needs a program whose `main` begins with
    /// [`compile_worker_main`](crate::compile_worker_main).
    #[must_use]
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.config.compiler = compiler;
        self
    }

    /// Who is told about compiles that take longer than 300 ms.
    #[must_use]
    pub fn on_progress(mut self, sink: ProgressSink) -> Self {
        self.config.progress = Some(sink);
        self
    }

    /// How memory is reset between calls, instead of the fastest safe way.
    #[must_use]
    pub fn reset(mut self, reset: Reset) -> Self {
        self.config.reset = Some(reset);
        self
    }

    /// The policy and configuration; without one everything is denied.
    #[must_use]
    pub fn policy(mut self, document: Document) -> Self {
        self.document = Some(document);
        self
    }

    /// What stands behind the grants that the document names.
    #[must_use]
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// Where records go.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// Another clock than the system's.
    #[must_use]
    pub fn clock(mut self, clock: fn() -> Moment) -> Self {
        self.clock = clock;
        self
    }

    /// One more hook; they are asked in the order in which they are given, and in the
    /// reverse order on the way out.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.guards.hooks.all.push(hook);
        self
    }

    /// How long each hook may take before its silence is a no; 2 s unless said.
    #[must_use]
    pub fn hook_time(mut self, within: Duration) -> Self {
        self.guards.hooks.within = within;
        self
    }

    /// Screens results once more, after the host has. What it cannot screen is withheld.
    #[must_use]
    pub fn screening(mut self, screening: Arc<dyn Screening>) -> Self {
        self.guards.screening = Some(screening);
        self
    }

    /// Starts the host: what an earlier one left in the journal is recovered first, and the
    /// environment is admitted.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{Budget, ErrorType, Host, LimitName};
    ///
    /// let budget = Budget::default().with(LimitName::Component, 1 << 20).expect("below its ceiling");
    /// let host = Host::builder().budget(budget).build()?;
    /// let large = host.load(vec![0; 2 << 20]).await.unwrap_err();
    /// assert_eq!(large.kind(), ErrorType::BudgetExhausted);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `store_unavailable` when the directory of compiled code or the journal cannot be
    /// used, `environment_unavailable` when the engine does not start with its limits.
    pub fn build(self) -> Result<Host, Refusal> {
        let Self {
            mut config,
            artefacts,
            options,
            document,
            resources,
            journal,
            clock,
            guards,
        } = self;
        config.store = artefacts
            .map(|path| ArtefactStore::open(&path, options))
            .transpose()?;
        let sandbox = Sandbox::new(config)?;
        let document = match document {
            Some(document) => document,
            None => Document::parse("(none)", "")?,
        };
        let mut latest = Moment::default();
        journal.look(&mut |state| latest = state.now());
        let clock = HostClock::new(latest, clock);
        let mut governor = Governor::new(sandbox, journal, resources, clock, document)?;
        governor.guards = guards;
        start::start(&governor)?;
        Ok(Host {
            governor: Arc::new(governor),
        })
    }
}
