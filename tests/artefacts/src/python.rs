//! Components in Python: `componentize-py` carries an interpreter; packages live in a
//! virtual environment under the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::key::Key;
use crate::place::sources;
use crate::toolchain::said;
use crate::{skip, store};

/// The component of `python/<name>.py` in the world `<name>` of `wit/echo.wit`; none when
/// the packages cannot be installed here (the reason is printed).
///
/// # Errors
///
/// When the sources are wrong, or, in CI, when a package cannot be installed.
pub fn python(name: &str) -> Result<Option<PathBuf>> {
    let environment = match packages() {
        Ok(environment) => environment,
        Err(reason) => return skip(&format!("the Python component {name}"), &reason),
    };
    let wit = sources().join("wit/echo.wit");
    let source = sources().join(format!("python/{name}.py"));
    let key = Key::of("python")
        .with_file(sources(), &requirements())?
        .with_file(sources(), &wit)?
        .with_file(sources(), &source)?;
    store::component("python", name, key, || build(&environment, name, &wit)).map(Some)
}

fn requirements() -> PathBuf {
    sources().join("python/requirements.txt")
}

/// The environment with the pinned packages.
pub(crate) fn packages() -> Result<PathBuf> {
    let version = said(Command::new("python3").arg("--version"))?;
    let key = Key::of("python-packages")
        .with("python", version.as_bytes())
        .with_file(sources(), &requirements())?;
    store::environment("python", key, |folder| {
        said(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let mut install = Command::new(folder.join("bin/pip"));
        install.args([
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
            "--requirement",
        ]);
        said(install.arg(requirements())).map(drop)
    })
}

/// Builds in a folder of its own: the interpreter leaves its cache beside the source.
fn build(environment: &Path, name: &str, wit: &Path) -> Result<Vec<u8>> {
    let folder = environment.join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = format!("{name}.py");
    std::fs::copy(sources().join("python").join(&file), folder.join(&file))?;
    let mut build = Command::new(environment.join("bin/componentize-py"));
    build.current_dir(&folder).arg("-d").arg(wit);
    build.args(["-w", name, "componentize", name, "-o", "component.wasm"]);
    said(&mut build).with_context(|| format!("the Python component {name} does not build"))?;
    let bytes = std::fs::read(folder.join("component.wasm"))?;
    std::fs::remove_dir_all(&folder)?;
    Ok(bytes)
}
