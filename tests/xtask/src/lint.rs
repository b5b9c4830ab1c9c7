//! `lint`: what a reader and a compiler may complain about, all of it fatal.

use anyhow::Result;
use bindery_artefacts::repository;
use bindery_artefacts::toolchain::Toolchain;

use crate::step::{cargo, run};

/// Checks both workspaces.
pub(crate) fn lint() -> Result<()> {
    let guests = repository().join("guests");
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(cargo(&["fmt", "--all", "--check"]).current_dir(&guests))?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    let mut clippy = Toolchain::find()?.cargo();
    clippy
        .current_dir(&guests)
        .env("CARGO_TARGET_DIR", guests.join("../target/guests/lint"));
    run(clippy.args(["clippy", "--workspace", "--", "-D", "warnings"]))?;
    run(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}
