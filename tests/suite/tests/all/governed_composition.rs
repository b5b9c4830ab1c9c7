//! Components that call components through the governed way: R-027, R-655 … R-674, and what
//! each of them may not.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bindery::ledger::Target;
use bindery::ledger::event::{CallIntent, CallOutcome, Event};
use bindery::ledger::words::Meter;
use bindery::policy::Stage;
use bindery::{
    CallId, ErrorType, Hook, HookAnswer, HookCall, HookRoute, Host, HostBuilder, LimitName,
    NestedUse, Outcome, Refusal, Resources, Veto,
};
use bindery_artefacts::{built, javascript, rust_guest};
use serde_json::{Value, json};

use crate::governed_scene::{
    Stand, asking, bind, call, echo, echo_as, endless, refusal, spec, value,
};
use crate::rig;

const RELAY: &str = "acme:relay/front#relay";
const WORK: &str = "acme:relay/steps#work";
const VALUES: [&str; 4] = ["echo-item", "echo-bytes", "echo-option", "divide"];

/// A grant named `name` that lends calls of `capability`.
fn lend(name: &str, capability: &str) -> String {
    format!("[grants.{name}]\nkind = \"binding\"\ncapability = \"{capability}\"\n")
}

/// A rule that allows one capability, with these grants and what else it says.
fn allow(capability: &str, grants: &[&str], more: &str) -> String {
    let grants: Vec<String> = grants.iter().map(|name| format!("\"{name}\"")).collect();
    let grants = grants.join(", ");
    format!(
        "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"the scenario\"\n\
         capabilities = [\"{capability}\"]\ngrants = [{grants}]\n{more}\n"
    )
}

/// The interface at `place` of a chain, and its capability.
fn link(place: usize) -> (String, String) {
    (
        format!("test:chain/l{place}@1.0.0"),
        format!("acme:chain/l{place}#say"),
    )
}

/// A chain of `length` components; the last is `last`, each other asks the next once.
async fn chain(length: usize, last: Vec<u8>, more: &str) -> Stand {
    let mut document = more.to_owned();
    for place in 0..length {
        let (_, capability) = link(place);
        let next = format!("to-{}", place + 1);
        let end = place + 1 == length;
        let grants: &[&str] = if end { &[] } else { &[&next] };
        document.push_str(&allow(&capability, grants, ""));
        if !end {
            document.push_str(&lend(&next, &link(place + 1).1));
        }
    }
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    for place in 0..length - 1 {
        let bytes = asking(&link(place).0, &link(place + 1).0, 1);
        stand.admit(&format!("l{place}.wasm"), bytes).await;
    }
    stand.admit("last.wasm", last).await;
    stand
}

