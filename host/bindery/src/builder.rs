//! Builds a [`Host`]: every default is the closed one, every switch is said in words.

use std::path::PathBuf;

use bindery_sandbox::{
    ArtefactStore, Check, Compiler, ProgressSink, Reset, Sandbox, SandboxConfig, StoreOptions,
};
use bindery_types::{Budget, Refusal};

use crate::Host;

/// Collects what a [`Host`] is made of.
///
/// A new builder has the default limits, compiles on a thread, keeps compiled code in
/// memory only, tells nobody about progress, and resets memory the fastest way this
/// machine allows.
#[derive(Default)]
pub struct HostBuilder {
    config: SandboxConfig,
    artefacts: Option<PathBuf>,
    options: StoreOptions,
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

    /// Starts the host.
    ///
    /// # Errors
    ///
    /// `store_unavailable` when the directory of compiled code cannot be trusted,
    /// `environment_unavailable` when the engine does not start with its limits.
    pub fn build(self) -> Result<Host, Refusal> {
        let Self {
            mut config,
            artefacts,
            options,
        } = self;
        config.store = artefacts
            .map(|path| ArtefactStore::open(&path, options))
            .transpose()?;
        Ok(Host::new(Sandbox::new(config)?))
    }
}
