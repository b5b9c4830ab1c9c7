//! The governed host killed at every step that it takes: nothing acknowledged is lost, no
//! effect happens twice, what nobody knows is said to be unknown, nothing left is authority.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bindery::ledger::Record;
use bindery::ledger::event::Event;
use bindery::ledger::words::Lifecycle;

use crate::governed_faults_child::{KEY, Orders, Task};
use crate::governed_store::{place, records_in};

/// More steps than any script has: the search for its end stops here.
const STEPS_MAX: u64 = 2_000;
/// Children at once.
const LANES: u64 = 4;

/// The other side: it adds up, and outlives every host.
#[derive(Clone)]
pub(crate) struct Counting {
    pub(crate) port: u16,
    counts: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Counting {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Mutex::new(BTreeMap::new()));
        let counted = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut line = String::new();
                // A host that died between connecting and asking has asked for nothing.
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                if reader.read_line(&mut line).unwrap_or(0) == 0 || !line.ends_with('\n') {
                    continue;
                }
                let (what, key) = line.trim_end().split_at(1);
                let mut counts = counted.lock().unwrap();
                let count: &mut u64 = counts.entry(key.to_owned()).or_default();
                if what == "+" {
                    *count += 1;
                }
                let _ = stream.write_all(format!("{count}\n").as_bytes());
            }
        });
        Self { port, counts }
    }

    pub(crate) fn of(&self, run: &str) -> u64 {
        let counts = self.counts.lock().unwrap();
        counts.get(&format!("{run}/{KEY}")).copied().unwrap_or(0)
    }

    /// What happened in one run has happened in a copy of it, too.
    fn copy(&self, from: &str, to: &str) {
        let count = self.of(from);
        let mut counts = self.counts.lock().unwrap();
        counts.insert(format!("{to}/{KEY}"), count);
    }
}

/// What one child said.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) lines: Vec<String>,
}

impl Heard {
    pub(crate) fn of(orders: &Orders<'_>, wrapper: &[&str]) -> Self {
        let output = orders.command(wrapper).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{text}{errors}");
        Self {
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    /// What was said after this word, each time.
    pub(crate) fn all<'a>(&'a self, word: &str) -> Vec<&'a str> {
        let lines = self.lines.iter();
        lines
            .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
            .collect()
    }

    pub(crate) fn closed(&self) -> bool {
        self.lines.iter().any(|line| line == "closed")
    }

    /// The step that it died at.
    fn last_step(&self) -> &str {
        self.all("step").last().copied().unwrap_or("(none)")
    }

    fn handle(&self) -> Option<&str> {
        let first = self.all("ack").into_iter();
        first.filter_map(|ack| ack.strip_prefix("bind ")).next()
    }
}

/// I17, I18, R-510: whatever was acknowledged is on record as what it was acknowledged as.
pub(crate) fn check_acks(records: &[Record], heard: &Heard, at: &str) {
    for ack in heard.all("ack") {
        let (what, of) = ack.split_once(' ').unwrap();
        let of = of.split(' ').next().unwrap();
        let recorded = records.iter().any(|record| match &record.entry.event {
            Event::CapabilityMoved(_) => what == "admit",
            Event::WriteGateAccepted(_) => what == "accept",
            Event::SessionOpened(e) => what == "session" && e.session.to_string() == of,
            Event::BindingOpened(e) => what == "bind" && e.binding.to_string() == of,
            Event::CallOutcome(e) => what == "call" && e.call.to_string() == of,
            Event::BindingMoved(e) => {
                what == "release" && e.binding.to_string() == of && e.to == Lifecycle::Released
            }
            Event::Revoked(_) => what == "revoke",
            Event::RevocationLifted(_) => what == "lift",
            Event::SessionClosed(e) => what == "end" && e.session.to_string() == of,
            Event::CallReconciled(e) => what == "reconcile" && e.call.to_string() == of,
            _ => false,
        });
        assert!(recorded, "{at}: `{ack}` was acknowledged and is lost");
    }
}

