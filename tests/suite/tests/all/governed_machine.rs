//! Random sequences of verbs against a whole governed host, on a store, with real components,
//! a clock that jumps and restarts, beside a model that knows none of its parts.
//!
//! At each step what the host says is what the model says, word for word; what the other side
//! counted is what the model counts; and what was refused, or only looked, changed nothing
//! that decides. At the end the record is read from its first line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bindery::ledger::event::Event;
use bindery::ledger::{Journal, Record, Target};
use bindery::policy::{Document, ScopeRequest, SessionSpec, Who};
use bindery::{
    Admission, BindRequest, CallOptions, CapabilityId, Digest, Host, Moment, Outcome,
    PermissionMode, ProposalId, Refusal, Reply, Resources, Rights, Session, SessionId,
};
use bindery_artefacts::rust_guest;
use bindery_store::Store;
use bindery_types::ApprovalRequirement;
use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::governed_double::Double;
use crate::governed_model::{Aim, Expected, Model, Rules, SLOTS, START, Verb, Which};
use crate::governed_scene::{FRAME, echo};
use crate::governed_store::{ALL, Place, open_store, place, records_in};
use crate::governed_verbs::Reference;

/// The time of the one machine that runs.
static CLOCK: AtomicU64 = AtomicU64::new(START);
/// One machine at a time: the clock is a plain function.
static TURN: Mutex<()> = Mutex::new(());
/// Compiled code of all machines.
static CODE: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

fn clock() -> Moment {
    Moment::from_unix_ms(CLOCK.load(Ordering::SeqCst))
}

fn cases() -> u32 {
    let asked = std::env::var("BINDERY_MACHINE_CASES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(48)
}

const GRANT: &str = r#"
[aggregates.session]
calls = 6
[grants.notes]
kind = "store"
store = "notes"
access = "read_write"
"#;

fn document(rules: Rules) -> Document {
    let both = "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"all of it\"\n\
                namespaces = [\"acme\"]\ngrants = [\"notes\"]\n";
    let reader = "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"it only says\"\n\
                  capabilities = [\"acme:echo/echo#say\"]\n";
    let asks = "[[policy.rule]]\ndecision = \"ask\"\nwhy = \"somebody looks\"\n\
                capabilities = [\"acme:store-driver/driver#act\"]\ngrants = [\"notes\"]\n\
                approval = \"confirm_every_time\"\n";
    let other = "[[policy.rule]]\ndecision = \"deny\"\nnamespaces = [\"elsewhere\"]\n";
    let rules = match rules {
        Rules::Both => both.to_owned(),
        Rules::ReaderOnly => reader.to_owned(),
        Rules::AskForWriter => format!("{reader}{asks}"),
        Rules::BothOtherwise => format!("{both}{other}"),
    };
    Document::parse("bindery.toml", &format!("{FRAME}{GRANT}{rules}")).unwrap()
}

fn capability(which: Which) -> CapabilityId {
    match which {
        Which::Reader => "acme:echo/echo#say".parse().unwrap(),
        Which::Writer => "acme:store-driver/driver#act".parse().unwrap(),
    }
}

/// A build of a component: the same code with another custom section.
fn bytes(which: Which, build: u64) -> Vec<u8> {
    static WRITER: LazyLock<Vec<u8>> =
        LazyLock::new(|| std::fs::read(rust_guest("store-driver").unwrap()).unwrap());
    let mut bytes = match which {
        Which::Reader => echo(),
        Which::Writer => WRITER.clone(),
    };
    bytes.extend([0, 3, 2, b'b', u8::try_from(build).unwrap()]);
    bytes
}

fn argument(which: Which, argument: u8) -> Value {
    match which {
        Which::Reader => json!({ "text": format!("a{argument}") }),
        Which::Writer => {
            json!({ "store": "notes", "steps": [{ "increment": [format!("a{argument}"), 1] }] })
        }
    }
}

/// A host with what the model's numbers stand for.
pub(crate) struct Machine {
    _turn: MutexGuard<'static, ()>,
    place: Place,
    double: Arc<Double>,
    /// Gone for a moment when the host is started again.
    host: Option<(Host, Arc<Store>)>,
    sessions: [Option<Session>; SLOTS],
    handles: Vec<String>,
    proposals: Vec<ProposalId>,
    /// What a key got, by the value's text.
    kept: BTreeMap<(usize, Which, u64, u8), String>,
    digests: BTreeMap<Digest, (Which, u64)>,
}

/// What a verb came to.
#[derive(Debug)]
enum Came {
    Done,
    Replied(Box<Reply>),
    No(Refusal),
}

impl From<Result<(), Refusal>> for Came {
    fn from(result: Result<(), Refusal>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(refusal) => Self::No(refusal),
        }
    }
}

