//! The process that is killed: opens a store, works, and says what was acknowledged.
//!
//! It is this test binary, started again with orders in its environment. The effects it
//! makes are lines in a file of their own: the other side, which outlives it and counts.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_store::Store;

use crate::rig::open;
use crate::world::*;

const ORDERS: &str = "BINDERY_STORE_CHILD";

/// The moments at which a script stops and asks to be killed.
pub(crate) const POINTS: [&str; 11] = [
    "opened",
    "founded",
    "bound",
    "before-intent",
    "intended",
    "affected",
    "settled",
    "renewed",
    "released",
    "revoked",
    "closed",
];

/// The orders of one child.
pub(crate) struct Orders<'a> {
    pub(crate) folder: &'a Path,
    /// Calls to make; the random kills come before they are done.
    pub(crate) calls: u64,
    /// The point to stop at.
    pub(crate) stop: Option<&'a str>,
}

impl Orders<'_> {
    /// The command that carries them out, behind `wrapper` if there is one.
    pub(crate) fn command(&self, wrapper: &[String]) -> Command {
        let this = std::env::current_exe().unwrap();
        let mut command = match wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(this);
                command
            }
            None => Command::new(this),
        };
        let stop = self.stop.unwrap_or("-");
        let orders = format!("{}\n{}\n{stop}", self.folder.display(), self.calls);
        command
            .args([
                "child::a_child_without_orders_does_nothing",
                "--exact",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ORDERS, orders)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self) -> Child {
        self.command(&[]).spawn().unwrap()
    }
}

#[test]
fn a_child_without_orders_does_nothing() {
    let Ok(orders) = std::env::var(ORDERS) else {
        assert!(carry_out("").is_none(), "no orders, no store");
        return;
    };
    carry_out(&orders).unwrap();
}

fn carry_out(orders: &str) -> Option<()> {
    let mut lines = orders.lines();
    let folder = PathBuf::from(lines.next()?);
    // What the frame of the tests has begun to print ends here.
    say("");
    let calls = lines.next()?.parse().ok()?;
    let stop = lines.next()?.to_owned();
    Script { folder, stop }.run(calls);
    Some(())
}

struct Script {
    folder: PathBuf,
    stop: String,
}

fn say(text: &str) {
    // One write for each line, so that a kill leaves whole lines.
    let mut out = std::io::stdout();
    out.write_all(format!("{text}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

impl Script {
    fn at(&self, point: &str) {
        if self.stop == point {
            say(&format!("at {point}"));
            loop {
                std::thread::park();
            }
        }
    }

    fn run(&self, calls: u64) {
        let store = match open(&self.folder) {
            Ok(store) => store,
            Err(error) => {
                say(&format!("refused {error}"));
                return;
            }
        };
        say("opened");
        self.at("opened");
        let mut world = World::over(store);
        if let Err(error) = self.work(&mut world, calls) {
            say(&format!("failed {error}"));
            // A store that failed once acknowledges nothing any more (I21).
            for n in 0..3 {
                if world.open_session(1_000_000 + n).is_ok() {
                    say("revived");
                }
            }
        }
        match world.journal.close() {
            Ok(()) => say("closed"),
            Err(error) => say(&format!("not closed: {error}")),
        }
        self.at("closed");
    }

    fn work(&self, world: &mut World<Store>, calls: u64) -> Result<(), JournalError> {
        if world.state().environment().is_none() {
            let founding = world.founding();
            let at = world.journal.append(founding, Vec::new())?;
            say(&format!("ack {at} found test"));
        }
        self.at("founded");
        let base = world.state().sequence() * 1_000;
        let session = 2 * base;
        ack(world.open_session(session)?, "session", session);
        ack(world.bind(base, session, "writer")?, "bind", base);
        ack(world.bind(base + 1, session, "reader")?, "bind", base + 1);
        self.at("bound");
        self.reconcile(world, session, base)?;
        for n in base..base + calls {
            self.at("before-intent");
            self.call(world, n, &format!("key-{n}"), session, base)?;
            if n % 4 == 0 {
                let read = world.intent(n + 500, session, base + 1, "reader");
                let end = world.outcome(n + 500, CallEnd::Succeeded, None);
                world.journal.append_lazy(vec![
                    world.model_entry(session, read),
                    world.model_entry(session, end),
                ])?;
            }
        }
        let renewed = BindingRenewed {
            binding: binding(base),
            lease_until: world.in_ms(20 * MINUTE),
        };
        ack(world.operator_in(session, renewed)?, "renew", base);
        self.at("renewed");
        ack(world.release(base, session)?, "release", base);
        self.at("released");
        let target = Target::Binding(binding(base + 1));
        ack(world.revoke(target)?, "revoke", base + 1);
        self.at("revoked");
        Ok(())
    }

    /// One call with an effect: intent, effect, outcome, each acknowledged.
    fn call(
        &self,
        world: &World<Store>,
        n: u64,
        key: &str,
        session: u64,
        under: u64,
    ) -> Result<(), JournalError> {
        let intent = world.intent(n, session, under, "writer");
        let intent = world.keyed(intent, key, 60 * MINUTE);
        ack(world.model(session, intent)?, "intent", n);
        self.at("intended");
        effects(&self.folder)
            .write_all(format!("{key}\n").as_bytes())
            .unwrap();
        self.at("affected");
        ack(world.succeed(n, session)?, "outcome", n);
        self.at("settled");
        Ok(())
    }

    /// Settles every doubt by what the other side says, and tries the key once more: what
    /// was done is not repeated, what was not done may be.
    fn reconcile(
        &self,
        world: &World<Store>,
        session: u64,
        under: u64,
    ) -> Result<(), JournalError> {
        let done = std::fs::read_to_string(effects_path(&self.folder)).unwrap_or_default();
        for (at, (id, found)) in (900..).zip(world.state().calls()) {
            let n = under + at;
            let key = found.key.as_ref().unwrap().key.as_str();
            let unknown = world.keyed(world.intent(n, session, under, "writer"), key, MINUTE);
            if world.model(session, unknown.clone()).is_ok() {
                say(&format!("repeated {key} before anybody knew"));
            }
            let happened = done.lines().any(|line| line == key);
            let finding = if happened {
                Finding::Done
            } else {
                Finding::Failed
            };
            let event = CallReconciled {
                call: *id,
                finding,
                evidence: line("the other side's file"),
            };
            say(&format!("ack {} reconcile {id}", world.operator(event)?));
            if !happened {
                self.call(world, n, key, session, under)?;
            } else if world.model(session, unknown).is_ok() {
                say(&format!("repeated {key} though it was done"));
            }
        }
        Ok(())
    }
}

fn ack(sequence: u64, what: &str, n: u64) {
    say(&format!("ack {sequence} {what} {n}"));
}

pub(crate) fn effects_path(folder: &Path) -> PathBuf {
    folder.with_file_name("effects")
}

fn effects(folder: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(effects_path(folder))
        .unwrap()
}
