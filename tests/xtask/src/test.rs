//! `test`: everything a fresh machine needs, then every test.

use anyhow::Result;
use bindery_artefacts::{repository, rust_guest};

use crate::step::{cargo, run};
use crate::{guests, setup};

/// Sets up, builds and tests.
pub(crate) fn test() -> Result<()> {
    setup::toolchain(None)?;
    setup::programs()?;
    guests::build()?;
    run(&mut cargo(&["test"]))?;
    // Numbers of any size in the oracle's JSON library would leak into the product's if
    // both were one build.
    run(&mut cargo(&["test", "--package", "bindery-oracle"]))?;
    // Wrong turns are built into the decision for its oracle, and for nothing else.
    run(&mut cargo(&["test", "--package", "bindery-policy-oracle"]))?;
    embed()
}

/// The example outside the workspace, as a stranger's project would build it. It shares
/// the target folder, so what is equal is not compiled twice.
fn embed() -> Result<()> {
    let folder = repository().join("examples/embed");
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => repository().join(target),
        None => repository().join("target"),
    };
    let in_folder = |arguments: &[&str]| {
        run(cargo(arguments)
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target))
    };
    in_folder(&["test"])?;
    // Nothing is granted, so the guest answers with an error of its own: that is a reply.
    let component = rust_guest("file-tools")?;
    let component = component.to_string_lossy();
    in_folder(&["run", "--", &component, "read-file", r#"{"path": "/x"}"#])
}
