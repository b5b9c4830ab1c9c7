//! Components in JavaScript: `componentize-js` carries an engine; packages live in a
//! folder under the target folder, installed exactly as the lock file says.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::key::Key;
use crate::place::sources;
use crate::toolchain::said;
use crate::{skip, store};

/// What the package manager and the builder read; copied beside the packages.
const FILES: [&str; 3] = ["package.json", "package-lock.json", "componentize.mjs"];

/// A world of `wit/echo.wit` with the modules that make it up.
struct Program {
    world: &'static str,
    modules: &'static [&'static str],
    /// Features of the engine to leave out, and their imports with them.
    disabled: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program {
        world: "echo",
        modules: &["values.js", "ambient.js"],
        disabled: "",
    },
    Program {
        world: "bare",
        modules: &["values.js"],
        disabled: "stdio,random,clocks,http,fetch-event",
    },
];

/// The JavaScript component of a world of `wit/echo.wit`: `echo` has the whole engine,
/// `bare` the language alone and no imports. None when the packages cannot be installed
/// here (the reason is printed).
///
/// # Errors
///
/// When the sources are wrong, or, in CI, when a package cannot be installed.
pub fn javascript(world: &str) -> Result<Option<PathBuf>> {
    let program = PROGRAMS.iter().find(|program| program.world == world);
    let program =
        program.with_context(|| format!("there is no JavaScript program for the world {world}"))?;
    let environment = match packages() {
        Ok(environment) => environment,
        Err(reason) => return skip(&format!("the JavaScript component {world}"), &reason),
    };
    let key = locked()?
        .with("disabled", program.disabled.as_bytes())
        .with_file(sources(), &wit())?;
    let key = program
        .paths()
        .iter()
        .try_fold(key, |key, path| key.with_file(sources(), path))?;
    store::component("javascript", world, key, || build(&environment, program)).map(Some)
}

impl Program {
    fn paths(&self) -> Vec<PathBuf> {
        self.modules
            .iter()
            .map(|module| sources().join("javascript").join(module))
            .collect()
    }
}

fn wit() -> PathBuf {
    sources().join("wit/echo.wit")
}

fn locked() -> Result<Key> {
    FILES.iter().try_fold(Key::of("javascript"), |key, file| {
        key.with_file(sources(), &sources().join("javascript").join(file))
    })
}

/// The folder with the locked packages.
fn packages() -> Result<PathBuf> {
    let version = said(Command::new("node").arg("--version"))?;
    store::environment(
        "javascript",
        locked()?.with("node", version.as_bytes()),
        |folder| {
            for file in FILES {
                std::fs::copy(sources().join("javascript").join(file), folder.join(file))?;
            }
            let mut install = Command::new("npm");
            install
                .current_dir(folder)
                .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
            said(&mut install).map(drop)
        },
    )
}

fn build(environment: &Path, program: &Program) -> Result<Vec<u8>> {
    let world = program.world;
    let output = environment.join(format!("{world}-{}.wasm", std::process::id()));
    let mut build = Command::new("node");
    build
        .current_dir(environment)
        .arg("componentize.mjs")
        .arg(wit())
        .arg(world)
        .arg(&output);
    build.arg(program.disabled).args(program.paths());
    said(&mut build).with_context(|| format!("the JavaScript component {world} does not build"))?;
    let bytes = std::fs::read(&output)?;
    std::fs::remove_file(&output)?;
    Ok(bytes)
}
