//! Results that take the host longer to read than the call may last (H7, H21).
//!
//! The guest makes a few MiB of pointers, all to one text: the result would be 13 GB of
//! JSON. Output is lifted to where it bounds nothing, so what ends the walk is the fuel,
//! the clock or somebody, in the middle of it.

use std::time::{Duration, Instant};

use bindery_grants::Grants;
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{Budget, ErrorType, Limit, LimitName, Run};
use serde_json::json;

use crate::rig::{assert_limit, budget, call, hostile, receipt, refusal, sandbox, value};

const HUGE: &str = r#"{"items": 200000, "bytes": 65536}"#;
const SMALL: &str = r#"{"items": 2, "bytes": 3}"#;
/// Far more than any of these calls lasts, far less than its result would take.
const SOON: Duration = Duration::from_secs(20);

/// The default limits with `limits`, and no bound for the result's text.
fn unbounded(limits: &[(LimitName, u64)]) -> Budget {
    let mut budget = budget(limits);
    budget.set(LimitName::Output, Limit::Unlimited).unwrap();
    budget
}

async fn texts(
    sandbox: &Sandbox,
    component: &LoadedComponent,
    arguments: &str,
    limits: &[(LimitName, u64)],
) -> Run {
    let budget = unbounded(limits);
    call(sandbox, component, "texts", arguments, &budget).await
}

#[tokio::test]
async fn h7_reading_a_result_costs_fuel_by_the_kib_and_ends_where_the_fuel_does() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/aliases").await;
    let mut fuel = Vec::new();
    for arguments in [r#"{"items":1,"bytes":1000}"#, r#"{"items":9,"bytes":1000}"#] {
        let run = texts(&sandbox, &component, arguments, &[]).await;
        assert!(value(&run).is_array());
        fuel.push(receipt(&run).fuel_used);
    }
    // 1,004 and 9,028 bytes of JSON: one KiB begun, and nine.
    let more = fuel[1] - fuel[0];
    assert!((8_000..9_000).contains(&more), "H7: {fuel:?}");
    let arguments = r#"{"items":9,"bytes":1000}"#;
    let exact = [(LimitName::Fuel, fuel[1])];
    value(&texts(&sandbox, &component, arguments, &exact).await);
    let less = [(LimitName::Fuel, fuel[1] - 1)];
    let run = texts(&sandbox, &component, arguments, &less).await;
    assert_limit(&run, LimitName::Fuel, fuel[1] - 1);

    let (began, patient) = (Instant::now(), (LimitName::Deadline, 600_000));
    let run = texts(
        &sandbox,
        &component,
        HUGE,
        &[patient, (LimitName::Fuel, 20_000_000)],
    )
    .await;
    assert_limit(&run, LimitName::Fuel, 20_000_000);
    assert_eq!(receipt(&run).fuel_used, 20_000_000, "I22");
    assert!(began.elapsed() < SOON, "H7: {:?}", began.elapsed());
    let run = texts(&sandbox, &component, SMALL, &[patient]).await;
    assert_eq!(value(&run), json!(["aaa", "aaa"]));
}

#[tokio::test]
async fn h7_reading_arguments_costs_fuel_before_any_guest_code() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    let of = |spaces: usize| format!("{}{}", r#"{"turns": 0}"#, " ".repeat(spaces));
    let mut fuel = Vec::new();
    for arguments in [of(0), of(4_096)] {
        let run = call(
            &sandbox,
            &component,
            "turns",
            &arguments,
            &Budget::default(),
        )
        .await;
        value(&run);
        fuel.push(receipt(&run).fuel_used);
    }
    assert_eq!(fuel[1] - fuel[0], 4_000, "H7");
    for (limit, arguments) in [(999, of(0)), (4_999, of(4_096))] {
        let tight = budget(&[(LimitName::Fuel, limit)]);
        let run = call(&sandbox, &component, "turns", &arguments, &tight).await;
        assert_limit(&run, LimitName::Fuel, limit);
        assert_eq!(refusal(&run).details()["used"], limit + 1, "H7");
        assert_eq!(receipt(&run).guest_us, 0, "H7: nothing of the guest ran");
    }
}

#[tokio::test]
async fn h21_a_deadline_ends_the_reading_of_a_result() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/aliases").await;
    let (began, limits) = (Instant::now(), [(LimitName::Deadline, 150)]);
    let run = texts(&sandbox, &component, HUGE, &limits).await;
    assert_limit(&run, LimitName::Deadline, 150);
    assert_eq!(receipt(&run).bytes_out, 0);
    assert!(began.elapsed() < SOON, "H21: {:?}", began.elapsed());
    let limits = [(LimitName::Deadline, 20_000)];
    let run = texts(&sandbox, &component, SMALL, &limits).await;
    assert_eq!(value(&run), json!(["aaa", "aaa"]));
}

#[tokio::test]
async fn h21_whoever_cancels_a_call_ends_the_reading_of_its_result() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/aliases").await;
    let budget = unbounded(&[(LimitName::Deadline, 600_000)]);
    let run = async |arguments: &str, cancel: &Cancel| {
        let grants = Grants::default();
        sandbox
            .run(&component, "texts", arguments, grants, &budget, cancel)
            .await
    };
    let cancel = Cancel::new();
    let (began, turned) = (Instant::now(), cancel.clone());
    // A thread: the walk leaves the executor no turn.
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        turned.cancel();
    });
    let ended = run(HUGE, &cancel).await;
    assert_eq!(refusal(&ended).kind(), ErrorType::Cancelled, "H21");
    assert!(receipt(&ended).fuel_used > 0);
    assert!(began.elapsed() < SOON, "H21: {:?}", began.elapsed());
    other.join().unwrap();
    assert_eq!(
        value(&run(SMALL, &Cancel::new()).await),
        json!(["aaa", "aaa"])
    );
}
