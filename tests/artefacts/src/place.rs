//! Where things are: the repository, the guests' sources, the folder for what is built.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the repository that this crate was built from.
#[must_use]
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().and_then(Path::parent).unwrap_or(here)
}

/// Sources that belong to this crate: WIT, Python, JavaScript.
pub(crate) fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The guests' folder under cargo's target folder; made when it is missing.
///
/// # Errors
///
/// When it cannot be made.
pub fn built() -> Result<PathBuf> {
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        // Cargo takes a relative one from where it was started, which for a test is lost:
        // the root is where the commands of this repository are run.
        Some(target) if !target.is_empty() => repository().join(target),
        _ => repository().join("target"),
    };
    let built = target.join("guests");
    std::fs::create_dir_all(&built).with_context(|| format!("cannot make {}", built.display()))?;
    Ok(built)
}
