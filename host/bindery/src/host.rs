//! The host: loads components, runs them, and governs what sessions may call.

use std::sync::Arc;

use bindery_grants::Grants;
use bindery_ledger::{Journal, Memory};
use bindery_sandbox::{Cancel, LoadedComponent, StartReport};
use bindery_types::{Budget, Refusal, Run};

use crate::HostBuilder;
use crate::direct::{self, Direct};
use crate::governor::Governor;

/// Runs components under limits and policy. Clones are the same host.
#[derive(Clone)]
pub struct Host {
    pub(crate) governor: Arc<Governor>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("sandbox", &self.governor.sandbox)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// A builder with closed defaults.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// What was decided when the host started: how instances are allocated and reset,
    /// where components are compiled, which limits are in force.
    pub fn start_report(&self) -> &StartReport {
        self.governor.sandbox.start_report()
    }

    /// Inspects and compiles a component, or takes its code from the store.
    ///
    /// # Errors
    ///
    /// `component_invalid` says what the bytes are instead; `budget_exhausted` that they
    /// are too large or take too much to compile.
    pub async fn load(&self, bytes: impl Into<Arc<[u8]>>) -> Result<LoadedComponent, Refusal> {
        self.governor.sandbox.load(bytes).await
    }

    /// Calls `function` of `component` in a fresh instance that holds `grants` and nothing
    /// else, within `budget`: the operator's direct door. It is a governed call under a
    /// policy that allows exactly this, recorded in memory; a service that calls often
    /// opens a session and binds. What came of it, refusals included, is in the [`Run`].
    /// Dropping the future ends the call; `cancel` ends it and keeps the receipt.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{Budget, Cancel, Grants, Outcome};
    ///
    /// let (host, _, _) = stand().await?;
    /// let loaded = host.load(component()).await?;
    /// let (budget, cancel) = (Budget::default(), Cancel::new());
    /// let run = host.run(&loaded, "answer", "{}", Grants::default(), &budget, &cancel).await;
    /// assert_eq!(run.outcome, Outcome::Value("42".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run(
        &self,
        component: &LoadedComponent,
        function: &str,
        arguments: &str,
        grants: Grants,
        budget: &Budget,
        cancel: &Cancel,
    ) -> Run {
        let journal = Arc::new(Memory::default());
        let direct = Direct {
            component,
            function,
            arguments,
            grants,
            budget,
            cancel,
        };
        direct::run(&self.governor.sandbox, journal, direct).await
    }

    /// The same, recorded where `journal` writes.
    pub async fn run_recorded(&self, journal: Arc<dyn Journal>, direct: Direct<'_>) -> Run {
        direct::run(&self.governor.sandbox, journal, direct).await
    }
}
