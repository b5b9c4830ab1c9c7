//! What changes under calls that run: authority that is withdrawn, policy that is replaced,
//! more callers than there are slots. The other side of every effect keeps a log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bindery::ledger::Target;
use bindery::ledger::event::Event;
use bindery::policy::Document;
use bindery::{
    Admission, Bound, Budget, CallOptions, Cancel, ErrorType, LimitName, Outcome, Reply, Resources,
};
use bindery_artefacts::rust_guest;
use bindery_types::ApprovalRequirement;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::governed_double::Double;
use crate::governed_scene::{FRAME, Stand, call, echo, refusal, spec};

const ACT: &str = "acme:store-driver/driver#act";
/// More effects than a call comes to before it is ended.
const MANY: usize = 3_000;
const GRANT: &str = r#"
[budgets]
deadline = "60s"
store_bytes = "1MiB"
[ceilings]
deadline = "60s"
[grants.notes]
kind = "store"
store = "notes"
access = "read_write"
"#;
const RULE: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario's own store"
namespaces = ["acme"]
grants = ["notes"]
"#;
/// Decides nothing about anything here, and makes the rules others.
const OTHER_RULE: &str = r#"
[[policy.rule]]
decision = "deny"
namespaces = ["elsewhere"]
"#;

struct Scene {
    stand: Stand,
    double: Arc<Double>,
}

impl Scene {
    async fn new(double: Arc<Double>, budget: Budget) -> Self {
        let resources = Resources::default().store("notes", Arc::clone(&double) as _);
        let document = format!("{GRANT}{RULE}");
        let stand = Stand::new(&document, resources, |builder| builder.budget(budget)).await;
        stand.host.accept_writes("the scenario").await.unwrap();
        let bytes = std::fs::read(rust_guest("store-driver").unwrap()).unwrap();
        let mut admission = Admission::by_operator("acme".parse().unwrap(), "store-driver.wasm");
        admission.contract.approval = Some(ApprovalRequirement::NoApproval);
        let admitted = stand.host.admit(bytes, admission).await.unwrap();
        let act = admitted.iter().find(|entry| entry.id.to_string() == ACT);
        let verdict = &act.unwrap().verdict;
        assert!(verdict.failure().is_none(), "{verdict:?}");
        Self { stand, double }
    }

    async fn bound(&self) -> Bound {
        let scope = json!({ "grants": { "notes": { "access": "read_write" } } });
        self.stand.bind(ACT, Some(scope)).await.unwrap()
    }

    /// A call that makes so many effects, on a task of its own.
    fn spawn(&self, bound: &Bound, times: usize, cancel: &Cancel) -> JoinHandle<Reply> {
        let (session, handle) = (self.stand.session.clone(), bound.handle.to_string());
        let step = json!({ "increment": [key_of(bound), 1] });
        let arguments = json!({ "store": "notes", "steps": vec![step; times] });
        let options = CallOptions {
            cancel: cancel.clone(),
            ..CallOptions::default()
        };
        tokio::spawn(async move {
            session
                .call(&handle, &arguments.to_string(), &options)
                .await
        })
    }

    async fn reload(&self, rules: &str) {
        let document = Document::parse("bindery.toml", &format!("{FRAME}{GRANT}{rules}")).unwrap();
        let resources = Resources::default().store("notes", Arc::clone(&self.double) as _);
        self.stand.host.reload(document, resources).await.unwrap();
    }
}

/// The key that calls through a binding add to.
fn key_of(bound: &Bound) -> String {
    bound.handle.to_string().chars().take(12).collect()
}

/// The ways in which authority under a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    RevokeBinding,
    RevokeCapability,
    RevokePrincipal,
    RevokeAll,
    Cancel,
    End,
    Narrower,
}

const WAYS: [Way; 7] = [
    Way::RevokeBinding,
    Way::RevokeCapability,
    Way::RevokePrincipal,
    Way::RevokeAll,
    Way::Cancel,
    Way::End,
    Way::Narrower,
];

impl Way {
    async fn go(self, scene: &Scene, bound: &Bound) {
        let revoke = match self {
            Self::RevokeBinding => Target::Binding(bound.handle),
            Self::RevokeCapability => Target::Capability(ACT.parse().unwrap()),
            Self::RevokePrincipal => Target::Principal("token:model".parse().unwrap()),
            Self::RevokeAll => Target::All,
            Self::Cancel => return scene.stand.session.cancel().await.unwrap(),
            Self::End => return scene.stand.session.end().await.unwrap(),
            Self::Narrower => return scene.reload("").await,
        };
        scene
            .stand
            .host
            .revoke(revoke, "an incident")
            .await
            .unwrap();
    }
}

