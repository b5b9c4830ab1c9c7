//! kill -9 from outside: at every named point, at random moments, at every system call
//! that writes. No acknowledged record is lost, no effect happens twice, every effect had
//! its intent, and what was in flight is uncertain.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use bindery_ledger::event::Event;
use bindery_ledger::words::Doubt;
use bindery_ledger::{Query, Record};
use bindery_store::Inspection;

use crate::child::{Orders, POINTS, effects_path};
use crate::opening::copy_folder;
use crate::rig::*;
use crate::world::{binding, call, session};

/// Random kills in one run of the tests.
const KILLS: u64 = 1_000;
/// Of them, so many on one store.
const KILLS_PER_STORE: u64 = 25;
/// Stores at once: a killed owner mostly waits.
const LANES: u64 = 4;

/// What a child said.
#[derive(Default)]
pub(crate) struct Heard {
    /// Acknowledged: sequence, what, of what.
    pub(crate) acks: Vec<(u64, String, String)>,
    pub(crate) rest: Vec<String>,
}

impl Heard {
    pub(crate) fn hear(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["ack", sequence, what, n] => {
                    let sequence = sequence.parse().unwrap();
                    self.acks
                        .push((sequence, (*what).to_owned(), (*n).to_owned()));
                }
                _ => self.rest.push(line.to_owned()),
            }
        }
    }

    pub(crate) fn said(&self, word: &str) -> bool {
        self.rest.iter().any(|line| line.starts_with(word))
    }
}

/// Lets a child go on until `until` is said, waits, kills it, and hears all it said.
fn kill(mut child: Child, until: Option<&str>, then: Duration) -> Heard {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    if let Some(until) = until {
        let mut line = String::new();
        while out.read_line(&mut line).unwrap() > 0 {
            text.push_str(&line);
            if line.trim_end() == until {
                break;
            }
            line.clear();
        }
        assert!(
            text.trim_end().ends_with(until),
            "never said `{until}`: {text}"
        );
    }
    std::thread::sleep(then);
    child.kill().unwrap();
    out.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    let mut heard = Heard::default();
    heard.hear(&text);
    heard
}

/// What must be so of a store after any number of deaths of its owners.
pub(crate) fn check(folder: &Path, heard: &[Heard]) {
    for one in heard {
        for word in ["refused", "failed", "revived", "repeated", "not closed"] {
            assert!(!one.said(word), "{:?}", one.rest);
        }
    }
    check_record(folder, heard);
}

pub(crate) fn check_record(folder: &Path, heard: &[Heard]) {
    let acks: Vec<_> = heard.iter().flat_map(|one| &one.acks).collect();
    if acks.is_empty() && !folder.join("ledger.sqlite").exists() {
        return;
    }
    let reader = Inspection::open(folder, None).unwrap();
    reader.verify().unwrap();
    let all = Query::From {
        sequence: 1,
        count: usize::MAX,
    };
    let records = reader.records(&all).unwrap();
    for (sequence, what, n) in acks {
        let index = usize::try_from(*sequence).unwrap() - 1;
        let record = records
            .get(index)
            .unwrap_or_else(|| panic!("{what} {n} was lost"));
        assert!(
            is(record, what, n),
            "{what} {n} is {:?}",
            record.entry.event
        );
    }
    check_effects(folder, &records);
}

fn is(record: &Record, what: &str, n: &str) -> bool {
    let number = || n.parse::<u64>().unwrap();
    let subject = record.entry.event.subject();
    match (what, &record.entry.event) {
        ("found", Event::EnvironmentAdmitted(_)) => true,
        ("session", Event::SessionOpened(e)) => e.session == session(number()),
        ("bind", Event::BindingOpened(e)) => e.binding == binding(number()),
        ("renew", Event::BindingRenewed(e)) => e.binding == binding(number()),
        ("release", Event::BindingMoved(e)) => e.binding == binding(number()),
        ("revoke", Event::Revoked(_)) => true,
        ("intent", Event::CallIntent(e)) => e.call == call(number()),
        ("outcome", Event::CallOutcome(e)) => e.call == call(number()),
        ("reconcile", Event::CallReconciled(_)) => subject == n,
        _ => false,
    }
}

/// I17, I18: the other side saw each key once at most, and never one without an intent; a
/// call that has no outcome is uncertain, or was the last one's.
fn check_effects(folder: &Path, records: &[Record]) {
    let text = std::fs::read_to_string(effects_path(folder)).unwrap_or_default();
    let mut intended = BTreeSet::new();
    let mut open = BTreeMap::new();
    for record in records {
        match &record.entry.event {
            Event::HostStarted(_) => {}
            Event::CallIntent(e) => {
                if let Some(wish) = &e.idempotency {
                    intended.insert(wish.key.to_string());
                    open.insert(e.call, record.sequence);
                }
            }
            Event::CallOutcome(e) => {
                open.remove(&e.call);
            }
            Event::CallUncertain(e) => {
                assert!(open.remove(&e.call).is_some(), "a doubt about nothing");
                assert_eq!(e.doubt, Doubt::Crash);
            }
            _ => {}
        }
    }
    let last_start = records
        .iter()
        .rfind(|record| record.entry.event.kind() == "host_started");
    let last_start = last_start.map_or(0, |record| record.sequence);
    assert!(
        open.values().all(|at| *at > last_start),
        "a doubt that nobody named"
    );
    let mut seen = BTreeSet::new();
    for key in text.lines() {
        assert!(seen.insert(key), "{key} had its effect twice");
        assert!(
            intended.contains(key),
            "{key} had an effect without an intent"
        );
    }
}

