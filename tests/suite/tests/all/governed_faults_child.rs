//! The governed host that is killed: this test binary, started again with orders.
//!
//! Rule: nothing in the product knows of it. Every step that a host takes is seen through
//! what an embedder may put in: its journal, its hooks, its clock, what stands behind a
//! grant, the spans it writes. Each is named, said before it is passed, and at the one that
//! the orders number the process kills itself, as hard as anybody can.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use bindery::ledger::words::Finding;
use bindery::ledger::{CallStanding, Journal, Target};
use bindery::policy::{Document, ScopeRequest};
use bindery::{
    Admission, Bound, CallId, CallOptions, Change, Host, KeyValueStore, Keys, Moment, Outcome,
    Refusal, Reply, Resources, Room, Session, StoreFault, Swap,
};
use bindery_artefacts::rust_guest;
use bindery_types::{ApprovalRequirement, ErrorType};
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;

use crate::governed_faults_steps::{Hooked, Spans, Watched, die_at, say, step, verb};
use crate::governed_scene::{FRAME, bind, spec};
use crate::governed_store::{open_store, system_now};

const ORDERS: &str = "BINDERY_FAULT_CHILD";
const DOCUMENT: &str = r#"
[grants.notes]
kind = "store"
store = "notes"
access = "read_write"
[[policy.rule]]
decision = "allow"
why = "the scenario's own store"
namespaces = ["acme"]
grants = ["notes"]
"#;
const ACT: &str = "acme:store-driver/driver#act";
const FORGED: &str = "bindh_00000000000000000000000000000000";
/// The key under which the one effect is asked for, whoever asks and however often.
pub(crate) const KEY: &str = "order-1";

/// What one child is told to do.
pub(crate) struct Orders<'a> {
    /// Where its store is.
    pub(crate) folder: &'a Path,
    /// Where compiled code is kept between children.
    pub(crate) code: &'a Path,
    /// The other side of its effects.
    pub(crate) port: u16,
    /// Under which name the other side counts them.
    pub(crate) run: &'a str,
    /// The step to die at; 0 for none.
    pub(crate) at: u64,
    /// Whether it works, or looks at what an earlier one left.
    pub(crate) task: Task,
    /// A handle that an earlier one was given.
    pub(crate) handle: Option<&'a str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Every verb, from admission to the end of the session.
    Work,
    /// What a host and its operator do after a crash.
    Mend,
    /// Calls, until one is refused, and some more.
    Endure,
}

impl Orders<'_> {
    /// The command that carries them out, behind `wrapper` if there is one.
    pub(crate) fn command(&self, wrapper: &[&str]) -> Command {
        let this = std::env::current_exe().unwrap();
        let mut command = match wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(this);
                command
            }
            None => Command::new(this),
        };
        let task = match self.task {
            Task::Work => "work",
            Task::Mend => "mend",
            Task::Endure => "endure",
        };
        let orders = format!(
            "{}\n{}\n{}\n{}\n{}\n{task}\n{}",
            self.folder.display(),
            self.code.display(),
            self.port,
            self.run,
            self.at,
            self.handle.unwrap_or("-")
        );
        command
            .args([
                "governed_faults_child::a_child_without_orders_does_nothing",
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
}

#[test]
fn a_child_without_orders_does_nothing() {
    let Ok(orders) = std::env::var(ORDERS) else {
        assert!(carry_out("").is_none(), "no orders, no host");
        return;
    };
    carry_out(&orders).unwrap();
}

fn carry_out(orders: &str) -> Option<()> {
    let mut lines = orders.lines();
    let folder = PathBuf::from(lines.next()?);
    let code = PathBuf::from(lines.next()?);
    let remote = Remote {
        port: lines.next()?.parse().ok()?,
        run: lines.next()?.to_owned(),
    };
    let at = lines.next()?.parse().ok()?;
    let task = lines.next()?.to_owned();
    let handle = lines.next()?.to_owned();
    // What the frame of the tests has begun to print ends here.
    say("");
    die_at(at);
    let spans = tracing_subscriber::registry().with(Spans);
    tracing::subscriber::set_global_default(spans).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let child = Child {
            folder,
            code,
            remote,
        };
        let done = match task.as_str() {
            "work" => child.work().await,
            "endure" => child.endure().await,
            _ => child.mend(&handle).await,
        };
        match done {
            Ok(()) => say("closed"),
            Err(refusal) => say(&format!(
                "failed {} {:?}",
                refusal.to_json(),
                refusal.operator()
            )),
        }
    });
    Some(())
}

/// The other side: what is added to a key is an effect there, and counted.
struct Remote {
    port: u16,
    run: String,
}

impl Remote {
    fn ask(&self, what: char, key: &str) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .write_all(format!("{what}{}/{key}\n", self.run).as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.trim().parse().unwrap()
    }
}

