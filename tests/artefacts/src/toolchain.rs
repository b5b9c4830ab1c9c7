//! The Rust toolchain of guests: three ways to the target's standard library.
//!
//! 1. it is part of the toolchain that runs us;
//! 2. rustup adds it;
//! 3. where rustup has no server, Debian's packages bring a second compiler with the
//!    library's source, and cargo builds the library with the guests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// The target of every guest: its standard library has no files, sockets or threads.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages with a compiler for the web and the source of its library.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "libstd-rust-web-dev"];
const DEBIAN_COMPILER: &str = "/usr/bin/rustc";

/// The toolchain of this process: the first that was found, or the one that was asked for.
static FOUND: OnceLock<Toolchain> = OnceLock::new();

/// A way to a toolchain, in the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The library is there already.
    Present,
    /// `rustup target add`.
    Rustup,
    /// Debian's compiler, the library built from source.
    Debian,
}

impl Route {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Present, Self::Rustup, Self::Debian];

    /// The word for it on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }
}

/// A toolchain that can build guests.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The compiler's own words about itself.
    version: String,
    /// The linker to lend to Debian's compiler; none for rustup's, which has its own.
    borrowed_linker: Option<PathBuf>,
}

impl Toolchain {
    /// The toolchain that is there; installs nothing.
    ///
    /// # Errors
    ///
    /// When there is none, naming the command that gets one.
    pub fn find() -> Result<Self> {
        if let Some(found) = FOUND.get() {
            return Ok(found.clone());
        }
        let found = Self::present().or_else(|_| Self::debian());
        let found =
            found.context("no toolchain builds guests here: run `cargo xtask guests` once")?;
        Ok(FOUND.get_or_init(|| found).clone())
    }

    /// Gets a toolchain by the first route that works, or by the one that is asked for.
    /// What this process builds from then on is built by it.
    ///
    /// # Errors
    ///
    /// When none works, with what each of them said.
    pub fn get(asked: Option<Route>) -> Result<(Route, Self)> {
        let routes = Route::ALL
            .into_iter()
            .filter(|route| asked.is_none_or(|asked| asked == *route));
        let mut said = String::new();
        for route in routes {
            let got = match route {
                Route::Present => Self::present(),
                Route::Rustup => run(Command::new("rustup").args(["target", "add", TARGET]))
                    .and_then(|()| Self::present()),
                Route::Debian => {
                    Self::debian().or_else(|_| install_debian().and_then(|()| Self::debian()))
                }
            };
            match got {
                Ok(got) => return Ok((route, FOUND.get_or_init(|| got).clone())),
                Err(error) => said.push_str(&format!("\n  {}: {error:#}", route.name())),
            }
        }
        bail!("no route to a toolchain for {TARGET}:{said}")
    }

    /// What tells this toolchain from another.
    pub(crate) fn identity(&self) -> &str {
        &self.version
    }

    /// Cargo for guests: nothing of the cargo that may be running us reaches it.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut cargo =
            Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_of_outer_build) {
                cargo.env_remove(name);
            }
        }
        if let Some(linker) = &self.borrowed_linker {
            cargo
                .env("RUSTC", DEBIAN_COMPILER)
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
        }
        cargo
    }

    fn present() -> Result<Self> {
        let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
        let library = Path::new(sysroot.trim())
            .join("lib/rustlib")
            .join(TARGET)
            .join("lib");
        if !library.is_dir() {
            bail!("the toolchain has no standard library for {TARGET}");
        }
        let version = said(Command::new("rustc").arg("-vV"))?;
        Ok(Self {
            version,
            borrowed_linker: None,
        })
    }

    fn debian() -> Result<Self> {
        let sysroot = said(Command::new(DEBIAN_COMPILER).args(["--print", "sysroot"]))?;
        let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std");
        if !source.is_dir() {
            bail!("{DEBIAN_COMPILER} has no source of the standard library beside it");
        }
        let version = said(Command::new(DEBIAN_COMPILER).arg("-vV"))?;
        Ok(Self {
            version,
            borrowed_linker: Some(rust_lld()?),
        })
    }
}

/// The linker that the running toolchain brings; Debian's compiler has none for this target.
fn rust_lld() -> Result<PathBuf> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = said(Command::new("rustc").arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc names no host")?;
    let linker = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host)
        .join("bin/rust-lld");
    if !linker.is_file() {
        bail!("there is no {}", linker.display());
    }
    Ok(linker)
}

fn install_debian() -> Result<()> {
    let mut install = Command::new("apt-get");
    install
        .args(["install", "-y", "--no-install-recommends"])
        .args(DEBIAN_PACKAGES);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    run(Command::new("apt-get").arg("update")).and_then(|()| run(&mut install))
}

/// True for variables that belong to the build that started us: its flags, its compiler
/// wrapper (clippy sets one), its package. Settings of the user stay.
fn is_of_outer_build(name: &str) -> bool {
    const PREFIXES: [&str; 10] = [
        "CARGO_PKG_",
        "CARGO_BIN_",
        "CARGO_CFG_",
        "CARGO_MANIFEST_",
        "CARGO_TARGET_",
        "CARGO_BUILD_",
        "CARGO_PROFILE_",
        "CARGO_ENCODED_",
        "RUSTC",
        "RUSTFLAGS",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn run(command: &mut Command) -> Result<()> {
    said(command).map(drop)
}

/// What a command printed; its complaint as the error when it failed.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{program} failed ({}): {}", output.status, complaint.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Route, Toolchain, is_of_outer_build};

    #[test]
    fn the_outer_build_does_not_leak_and_the_users_settings_stay() {
        for name in [
            "CARGO_MANIFEST_DIR",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTFLAGS",
        ] {
            assert!(is_of_outer_build(name), "{name}");
        }
        for name in [
            "CARGO",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "PATH",
            "RUSTUP_TOOLCHAIN",
            "CARGO_REGISTRIES_X_TOKEN",
        ] {
            assert!(!is_of_outer_build(name), "{name}");
        }
    }

    #[test]
    fn debian_s_compiler_gets_its_linker_and_builds_the_library() {
        let lent = Toolchain {
            version: "v".to_owned(),
            borrowed_linker: Some("/lld".into()),
        };
        let cargo = lent.cargo();
        let set: Vec<_> = cargo
            .get_envs()
            .filter(|(_, value)| value.is_some())
            .map(|(name, _)| name)
            .collect();
        for name in [
            "RUSTC",
            "RUSTC_BOOTSTRAP",
            "CARGO_UNSTABLE_BUILD_STD",
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
        ] {
            assert!(set.contains(&std::ffi::OsStr::new(name)), "{name}");
        }
        let own = Toolchain {
            version: "v".to_owned(),
            borrowed_linker: None,
        };
        assert!(own.cargo().get_envs().all(|(_, value)| value.is_none()));
    }

    #[test]
    fn every_route_has_a_word() {
        let words: std::collections::BTreeSet<_> =
            Route::ALL.into_iter().map(Route::name).collect();
        assert_eq!(words.len(), Route::ALL.len());
    }
}
