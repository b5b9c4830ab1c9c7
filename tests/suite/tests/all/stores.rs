//! Store grants with a real guest: case G5, the limits, and what is refused.

use std::sync::{Arc, Barrier, Mutex, mpsc};

use bindery_artefacts::{dummy, rust_guest};
use bindery_grants::{
    Access, Change, Grants, KeyValueStore, Keys, MemoryStore, Room, StoreFault, StoreGrant, Swap,
};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{Budget, EffectKind, ErrorType, LimitName, Outcome, Run};
use serde_json::{Value, json};

use crate::http_servers::{decode, encode};
use crate::rig::{assert_limit, budget, receipt, refusal, sandbox_with, value};

/// A sandbox for the twenty calls of G5, and the driver in it.
async fn driver() -> (Sandbox, LoadedComponent) {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 20)]);
    let loaded = sandbox.load(driver_bytes()).await.unwrap();
    (sandbox, loaded)
}

fn driver_bytes() -> Vec<u8> {
    std::fs::read(rust_guest("store-driver").unwrap()).unwrap()
}

/// The driver with one custom section more: another component that does the same.
fn sibling_bytes() -> Vec<u8> {
    let mut bytes = driver_bytes();
    bytes.extend([0, 6, 1, b's', b'o', b't', b'h', b'r']);
    bytes
}

fn granted(backend: &Arc<impl KeyValueStore>, access: Access) -> Grants {
    let backend = Arc::clone(backend) as Arc<dyn KeyValueStore>;
    Grants {
        stores: vec![StoreGrant::new("notes", backend, access).unwrap()],
        ..Grants::default()
    }
}

fn patient(limits: &[(LimitName, u64)]) -> Budget {
    let mut all = vec![(LimitName::Deadline, 60_000)];
    all.extend_from_slice(limits);
    budget(&all)
}

async fn run(
    (sandbox, component): &(Sandbox, LoadedComponent),
    function: &str,
    arguments: Value,
    grants: Grants,
    budget: &Budget,
) -> Run {
    let (arguments, cancel) = (arguments.to_string(), Cancel::new());
    sandbox
        .run(component, function, &arguments, grants, budget, &cancel)
        .await
}

async fn act(driver: &(Sandbox, LoadedComponent), grants: Grants, steps: Value) -> Run {
    let arguments = json!({ "store": "notes", "steps": steps });
    run(driver, "act", arguments, grants, &patient(&[])).await
}

fn set(key: &str, text: &str) -> Value {
    json!({ "set": { "key": key, "value": encode(text.as_bytes()) } })
}

/// The value at `key`, as text.
fn stored(store: &impl KeyValueStore, key: &str) -> Option<String> {
    let values = store.get(&[key.to_owned()], u64::MAX).unwrap();
    values[0]
        .clone()
        .map(|bytes| String::from_utf8(bytes).unwrap())
}

/// A store whose readers wait for each other before the first of them goes on.
struct Meeting {
    inner: MemoryStore,
    readers: Barrier,
}

