//! A program that was granted nothing, or one thing: what it takes for granted at home is
//! empty, virtual, bounded or refused here.

use bindery_artefacts::rust_guest;
use bindery_grants::{Clock, Grants, Randomness};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{EffectKind, LimitName, Run};
use serde_json::{Value, json};

use crate::rig::{assert_limit, budget, fault_cause, receipt, refusal, sandbox, value};

struct Driver {
    sandbox: Sandbox,
    guest: LoadedComponent,
}

impl Driver {
    async fn new() -> Self {
        let sandbox = sandbox();
        let bytes = std::fs::read(rust_guest("ambient-driver").unwrap()).unwrap();
        let guest = sandbox.load(bytes).await.unwrap();
        Self { sandbox, guest }
    }

    /// A call that is granted nothing.
    async fn run(&self, function: &str, arguments: Value, limits: &[(LimitName, u64)]) -> Run {
        self.granted(function, arguments, Grants::default(), limits)
            .await
    }

    async fn granted(
        &self,
        function: &str,
        arguments: Value,
        grants: Grants,
        limits: &[(LimitName, u64)],
    ) -> Run {
        let (arguments, budget) = (arguments.to_string(), budget(limits));
        let (guest, cancel) = (&self.guest, Cancel::new());
        self.sandbox
            .run(guest, function, &arguments, grants, &budget, &cancel)
            .await
    }
}

#[tokio::test]
async fn nothing_of_the_host_is_around() {
    assert!(
        std::env::vars_os().count() > 0,
        "the host has variables to leak"
    );
    let driver = Driver::new().await;
    let run = driver.run("around", json!({}), &[]).await;
    let nothing = json!({
        "environment": [], "arguments": [], "directory": null,
        "input": 0, "preopens": [], "terminals": 0,
    });
    assert_eq!(value(&run), nothing, "R-005, R-007, R-008, C5");
    assert_eq!(receipt(&run).effects, [], "I1");
}

#[tokio::test]
async fn every_way_out_is_refused_and_shown() {
    let driver = Driver::new().await;
    let run = driver
        .run("reach", json!({"name": "secret-data.evil.test"}), &[])
        .await;
    for tried in value(&run).as_array().unwrap() {
        assert_eq!(tried[1], "access-denied", "R-006, C7: {tried}");
    }
    let effects: Vec<_> = receipt(&run)
        .effects
        .iter()
        .map(|effect| (effect.kind, effect.resource.as_str()))
        .collect();
    let refused = |what| (EffectKind::Request, what);
    assert_eq!(
        effects,
        [
            refused("dns secret-data.evil.test (refused)"),
            refused("tcp socket (refused)"),
            refused("udp socket (refused)"),
        ],
        "H26, C7: DNS counts as network"
    );
}

#[tokio::test]
async fn a_day_of_virtual_sleep_takes_no_time_and_two_runs_are_equal() {
    let driver = Driver::new().await;
    let sleep = || json!({"milliseconds": 86_400_000});
    let first = driver.run("sleep", sleep(), &[]).await;
    let second = driver.run("sleep", sleep(), &[]).await;
    assert_eq!(value(&first), value(&second), "R-010, C-64, I32");
    assert_eq!(receipt(&first).fuel_used, receipt(&second).fuel_used, "I32");
    let slept = value(&first)["slept"].as_u64().unwrap();
    assert_eq!(slept, 86_400_000_000_000 + 100_000, "C-64");
    assert_eq!(value(&first)["wall"], 1_577_836_800 + 86_400, "C-64");
    let spun = driver
        .run("spin", json!({"milliseconds": 1_000}), &[])
        .await;
    assert_eq!(
        value(&spun),
        json!(10_000),
        "C-64: each reading adds 100 µs"
    );
    assert_eq!(
        receipt(&first).effects,
        [],
        "nothing of the host was touched"
    );
}

#[tokio::test]
async fn granted_time_and_randomness_are_real_and_show() {
    let driver = Driver::new().await;
    let grants = Grants {
        clock: Clock::Real,
        randomness: Randomness::Real,
        ..Grants::default()
    };
    let sleep = || json!({"milliseconds": 5});
    let first = driver.granted("sleep", sleep(), grants.clone(), &[]).await;
    let second = driver.granted("sleep", sleep(), grants, &[]).await;
    assert_ne!(value(&first)["drawn"], value(&second)["drawn"], "R-010");
    assert!(value(&first)["wall"].as_u64().unwrap() > 1_700_000_000);
    let kinds: Vec<_> = receipt(&first)
        .effects
        .iter()
        .map(|effect| effect.kind)
        .collect();
    assert_eq!(
        kinds,
        [EffectKind::Clock, EffectKind::Clock, EffectKind::Random],
        "R-010"
    );
}