impl Machine {
    pub(crate) fn new(model: &Model) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        CLOCK.store(model.clock, Ordering::SeqCst);
        let mut machine = Self {
            _turn: turn,
            place: place(),
            double: Arc::new(Double::default()),
            host: None,
            sessions: Default::default(),
            handles: Vec::new(),
            proposals: Vec::new(),
            kept: BTreeMap::new(),
            digests: BTreeMap::new(),
        };
        machine.start(model);
        let host = machine.host().clone();
        RUNTIME
            .block_on(host.accept_writes("the scenario"))
            .unwrap();
        machine
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host.as_ref().unwrap().0
    }

    fn resources(&self) -> Resources {
        Resources::default().store("notes", Arc::clone(&self.double) as _)
    }

    /// A host over the store, with the components of the model admitted again.
    fn start(&mut self, model: &Model) {
        // The store is owned until the last host over it is gone.
        self.sessions = Default::default();
        self.host = None;
        let store = Arc::new(open_store(&self.place.path, clock()).unwrap());
        let host = Host::builder()
            .policy(document(model.rules))
            .resources(self.resources())
            .journal(Arc::clone(&store) as Arc<dyn Journal>)
            .artefacts(CODE.path())
            .clock(clock)
            .build()
            .unwrap();
        self.host = Some((host, store));
        for (which, build) in &model.builds {
            self.admit(*which, *build).unwrap();
        }
    }

    fn admit(&mut self, which: Which, build: u64) -> Result<(), Refusal> {
        let bytes = bytes(which, build);
        self.digests.insert(Digest::of(&bytes), (which, build));
        let name = match which {
            Which::Reader => "echo.wasm",
            Which::Writer => "store-driver.wasm",
        };
        let mut admission = Admission::by_operator("acme".parse().unwrap(), name);
        admission.contract.approval = Some(ApprovalRequirement::NoApproval);
        let admitted = RUNTIME.block_on(self.host().admit(bytes, admission))?;
        let own = admitted.iter().find(|entry| entry.id == capability(which));
        let verdict = &own.unwrap().verdict;
        assert!(verdict.failure().is_none(), "{verdict:?}");
        Ok(())
    }

    /// What decides at `now`, and is not to be changed by a no. A lease that is over decides
    /// nothing, whether or not that is on record yet.
    fn authority(&self, now: u64) -> Value {
        let mut state = Value::Null;
        let (_, store) = self.host.as_ref().unwrap();
        store.look(&mut |found| state = serde_json::to_value(found).unwrap());
        let live: serde_json::Map<String, Value> = state["bindings"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, binding)| binding["ended"].is_null())
            .filter(|(_, binding)| binding["pins"]["lease_until"].as_u64() > Some(now))
            .map(|(handle, binding)| (handle.clone(), binding.clone()))
            .collect();
        let statuses: serde_json::Map<String, Value> = state["proposals"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(id, proposal)| (id.clone(), proposal["status"].clone()))
            .collect();
        for bucket in state["buckets"].as_array().unwrap() {
            let of = |name: &str| bucket[1][name].as_u64().unwrap();
            assert!(of("spent") + of("reserved") <= of("limit"), "I22: {bucket}");
        }
        json!({
            "sessions": state["sessions"], "live": live, "proposals": statuses,
            "calls": state["calls"], "effects": state["effects"], "buckets": state["buckets"],
            "switches": state["switches"],
        })
    }

    fn session(&self, slot: usize) -> Result<&Session, Refusal> {
        let none = || Refusal::new(bindery_types::ErrorType::HandleInvalid, "no session");
        self.sessions[slot].as_ref().ok_or_else(none)
    }

    fn wish(which: Which, writing: bool, ttl: Option<u64>) -> ScopeRequest {
        let access = if writing { "read_write" } else { "read_only" };
        let mut wish = match which {
            Which::Reader => json!({}),
            Which::Writer => json!({ "grants": { "notes": { "access": access } } }),
        };
        if let Some(ttl) = ttl {
            wish["ttl_ms"] = json!(ttl);
        }
        serde_json::from_value(wish).unwrap()
    }

    /// Does the verb; `model` has done it already.
    pub(crate) fn step(&mut self, model: &Model, verb: &Verb) {
        let before = self.authority(model.now);
        let came = self.did(model, verb);
        self.compare(model, verb, &came);
        let looked = matches!(verb, Verb::Look(_));
        if looked || matches!(model.expected, Expected::No(_)) {
            assert_eq!(
                self.authority(model.now),
                before,
                "I2, I42: {verb:?} came to {came:?}"
            );
        }
        for argument in 0..3 {
            let counted = self.double.of(&format!("a{argument}")) as u64;
            let expected = model.effects.get(&argument).copied().unwrap_or(0);
            assert_eq!(counted, expected, "I6, I16, I37: {verb:?}");
        }
    }

    fn did(&mut self, model: &Model, verb: &Verb) -> Came {
        let host = self.host().clone();
        match verb {
            Verb::Admit(which) => self.admit(*which, model.builds[which]).into(),
            Verb::Open { slot, principal } => {
                if let Some(old) = self.sessions[*slot].take() {
                    RUNTIME.block_on(old.end()).unwrap();
                }
                match RUNTIME.block_on(host.session(spec(model.sessions, *principal))) {
                    Ok(session) => {
                        self.sessions[*slot] = Some(session);
                        Came::Done
                    }
                    Err(refusal) => Came::No(refusal),
                }
            }
            Verb::End { slot, cancel } => match self.sessions[*slot].take() {
                None => Came::No(self.session(*slot).err().unwrap()),
                Some(session) if *cancel => RUNTIME.block_on(session.cancel()).into(),
                Some(session) => RUNTIME.block_on(session.end()).into(),
            },
            Verb::Bind {
                slot,
                which,
                writing,
                ttl,
            } => self
                .bind(*slot, *which, Self::wish(*which, *writing, *ttl))
                .into(),
            Verb::Narrow {
                slot,
                binding,
                writing,
                ttl,
            } => {
                let which = model.bindings[*binding].which;
                self.narrow(*slot, *binding, &Self::wish(which, *writing, *ttl))
                    .into()
            }
            Verb::Call {
                slot,
                binding,
                key,
                argument: number,
            } => {
                let which = model.bindings[*binding].which;
                let options = CallOptions {
                    idempotency_key: key.map(|key| format!("key-{key}").parse().unwrap()),
                    ..CallOptions::default()
                };
                let text = argument(which, *number).to_string();
                match self.session(*slot) {
                    Err(refusal) => Came::No(refusal),
                    Ok(session) => {
                        let called = session.call(&self.handles[*binding], &text, &options);
                        Came::Replied(Box::new(RUNTIME.block_on(called)))
                    }
                }
            }
            Verb::Release { slot, binding } => self
                .session(*slot)
                .and_then(|session| {
                    RUNTIME.block_on(session.release(&self.handles[*binding], "done"))
                })
                .into(),
            Verb::RevokeBinding(binding) => {
                let target = Target::Binding(self.handles[*binding].parse().unwrap());
                RUNTIME.block_on(host.revoke(target, "an incident")).into()
            }
            Verb::Revoke(aim) => RUNTIME
                .block_on(host.revoke(target(*aim), "an incident"))
                .into(),
            Verb::Lift(aim) => RUNTIME.block_on(host.lift(target(*aim), "over")).into(),
            Verb::Reload(rules) => RUNTIME
                .block_on(host.reload(document(*rules), self.resources()))
                .map(|_| ())
                .into(),
            Verb::BadReload => {
                let text = format!(
                    "{FRAME}{GRANT}[[policy.rule]]\ndecision = \"allow\"\n\
                     why = \"a name\"\nnames = [\"no_such\"]\n"
                );
                let wrong = Document::parse("bindery.toml", &text).unwrap();
                let version = host.policy_version();
                let came = RUNTIME.block_on(host.reload(wrong, self.resources()));
                assert_eq!(host.policy_version(), version, "I12");
                came.map(|_| ()).into()
            }
            Verb::Approve(question) => RUNTIME
                .block_on(host.approve(self.proposals[*question], "looked at it"))
                .into(),
            Verb::Deny(question) => RUNTIME
                .block_on(host.deny(self.proposals[*question], "not this"))
                .into(),
            Verb::Restart => {
                drop(host);
                self.start(model);
                Came::Done
            }
            Verb::Clock(_) => {
                CLOCK.store(model.clock, Ordering::SeqCst);
                // What the host never saw of a clock it cannot remember: it is made to look.
                RUNTIME.block_on(host.accept_writes("as before")).into()
            }
            Verb::Look(slot) => {
                host.catalogue();
                host.proposals();
                if let Ok(session) = self.session(*slot) {
                    for which in [Which::Reader, Which::Writer] {
                        let _ = session.describe(&capability(which));
                        let _ = session.validate(&capability(which));
                    }
                    session.environment().unwrap();
                }
                Came::Done
            }
        }
    }

    fn bind(&mut self, slot: usize, which: Which, wish: ScopeRequest) -> Result<(), Refusal> {
        let id = capability(which);
        let rows = self.host().catalogue();
        let row = rows.iter().find(|row| *row.descriptor.id() == id).unwrap();
        let request = BindRequest {
            implementation: Some(row.descriptor.implementation_digest()),
            descriptor: Some(row.descriptor.digest()),
            scope: Some(wish),
            ..BindRequest::default()
        };
        let bound = RUNTIME.block_on(self.session(slot)?.bind(&id, &request))?;
        self.handles.push(bound.handle.to_string());
        Ok(())
    }

    fn narrow(&mut self, slot: usize, binding: usize, wish: &ScopeRequest) -> Result<(), Refusal> {
        let session = self.session(slot)?;
        let bound = RUNTIME.block_on(session.narrow(&self.handles[binding], wish))?;
        self.handles.push(bound.handle.to_string());
        Ok(())
    }

    /// I4, I6, I8, I10, I11, I16, I38: what came is what the model says must come.
    fn compare(&mut self, model: &Model, verb: &Verb, came: &Came) {
        let say = || format!("{verb:?} at {} came to {came:?}", model.now);
        let refused = match came {
            Came::No(refusal) => Some(refusal),
            Came::Replied(reply) => match &reply.run.outcome {
                Outcome::Refused(refusal) => Some(refusal),
                Outcome::Value(_) | Outcome::CapabilityError(_) => None,
            },
            Came::Done => None,
        };
        let word = refused.map(|refusal| refusal.kind().as_str());
        match &model.expected {
            Expected::Done => assert_eq!(word, None, "{}", say()),
            Expected::No(expected) => assert_eq!(word, Some(*expected), "{}", say()),
            Expected::Asked { proposal } => {
                assert_eq!(word, Some("approval_required"), "I14: {}", say());
                let Came::Replied(reply) = came else {
                    panic!("{}", say())
                };
                let id = reply.proposal.unwrap();
                match self.proposals.get(*proposal) {
                    Some(known) => assert_eq!(*known, id, "one question is asked once"),
                    None => self.proposals.push(id),
                }
            }
            Expected::Value { fresh, effect } => {
                assert_eq!(word, None, "{}", say());
                let (
                    Came::Replied(reply),
                    Verb::Call {
                        slot, binding, key, ..
                    },
                ) = (came, verb)
                else {
                    panic!("{}", say())
                };
                let Outcome::Value(value) = &reply.run.outcome else {
                    panic!("{}", say())
                };
                let held = &model.bindings[*binding];
                let denied = held.which == Which::Writer && !effect && *fresh;
                let says_denied = *fresh && value.contains("access-denied");
                assert_eq!(says_denied, denied, "I4: {}", say());
                if let Some(key) = key {
                    let principal = model.slots[*slot].as_ref().unwrap().principal;
                    let place = (principal, held.which, held.build, *key);
                    match fresh {
                        true => drop(self.kept.insert(place, value.clone())),
                        false => assert_eq!(self.kept[&place], *value, "I16"),
                    }
                }
            }
        }
    }

    /// The record from its first line: I8, I9, I11, I17, I18.
    pub(crate) fn check_records(&self, records: &[Record]) {
        let (mut policy, mut open) = (None, BTreeSet::new());
        let mut of_binding = BTreeMap::new();
        for record in records {
            match &record.entry.event {
                Event::EnvironmentAdmitted(e) => policy = Some(e.policy_version),
                Event::PolicyReplaced(e) => policy = Some(e.to),
                Event::BindingOpened(e) => {
                    assert_eq!(Some(e.decision.policy_version), policy, "I11");
                    of_binding.insert(e.binding, e.pins.capability.clone());
                }
                Event::CallIntent(e) => {
                    assert_eq!(Some(e.decision.policy_version), policy, "I11");
                    assert_eq!(of_binding[&e.binding], e.capability, "I8, I9");
                    let digest = e.capability.implementation.unwrap();
                    assert!(self.digests.contains_key(&digest), "I9");
                    assert!(open.insert(e.call));
                }
                Event::CallOutcome(e) => assert!(open.remove(&e.call), "I18"),
                Event::CallUncertain(e) => panic!("I17: nothing was interrupted: {e:?}"),
                _ => {}
            }
        }
        assert!(open.is_empty(), "R-510: {open:?}");
    }

    /// Every record so far.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.host().records(&ALL).unwrap()
    }

    /// The lines of the record, and the state that the store has.
    pub(crate) fn exported(&self) -> (Vec<u8>, Value) {
        let (_, store) = self.host.as_ref().unwrap();
        let mut lines = Vec::new();
        store.export(&mut lines).unwrap();
        let state = store.flush().unwrap();
        (lines, serde_json::to_value(state).unwrap())
    }

    /// Ends the host; where its store was.
    fn closed(mut self) -> (PathBuf, Self) {
        self.sessions = Default::default();
        self.host = None;
        (self.place.path.clone(), self)
    }
}

