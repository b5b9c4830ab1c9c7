//! How the command ends when something around it fails: the screen, a folder, a signal.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::process::Stdio;

use serde_json::Value;

use crate::process::{bindery, calc, command, finish, folder, guest, signalled};

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let printed = finish(command(&["limits"]).stdout(Stdio::from(full)));
    assert_eq!(printed.code, 1, "{}", printed.stderr);
    assert!(
        printed.stderr.contains("could not be written"),
        "{}",
        printed.stderr
    );
    assert_eq!(bindery(&["limits"]).code, 0);
}

#[test]
fn a_file_of_the_users_that_is_called_key_is_not_touched() {
    use std::io::Write;
    let own = folder().join("project");
    std::fs::DirBuilder::new().mode(0o700).create(&own).unwrap();
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let key = own.join("key");
    options.open(&key).unwrap().write_all(b"PRIVATE").unwrap();
    let printed = bindery(&["cache", "list", "--cache", own.to_str().unwrap()]);
    assert_eq!(printed.code, 9, "{}", printed.stdout);
    assert_eq!(std::fs::read(&key).unwrap(), b"PRIVATE");
}

#[test]
fn a_request_to_terminate_ends_the_run_like_an_interrupt() {
    let (code, value) = signalled(rustix::process::Signal::TERM);
    assert_eq!(code, Some(130));
    assert_eq!(value["error"]["type"], "cancelled");
    assert!(value["receipt"].is_object(), "what was done so far is said");
}

#[test]
fn a_deadline_of_nothing_lets_nothing_through() {
    let printed = bindery(&[
        "run",
        &calc(),
        "add",
        r#"{"a": 1, "b": 2}"#,
        "--limit",
        "deadline=0ms",
        "-o",
        "json",
    ]);
    assert_eq!(printed.code, 7, "{}", printed.stdout);
    assert_eq!(printed.json()["error"]["details"]["limit"], "deadline");
}

#[test]
fn a_directory_flag_with_two_accesses_is_a_usage_error() {
    for text in [".::/src:rw:rw", ".::/src:ro:rw", ".::src", ".::/a:b"] {
        let printed = bindery(&["run", &calc(), "add", "--dir", text, "-o", "json"]);
        assert_eq!(printed.code, 2, "{text}: {}", printed.stdout);
    }
}

/// The standard library opens `/dev/null` in the place of a closed stream.
#[test]
fn an_answer_to_a_closed_stream_is_no_success_and_one_to_nowhere_is() {
    let closed = |words: &str| {
        let line = format!("exec \"$0\" {words} >&-");
        let program = env!("CARGO_BIN_EXE_bindery");
        finish(std::process::Command::new("sh").args(["-c", &line, program]))
    };
    for words in ["limits", "limits -o json", "--version"] {
        let printed = closed(words);
        assert_eq!(printed.code, 1, "{words}");
        assert!(
            printed.stderr.contains("standard output is closed"),
            "{words}: {}",
            printed.stderr
        );
    }
    for write_only in [true, false] {
        let nowhere = std::fs::OpenOptions::new()
            .write(true)
            .read(!write_only)
            .open("/dev/null");
        let printed = finish(command(&["limits"]).stdout(Stdio::from(nowhere.unwrap())));
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    }
}

#[test]
fn a_reader_that_went_away_is_told_nothing_and_the_code_tells() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let printed = finish(command(&["limits"]).stdout(Stdio::from(writer)));
    assert_eq!((printed.code, printed.stderr.as_str()), (1, ""));
}

/// Starts the command with standard input open, interrupts it after a while, and gives its
/// exit code, its object and its standard error.
fn interrupted(words: &[&str]) -> (Option<i32>, Value, String) {
    let mut child = command(words)
        .args(["-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let value = serde_json::from_slice(&output.stdout);
    (output.status.code(), value.unwrap(), stderr)
}

#[test]
fn an_interrupt_before_there_is_a_call_ends_with_130_and_no_receipt() {
    let waits = interrupted(&["run", &calc(), "add", "-"]);
    // Enough code for several seconds of compiling.
    let body = "(i32.add (i32.const 1))".repeat(3_000);
    let functions = format!("(func (result i32) (i32.const 1) {body})").repeat(400);
    let heavy = guest(
        "heavy",
        &format!("(component (core module $m {functions}) (core instance (instantiate $m)))"),
    );
    let compiles = interrupted(&["run", &heavy, "go", "--no-cache"]);
    for (code, value, stderr) in [&waits, &compiles] {
        assert_eq!(*code, Some(130), "{value} {stderr}");
        assert_eq!(value["error"]["type"], "cancelled");
        assert_eq!(value["receipt"], Value::Null);
        assert!(value.as_object().unwrap().contains_key("receipt"));
    }
    let told = compiles
        .2
        .lines()
        .filter(|line| line.starts_with("compiling "));
    assert_eq!(told.count(), 1, "one line in ten seconds: {}", compiles.2);
    assert!(!waits.2.contains("compiling"), "{}", waits.2);
}

#[test]
fn what_is_no_plain_file_is_refused_by_its_kind_and_waits_for_nobody() {
    let place = std::fs::File::open(folder()).unwrap();
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(&place, "arguments.fifo", fifo, mode, 0).unwrap();
    let calc = calc();
    for (path, kind) in [
        ("arguments.fifo", "fifo"),
        (".", "directory"),
        ("/dev/zero", "device"),
    ] {
        let printed = bindery(&["run", &calc, "add", &format!("@{path}"), "-o", "json"]);
        assert_eq!(printed.code, 2, "{path}");
        let error = &printed.json()["error"];
        assert_eq!(
            (&error["type"], &error["details"]["kind"]),
            (&"usage".into(), &kind.into()),
            "{path}"
        );
        for words in [vec!["inspect", path], vec!["run", path, "go"]] {
            let words: Vec<&str> = words.into_iter().chain(["-o", "json"]).collect();
            let printed = bindery(&words);
            assert_eq!(printed.code, 2, "{words:?}");
            assert_eq!(printed.json()["error"]["details"]["kind"], kind);
        }
    }
    std::fs::write(folder().join("plain.json"), r#"{"a":1,"b":2}"#).unwrap();
    assert_eq!(bindery(&["run", &calc, "add", "@plain.json"]).stdout, "3\n");
}

#[test]
fn looking_at_a_store_that_is_not_there_makes_none() {
    let nowhere = folder().join("no-store");
    let path = nowhere.to_str().unwrap();
    let listed = bindery(&["cache", "list", "--cache", path, "-o", "json"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let listed = listed.json();
    assert_eq!(listed["present"], false);
    assert_eq!(listed["entries"], serde_json::json!([]));
    let verified = bindery(&["cache", "verify", "--cache", path]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    assert_eq!(
        verified.stdout,
        "0 files sound, 0 damaged, 0 foreign (there is no store yet)\n"
    );
    assert_eq!(bindery(&["cache", "clear", "--cache", path]).code, 0);
    assert!(!nowhere.exists());
}