/// I6, I37, R-190, R-547: the call makes an effect every 10 ms; by the log of the other side
/// none begins after whoever withdrew it was answered, and the record says what overtook it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_effect_begins_after_the_answer_to_whoever_withdrew_the_authority() {
    for way in WAYS {
        let double = Double::taking(Duration::from_millis(10));
        let scene = Scene::new(double, Budget::default()).await;
        let bound = scene.bound().await;
        let call = scene.spawn(&bound, MANY, &Cancel::new());
        scene.double.until_begun(5).await;
        way.go(&scene, &bound).await;
        let answered = Instant::now();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let late = scene.double.begun_after(answered);
        assert_eq!(late, 0, "I6, I37: {way:?}");
        let reply = tokio::time::timeout(Duration::from_secs(5), call).await;
        let reply = reply
            .unwrap_or_else(|_| panic!("{way:?}: it runs on"))
            .unwrap();
        assert_eq!(
            refusal(&reply).kind(),
            ErrorType::UncertainSideEffect,
            "{way:?}, C-39"
        );
        assert_eq!(scene.stand.count("call_uncertain"), 1, "{way:?}: R-510");
        let noted = &reply.run.receipt.unwrap().effects;
        let seen = scene.double.begun();
        assert!(
            (seen - 1..=seen).contains(&noted.len()),
            "{way:?}, I37: {} of {seen}",
            noted.len()
        );
        let again = scene.spawn(&bound, 1, &Cancel::new()).await.unwrap();
        assert!(matches!(again.run.outcome, Outcome::Refused(_)), "{way:?}");
        assert_eq!(
            scene.double.begun(),
            seen,
            "{way:?}: nothing through it any more"
        );
    }
}

/// I6: the same without any pause between effects, so that the withdrawal meets the call
/// in the middle of a step, many times.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_effect_begins_after_the_answer_however_closely_they_follow_each_other() {
    let scene = Scene::new(Double::taking(Duration::ZERO), Budget::default()).await;
    for round in 0..60 {
        let bound = scene.bound().await;
        let begun = scene.double.begun();
        let calls: Vec<_> = (0..3)
            .map(|_| scene.spawn(&bound, MANY, &Cancel::new()))
            .collect();
        scene.double.until_begun(begun + 3 + round % 7).await;
        let target = Target::Binding(bound.handle);
        scene
            .stand
            .host
            .revoke(target, "an incident")
            .await
            .unwrap();
        let answered = Instant::now();
        tokio::time::sleep(Duration::from_millis(10)).await;
        let late = scene.double.begun_after(answered);
        assert_eq!(late, 0, "I6, round {round}");
        for call in calls {
            let reply = call.await.unwrap();
            assert!(
                matches!(reply.run.outcome, Outcome::Refused(_)),
                "{reply:?}"
            );
        }
    }
}

/// The twin of both: what is withdrawn elsewhere leaves a call alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_whose_authority_stands_goes_on_beside_withdrawals_of_others() {
    let scene = Scene::new(Double::taking(Duration::from_millis(2)), Budget::default()).await;
    let (bound, other) = (scene.bound().await, scene.bound().await);
    let call = scene.spawn(&bound, 100, &Cancel::new());
    scene.double.until_begun(3).await;
    let target = Target::Binding(other.handle);
    scene.stand.host.revoke(target, "another").await.unwrap();
    let second = scene.stand.host.session(spec(2, "other")).await.unwrap();
    second.cancel().await.unwrap();
    let reply = call.await.unwrap();
    assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
    assert_eq!(scene.double.of(&key_of(&bound)), 100);
}

