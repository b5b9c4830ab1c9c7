//! How the command ends when something around it fails: the screen, a folder, a signal.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::process::Stdio;

use crate::process::{bindery, calc, command, finish, folder, signalled};

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