#[test]
fn a_kill_at_every_named_point_loses_nothing_and_repeats_nothing_x67() {
    for point in POINTS {
        let place = place();
        let mut heard = Vec::new();
        // On a new store, on the one that this kill leaves, and once more to its end.
        for stop in [Some(point), Some(point), None] {
            let orders = Orders {
                folder: &place.path,
                calls: 2,
                stop,
            };
            let child = orders.start();
            let (until, then) = match stop {
                Some(point) => (format!("at {point}"), Duration::ZERO),
                None => ("closed".to_owned(), Duration::from_millis(20)),
            };
            heard.push(kill(child, Some(&until), then));
        }
        check(&place.path, &heard);
        let acks = heard.iter().map(|one| one.acks.len()).sum::<usize>();
        assert!(acks >= 11, "{point}: the last of three came to its end");
    }
}

/// The next number of a small generator; the runs differ by their seed.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

///
#[test]
fn a_thousand_kills_at_random_lose_no_acknowledged_record_and_repeat_no_effect_i17_i20() {
    let stores = KILLS / KILLS_PER_STORE;
    let each = |lane: u64| {
        let (mut kills, mut acks) = (0, 0);
        for store in 0..stores / LANES {
            // A seed of its own for each store, named when it fails.
            let mut seed = 0x9e37_79b9_7f4a_7c15 ^ (lane << 32) ^ (store + 1);
            let place = place();
            let mut heard = Vec::new();
            for _ in 0..KILLS_PER_STORE {
                let orders = Orders {
                    folder: &place.path,
                    calls: 400,
                    stop: None,
                };
                let early = next(&mut seed).is_multiple_of(4);
                let micros = next(&mut seed) % if early { 60_000 } else { 40_000 };
                let until = if early { None } else { Some("opened") };
                heard.push(kill(orders.start(), until, Duration::from_micros(micros)));
                kills += 1;
            }
            check(&place.path, &heard);
            acks += heard.iter().map(|one| one.acks.len()).sum::<usize>();
        }
        (kills, acks)
    };
    let lanes: Vec<(u64, usize)> = std::thread::scope(|threads| {
        let all: Vec<_> = (0..LANES)
            .map(|lane| threads.spawn(move || each(lane)))
            .collect();
        all.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let kills: u64 = lanes.iter().map(|lane| lane.0).sum();
    let acks: usize = lanes.iter().map(|lane| lane.1).sum();
    assert_eq!(kills, KILLS);
    println!("{kills} random kills, {acks} acknowledged records, none lost");
    assert!(
        acks > 1_000,
        "the kills came too early to say anything: {acks}"
    );
}

/// Runs a child under strace with a fault at its system calls.
pub(crate) fn under(fault: &str, orders: &Orders<'_>) -> Heard {
    let (syscall, _) = fault.split_once(':').unwrap();
    let trace = format!("trace={syscall}");
    let inject = format!("inject={fault}");
    let quiet = "-o/dev/null";
    let wrapper = ["strace", "-f", "-qq", quiet, "-e", &trace, "-e", &inject];
    let wrapper: Vec<String> = wrapper.iter().map(|word| (*word).to_owned()).collect();
    let output = orders.command(&wrapper).output();
    let output = output.unwrap_or_else(|error| panic!("strace is needed here: {error}"));
    let mut heard = Heard::default();
    heard.hear(&String::from_utf8_lossy(&output.stdout));
    heard
}

fn two_calls(folder: &Path) -> Orders<'_> {
    Orders {
        folder,
        calls: 2,
        stop: None,
    }
}

#[test]
fn a_kill_at_every_system_call_that_writes_loses_nothing_x67() {
    assert!(
        Command::new("strace").arg("-V").output().is_ok(),
        "install strace"
    );
    let mut kills = 0;
    let used = place();
    kill(
        two_calls(&used.path).start(),
        Some("closed"),
        Duration::ZERO,
    );
    // New stores, and one that is there already: other calls come first.
    for fresh in [true, false] {
        for syscall in [
            "pwrite64",
            "fdatasync",
            "fsync",
            "ftruncate",
            "unlink",
            "rename",
        ] {
            for at in 1..200 {
                let place = place();
                if !fresh {
                    copy_folder(&used.path, &place.path);
                    std::fs::copy(effects_path(&used.path), effects_path(&place.path)).unwrap();
                }
                let fault = format!("{syscall}:signal=KILL:when={at}");
                let heard = under(&fault, &two_calls(&place.path));
                let survived = heard.said("closed");
                drop(open(&place.path).unwrap());
                check(&place.path, &[heard]);
                if survived {
                    break;
                }
                kills += 1;
            }
        }
    }
    println!("{kills} kills at system calls");
    assert!(kills > 50, "{kills}");
}