fn target(aim: Aim) -> Target {
    match aim {
        Aim::Capability(which) => Target::Capability(capability(which)),
        Aim::Principal(of) => Target::Principal(format!("token:p{of}").parse().unwrap()),
        Aim::All => Target::All,
    }
}

fn spec(number: usize, principal: usize) -> SessionSpec {
    SessionSpec {
        who: Who {
            session: SessionId::from_random([u8::try_from(number).unwrap(); 16]),
            run: None,
            principal: format!("token:p{principal}").parse().unwrap(),
            rights: Rights::Model,
            tenant: "local".parse().unwrap(),
            agent: "tester".parse().unwrap(),
            archetype: "default".parse().unwrap(),
        },
        mode: Some(PermissionMode::FullAccess),
        allow: None,
        deny: Vec::new(),
        project: None,
        stages: None,
    }
}

struct Governed;

impl StateMachineTest for Governed {
    type SystemUnderTest = Machine;
    type Reference = Reference;

    fn init_test(model: &Model) -> Machine {
        Machine::new(model)
    }

    fn apply(mut machine: Machine, model: &Model, verb: Verb) -> Machine {
        machine.step(model, &verb);
        machine
    }

    fn teardown(machine: Machine, _: Model) {
        let (path, machine) = machine.closed();
        machine.check_records(&records_in(&path));
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    })]

    /// I2, I4, I6, I8, I9, I10, I11, I12, I16, I17, I18, I22, I38, I42: each where it is
    /// asserted. More cases with `BINDERY_MACHINE_CASES`.
    #[test]
    fn a_governed_host_does_what_a_model_of_plain_lists_says(sequential 1..40 => Governed);
}