fn last(length: usize) -> Vec<u8> {
    echo_as(&link(length - 1).0, "text")
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// Every call on record: its intent and its outcome.
fn calls(stand: &Stand) -> BTreeMap<CallId, (CallIntent, Option<CallOutcome>)> {
    let mut calls = BTreeMap::new();
    for record in stand.records() {
        match record.entry.event {
            Event::CallIntent(intent) => {
                calls.insert(intent.call, (*intent, None));
            }
            Event::CallOutcome(outcome) => {
                if let Some((_, end)) = calls.get_mut(&outcome.call) {
                    *end = Some(*outcome);
                }
            }
            _ => {}
        }
    }
    calls
}

/// R-027: what a call says of its nested calls is what these say of themselves.
fn assert_sums(stand: &Stand, root: CallId, nested: NestedUse) {
    let calls = calls(stand);
    let spent = |of: CallId, meter: Meter| calls[&of].1.as_ref().unwrap().spent[&meter];
    let sum = |of: CallId, meter: Meter| -> u64 {
        let children = calls
            .values()
            .filter(|(intent, _)| intent.parent == Some(of));
        children.map(|(intent, _)| spent(intent.call, meter)).sum()
    };
    assert_eq!(sum(root, Meter::Fuel), nested.fuel, "fuel");
    assert_eq!(sum(root, Meter::HostCalls), nested.host_calls, "host calls");
    assert_eq!(sum(root, Meter::OutputBytes), nested.bytes_out, "bytes");
    assert_eq!(calls.len() as u64 - 1, nested.calls, "calls");
    for (of, (intent, _)) in &calls {
        assert!(
            spent(*of, Meter::Fuel) > sum(*of, Meter::Fuel),
            "each computes"
        );
        let parent = intent.parent.map(|parent| &calls[&parent].0);
        if let Some(parent) = parent {
            assert!(
                parent.reserve[&Meter::Fuel] >= intent.reserve[&Meter::Fuel],
                "R-662"
            );
        }
    }
}

/// One test compiles what all of them use.
static COMPILING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The relay in Rust, its steps in Rust, the values in JavaScript; none where the last
/// cannot be built.
async fn three_languages(more: &str) -> Option<Stand> {
    let values = std::fs::read(javascript("bare").unwrap()?).unwrap();
    let mut document = format!(
        "{}{}{more}",
        lend("steps", WORK),
        allow(RELAY, &["steps"], "")
    );
    let names: Vec<String> = VALUES.iter().map(|name| format!("v-{name}")).collect();
    for (name, function) in names.iter().zip(VALUES) {
        let capability = format!("acme:echo/values#{function}");
        document.push_str(&lend(name, &capability));
        document.push_str(&allow(&capability, &[], ""));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    document.push_str(&allow(WORK, &names, ""));
    let folder = built().unwrap().join("compiled");
    // Ten times the default, and kept: an interpreter compiles slowly beside other tests.
    let limits = [
        (LimitName::Concurrent, 4),
        (LimitName::CompileTime, 600_000),
    ];
    let build = |builder: HostBuilder| builder.budget(rig::budget(&limits)).artefacts(folder);
    let mut stand = Stand::new(&document, Resources::default(), build).await;
    let once = COMPILING.lock().await;
    stand.admit("values.wasm", values).await;
    drop(once);
    for guest in ["relay", "steps"] {
        let bytes = std::fs::read(rust_guest(guest).unwrap()).unwrap();
        stand.admit(&format!("{guest}.wasm"), bytes).await;
    }
    Some(stand)
}

fn relay(times: u32, bytes: u32, count: u64) -> Value {
    json!({ "times": times, "bytes": bytes, "count": count })
}

/// Three components of two languages: JSON in, typed values between them, JSON out.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_two_languages_is_governed_link_by_link_and_its_sums_are_the_roots() {
    let Some(stand) = three_languages("[budgets]\ndeadline = \"30s\"\n").await else {
        return;
    };
    let reply = stand.call(RELAY, &relay(2, 300, 10)).await;
    assert_eq!(value(&reply), "turn 0 5 a,é\"; turn 1 5 a,é\"");
    let receipt = reply.run.receipt.as_ref().unwrap();
    let nested = receipt.nested.unwrap();
    // For each of the two: one of work, five of values.
    assert_eq!(nested.calls, 2 * (1 + 5), "R-663");
    assert_eq!(receipt.effects.len(), 2, "one effect a call of its own");
    assert_sums(&stand, reply.call, nested);
    assert_eq!(stand.count("binding_opened"), 6, "each of them is bound");

    let failed = stand.call(RELAY, &relay(1, 1, 0)).await;
    let Outcome::CapabilityError(error) = &failed.run.outcome else {
        panic!("{failed:?}")
    };
    assert!(
        error.contains("ByZero"),
        "an error is a value on its way up: {error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_bytes_than_may_pass_between_components_are_refused_with_the_limit() {
    let Some(stand) = three_languages("[budgets]\ndeadline = \"30s\"\n").await else {
        return;
    };
    value(&stand.call(RELAY, &relay(1, 20_000, 2)).await);
    let reply = stand.call(RELAY, &relay(1, 30_000, 2)).await;
    let refusal = refusal(&reply);
    assert_eq!(refusal.kind(), ErrorType::BudgetExhausted, "{refusal:?}");
    assert_eq!(refusal.details()["limit"], "lift", "a byte costs 40 of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_passes_text_through_and_releasing_it_gives_all_of_it_back() {
    let stand = chain(3, last(3), "").await;
    let bound = stand.bind(&link(0).1, None).await.unwrap();
    let reply = call(&stand.session, &bound, &text("héllo \"x\"")).await;
    assert_eq!(value(&reply), "héllo \"x\"");
    let nested = reply.run.receipt.as_ref().unwrap().nested.unwrap();
    assert_eq!(nested.calls, 2);
    assert_sums(&stand, reply.call, nested);
    let handle = bound.handle.to_string();
    stand.session.release(&handle, "done").await.unwrap();
    assert_eq!(stand.count("binding_moved"), 3, "R-496");
    let after = call(&stand.session, &bound, &text("x")).await;
    assert_eq!(refusal(&after).kind(), ErrorType::BindingStale);
}

fn reason(refusal: &Refusal) -> &str {
    refusal.operator().unwrap_or_default()
}

/// One caller of `test:echo/echo@1.0.0`, and `callee` admitted beside it.
async fn pair(callee: Vec<u8>) -> Stand {
    let document = format!(
        "{}{}{}",
        lend("echo", "acme:echo/echo#say"),
        allow("acme:chain/l0#say", &["echo"], ""),
        allow("acme:echo/echo#say", &[], "")
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    stand.admit("callee.wasm", callee).await;
    let caller = asking(&link(0).0, "test:echo/echo@1.0.0", 1);
    stand.admit("caller.wasm", caller).await;
    stand
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_answered_by_exactly_its_version_with_equal_types_and_nothing_near_it() {
    let fits = pair(echo()).await;
    let reply = fits.call("acme:chain/l0#say", &text("same")).await;
    assert_eq!(value(&reply), "same");
    for (callee, said) in [
        (
            echo_as("test:echo/echo@1.0.1", "text"),
            "versions have to be equal",
        ),
        (
            echo_as("test:echo/echo@2.0.0", "text"),
            "versions have to be equal",
        ),
        (echo_as("test:echo/echo@1.0.0", "words"), "has other types"),
    ] {
        let stand = pair(callee).await;
        let refusal = stand.bind("acme:chain/l0#say", None).await.unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::DependencyMissing);
        assert!(reason(&refusal).contains(said), "{refusal:?}");
        assert_eq!(stand.count("binding_opened"), 0, "I42");
        assert_eq!(stand.count("bind_refused"), 1);
    }
}

/// I40.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_no_grant_names_a_capability_for_is_missing_before_anything_runs() {
    let document = allow("acme:chain/l0#say", &[], "");
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    stand.admit("callee.wasm", echo()).await;
    let caller = asking(&link(0).0, "test:echo/echo@1.0.0", 1);
    stand.admit("caller.wasm", caller).await;
    let reply = stand.call("acme:chain/l0#say", &text("x")).await;
    let refusal = refusal(&reply);
    assert_eq!(refusal.kind(), ErrorType::DependencyMissing, "R-658");
    assert!(refusal.message().contains("test:echo/echo@1.0.0"), "U3");
    assert!(reply.run.receipt.is_none(), "R-734");
    assert_eq!(stand.host.catalogue().len(), 2, "R-092: nothing was added");
}

/// I40.
#[tokio::test(flavor = "multi_thread")]
async fn a_callee_that_no_rule_allows_is_not_lent_by_its_caller() {
    let document = format!(
        "{}{}",
        lend("echo", "acme:echo/echo#say"),
        allow("acme:chain/l0#say", &["echo"], "")
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    stand.admit("callee.wasm", echo()).await;
    let caller = asking(&link(0).0, "test:echo/echo@1.0.0", 1);
    stand.admit("caller.wasm", caller).await;
    let refusal = stand.bind("acme:chain/l0#say", None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::DependencyMissing, "R-674");
    assert!(reason(&refusal).contains("may not be bound"), "{refusal:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn components_that_call_each_other_in_a_circle_are_not_bound() {
    let document = format!(
        "{}{}{}{}",
        lend("one", &link(1).1),
        lend("zero", &link(0).1),
        allow(&link(0).1, &["one"], ""),
        allow(&link(1).1, &["zero"], "")
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    for (own, other) in [(0, 1), (1, 0)] {
        let bytes = asking(&link(own).0, &link(other).0, 1);
        stand.admit(&format!("l{own}.wasm"), bytes).await;
    }
    let refusal = stand.bind(&link(0).1, None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::DependencyMissing);
    assert!(
        reason(&refusal).contains("would call itself"),
        "{refusal:?}"
    );
    assert_eq!(stand.count("binding_opened"), 0, "I42");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_nested_as_deep_as_the_limit_and_no_deeper() {
    let stand = chain(4, last(4), "").await;
    for (depth, passes) in [(3, true), (2, false), (0, false)] {
        let scope = json!({ "budget": { "nested_depth": depth.to_string() } });
        let bound = stand.bind(&link(0).1, Some(scope)).await.unwrap();
        let reply = call(&stand.session, &bound, &text("deep")).await;
        match passes {
            true => assert_eq!(value(&reply), "deep"),
            false => {
                assert_eq!(refusal(&reply).kind(), ErrorType::BudgetExhausted);
                assert_eq!(refusal(&reply).details()["limit"], "nested_depth");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callee_has_its_own_limit_and_never_more_than_its_caller_has_left() {
    let own = "budget = { fuel = \"1e6\" }";
    let document = format!(
        "{}{}{}",
        lend("to-1", &link(1).1),
        allow(&link(0).1, &["to-1"], ""),
        allow(&link(1).1, &[], own)
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    let caller = asking(&link(0).0, &link(1).0, 1);
    stand.admit("caller.wasm", caller).await;
    stand.admit("endless.wasm", endless(&link(1).0)).await;
    let reply = stand.call(&link(0).1, &text("x")).await;
    let of_callee = refusal(&reply);
    assert_eq!(of_callee.kind(), ErrorType::BudgetExhausted, "R-014");
    assert_eq!(of_callee.details()["value"], 1_000_000, "the callee's");
    assert_eq!(of_callee.details()["nested"], "test:chain/l1@1.0.0#say");
    let receipt = reply.run.receipt.as_ref().unwrap();
    assert_eq!(receipt.nested.unwrap().fuel, 1_000_000);
    assert!(receipt.fuel_used > 1_000_000, "its fuel is the caller's");

    let little = json!({ "budget": { "fuel": "100000" }, "grants": { "to-1": {} } });
    let bound = stand.bind(&link(0).1, Some(little)).await.unwrap();
    let reply = call(&stand.session, &bound, &text("x")).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::BudgetExhausted);
    let receipt = reply.run.receipt.as_ref().unwrap();
    assert!(receipt.fuel_used <= 100_000, "R-662, I22");
}

/// R-520.
#[tokio::test(flavor = "multi_thread")]
async fn what_runs_below_a_caller_ends_with_its_deadline_and_is_on_record() {
    let stand = chain(2, endless(&link(1).0), "[budgets]\ndeadline = \"300ms\"\n").await;
    let reply = stand.call(&link(0).1, &text("x")).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::Timeout, "{reply:?}");
    let calls = calls(&stand);
    assert_eq!(calls.len(), 2);
    assert!(calls.values().all(|(_, end)| end.is_some()), "R-510");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_nested_call_is_one_call_of_the_sessions_budget() {
    let stand = chain(3, last(3), "[aggregates.session]\ncalls = 4\n").await;
    let bound = stand.bind(&link(0).1, None).await.unwrap();
    let first = call(&stand.session, &bound, &text("x")).await;
    assert_eq!(value(&first), "x");
    let second = call(&stand.session, &bound, &text("x")).await;
    assert_eq!(refusal(&second).kind(), ErrorType::BudgetExhausted, "R-027");
    assert_eq!(calls(&stand).len(), 4);
}

/// Revokes the callee after it was called so many times.
struct Revokes {
    host: OnceLock<Host>,
    target: &'static str,
    seen: std::sync::atomic::AtomicUsize,
}

impl Hook for Revokes {
    fn name(&self) -> &str {
        "revokes"
    }

    fn after<'a>(&'a self, about: HookCall<'a>) -> HookAnswer<'a> {
        use std::sync::atomic::Ordering::SeqCst;
        Box::pin(async move {
            let nested = about.route == HookRoute::Nested && about.parent.is_some();
            if nested && self.seen.fetch_add(1, SeqCst) == 2 {
                let target = Target::Capability(self.target.parse().unwrap());
                let host = self.host.get().unwrap();
                let revoked = host.revoke(target, "incident 9").await;
                return revoked.map_err(|refusal| Veto(refusal.to_string()));
            }
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callee_that_is_revoked_while_its_caller_runs_is_not_reached_again() {
    let hook = Arc::new(Revokes {
        host: OnceLock::new(),
        target: "acme:chain/l1#say",
        seen: Default::default(),
    });
    let document = format!(
        "{}{}{}",
        lend("to-1", &link(1).1),
        allow(&link(0).1, &["to-1"], ""),
        allow(&link(1).1, &[], "")
    );
    let resources = Resources::default();
    let with = Arc::clone(&hook);
    let mut stand = Stand::new(&document, resources, |builder| builder.hook(with)).await;
    assert!(hook.host.set(stand.host.clone()).is_ok());
    let caller = asking(&link(0).0, &link(1).0, 1_000);
    stand.admit("caller.wasm", caller).await;
    stand
        .admit("callee.wasm", echo_as(&link(1).0, "text"))
        .await;
    let bound = stand.bind(&link(0).1, None).await.unwrap();
    let reply = call(&stand.session, &bound, &text("x")).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::CapabilityRevoked, "I6");
    assert_eq!(calls(&stand).len(), 1 + 3, "the fourth was never started");
    let again = call(&stand.session, &bound, &text("x")).await;
    assert_eq!(
        refusal(&again).kind(),
        ErrorType::CapabilityRevoked,
        "R-673"
    );
    assert!(again.run.receipt.is_none(), "R-673: zero fuel");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_the_stage_of_composition_binds_no_component_that_calls_others() {
    let stand = pair(echo()).await;
    let mut on = bindery::policy::Stages::default();
    for stage in [Stage::Manifest, Stage::Descriptors, Stage::Bindings] {
        on = on.with(stage, true).unwrap();
    }
    let mut without = spec(3, "tester");
    without.stages = Some(on);
    let session = stand.host.session(without).await.unwrap();
    let refusal = bind(&stand.host, &session, "acme:chain/l0#say", None).await;
    assert_eq!(
        refusal.unwrap_err().kind(),
        ErrorType::StageDisabled,
        "R-803"
    );
    let alone = bind(&stand.host, &session, "acme:echo/echo#say", None).await;
    assert!(alone.is_ok(), "what calls nobody is bound");
}

/// A component that imports a resource of another.
fn borrowing() -> Vec<u8> {
    let text = r#"(component
        (import "test:echo/echo@1.0.0" (instance
            (export "thing" (type (sub resource)))
            (export "say" (func (param "text" string) (result string)))))
        (core module $m (func (export "say") (result i32) (i32.const 7)))
        (core instance $i (instantiate $m))
        (func $say (result u32) (canon lift (core func $i "say")))
        (instance $out (export "say" (func $say)))
        (export "test:chain/l0@1.0.0" (instance $out)))"#;
    wat::parse_str(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_of_another_component_is_refused_with_its_reason() {
    let document = format!(
        "{}{}{}",
        lend("echo", "acme:echo/echo#say"),
        allow("acme:chain/l0#say", &["echo"], ""),
        allow("acme:echo/echo#say", &[], "")
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    stand.admit("callee.wasm", echo()).await;
    stand.admit("caller.wasm", borrowing()).await;
    let refusal = stand.bind("acme:chain/l0#say", None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::DependencyMissing);
    assert!(reason(&refusal).contains("resource"), "{refusal:?}");
}
