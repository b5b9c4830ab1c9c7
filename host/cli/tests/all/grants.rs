//! Grants as flags: what is granted works, its twin without the grant does not, and what
//! the receipt reports is what the system saw.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{bindery, command, finish, folder};

fn file_tools() -> String {
    let path = bindery_artefacts::rust_guest("file-tools").unwrap();
    path.to_str().unwrap().to_owned()
}

/// A tree with a secret beside it, in a folder of its own.
fn tree(name: &str) -> PathBuf {
    let top = folder().join(name);
    let inside = top.join("inside");
    std::fs::create_dir_all(inside.join("deep")).unwrap();
    std::fs::write(top.join("secret.txt"), "needle outside").unwrap();
    std::fs::write(inside.join("a.txt"), "one\nneedle here\n").unwrap();
    std::fs::write(inside.join("deep/b.txt"), "needle there\n").unwrap();
    let _ = std::os::unix::fs::symlink("../secret.txt", inside.join("leaf"));
    inside
}

fn grep(directory: Option<&Path>) -> Value {
    let file_tools = file_tools();
    let grant = directory.map(|path| format!("{}::/data", path.display()));
    let mut words = vec![
        "run",
        &file_tools,
        "grep-files",
        r#"{"pattern":"needle"}"#,
        "-o",
        "json",
    ];
    if let Some(grant) = &grant {
        words.extend(["--dir", grant]);
    }
    bindery(&words).json()
}

#[test]
fn a_directory_grant_reaches_its_tree_and_nothing_beside_it() {
    let inside = tree("granted");
    let value = grep(Some(&inside));
    let paths: BTreeSet<&str> = value["value"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        BTreeSet::from(["/data/a.txt", "/data/deep/b.txt"]),
        "R-005, R-020: {value}"
    );
    let text = value.to_string();
    assert!(
        !text.contains("outside") && !text.contains(inside.to_str().unwrap()),
        "no host path: {text}"
    );
    let file_tools = file_tools();
    let grant = format!("{}::/data", inside.display());
    for path in [
        "/data/leaf",
        "/data/../secret.txt",
        "/etc/hosts",
        "/data/deep/../../secret.txt",
    ] {
        let arguments = json!({ "path": path }).to_string();
        let printed = bindery(&[
            "run",
            &file_tools,
            "read-file",
            &arguments,
            "--dir",
            &grant,
            "-o",
            "json",
        ]);
        assert_eq!(printed.code, 5, "case C4: {path}: {}", printed.stdout);
        assert!(
            !printed.stdout.contains("needle outside"),
            "case C4: {path}"
        );
    }
}

#[test]
fn without_the_grant_there_is_no_file_to_see() {
    let value = grep(None);
    assert!(!value.to_string().contains("needle here"), "R-005: {value}");
    assert_eq!(value["receipt"]["effects"], json!([]), "I1");
}

#[test]
fn the_files_in_the_receipt_are_the_files_the_system_saw_opened() {
    let inside = tree("traced");
    let file_tools = file_tools();
    let grant = format!("{}::/data", inside.display());
    let words = [
        "run",
        &file_tools,
        "grep-files",
        r#"{"pattern":"needle"}"#,
        "--dir",
        &grant,
        "-o",
        "json",
    ];
    // Once to compile, so that the traced run only runs.
    bindery(&words);
    let log = folder().join("traced.strace");
    let printed = finish(&mut traced(&words, &log, "openat,openat2,open"));
    let value = printed.json();
    let reported: BTreeSet<String> = value["receipt"]["effects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|effect| {
            effect["resource"]
                .as_str()
                .unwrap()
                .trim_start_matches("/data")
                .trim_start_matches('/')
                .to_owned()
        })
        .filter(|path| path.ends_with(".txt"))
        .collect();
    let seen: BTreeSet<String> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .filter(|line| !line.contains("= -1"))
        .filter_map(|line| line.split('"').nth(1))
        .filter_map(|path| Path::new(path).file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| ["a.txt", "b.txt", "secret.txt"].contains(&name.as_str()))
        .collect();
    let reported_names: BTreeSet<String> = reported
        .iter()
        .filter_map(|path| path.rsplit('/').next())
        .map(str::to_owned)
        .collect();
    assert_eq!(reported_names, seen, "I37: {value}");
    assert_eq!(
        seen,
        BTreeSet::from(["a.txt".to_owned(), "b.txt".to_owned()])
    );
}

/// The command under a system call trace.
fn traced(words: &[&str], log: &Path, calls: &str) -> Command {
    let plain = command(words);
    let mut strace = Command::new("strace");
    strace
        .arg("-f")
        .arg("-o")
        .arg(log)
        .arg("-e")
        .arg(format!("trace={calls}"));
    strace.arg(plain.get_program()).args(plain.get_args());
    strace.env_clear().envs(
        plain
            .get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    strace.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    strace.current_dir(folder());
    strace
}

#[test]
fn a_run_without_grants_connects_to_nothing_and_starts_no_program() {
    let calc = crate::process::calc();
    let words = ["run", &calc, "add", r#"{"a":1,"b":2}"#];
    bindery(&words);
    let log = folder().join("empty.strace");
    let printed = finish(&mut traced(&words, &log, "network,execve"));
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let trace = std::fs::read_to_string(&log).unwrap();
    let connects = trace
        .lines()
        .filter(|line| line.contains("connect(") || line.contains("bind("))
        .count();
    let programs = trace
        .lines()
        .filter(|line| line.contains("execve("))
        .count();
    assert_eq!(
        (connects, programs),
        (0, 1),
        "H24, I1: one execve is the command itself: {trace}"
    );
}

#[test]
fn a_grant_for_the_clock_or_randomness_does_not_open_anything_else() {
    let file_tools = file_tools();
    let printed = bindery(&[
        "run",
        &file_tools,
        "read-file",
        r#"{"path":"/etc/hosts"}"#,
        "--clock",
        "--random",
        "-o",
        "json",
    ]);
    assert_eq!(printed.code, 5, "{}", printed.stdout);
}

#[test]
fn the_hosts_environment_reaches_neither_the_receipt_nor_an_error() {
    let calc = crate::process::calc();
    for words in [
        vec!["run", &calc, "trap", "-o", "json"],
        vec!["run", &calc, "add", "{", "-o", "json"],
    ] {
        let printed = finish(
            command(&words)
                .env("SECRET_X", "CANARY-1")
                .env("WASMTIME_BACKTRACE_DETAILS", "1")
                .env("RUST_LOG", "trace"),
        );
        let all = printed.stdout + &printed.stderr;
        assert!(!all.contains("CANARY-1"), "case C5, X65: {all}");
        assert!(!all.contains(".rs:"), "H10: {all}");
    }
}
