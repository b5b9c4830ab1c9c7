//! Loading a component from the store of compiled code against compiling it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use bindery_artefacts::{javascript, python, rust_guest};
use bindery_sandbox::{ArtefactStore, Sandbox, SandboxConfig, StoreOptions};
use bindery_types::LimitName;

use crate::goal::Goal;
use crate::measure::nanoseconds;
use crate::rig::{Rig, explain};
use crate::row::Row;
use crate::stats::Pair;

/// Compiling an interpreter takes seconds.
const ROUNDS: usize = 3;
/// Loads for one compile; the middle one of them counts.
const LOADS: usize = 9;

/// The rows, one per language.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let components = [
        (
            "load-rust",
            "load a Rust component",
            rust_guest("file-tools").map(Some),
        ),
        ("load-python", "load a Python component", python("echo")),
        (
            "load-javascript",
            "load a JavaScript component",
            javascript("echo"),
        ),
    ];
    let mut rows = Vec::new();
    for (id, what, path) in components {
        let row = Row::new(id, what, "compiling it").goal(Goal::AtLeast(50.0));
        rows.push(match path {
            Ok(Some(path)) => row.speedup(&pair(rig, &path)?),
            Ok(None) => row.absent("its packages cannot be installed here"),
            Err(error) => row.absent(format!("{error:#}")),
        });
    }
    Ok(rows)
}

fn pair(rig: &Rig, component: &Path) -> Result<Pair> {
    let bytes: Arc<[u8]> = std::fs::read(component)?.into();
    let mut pair = Pair::default();
    for _ in 0..rig.pace.long_rounds(ROUNDS) {
        let folder = tempfile::tempdir()?;
        let store = folder.path().join("store");
        pair.theirs.push(load(rig, &store, &bytes, 1)?);
        let mut loads = Vec::new();
        for _ in 0..LOADS {
            loads.push(load(rig, &store, &bytes, 0)?);
        }
        pair.ours.extend(crate::stats::quantile(&loads, 0.5));
    }
    Ok(pair)
}

/// Nanoseconds from bytes to a component that can run, in a sandbox that has not seen it.
fn load(rig: &Rig, store: &Path, bytes: &Arc<[u8]>, compiles: u64) -> Result<f64> {
    // A busy machine may take its time: this measures compiling, it does not bound it.
    let budget = crate::rig::budget(&[(LimitName::CompileTime, 1_800_000)])?;
    let sandbox = Sandbox::new(SandboxConfig {
        budget,
        store: Some(ArtefactStore::open(store, StoreOptions::default()).map_err(explain)?),
        ..SandboxConfig::default()
    })
    .map_err(explain)?;
    let bytes = Arc::clone(bytes);
    let started = Instant::now();
    let loaded = rig.runtime.block_on(sandbox.load(bytes)).map_err(explain)?;
    let elapsed = nanoseconds(started.elapsed());
    drop(loaded);
    let counted = sandbox.compiles();
    ensure!(
        counted == compiles,
        "{counted} compiles, {compiles} were expected"
    );
    Ok(elapsed)
}