impl KeyValueStore for Remote {
    fn get(&self, keys: &[String], _: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault> {
        let counted = keys.iter().map(|key| self.ask('?', key));
        Ok(counted
            .map(|count| Some(count.to_string().into_bytes()))
            .collect())
    }

    fn exists(&self, key: &str) -> Result<bool, StoreFault> {
        Ok(self.ask('?', key) > 0)
    }

    fn keys(&self, _: u64, _: usize) -> Result<Keys, StoreFault> {
        Ok(Keys::default())
    }

    fn apply(&self, _: &[Change], _: Room) -> Result<(), StoreFault> {
        Err(StoreFault::Unavailable("it only adds".to_owned()))
    }

    fn increment(&self, key: &str, _: u64, _: Room) -> Result<u64, StoreFault> {
        step("the effect asked for");
        let count = self.ask('+', key);
        step("the effect answered");
        Ok(count)
    }

    fn swap(&self, _: &str, _: Option<&[u8]>, _: &[u8], _: Room) -> Result<Swap, StoreFault> {
        Err(StoreFault::Unavailable("it only adds".to_owned()))
    }
}

fn clock() -> Moment {
    step("the clock read");
    system_now()
}

struct Child {
    folder: PathBuf,
    code: PathBuf,
    remote: Remote,
}

/// A host over the store of the orders, with its one capability admitted.
struct Opened {
    host: Host,
    journal: Arc<Watched>,
}

impl Child {
    async fn open(self) -> Result<Opened, Refusal> {
        verb("start");
        step("the store is opened");
        let store = open_store(&self.folder, system_now()).map_err(|error| error.refusal())?;
        step("the store is open");
        let journal = Arc::new(Watched(store));
        let document = Document::parse("bindery.toml", &format!("{FRAME}{DOCUMENT}")).unwrap();
        let host = Host::builder()
            .policy(document)
            .resources(Resources::default().store("notes", Arc::new(self.remote)))
            .journal(Arc::clone(&journal) as Arc<dyn Journal>)
            .artefacts(self.code)
            .clock(clock)
            .hook(Arc::new(Hooked))
            .build()?;
        verb("admit");
        let bytes = std::fs::read(rust_guest("store-driver").unwrap()).unwrap();
        let mut admission = Admission::by_operator("acme".parse().unwrap(), "store-driver.wasm");
        admission.contract.approval = Some(ApprovalRequirement::NoApproval);
        let admitted = host.admit(bytes, admission).await?;
        let act = admitted.iter().find(|entry| entry.id.to_string() == ACT);
        assert!(act.unwrap().verdict.failure().is_none());
        say("ack admit -");
        Ok(Opened { host, journal })
    }

    /// Every verb once; each is acknowledged when its caller has the answer.
    async fn work(self) -> Result<(), Refusal> {
        let Opened { host, .. } = self.open().await?;
        verb("accept writes");
        host.accept_writes("the scenario").await?;
        say("ack accept -");
        verb("session");
        let session = host.session(spec(1, "tester")).await?;
        say(&format!("ack session {}", session.id()));
        verb("bind");
        let bound = writing(&host, &session).await?;
        say(&format!("ack bind {}", bound.handle));
        verb("call");
        let reply = effect(&session, &bound).await;
        told(&reply);
        verb("repeat");
        told(&effect(&session, &bound).await);
        verb("narrow");
        let less = ScopeRequest::default();
        let narrow = session.narrow(&bound.handle.to_string(), &less).await?;
        say(&format!("ack bind {}", narrow.handle));
        verb("release");
        session.release(&bound.handle.to_string(), "done").await?;
        say(&format!("ack release {}", bound.handle));
        verb("bind again");
        let second = writing(&host, &session).await?;
        say(&format!("ack bind {}", second.handle));
        verb("revoke");
        host.revoke(target(), "an incident").await?;
        say(&format!("ack revoke {}", second.handle));
        verb("lift");
        host.lift(target(), "it is over").await?;
        say("ack lift -");
        verb("end");
        session.end().await?;
        say(&format!("ack end {}", session.id()));
        verb("stop");
        Ok(())
    }

    /// Calls under keys of their own until one is refused; then what a host still does.
    async fn endure(self) -> Result<(), Refusal> {
        let run = Remote {
            port: self.remote.port,
            run: self.remote.run.clone(),
        };
        let Opened { host, .. } = self.open().await?;
        host.accept_writes("the scenario").await?;
        let session = host.session(spec(1, "tester")).await?;
        let bound = writing(&host, &session).await?;
        let count = |keys: &[String]| keys.iter().map(|key| run.ask('?', key)).sum::<u64>();
        let mut keys = Vec::new();
        for number in 0..40 {
            keys.push(format!("e-{number}"));
            let reply = keyed(&session, &bound, &keys[number]).await;
            told(&reply);
            if word(&reply) != "value" {
                break;
            }
        }
        say(&format!("effects {}", count(&keys)));
        for number in 0..5 {
            let key = format!("later-{number}");
            let reply = keyed(&session, &bound, &key).await;
            say(&format!("later {} {}", word(&reply), count(&[key])));
        }
        let described = match host.catalogue().is_empty() || host.document().grants.is_empty() {
            true => "nothing",
            false => "ok",
        };
        say(&format!("described {described}"));
        let options = CallOptions::default();
        let foreign = session.call(FORGED, "{}", &options).await;
        say(&format!("foreign {}", word(&foreign)));
        let refused = |result: Result<(), Refusal>| match result {
            Ok(()) => "done",
            Err(refusal) => ErrorType::as_str(refusal.kind()),
        };
        let bind = writing(&host, &session).await.map(|_| ());
        say(&format!("bind {}", refused(bind)));
        let revoked = host.revoke(target(), "an incident").await;
        say(&format!("revoke {}", refused(revoked)));
        Ok(())
    }

