//! Guests in Rust: cargo makes a module, `wit-component` makes the component of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use wit_component::ComponentEncoder;

use crate::docs;
use crate::key::Key;
use crate::place::{built, repository};
use crate::store;
use crate::toolchain::Toolchain;

/// What this process has already looked up: sources do not change while a test runs.
static KNOWN: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

/// The component of a Rust guest by its package name: a folder of `guests/`, of
/// `guests/bench/`, of `guests/hostile/` (there with `rust-` before the name) or of
/// `adapters/`.
///
/// # Errors
///
/// When there is no such package, the guest toolchain is missing, or the build fails (with
/// what the compiler said).
pub fn rust_guest(package: &str) -> Result<PathBuf> {
    let known = |paths: &BTreeMap<String, PathBuf>| paths.get(package).cloned();
    if let Some(path) = known(&KNOWN.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(path);
    }
    let toolchain = Toolchain::find()?;
    let key = inputs(package, &toolchain)?;
    let path = store::component("rust", package, key, || build(package, &toolchain))?;
    KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(package.to_owned(), path.clone());
    Ok(path)
}

/// The names of all Rust guests.
///
/// # Errors
///
/// When a folder cannot be listed.
pub fn rust_guests() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for (parent, prefix) in [
        ("guests", ""),
        ("guests/bench", ""),
        ("guests/hostile", "rust-"),
        ("adapters", ""),
    ] {
        for entry in std::fs::read_dir(repository().join(parent))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(package) = name
                .strip_prefix(prefix)
                .filter(|_| entry.path().join("Cargo.toml").is_file())
            {
                names.push(package.to_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The package's folder.
fn folder(package: &str) -> Result<PathBuf> {
    let root = repository();
    let places = [
        root.join("guests").join(package),
        root.join("guests/bench").join(package),
        root.join("guests/hostile").join(format!("rust-{package}")),
        root.join("adapters").join(package),
    ];
    let found = places
        .into_iter()
        .find(|place| place.join("Cargo.toml").is_file());
    found.with_context(|| {
        format!(
            "there is no Rust guest {package} in guests, guests/bench, guests/hostile or adapters"
        )
    })
}

fn inputs(package: &str, toolchain: &Toolchain) -> Result<Key> {
    let root = repository();
    Key::of("rust with docs")
        .with("toolchain", toolchain.identity().as_bytes())
        .with_file(root, &root.join("guests/Cargo.toml"))?
        .with_file(root, &root.join("guests/Cargo.lock"))?
        .with_file(root, &root.join("guests/.cargo/config.toml"))?
        .with_tree(root, &root.join("wit"))?
        .with_tree(root, &folder(package)?)
}

fn build(package: &str, toolchain: &Toolchain) -> Result<Vec<u8>> {
    let target = built()?.join("build");
    let output = toolchain
        .cargo()
        .current_dir(repository().join("guests"))
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--release", "--quiet", "--package", package])
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "the guest {package} does not build:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let name = package.replace('-', "_");
    let module = target.join(format!("wasm32-unknown-unknown/release/{name}.wasm"));
    let mut component = encode(&module)?;
    docs::append(&mut component, &folder(package)?.join("wit"))?;
    Ok(component)
}

/// The component of a module whose world `wit-bindgen` left in a custom section.
fn encode(module: &Path) -> Result<Vec<u8>> {
    let bytes =
        std::fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    ComponentEncoder::default()
        .module(&bytes)
        .and_then(|encoder| encoder.validate(true).encode())
        .with_context(|| format!("{} does not make a component", module.display()))
}
