//! Gets what a fresh machine lacks: the guests' toolchain and the programs that tests use.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use bindery_artefacts::toolchain::{Route, Toolchain};

use crate::step::{run, say};

/// A program and the Debian packages that bring it.
struct Program {
    /// A command that succeeds where the program is usable.
    probe: &'static [&'static str],
    packages: &'static [&'static str],
}

const PROGRAMS: [Program; 4] = [
    // Compared with `grep-files`.
    Program {
        probe: &["rg", "--version"],
        packages: &["ripgrep"],
    },
    // Sees from outside what a run touches.
    Program {
        probe: &["strace", "--version"],
        packages: &["strace"],
    },
    // Test components in other languages.
    Program {
        probe: &["python3", "-c", "import ensurepip, venv"],
        packages: &["python3", "python3-venv"],
    },
    Program {
        probe: &["npm", "--version"],
        packages: &["nodejs", "npm"],
    },
];

/// Gets the toolchain that builds guests.
pub(crate) fn toolchain(asked: Option<Route>) -> Result<()> {
    let (route, _) = Toolchain::get(asked)?;
    say(&format!("guest toolchain: {}", route.name()));
    Ok(())
}

/// The wall that the bench puts around a process.
const BUBBLEWRAP: Program = Program {
    probe: &["bwrap", "--version"],
    packages: &["bubblewrap"],
};

/// Gets the programs; where they cannot be installed their tests say that they are skipped.
pub(crate) fn programs() -> Result<()> {
    let missing: Vec<&Program> = PROGRAMS
        .iter()
        .filter(|program| !is_usable(program.probe))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|program| program.packages)
        .copied()
        .collect();
    if !can_install() {
        let advice = advice(&packages);
        if std::env::var_os("CI").is_some() {
            bail!("programs are missing: {advice}");
        }
        say(&format!("some tests will be skipped: {advice}"));
        return Ok(());
    }
    install(&packages)
}

/// Where bubblewrap is; got when it is missing.
pub(crate) fn bubblewrap() -> Result<PathBuf> {
    if !is_usable(BUBBLEWRAP.probe) {
        if !can_install() {
            bail!("{}", advice(BUBBLEWRAP.packages));
        }
        install(BUBBLEWRAP.packages)?;
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&places).map(|place| place.join("bwrap"));
    let found = found.into_iter().find(|path| path.is_file());
    found.context("bwrap is not in the path")
}

fn can_install() -> bool {
    is_root() && is_usable(&["apt-get", "--version"])
}

fn advice(packages: &[&str]) -> String {
    format!(
        "install the Debian packages {} or what is like them",
        packages.join(", ")
    )
}

fn install(packages: &[&str]) -> Result<()> {
    run(Command::new("apt-get").args(["update", "--quiet"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    run(install
        .args(["install", "--quiet", "-y", "--no-install-recommends"])
        .args(packages))
}

fn is_usable(probe: &[&str]) -> bool {
    let [program, arguments @ ..] = probe else {
        return false;
    };
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