#[tokio::test]
async fn a_real_sleep_ends_at_the_deadline_and_the_next_call_works() {
    let driver = Driver::new().await;
    let grants = || Grants {
        clock: Clock::Real,
        ..Grants::default()
    };
    let limits = [(LimitName::Deadline, 500)];
    let began = std::time::Instant::now();
    let run = driver
        .granted("sleep", json!({"milliseconds": 60_000}), grants(), &limits)
        .await;
    assert_limit(&run, LimitName::Deadline, 500);
    assert!(began.elapsed().as_millis() < 6_000, "B1: ten times 600 ms");
    let run = driver
        .granted("sleep", json!({"milliseconds": 1}), grants(), &[])
        .await;
    value(&run);
}

#[tokio::test]
async fn a_flood_of_output_is_cut_between_characters_and_the_guest_goes_on() {
    let driver = Driver::new().await;
    // "1234567" and a character of four bytes, to both outputs in turn.
    let arguments = json!({"text": "MTIzNDU2N/CfmIA=", "error": "ZQ==", "times": 10_000});
    let limits = [(LimitName::Stdout, 20), (LimitName::Stderr, 10_000)];
    let run = driver.run("print", arguments, &limits).await;
    assert_eq!(value(&run), json!(10_000), "B3: the guest goes on");
    let receipt = receipt(&run);
    assert_eq!(receipt.stdout.text, "1234567😀1234567", "B4");
    assert_eq!(receipt.stdout.dropped_bytes, 110_000 - 18, "B3");
    assert!(receipt.stdout.truncated);
    assert_eq!(receipt.stderr.text.len(), 10_000, "B3: limited separately");
    assert!(!receipt.stderr.truncated);
}

#[tokio::test]
async fn an_exit_before_the_result_is_a_fault_with_its_code_and_its_output() {
    let driver = Driver::new().await;
    for (succeed, code, expected) in [
        (true, Value::Null, 0),
        (false, Value::Null, 1),
        (true, json!(3), 3),
    ] {
        let run = driver
            .run("leave", json!({"succeed": succeed, "code": code}), &[])
            .await;
        assert_eq!(fault_cause(&run), "exited", "D7, C-47");
        assert_eq!(refusal(&run).details()["exit_code"], expected, "D7");
        assert_eq!(receipt(&run).stdout.text, "leaving\n", "D7");
    }
    value(&driver.run("spin", json!({"milliseconds": 1}), &[]).await);
}

#[tokio::test]
async fn what_a_guest_hoards_or_draws_too_much_of_ends_it_and_nothing_else() {
    let driver = Driver::new().await;
    let limits = [(LimitName::Handles, 100)];
    let hoarded = driver.run("hoard", json!({"timers": 1_000}), &limits).await;
    assert_limit(&hoarded, LimitName::Handles, 100);
    let drawn = driver.run("draw", json!({"bytes": 1_u64 << 31}), &[]).await;
    assert_limit(&drawn, LimitName::Random, 65_536);
    for (limit, bytes) in [(1_000, 1_000), (0, 0)] {
        let limits = [(LimitName::Random, limit)];
        let draw = async |bytes: u64| driver.run("draw", json!({"bytes": bytes}), &limits).await;
        assert_eq!(value(&draw(bytes).await), json!(bytes), "H28");
        assert_limit(&draw(bytes + 1).await, LimitName::Random, limit);
    }
    let drawn = driver
        .run("draw", json!({"bytes": "9223372036854775808"}), &[])
        .await;
    assert_limit(&drawn, LimitName::Fuel, 50_000_000_000);
    let few = driver.run("draw", json!({"bytes": 65_536}), &[]).await;
    assert_eq!(value(&few), json!(65_536), "B5, X14");
    let few = driver.run("hoard", json!({"timers": 40}), &limits).await;
    assert_eq!(value(&few), json!(40), "B5");
}
