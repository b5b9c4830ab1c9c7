//! `guests`: every component of the repository, built.

use std::path::Path;

use anyhow::{Context, Result};
use bindery_artefacts::toolchain::Route;
use bindery_artefacts::{javascript, python, rust_guest, rust_guests};

use crate::setup;
use crate::step::say;

/// Gets the toolchain by the route of that name and builds all.
pub(crate) fn guests(route: Option<&str>) -> Result<()> {
    let route = match route {
        Some(name) => {
            let route = Route::ALL.into_iter().find(|route| route.name() == name);
            Some(route.with_context(|| format!("no route `{name}`: present, rustup or debian"))?)
        }
        None => None,
    };
    setup::toolchain(route)?;
    setup::programs()?;
    build()
}

/// Builds all; what other languages' packages make may be missing, and then says so.
pub(crate) fn build() -> Result<()> {
    for name in rust_guests()? {
        show(&rust_guest(&name)?)?;
    }
    let foreign = [python("echo")?, javascript("echo")?, javascript("bare")?];
    foreign.iter().flatten().try_for_each(|path| show(path))
}

fn show(path: &Path) -> Result<()> {
    let bytes = std::fs::metadata(path)?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    say(&format!("{name}: {} KiB", bytes.div_ceil(1024)));
    Ok(())
}
