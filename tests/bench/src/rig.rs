//! What rows share: a sandbox as a service would have it, and the bench's own guests.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bindery_artefacts::rust_guest;
use bindery_grants::Grants;
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox, SandboxConfig};
use bindery_types::{Budget, LimitName, Outcome, Refusal, Run};
use tokio::runtime::Runtime;

use crate::pace::Pace;

/// The question that small calls ask.
pub const QUESTION: &str = "how far is it to Oslo?";

/// The arguments of a small call.
pub const ASK: &str = r#"{"question": "how far is it to Oslo?"}"#;

/// A component in the sandbox.
pub struct Guest {
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// It, loaded.
    pub loaded: LoadedComponent,
}

/// A sandbox with one thread to run on, and two guests.
pub struct Rig {
    /// How many rounds rows make.
    pub pace: Pace,
    /// The executor.
    pub runtime: Runtime,
    /// The sandbox.
    pub sandbox: Sandbox,
    /// Answers questions and computes.
    pub answer: Guest,
    /// Takes bytes and records.
    pub crossing: Guest,
}

impl Rig {
    /// A sandbox with the default limits.
    ///
    /// # Errors
    ///
    /// When the guests do not build or the engine does not start.
    pub fn new(pace: Pace) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let sandbox = sandbox(&Budget::default())?;
        let answer = guest(&runtime, &sandbox, "answer")?;
        let crossing = guest(&runtime, &sandbox, "crossing")?;
        Ok(Self {
            pace,
            runtime,
            sandbox,
            answer,
            crossing,
        })
    }

    /// Calls a function `count` times, one after the other; each must give a value.
    ///
    /// # Errors
    ///
    /// The first outcome that is none.
    pub fn call(&self, guest: &Guest, function: &str, arguments: &str, count: u32) -> Result<()> {
        let budget = Budget::default();
        self.runtime.block_on(async {
            for _ in 0..count {
                let run = run(&self.sandbox, &guest.loaded, function, arguments, &budget).await;
                value(run)?;
            }
            Ok(())
        })
    }
}

/// A sandbox that compiles on a thread, keeps nothing, and has these limits.
///
/// # Errors
///
/// When the engine does not start.
pub fn sandbox(budget: &Budget) -> Result<Sandbox> {
    let config = SandboxConfig {
        budget: budget.clone(),
        ..SandboxConfig::default()
    };
    Sandbox::new(config).map_err(explain)
}

/// A budget with these limits, the defaults otherwise.
///
/// # Errors
///
/// When a value is above its ceiling.
pub fn budget(limits: &[(LimitName, u64)]) -> Result<Budget> {
    let mut budget = Budget::default();
    for (name, value) in limits {
        budget = budget.with(*name, *value)?;
    }
    Ok(budget)
}

fn guest(runtime: &Runtime, sandbox: &Sandbox, name: &str) -> Result<Guest> {
    let path = rust_guest(name)?;
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let loaded = runtime
        .block_on(sandbox.load(bytes.clone()))
        .map_err(explain)?;
    Ok(Guest {
        path,
        bytes,
        loaded,
    })
}

/// One call that is granted nothing.
pub async fn run(
    sandbox: &Sandbox,
    component: &LoadedComponent,
    function: &str,
    arguments: &str,
    budget: &Budget,
) -> Run {
    let (grants, cancel) = (Grants::default(), Cancel::new());
    sandbox
        .run(component, function, arguments, grants, budget, &cancel)
        .await
}

/// The value of a call that has one.
///
/// # Errors
///
/// What it has instead.
pub fn value(run: Run) -> Result<String> {
    match run.outcome {
        Outcome::Value(json) => Ok(json),
        Outcome::CapabilityError(json) => bail!("the capability's own error: {json}"),
        Outcome::Refused(refusal) => Err(explain(refusal)),
    }
}

/// A refusal with its operator's text: who reads this is one.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub fn explain(refusal: Refusal) -> anyhow::Error {
    let operator = refusal.operator().unwrap_or("no more is known");
    anyhow::anyhow!("{refusal}: {operator}")
}