/// What all kills of a test came to.
#[derive(Default)]
struct Sum {
    kills: u64,
    acknowledged: u64,
    uncertain: u64,
    reconciled: u64,
    early: u64,
    steps: BTreeSet<String>,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.acknowledged += other.acknowledged;
        self.uncertain += other.uncertain;
        self.reconciled += other.reconciled;
        self.early += other.early;
        self.steps.extend(other.steps);
    }

    fn line(&self, of: &str) -> String {
        format!(
            "{} kills at {} named steps of {of}: {} acknowledged, 0 lost, 0 repeated, {} uncertain, {} reconciled",
            self.kills,
            self.steps.len(),
            self.acknowledged,
            self.uncertain,
            self.reconciled
        )
    }
}

struct Scene {
    counting: Counting,
    code: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            counting: Counting::start(),
            code: folder.path().join("code"),
            _folder: folder,
        }
    }

    fn orders<'a>(&'a self, folder: &'a Path, run: &'a str, task: Task) -> Orders<'a> {
        Orders {
            folder,
            code: &self.code,
            port: self.counting.port,
            run,
            at: 0,
            task,
            handle: None,
        }
    }

    /// The host after a crash at `at`: what it finds, what it may do, what it may not.
    fn mend(&self, folder: &Path, run: &str, dead: &Heard, sum: &mut Sum) {
        let at = dead.last_step();
        let mut orders = self.orders(folder, run, Task::Mend);
        orders.handle = dead.handle();
        let mended = Heard::of(&orders, &[]);
        assert!(mended.closed(), "{at}: {:?}", mended.lines);
        assert_eq!(mended.all("verified").len(), 1, "{at}: I19, I20");
        assert_eq!(mended.all("live"), ["0"], "{at}: R-708, R-691");
        for old in mended.all("old") {
            assert_eq!(old, "handle_invalid", "{at}: R-708, no handle lives on");
        }
        for switched in mended.all("switched") {
            assert_eq!(
                switched, "capability_revoked",
                "{at}: I6, a withdrawal lasts"
            );
        }
        for early in mended.all("early") {
            assert_eq!(
                early, "uncertain_side_effect",
                "{at}: I17, nothing is retried"
            );
        }
        let doubts = mended.all("doubt");
        for doubt in &doubts {
            assert!(doubt.ends_with("true"), "{at}: I17, {doubt}");
        }
        assert_eq!(
            self.counting.of(run),
            1,
            "{at}: I16, I17, the effect of one key: {:?}",
            mended.lines
        );
        let stands = mended.all("stands")[0];
        assert!(stands.contains("succeeded"), "{at}: I16, {stands}");
        let records = records_in(folder);
        check_acks(&records, dead, at);
        check_acks(&records, &mended, at);
        sum.acknowledged += dead.all("ack").len() as u64;
        sum.uncertain += doubts.len() as u64;
        let settled = mended.all("ack");
        let settled = settled.iter().filter(|ack| ack.starts_with("reconcile"));
        sum.reconciled += settled.count() as u64;
        sum.early += mended.all("early").len() as u64;
    }

    /// Kills at the steps of this lane until there are no more.
    fn lane(&self, lane: u64, end: &AtomicU64, kill: impl Fn(u64, &mut Sum) -> bool) -> Sum {
        let mut sum = Sum::default();
        let mut at = lane + 1;
        while at <= end.load(Ordering::SeqCst) {
            if !kill(at, &mut sum) {
                end.fetch_min(at, Ordering::SeqCst);
            }
            at += LANES;
        }
        sum
    }

    fn lanes(&self, kill: impl Fn(u64, &mut Sum) -> bool + Sync) -> Sum {
        let end = AtomicU64::new(STEPS_MAX);
        let mut sum = Sum::default();
        std::thread::scope(|threads| {
            let lanes: Vec<_> = (0..LANES)
                .map(|lane| {
                    threads.spawn({
                        let (end, kill) = (&end, &kill);
                        move || self.lane(lane, end, kill)
                    })
                })
                .collect();
            for lane in lanes {
                sum.add(lane.join().unwrap());
            }
        });
        assert!(
            end.load(Ordering::SeqCst) < STEPS_MAX,
            "the script never ended"
        );
        sum
    }
}

