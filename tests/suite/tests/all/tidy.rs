//! The rules that keep the sources readable, checked over every file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bindery_artefacts::repository;

/// Every file below the sources, without what is built or fetched.
fn files() -> Vec<PathBuf> {
    fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", "node_modules", "__pycache__"].contains(&name.as_str()) {
                    gather(&path, files);
                }
            } else {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for top in ["host", "guests", "adapters", "tests", "examples", "wit"] {
        let folder = repository().join(top);
        if folder.is_dir() {
            gather(&folder, &mut files);
        }
    }
    files.sort();
    files
}

/// The Rust files among them, with their text and their path below the root.
fn rust_files() -> Vec<(String, String)> {
    let rust = files()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let read = |path: PathBuf| {
        let name = path
            .strip_prefix(repository())
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        (name, text)
    };
    rust.map(read).collect()
}

#[test]
fn every_file_says_first_what_it_is_for() {
    let silent: Vec<_> = rust_files()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .collect();
    let names: Vec<_> = silent.iter().map(|(name, _)| name).collect();
    assert!(names.is_empty(), "no purpose on the first line: {names:?}");
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    const LINES_MAX: usize = 600;
    let long: Vec<_> = rust_files()
        .into_iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .collect();
    assert!(long.is_empty(), "longer than {LINES_MAX} lines: {long:?}");
}

/// Rule 32 and the habits: nothing is left for another day, no test is switched off.
#[test]
fn nothing_is_left_for_later() {
    // Written apart, so that this file does not find itself.
    let words = [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["to", "do!("],
        ["unimpl", "emented!("],
        ["#[ig", "nore"],
    ]
    .map(|parts| parts.concat());
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        for word in words.iter().filter(|word| text.contains(word.as_str())) {
            found.push(format!("{name}: {word}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Rule 34: one crate may hold `unsafe`, and each place there carries its proof (clippy
/// asks for it).
#[test]
fn only_the_sandbox_holds_unsafe_code() {
    let word = ["un", "safe"].concat();
    let opens = ["{", "fn", "impl", "trait", "extern"].map(|next| format!("{word} {next}"));
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        let product = name.starts_with("host/")
            || name.starts_with("tests/")
            || name.starts_with("examples/");
        if product
            && !name.starts_with("host/sandbox/")
            && opens.iter().any(|open| text.contains(open))
        {
            found.push(name);
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// the top level is the one that the product promises.
#[test]
fn the_top_level_is_the_one_that_was_promised() {
    let promised = [
        "Cargo.toml",
        "README.md",
        "adapters",
        "examples",
        "guests",
        "host",
        "tests",
        "wit",
    ];
    let allowed = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "Cargo.lock",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "SECURITY.md",
        "clippy.toml",
        "deny.toml",
        "target",
    ];
    let listing = std::fs::read_dir(repository()).unwrap();
    let names: BTreeSet<String> = listing
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for name in promised {
        assert!(names.contains(name), "{name} is missing at the top");
    }
    let known =
        |name: &str| name.starts_with('.') || promised.contains(&name) || allowed.contains(&name);
    let strange: Vec<_> = names.iter().filter(|name| !known(name)).collect();
    assert!(
        strange.is_empty(),
        "not a folder of the product: {strange:?}"
    );
}

/// Rule 40: a fixture that no test runs proves nothing, so it fails the build.
#[test]
fn every_hostile_guest_is_run_by_a_test() {
    let hostile = repository().join("guests/hostile");
    let sources: String = rust_files()
        .into_iter()
        .filter(|(name, _)| name.starts_with("host/") || name.starts_with("tests/"))
        .map(|(_, text)| text)
        .collect();
    let mut unused = Vec::new();
    for path in files()
        .into_iter()
        .filter(|path| path.starts_with(&hostile))
    {
        let below = path
            .strip_prefix(&hostile)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let names = match below.strip_suffix(".wat") {
            // With or without the folder that all of them share.
            Some(name) => vec![format!("\"hostile/{name}\""), format!("\"{name}\"")],
            None => match below.strip_suffix("/Cargo.toml") {
                Some(name) => vec![format!("\"{}\"", name.trim_start_matches("rust-"))],
                None => continue,
            },
        };
        if !names.iter().any(|name| sources.contains(name)) {
            unused.push(below);
        }
    }
    assert!(
        unused.is_empty(),
        "no test names these fixtures: {unused:#?}"
    );
}

/// The components in other languages are fixtures too.
#[test]
fn every_source_in_another_language_is_run_by_a_test() {
    let sources: String = rust_files().into_iter().map(|(_, text)| text).collect();
    for used in [
        "python(\"echo\")",
        "javascript(\"echo\")",
        "javascript(\"bare\")",
    ] {
        assert!(sources.contains(used), "{used} is called nowhere");
    }
    let folder = repository().join("tests/artefacts/python");
    let listing = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let programs: Vec<_> = listing
        .filter(|name| name.to_string_lossy().ends_with(".py"))
        .collect();
    assert_eq!(programs, ["echo.py"]);
}
