//! A process that tests of loading start: `compile-worker …` serves as the compile worker,
//! `load STORE COMPONENT` loads one component with itself as the worker and prints how
//! many compilations that took.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use bindery_sandbox::{
    ArtefactStore, Compiler, Sandbox, SandboxConfig, StoreOptions, compile_worker_main,
};

fn main() -> anyhow::Result<ExitCode> {
    if let Some(code) = compile_worker_main() {
        return Ok(code);
    }
    let words: Vec<_> = std::env::args_os().collect();
    match words.as_slice() {
        [_, verb, store, component] if verb == "load" => {
            load(Path::new(store), Path::new(component))?;
            Ok(ExitCode::SUCCESS)
        }
        _ => anyhow::bail!("expected `compile-worker …` or `load STORE COMPONENT`"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn load(store: &Path, component: &Path) -> anyhow::Result<()> {
    let store = ArtefactStore::open(store, StoreOptions::default()).map_err(explain)?;
    let program = std::env::current_exe().context("this program has no path")?;
    let sandbox = Sandbox::new(SandboxConfig {
        compiler: Compiler::Child { program },
        store: Some(store),
        ..SandboxConfig::default()
    })?;
    let bytes = std::fs::read(component)?;
    sandbox.load(bytes).await.map_err(explain)?;
    writeln!(std::io::stdout(), "{}", sandbox.compiles())?;
    Ok(())
}

/// A refusal with its operator's text: who reads this is one.
fn explain(refusal: bindery_types::Refusal) -> anyhow::Error {
    anyhow::anyhow!(
        "{refusal}: {}",
        refusal.operator().unwrap_or("no more is known")
    )
}