    /// What is left is looked at, settled by what the other side says, and asked for again.
    async fn mend(self, handle: &str) -> Result<(), Refusal> {
        let run = Remote {
            port: self.remote.port,
            run: self.remote.run.clone(),
        };
        let Opened { host, journal } = self.open().await?;
        verb("verify");
        let verified = journal.0.verify().map_err(|error| error.refusal())?;
        say(&format!("verified {}", verified.records));
        verb("look");
        let (mut live, mut doubts, mut switched, mut writes) = (0, Vec::new(), false, false);
        journal.look(&mut |state| {
            live = state.bindings().count() + state.sessions().count();
            let open = state.calls();
            doubts = open
                .map(|(id, call)| {
                    let key = call.key.as_ref().map(|key| key.key.to_string());
                    let uncertain = call.standing == CallStanding::Uncertain;
                    (*id, key.unwrap_or_default(), uncertain)
                })
                .collect();
            switched = state.switches().count() > 0;
            writes = state.write_gate().is_some();
        });
        say(&format!("live {live}"));
        verb("session");
        let session = host.session(spec(2, "tester")).await?;
        verb("old handle");
        if handle != "-" {
            let reply = session.call(handle, "{}", &CallOptions::default()).await;
            say(&format!("old {}", word(&reply)));
        }
        if !writes {
            host.accept_writes("the scenario").await?;
        }
        verb("lift");
        if switched {
            let refused = writing(&host, &session).await.err();
            let kind = refused.map_or("none", |refusal| refusal.kind().as_str());
            say(&format!("switched {kind}"));
            host.lift(target(), "it is over").await?;
        }
        verb("bind");
        let bound = writing(&host, &session).await?;
        for (call, key, uncertain) in doubts {
            verb("reconcile");
            say(&format!("doubt {call} {uncertain}"));
            let early = keyed(&session, &bound, &key).await;
            say(&format!("early {}", word(&early)));
            let finding = match run.ask('?', &key) {
                0 => Finding::Failed,
                _ => Finding::Done,
            };
            host.reconcile(call, finding, "the other side's count")
                .await?;
            say(&format!("ack reconcile {call}"));
        }
        verb("repeat");
        told(&effect(&session, &bound).await);
        let standing = standing(&journal);
        say(&format!("stands {standing}"));
        verb("stop");
        Ok(())
    }
}

/// How the one key stands in the ledger, in its own words.
fn standing(journal: &Watched) -> Value {
    let mut state = Value::Null;
    journal.look(&mut |found| state = serde_json::to_value(found).unwrap());
    let effects = state["effects"].as_array().unwrap();
    let one = effects.iter().find(|pair| pair[0]["key"] == KEY);
    one.map_or(Value::Null, |pair| pair[1]["standing"].clone())
}

fn target() -> Target {
    Target::Capability(ACT.parse().unwrap())
}

async fn writing(host: &Host, session: &Session) -> Result<Bound, Refusal> {
    let scope = json!({ "grants": { "notes": { "access": "read_write" } } });
    bind(host, session, ACT, Some(scope)).await
}

/// The one effect, asked for under its key.
async fn effect(session: &Session, bound: &Bound) -> Reply {
    keyed(session, bound, KEY).await
}

async fn keyed(session: &Session, bound: &Bound, key: &str) -> Reply {
    let arguments = json!({ "store": "notes", "steps": [{ "increment": [key, 1] }] });
    let options = CallOptions {
        idempotency_key: Some(key.parse().unwrap()),
        ..CallOptions::default()
    };
    let handle = bound.handle.to_string();
    session
        .call(&handle, &arguments.to_string(), &options)
        .await
}

fn told(reply: &Reply) {
    match &reply.run.outcome {
        Outcome::Value(value) => {
            let value: Value = serde_json::from_str(value).unwrap();
            say(&format!("ack call {} {value}", reply.call));
        }
        _ => say(&format!("refused {} {}", id(reply.call), word(reply))),
    }
}

fn id(call: CallId) -> String {
    call.to_string()
}

/// How a call ended, in one word.
fn word(reply: &Reply) -> &'static str {
    match &reply.run.outcome {
        Outcome::Value(_) => "value",
        Outcome::CapabilityError(_) => "capability_error",
        Outcome::Refused(refusal) => ErrorType::as_str(refusal.kind()),
    }
}
