//! Components written as text: the odd and hostile ones that no compiler would make.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::key::Key;
use crate::place::repository;
use crate::store;

/// The component of `guests/<name>.wat`, for example `hostile/spin/start`.
///
/// # Errors
///
/// When there is no such file, or its text is not well formed. Whether the component is
/// *valid* is not checked: some exist to be refused.
pub fn wat(name: &str) -> Result<Vec<u8>> {
    let path = repository().join("guests").join(format!("{name}.wat"));
    wat::parse_file(&path).with_context(|| format!("cannot build the component text {name}"))
}

/// The same as a file, for programs that take a path.
///
/// # Errors
///
/// As [`wat()`], and when the file cannot be written.
pub fn wat_file(name: &str) -> Result<PathBuf> {
    let bytes = wat(name)?;
    let key = Key::of("text").with(name, &bytes);
    store::component("text", &name.replace('/', "-"), key, || Ok(bytes))
}