impl KeyValueStore for Meeting {
    fn get(&self, keys: &[String], bytes_max: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault> {
        let read = self.inner.get(keys, bytes_max);
        self.readers.wait();
        read
    }

    fn exists(&self, key: &str) -> Result<bool, StoreFault> {
        self.inner.exists(key)
    }

    fn keys(&self, skip: u64, max: usize) -> Result<Keys, StoreFault> {
        self.inner.keys(skip, max)
    }

    fn apply(&self, changes: &[Change], room: Room) -> Result<(), StoreFault> {
        self.inner.apply(changes, room)
    }

    fn increment(&self, key: &str, by: u64, room: Room) -> Result<u64, StoreFault> {
        self.inner.increment(key, by, room)
    }

    fn swap(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        value: &[u8],
        room: Room,
    ) -> Result<Swap, StoreFault> {
        self.inner.swap(key, expected, value, room)
    }
}

/// Twenty calls at once, in turn of each of `drivers`.
async fn twenty(
    drivers: Vec<(Sandbox, LoadedComponent)>,
    grants: Grants,
    times: u64,
    in_one_step: bool,
) {
    let drivers = Arc::new(drivers);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let (drivers, grants) = (Arc::clone(&drivers), grants.clone());
            tokio::spawn(async move {
                let driver = &drivers[number % drivers.len()];
                let arguments = json!({ "store": "notes", "key": "n", "times": times,
                                        "in-one-step": in_one_step });
                run(driver, "count", arguments, grants, &patient(&[])).await
            })
        })
        .collect();
    for call in calls {
        assert_eq!(value(&call.await.unwrap()), Value::Null, "G5");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_and_then_writing_loses_what_others_wrote_between() {
    let store = Arc::new(Meeting {
        inner: MemoryStore::default(),
        readers: Barrier::new(20),
    });
    let grants = granted(&store, Access::ReadWrite);
    twenty(vec![driver().await], grants, 1, false).await;
    // All twenty read before any wrote: `set` is last-wins, as its documentation says.
    assert_eq!(stored(&store.inner, "n").as_deref(), Some("1"), "G5");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adding_in_one_step_loses_nothing_whoever_calls() {
    let store = Arc::new(MemoryStore::default());
    let first = driver().await;
    let second = sandbox_with(&[(LimitName::Concurrent, 20)]);
    let sibling = second.load(sibling_bytes()).await.unwrap();
    assert_ne!(first.1.digest(), sibling.digest());
    let both = vec![first, (second, sibling)];
    twenty(both, granted(&store, Access::ReadWrite), 25, true).await;
    assert_eq!(stored(&*store, "n").as_deref(), Some("500"), "G5");
}

#[tokio::test]
async fn one_name_is_one_store_only_where_the_host_gave_one_backend() {
    let driver = driver().await;
    let sibling = driver.0.load(sibling_bytes()).await.unwrap();
    let sibling = (driver.0.clone(), sibling);
    let (mine, theirs) = (
        Arc::new(MemoryStore::default()),
        Arc::new(MemoryStore::default()),
    );
    let write = json!([set("k", "mine")]);
    value(&act(&driver, granted(&mine, Access::ReadWrite), write).await);
    let read = || json!([{ "get": "k" }]);
    let apart = act(&sibling, granted(&theirs, Access::ReadWrite), read()).await;
    assert_eq!(value(&apart), json!([{ "value": null }]), "G5");
    let shared = act(&sibling, granted(&mine, Access::ReadOnly), read()).await;
    assert_eq!(value(&shared), json!([{ "value": encode(b"mine") }]), "G5");

    let mut twice = granted(&mine, Access::ReadOnly);
    twice
        .stores
        .extend(granted(&theirs, Access::ReadOnly).stores);
    let run = act(&driver, twice, read()).await;
    assert_eq!(refusal(&run).kind(), ErrorType::PolicyMalformed);
    assert!(refusal(&run).message().contains("one name opens one store"));
}

#[tokio::test]
async fn every_operation_does_what_its_name_says_and_leaves_its_effect() {
    let (driver, store) = (driver().await, Arc::new(MemoryStore::default()));
    let pair = |key: &str, text: &str| json!({ "key": key, "value": encode(text.as_bytes()) });
    let steps = json!([
        set("a", "1"),
        { "exists": "a" },
        { "increment": ["a", 41] },
        { "set-many": [pair("b", "2"), pair("../x", "3")] },
        { "get-many": ["b", "none", "../x"] },
        { "list-keys": null },
        { "delete-many": ["b"] },
        { "delete": "a" },
        { "get": "a" },
        { "increment": ["../x", u64::MAX.to_string()] },
    ]);
    let run = act(&driver, granted(&store, Access::ReadWrite), steps).await;
    let outcomes = value(&run);
    let expected = json!([
        "nothing", { "yes-or-no": true }, { "number": 42 }, "nothing",
        { "values": [encode(b"2"), null, encode(b"3")] },
        { "keys": [["../x", "a", "b"], null] },
        "nothing", "nothing", { "value": null },
        { "failed": "other: the sum is more than 64 bits hold" },
    ]);
    assert_eq!(outcomes, expected, "G5");
    let effects: Vec<(EffectKind, &str, u64)> = receipt(&run)
        .effects
        .iter()
        .map(|effect| (effect.kind, effect.resource.as_str(), effect.bytes))
        .collect();
    let (read, write) = (EffectKind::StoreRead, EffectKind::StoreWrite);
    let expected = [
        (write, "notes a", 1),
        (read, "notes a", 0),
        (write, "notes a", 2),
        (write, "notes b", 1),
        (write, "notes ../x", 1),
        (read, "notes b", 1),
        (read, "notes none", 0),
        (read, "notes ../x", 1),
        (read, "notes *", 6),
        (write, "notes b", 0),
        (write, "notes a", 0),
        (read, "notes a", 0),
    ];
    assert_eq!(effects, expected, "I37: an addition that failed left none");
    assert_eq!(
        stored(&*store, "../x").as_deref(),
        Some("3"),
        "G5: a key is no path"
    );
}

#[tokio::test]
async fn a_name_that_is_not_granted_opens_nothing() {
    let (driver, store) = (driver().await, Arc::new(MemoryStore::default()));
    for name in ["../x", "", "Notes", "notes/", "/notes", "other"] {
        let arguments = json!({ "store": name, "steps": [] });
        let grants = granted(&store, Access::ReadWrite);
        let run = run(&driver, "act", arguments, grants, &patient(&[])).await;
        match &run.outcome {
            Outcome::CapabilityError(json) => assert_eq!(json, "\"no-such-store\"", "G5"),
            other => panic!("{other:?}"),
        }
        assert!(
            run.denials[0].contains("no store grant has this name"),
            "U1"
        );
        assert!(receipt(&run).effects.is_empty());
    }
}

#[tokio::test]
async fn a_read_only_store_is_read_and_never_written() {
    let (driver, store) = (driver().await, Arc::new(MemoryStore::default()));
    value(
        &act(
            &driver,
            granted(&store, Access::ReadWrite),
            json!([set("k", "1")]),
        )
        .await,
    );
    let steps = json!([
        set("k", "2"),
        { "delete": "k" },
        { "increment": ["k", 1] },
        { "set-many": [] },
        { "delete-many": ["k"] },
        { "get": "k" },
    ]);
    let run = act(&driver, granted(&store, Access::ReadOnly), steps).await;
    let denied = json!({ "failed": "access-denied" });
    let outcomes = value(&run);
    for outcome in &outcomes.as_array().unwrap()[..5] {
        assert_eq!(*outcome, denied, "C-62");
    }
    assert_eq!(decode(&outcomes[5]["value"]), b"1");
    let effects = &receipt(&run).effects;
    assert_eq!(
        effects.len(),
        1,
        "nothing was written, so no writing is reported"
    );
    assert_eq!(effects[0].kind, EffectKind::StoreRead);
    assert!(run.denials[0].contains("its grant is read-only"), "U1");
}

#[tokio::test]
async fn ten_megabytes_are_refused_by_the_name_of_the_limit() {
    let (driver, store) = (driver().await, Arc::new(MemoryStore::default()));
    let fill = json!({ "store": "notes", "steps": [{ "fill": ["k", 10_000_000] }] });
    let grants = || granted(&store, Access::ReadWrite);
    let copied = run(&driver, "act", fill.clone(), grants(), &patient(&[])).await;
    assert_limit(&copied, LimitName::Lift, 1 << 20);
    let wide = patient(&[(LimitName::Lift, 32 << 20)]);
    let refused = run(&driver, "act", fill.clone(), grants(), &wide).await;
    let told = json!([{ "failed": "other: limit `store_value` reached: 10000000 of 524288" }]);
    assert_eq!(value(&refused), told, "G5 U5");
    assert_eq!(receipt(&refused).limits_hit, ["store_value"], "U5");
    assert_eq!(stored(&*store, "k"), None, "G5");
    let wider = patient(&[
        (LimitName::Lift, 32 << 20),
        (LimitName::StoreValue, 10_000_000),
    ]);
    let kept = run(&driver, "act", fill, grants(), &wider).await;
    assert_eq!(value(&kept), json!(["nothing"]), "and raised, it is kept");
}

#[tokio::test]
async fn every_limit_of_a_store_passes_its_value_and_refuses_one_more() {
    let driver = driver().await;
    // Each row uses exactly the number it names of its limit.
    let rows = [
        (LimitName::StoreKey, 3, json!([set("abc", "1")])),
        (LimitName::StoreValue, 5, json!([set("k", "12345")])),
        (
            LimitName::StoreRead,
            6,
            json!([set("k", "123456"), { "get": "k" }]),
        ),
        (
            LimitName::StoreEntries,
            2,
            json!([set("a", ""), set("b", "")]),
        ),
        (
            LimitName::StoreBytes,
            7,
            json!([set("a", "123"), { "increment": ["b", 12] }]),
        ),
    ];
    for (name, used, steps) in rows {
        for allowed in [used, used - 1] {
            let store = Arc::new(MemoryStore::default());
            let arguments = json!({ "store": "notes", "steps": steps });
            let grants = granted(&store, Access::ReadWrite);
            let run = run(
                &driver,
                "act",
                arguments,
                grants,
                &patient(&[(name, allowed)]),
            )
            .await;
            let outcomes = value(&run);
            let last = outcomes.as_array().unwrap().last().unwrap();
            if allowed == used {
                assert!(last.get("failed").is_none(), "{}: {last}", name.as_str());
                assert!(receipt(&run).limits_hit.is_empty());
                continue;
            }
            let told = format!(
                "other: limit `{}` reached: {used} of {allowed}",
                name.as_str()
            );
            assert_eq!(last["failed"], told, "U5");
            assert_eq!(receipt(&run).limits_hit, [name.as_str()], "U5");
        }
    }
}

#[tokio::test]
async fn keys_come_in_pages_and_handles_are_bounded() {
    let (driver, store) = (driver().await, Arc::new(MemoryStore::default()));
    let changes: Vec<Change> = (0..600)
        .map(|number| Change::Set(format!("{number:03}"), Vec::new()))
        .collect();
    let room = Room {
        entries_max: 600,
        bytes_max: 1_800,
    };
    store.apply(&changes, room).unwrap();
    let steps = json!([{ "list-keys": null }, { "list-keys": 256 }, { "list-keys": 512 },
                       { "list-keys": "18446744073709551615" }]);
    let pages = value(&act(&driver, granted(&store, Access::ReadOnly), steps).await);
    let page = |number: usize| {
        let page = &pages[number]["keys"];
        (page[0].as_array().unwrap().len(), page[1].clone())
    };
    assert_eq!(page(0), (256, json!(256)));
    assert_eq!(page(1), (256, json!(512)));
    assert_eq!(page(2), (88, Value::Null));
    assert_eq!(page(3), (0, Value::Null));
    assert_eq!(
        pages[1]["keys"][0][0], "256",
        "no key is left out between pages"
    );

    let hoard = json!({ "store": "notes", "times": 5_000 });
    let grants = granted(&store, Access::ReadOnly);
    let hoarded = run(
        &driver,
        "hoard",
        hoard,
        grants,
        &patient(&[(LimitName::Handles, 50)]),
    )
    .await;
    assert_limit(&hoarded, LimitName::Handles, 50);
}

#[tokio::test]
async fn a_crash_between_reading_and_writing_leaves_what_was() {
    let (driver, store) = (driver().await, Arc::new(MemoryStore::default()));
    value(
        &act(
            &driver,
            granted(&store, Access::ReadWrite),
            json!([set("n", "7")]),
        )
        .await,
    );
    let steps = json!([{ "get": "n" }, "crash", set("n", "8")]);
    let run = act(&driver, granted(&store, Access::ReadWrite), steps).await;
    assert_eq!(refusal(&run).kind(), ErrorType::GuestFault, "G5");
    assert_eq!(stored(&*store, "n").as_deref(), Some("7"), "G5");
}

/// A store that fails, or whose writes wait until they are let go.
struct Stuck {
    gate: Option<Mutex<mpsc::Receiver<()>>>,
}

impl KeyValueStore for Stuck {
    fn get(&self, _: &[String], _: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault> {
        Err(StoreFault::Unavailable("/var/data is full".to_owned()))
    }

    fn exists(&self, _: &str) -> Result<bool, StoreFault> {
        Ok(false)
    }

    fn keys(&self, _: u64, _: usize) -> Result<Keys, StoreFault> {
        Ok(Keys::default())
    }

    fn apply(&self, _: &[Change], _: Room) -> Result<(), StoreFault> {
        if let Some(gate) = &self.gate {
            gate.lock().unwrap().recv().ok();
        }
        Ok(())
    }

    fn increment(&self, _: &str, by: u64, _: Room) -> Result<u64, StoreFault> {
        Ok(by)
    }

    fn swap(&self, _: &str, _: Option<&[u8]>, _: &[u8], _: Room) -> Result<Swap, StoreFault> {
        Ok(Swap::Done)
    }
}

#[tokio::test]
async fn a_backend_that_fails_is_told_to_the_operator_and_only_to_them() {
    let (driver, store) = (driver().await, Arc::new(Stuck { gate: None }));
    let run = act(
        &driver,
        granted(&store, Access::ReadOnly),
        json!([{ "get": "k" }]),
    )
    .await;
    let told = json!([{ "failed": "other: the store cannot be used" }]);
    assert_eq!(value(&run), told);
    assert!(run.denials[0].contains("/var/data is full"), "U1");
}

///
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_outlives_its_call_makes_the_outcome_uncertain() {
    let driver = driver().await;
    let (open, gate) = mpsc::channel();
    let store = Arc::new(Stuck {
        gate: Some(Mutex::new(gate)),
    });
    let arguments = json!({ "store": "notes", "steps": [set("k", "1")] });
    let grants = granted(&store, Access::ReadWrite);
    let run = run(
        &driver,
        "act",
        arguments,
        grants,
        &budget(&[(LimitName::Deadline, 500)]),
    )
    .await;
    assert_eq!(
        refusal(&run).kind(),
        ErrorType::UncertainSideEffect,
        "H25 G2"
    );
    assert_eq!(refusal(&run).details()["ended_by"], "timeout", "H25 G2");
    open.send(()).unwrap();
}

#[tokio::test]
async fn without_a_grant_or_with_another_draft_no_code_runs() {
    let (sandbox, driver) = driver().await;
    let call = json!({ "store": "notes", "steps": [] });
    let both = (sandbox.clone(), driver);
    let none = run(&both, "act", call, Grants::default(), &patient(&[])).await;
    assert_eq!(refusal(&none).kind(), ErrorType::PermissionDenied, "C-46");
    let missing = &refusal(&none).details()["imports"]["not_granted"];
    assert_eq!(
        missing.as_array().unwrap().len(),
        3,
        "all of them are named"
    );
    assert_eq!(missing[0]["grant"], "store", "U3");

    let other = "package a:b; world w { import wasi:keyvalue/store@0.2.0-draft2; \
                 export go: func(); } \
                 package wasi:keyvalue@0.2.0-draft2 { interface store { open: func(); } }";
    let other = sandbox.load(dummy(other).unwrap()).await.unwrap();
    let store = Arc::new(MemoryStore::default());
    let grants = granted(&store, Access::ReadOnly);
    let run = run(&(sandbox, other), "go", json!({}), grants, &patient(&[])).await;
    let refusal = refusal(&run);
    assert_eq!(refusal.kind(), ErrorType::DependencyMissing, "D3");
    let message = refusal.message();
    assert!(
        message.contains("wasi:keyvalue/store@0.2.0-draft, and a draft fits only itself"),
        "{message}"
    );
}
