//! Whoever waits for a host is told what for, and ends it with Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::governed::{ALLOW, Site};
use crate::process::calc;

/// R-019, R-190: a call that takes long says so beside its answer; an interrupt ends the
/// guest, and how it ended is on record.
#[test]
fn a_long_call_through_a_host_says_that_it_goes_on_and_an_interrupt_ends_it() {
    let mut site = Site::new(&format!(
        "{ALLOW}[ceilings]\ndeadline = \"60s\"\nfuel = \"1e12\"\n"
    ));
    site.admit(&calc());
    site.start();
    let short = ["call", "acme:calc#add", r#"{"a": 1, "b": 2}"#];
    let printed = site.run(&short);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(!printed.stderr.contains("waiting"), "{}", printed.stderr);

    let words = ["call", "acme:calc#spin", "--budget", "deadline=60s"];
    let mut child = site
        .command(&words)
        .args(["--budget", "fuel=1e12", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut beside = BufReader::new(child.stderr.take().unwrap());
    beside.read_line(&mut told).unwrap();
    let begins = "waiting for the host: call, ";
    assert!(
        told.starts_with(begins) && told.ends_with(" s; Ctrl-C ends it\n"),
        "{told:?}"
    );
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    let mut answer = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["error"]["type"], "cancelled");

    let begun = Instant::now();
    while site.ok(&["host", "status"])["ledger"]["calls_running_or_uncertain"] != json!(0) {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(30), "the guest still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
    let actions = site.ok(&["actions"]);
    let last = actions["actions"].as_array().unwrap().last().unwrap();
    assert_eq!(last["status"], "cancelled", "{actions}");
}