/// Steps that have to be among those it was killed at: every verb, on both sides of what it
/// records, and around the effect.
const NAMED: [&str; 30] = [
    "start: the store is opened",
    "start: the store is open",
    "start: environment_admitted asked for",
    "start: environment_admitted durable",
    "admit: `inspect` begun",
    "session: session_opened asked for",
    "session: session_opened durable",
    "bind: the hook before a binding",
    "bind: binding_opened asked for",
    "bind: binding_opened durable",
    "call: the hook before a call",
    "call: call_intent asked for",
    "call: call_intent durable",
    "call: `run` begun",
    "call: the effect asked for",
    "call: the effect answered",
    "call: `run` ended",
    "call: the hook after a call",
    "call: call_outcome asked for",
    "call: call_outcome durable",
    "repeat: a kept result read",
    "narrow: binding_opened durable",
    "release: binding_moved asked for",
    "release: binding_moved durable",
    "revoke: revoked asked for",
    "revoke: revoked durable",
    "lift: revocation_lifted asked for",
    "lift: revocation_lifted durable",
    "end: session_closed asked for",
    "end: session_closed durable",
];

/// I16, I17, I18, I20.
#[test]
fn a_kill_at_every_step_of_every_verb_loses_nothing_and_repeats_nothing() {
    let scene = Scene::new();
    let sum = scene.lanes(|at, sum| {
        let (place, run) = (place(), format!("work-{at}"));
        let mut orders = scene.orders(&place.path, &run, Task::Work);
        orders.at = at;
        let dead = Heard::of(&orders, &[]);
        if dead.closed() {
            return false;
        }
        assert!(dead.all("failed").is_empty(), "{at}: {:?}", dead.lines);
        sum.kills += 1;
        sum.steps.insert(dead.last_step().to_owned());
        scene.mend(&place.path, &run, &dead, sum);
        true
    });
    println!("{}", sum.line("every verb"));
    for step in &sum.steps {
        println!("  {step}");
    }
    for named in NAMED {
        assert!(sum.steps.contains(named), "`{named}` was not reached");
    }
    assert!(sum.uncertain > 0 && sum.uncertain == sum.reconciled, "I17");
    assert!(
        sum.early == sum.uncertain,
        "each was tried before it was known"
    );
}

/// The number of the step of this name when nobody kills.
fn number_of(scene: &Scene, name: &str) -> u64 {
    // The first one compiles, which later ones do not.
    let wholes = ["first", "second"].map(|run| {
        let place = place();
        Heard::of(&scene.orders(&place.path, run, Task::Work), &[])
    });
    let whole = &wholes[1];
    assert!(whole.closed(), "{:?}", whole.lines);
    let found = whole.all("step").iter().position(|step| *step == name);
    1 + found.unwrap_or_else(|| panic!("no `{name}` in {:?}", whole.all("step"))) as u64
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    std::fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// I17, I20: a host that dies while it recovers is recovered from in turn.
#[test]
fn a_kill_at_every_step_of_recovery_and_reconciliation_repeats_nothing_either() {
    let scene = Scene::new();
    for (left, happened) in [
        ("call: the effect asked for", 0),
        ("call: the effect answered", 1),
    ] {
        let at = number_of(&scene, left);
        let source = place();
        let first = format!("first-{at}");
        let mut orders = scene.orders(&source.path, &first, Task::Work);
        orders.at = at;
        let dead = Heard::of(&orders, &[]);
        assert_eq!(dead.last_step(), left);
        assert_eq!(scene.counting.of(&first), happened, "{left}");
        let sum = scene.lanes(|step, sum| {
            let (place, run) = (place(), format!("mend-{at}-{step}"));
            copy_folder(&source.path, &place.path);
            scene.counting.copy(&first, &run);
            let mut orders = scene.orders(&place.path, &run, Task::Mend);
            orders.at = step;
            orders.handle = dead.handle();
            let second = Heard::of(&orders, &[]);
            if second.closed() {
                return false;
            }
            sum.kills += 1;
            sum.steps.insert(second.last_step().to_owned());
            scene.mend(&place.path, &run, &second, sum);
            check_acks(&records_in(&place.path), &dead, left);
            true
        });
        println!("{}", sum.line(&format!("recovery after `{left}`")));
        for named in [
            "start: the store is opened",
            "reconcile: call_reconciled asked for",
            "reconcile: call_reconciled durable",
        ] {
            assert!(sum.steps.contains(named), "`{named}` was not reached");
        }
    }
}
