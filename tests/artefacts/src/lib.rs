//! Builds and finds the components that tests and the demo run.
//!
//! Every producer ends in the same store: an output is named by the hash of what it was
//! made from (sources, lock files, toolchain), made once under a lock and renamed into
//! place, so tests of many threads and processes can ask for it at the same time. A source
//! that did not change costs one hash.
//!
//! Nothing is installed for Rust here: `cargo xtask guests` gets the toolchain, and
//! without it a test fails with that advice. Packages of other languages are installed
//! under the target folder; where that is impossible the caller is told to skip, except in
//! CI (`CI` set), where it is an error.

mod docs;
mod dummy;
mod foreign;
mod javascript;
mod key;
mod lock;
mod place;
mod python;
mod rust;
mod store;
mod text;
pub mod toolchain;

pub use dummy::dummy;
pub use foreign::{Foreign, foreign};
pub use javascript::javascript;
pub use place::{built, repository};
pub use python::python;
pub use rust::{rust_guest, rust_guests};
pub use text::{wat, wat_file};

/// Says why a component is missing and that its test did nothing; an error in CI.
fn skip(what: &str, reason: &anyhow::Error) -> anyhow::Result<Option<std::path::PathBuf>> {
    if std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false") {
        anyhow::bail!("{what} cannot be built, and in CI nothing is skipped: {reason:#}");
    }
    announce(&format!("skipped: {what} cannot be built here: {reason:#}"));
    Ok(None)
}

#[expect(
    clippy::print_stderr,
    reason = "a skipped test says so where its reader looks"
)]
fn announce(line: &str) {
    eprintln!("{line}");
}
