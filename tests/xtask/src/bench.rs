//! `bench`: the table of speed; its program is the package `bench`.

use anyhow::Result;

use crate::step::{cargo, run};
use crate::{guests, setup};

/// Builds the guests and starts the bench in release mode.
pub(crate) fn bench(arguments: &[&str]) -> Result<()> {
    setup::toolchain(None)?;
    guests::build()?;
    run(cargo(&["run", "--release", "--package", "bench", "--"]).args(arguments))
}