/// R-501, R-544, R-546, I11: under a policy that grants the same the call goes on and its
/// binding is pinned anew; the next use is decided by the new rules.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_policy_replaced_during_a_call_that_grants_the_same_lets_it_end_and_decides_the_next() {
    let scene = Scene::new(Double::shut(), Budget::default()).await;
    let bound = scene.bound().await;
    let before = scene.stand.host.policy_version();
    let call = scene.spawn(&bound, 1, &Cancel::new());
    scene.double.until_begun(1).await;
    scene.reload(&format!("{RULE}{OTHER_RULE}")).await;
    let after = scene.stand.host.policy_version();
    assert_ne!(before, after);
    scene.double.open();
    let reply = call.await.unwrap();
    assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
    assert_eq!(scene.stand.count("binding_refreshed"), 1, "R-546");
    let reply = scene.spawn(&bound, 1, &Cancel::new()).await.unwrap();
    assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
    let decided_by: Vec<_> = scene
        .stand
        .records()
        .into_iter()
        .filter_map(|record| match record.entry.event {
            Event::CallIntent(intent) => Some(intent.decision.policy_version),
            _ => None,
        })
        .collect();
    assert_eq!(decided_by, [before, after], "I11");
}

/// R-066, R-501, R-547, I11: a policy that takes it away ends the binding and the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_policy_replaced_during_a_call_that_takes_it_away_ends_call_and_binding() {
    let double = Double::taking(Duration::from_millis(5));
    let scene = Scene::new(double, Budget::default()).await;
    let bound = scene.bound().await;
    let call = scene.spawn(&bound, MANY, &Cancel::new());
    scene.double.until_begun(2).await;
    scene.reload(OTHER_RULE).await;
    let reply = call.await.unwrap();
    assert_eq!(refusal(&reply).kind(), ErrorType::UncertainSideEffect);
    let reply = scene.spawn(&bound, 1, &Cancel::new()).await.unwrap();
    assert_eq!(refusal(&reply).kind(), ErrorType::BindingStale, "R-066");
    let scope = json!({ "grants": { "notes": { "access": "read_write" } } });
    let refused = scene.stand.bind(ACT, Some(scope)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorType::BindingDenied);
    // Granted again: what ended stays ended, and a new binding is had.
    scene.reload(RULE).await;
    let reply = scene.spawn(&bound, 1, &Cancel::new()).await.unwrap();
    assert_eq!(refusal(&reply).kind(), ErrorType::BindingStale, "I4, I6");
    let fresh = scene.bound().await;
    let reply = scene.spawn(&fresh, 1, &Cancel::new()).await.unwrap();
    assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
}

/// C-09, R-064: rules are an input of the catalogue's version, so what is admitted after they
/// were replaced follows from the version that they came to; nothing else is admitted twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_is_admitted_after_the_policy_was_replaced() {
    let mut scene = Scene::new(Double::taking(Duration::ZERO), Budget::default()).await;
    let before = scene.stand.host.catalogue().len();
    scene.reload(&format!("{RULE}{OTHER_RULE}")).await;
    scene.stand.admit("echo.wasm", echo()).await;
    assert_eq!(scene.stand.host.catalogue().len(), before + 1);
    let bound = scene.stand.bind("acme:echo/echo#say", None).await.unwrap();
    let said = call(&scene.stand.session, &bound, &json!({ "text": "x" })).await;
    assert!(matches!(said.run.outcome, Outcome::Value(_)), "{said:?}");
}

/// I11, I8: calls against reloads, as fast as both go: each start was allowed by the policy
/// that was current at the place of its record.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_start_was_allowed_by_the_policy_that_was_current_when_it_was_recorded() {
    let scene = Arc::new(Scene::new(Double::taking(Duration::ZERO), Budget::default()).await);
    let bound = scene.bound().await;
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..6)
        .map(|_| {
            let (scene, bound) = (Arc::clone(&scene), bound.clone());
            let over = Arc::clone(&over);
            tokio::spawn(async move {
                let mut started = 0;
                while !over.load(Ordering::SeqCst) {
                    let reply = scene.spawn(&bound, 1, &Cancel::new()).await.unwrap();
                    match &reply.run.outcome {
                        Outcome::Value(_) => started += 1,
                        Outcome::Refused(refusal) => {
                            // Between a new policy and a binding that is pinned to it.
                            let kinds = [ErrorType::BindingStale, ErrorType::CatalogChanged];
                            assert!(kinds.contains(&refusal.kind()), "{refusal:?}");
                        }
                        Outcome::CapabilityError(error) => panic!("{error}"),
                    }
                }
                started
            })
        })
        .collect();
    for round in 0..40 {
        let other = if round % 2 == 0 { OTHER_RULE } else { "" };
        let before = scene.double.begun();
        scene.reload(&format!("{RULE}{other}")).await;
        // At least one start a round, however busy the machine is.
        while scene.double.begun() == before {
            tokio::task::yield_now().await;
        }
    }
    over.store(true, Ordering::SeqCst);
    let mut started = 0;
    for caller in callers {
        started += caller.await.unwrap();
    }
    let (mut current, mut looked_at) = (None, 0);
    for record in scene.stand.records() {
        match record.entry.event {
            Event::EnvironmentAdmitted(e) => current = Some(e.policy_version),
            Event::PolicyReplaced(e) => {
                assert_eq!(current, Some(e.from));
                current = Some(e.to);
            }
            Event::CallIntent(e) => {
                assert_eq!(Some(e.decision.policy_version), current, "I11");
                looked_at += 1;
            }
            _ => {}
        }
    }
    assert_eq!(looked_at, started, "I37");
    assert_eq!(scene.double.begun(), started, "I37");
    assert!(started > 20, "{started}");
}

