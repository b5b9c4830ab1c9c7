//! Big components, compiled once and kept: by default a test compiles what it loads.
//!
//! The store is the product's own, so its safeguards are in use here too.

use bindery_artefacts::built;
use bindery_sandbox::{ArtefactStore, Sandbox, SandboxConfig, StoreOptions};
use bindery_types::LimitName;

use crate::rig;

/// A sandbox that keeps compiled code under the target folder.
pub(crate) fn sandbox() -> Sandbox {
    let folder = built().unwrap().join("compiled");
    Sandbox::new(SandboxConfig {
        // Ten times the default: an interpreter compiles slowly beside other tests.
        budget: rig::budget(&[
            (LimitName::Concurrent, 4),
            (LimitName::CompileTime, 600_000),
        ]),
        store: Some(ArtefactStore::open(&folder, StoreOptions::default()).unwrap()),
        ..SandboxConfig::default()
    })
    .unwrap()
}

/// A runtime for calls from tests that are not asynchronous.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().worker_threads(2).build().unwrap()
}
