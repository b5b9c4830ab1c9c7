//! A governed host whose disk fails under it: effects stop, for good, and what can be told
//! without the disk is still told.

use std::process::Command;

use crate::governed_faults::{Counting, Heard, check_acks};
use crate::governed_faults_child::{Orders, Task};
use crate::governed_store::{place, records_in};

/// The host under a fault at its system calls, and then on a disk that is well again.
fn endure(fault: &str) -> Option<Heard> {
    let (syscall, _) = fault.split_once(':').unwrap();
    let (trace, inject) = (format!("trace={syscall}"), format!("inject={fault}"));
    let wrapper = [
        "strace",
        "-f",
        "-qq",
        "-o/dev/null",
        "--seccomp-bpf",
        "-e",
        &trace,
        "-e",
        &inject,
    ];
    let (counting, place) = (Counting::start(), place());
    let code = tempfile::tempdir().unwrap();
    let mut orders = Orders {
        folder: &place.path,
        code: code.path(),
        port: counting.port,
        run: "run",
        at: 0,
        task: Task::Endure,
        handle: None,
    };
    let heard = Heard::of(&orders, &wrapper);
    // A store that could not even be made, and one that nothing happened to, say nothing here.
    let first = heard.all("refused").first().map(|line| (*line).to_owned());
    let first = first?;
    let kind = first.split(' ').nth(1).unwrap().to_owned();
    assert!(
        ["store_unavailable", "uncertain_side_effect"].contains(&kind.as_str()),
        "{fault}: {first}"
    );
    // I12, I21, H52: whatever comes after it is refused, and makes no effect.
    let after: Vec<&str> = heard.all("later");
    assert_eq!(after.len(), 5, "{fault}: {:?}", heard.lines);
    for later in after {
        assert!(later.starts_with("store_unavailable 0"), "{fault}: {later}");
    }
    // An effect is known to its caller, or said to be unknown: none is a plain failure.
    let calls = heard.all("ack");
    let calls = calls.iter().filter(|ack| ack.starts_with("call")).count() as u64;
    let effects: u64 = heard.all("effects")[0].parse().unwrap();
    let uncertain = u64::from(kind == "uncertain_side_effect");
    assert_eq!(effects, calls + uncertain, "{fault}: I17, I37");
    // What a host knows by heart, and what it may not do, is told all the same.
    assert_eq!(heard.all("described"), ["ok"], "{fault}");
    assert_eq!(
        heard.all("foreign"),
        ["store_unavailable"],
        "{fault}: {:?}",
        heard.lines
    );
    assert_eq!(heard.all("bind"), ["store_unavailable"], "{fault}");
    assert_eq!(
        heard.all("revoke"),
        ["store_unavailable"],
        "{fault}: not said to be done"
    );
    orders.task = Task::Mend;
    let mended = Heard::of(&orders, &[]);
    assert!(mended.closed(), "{fault}: {:?}", mended.lines);
    check_acks(&records_in(&place.path), &heard, fault);
    Some(heard)
}

/// I12, I17, I21, H52.
#[test]
fn a_sync_that_fails_under_a_host_stops_effects_and_refusals_are_still_told() {
    assert!(
        Command::new("strace").arg("-V").output().is_ok(),
        "install strace"
    );
    let (mut before, mut after) = (0, 0);
    for at in [16, 17, 20, 21, 30, 31] {
        for lasting in ["", "+"] {
            let fault = format!("fsync:error=EIO:when={at}{lasting}");
            let Some(heard) = endure(&fault) else {
                continue;
            };
            match heard.all("refused")[0].contains("uncertain_side_effect") {
                true => after += 1,
                false => before += 1,
            }
        }
    }
    println!("{before} failed before their effect, {after} after it");
    assert!(before > 0 && after > 0, "{before} before, {after} after");
}