/// H44, B9, R-521, I36: more callers than slots; each is answered, by a value of its own
/// call, and there are never more inside than there are slots.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_hundred_callers_on_32_slots_are_all_answered_and_none_is_lost() {
    const CALLERS: usize = 500;
    let slots = Budget::default().with(LimitName::Concurrent, 32).unwrap();
    let scene = Scene::new(Double::taking(Duration::from_millis(3)), slots).await;
    let bound = scene.bound().await;
    let calls: Vec<_> = (0..CALLERS)
        .map(|_| scene.spawn(&bound, 2, &Cancel::new()))
        .collect();
    let mut answered = 0;
    for call in calls {
        let reply = call.await.unwrap();
        assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
        answered += 1;
    }
    assert_eq!(answered, CALLERS);
    assert_eq!(scene.double.begun(), 2 * CALLERS, "I37: two effects each");
    let (inside, most) = scene.double.inside();
    assert_eq!(inside, 0);
    assert!(most <= 32, "H44: {most} at once");
    assert!(most > 8, "{most}: they never met");
    assert_eq!(scene.stand.count("call_intent"), CALLERS);
    assert_eq!(scene.stand.count("call_outcome"), CALLERS, "R-510");
}

/// H44, B9, H21: who waits and is cancelled leaves at once, having done nothing; those that
/// stay get the slots. A caller beyond what may wait is told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_waiters_leave_while_all_slots_are_taken_and_the_others_are_served() {
    const SLOTS: usize = 8;
    let slots = Budget::default()
        .with(LimitName::Concurrent, SLOTS as u64)
        .and_then(|budget| budget.with(LimitName::Waiting, 100))
        .unwrap();
    let scene = Scene::new(Double::shut(), slots).await;
    let bound = scene.bound().await;
    let first: Vec<_> = (0..SLOTS)
        .map(|_| scene.spawn(&bound, 1, &Cancel::new()))
        .collect();
    scene.double.until_begun(SLOTS).await;
    let (leaving, staying) = (Cancel::new(), Cancel::new());
    let gone: Vec<_> = (0..50).map(|_| scene.spawn(&bound, 1, &leaving)).collect();
    let kept: Vec<_> = (0..50).map(|_| scene.spawn(&bound, 1, &staying)).collect();
    while scene.stand.count("call_intent") < SLOTS + 100 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // The intents are there; the last of them is given the time to stand in the queue.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let beyond = scene.spawn(&bound, 1, &Cancel::new()).await.unwrap();
    assert_eq!(refusal(&beyond).kind(), ErrorType::Busy, "H44");
    leaving.cancel();
    for call in gone {
        let reply = tokio::time::timeout(Duration::from_secs(10), call).await;
        let reply = reply.expect("it waits on").unwrap();
        assert_eq!(refusal(&reply).kind(), ErrorType::Cancelled, "H21");
        assert!(reply.run.receipt.is_none(), "nothing was started");
    }
    assert_eq!(scene.double.begun(), SLOTS, "I6: who left did nothing");
    scene.double.open();
    for call in first.into_iter().chain(kept) {
        let reply = call.await.unwrap();
        assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
    }
    assert_eq!(scene.double.begun(), SLOTS + 50, "I37");
    assert_eq!(
        scene.stand.count("call_uncertain"),
        0,
        "no doubt about what never began"
    );
    let (_, most) = scene.double.inside();
    assert!(most <= SLOTS, "{most}");
}
