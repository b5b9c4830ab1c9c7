//! Every limit of a call: a guest that needs exactly it gets through, one unit less stops it.
//!
//! Guards U5, H5, H7, H16–H18, B5, X1, X3, X4, X22: the refusal names the limit, its value,
//! what was used and where it is set, and the next call is not affected.

use std::time::{Duration, Instant};

use bindery_sandbox::{LoadedComponent, Sandbox};
use bindery_types::{Budget, LimitName, Outcome};

use crate::rig::{assert_limit, budget, call, hostile, receipt, refusal, sandbox, value};

/// One call that needs `least` of the limit `name`.
struct Need<'a> {
    component: &'a str,
    function: &'a str,
    arguments: &'a str,
    name: LimitName,
    least: u64,
}

impl Need<'_> {
    async fn check(&self, sandbox: &Sandbox) {
        let component = hostile(sandbox, self.component).await;
        let allowed = self.call(sandbox, &component, self.least).await;
        value(&allowed);
        let stopped = self.call(sandbox, &component, self.least - 1).await;
        assert_limit(&stopped, self.name, self.least - 1);
        value(&self.call(sandbox, &component, self.least).await);
    }

    async fn call(
        &self,
        sandbox: &Sandbox,
        component: &LoadedComponent,
        limit: u64,
    ) -> bindery_types::Run {
        let budget = budget(&[(self.name, limit)]);
        call(sandbox, component, self.function, self.arguments, &budget).await
    }
}

async fn check(component: &str, function: &str, arguments: &str, name: LimitName, least: u64) {
    let need = Need {
        component,
        function,
        arguments,
        name,
        least,
    };
    need.check(&sandbox()).await;
}

const PAGE: u64 = 64 << 10;

/// R-014, I22, I32: exact, and equal for equal calls.
#[tokio::test]
async fn fuel_is_exact_and_the_same_for_the_same_call() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    let arguments = r#"{"turns": 1000}"#;
    let budget = Budget::default();
    let measure = || call(&sandbox, &component, "turns", arguments, &budget);
    let (first, second) = (measure().await, measure().await);
    let used = receipt(&first).fuel_used;
    assert!(used > 1_000);
    assert_eq!(receipt(&second).fuel_used, used, "I32");
    check("spin/call", "turns", arguments, LimitName::Fuel, used).await;
}

#[tokio::test]
async fn a_limit_of_no_fuel_allows_no_guest_code() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    let run = call(
        &sandbox,
        &component,
        "turns",
        r#"{"turns": 0}"#,
        &budget(&[(LimitName::Fuel, 0)]),
    )
    .await;
    assert_limit(&run, LimitName::Fuel, 0);
}

/// X1, R-014, R-015: either ends it, and the receipt says which.
#[tokio::test]
async fn an_endless_loop_ends_by_fuel_or_by_its_deadline() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    let run = call(
        &sandbox,
        &component,
        "forever",
        "{}",
        &budget(&[(LimitName::Fuel, 1_000_000)]),
    )
    .await;
    assert_limit(&run, LimitName::Fuel, 1_000_000);
    let began = Instant::now();
    let run = call(
        &sandbox,
        &component,
        "forever",
        "{}",
        &budget(&[(LimitName::Deadline, 100)]),
    )
    .await;
    assert_limit(&run, LimitName::Deadline, 100);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "X1, at liveness bound × 10"
    );
    let receipt = receipt(&run);
    assert!(receipt.fuel_used > 0 && receipt.wall_us >= 100_000);
    assert!(receipt.guest_us > 0 && receipt.guest_us <= receipt.wall_us);
    assert_eq!(receipt.exit_code, 7);
}

/// R-016, I22: a page more than the limit is not there.
#[tokio::test]
async fn memory_stops_at_exactly_its_limit() {
    check(
        "grow/memory",
        "grow-or-die",
        r#"{"pages": 2}"#,
        LimitName::Memory,
        3 * PAGE,
    )
    .await;
}

#[tokio::test]
async fn memory_is_the_sum_of_all_memories() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "grow/two-memories").await;
    let five = budget(&[(LimitName::Memory, 5 * PAGE)]);
    let run = call(&sandbox, &component, "grow", r#"{"pages": 1}"#, &five).await;
    assert_eq!(value(&run), 2);
    assert_eq!(receipt(&run).memory_peak_bytes, 5 * PAGE);
    let run = call(&sandbox, &component, "grow", r#"{"pages": 2}"#, &five).await;
    assert_eq!(value(&run), -1, "H16");
    // What it needs from the start is refused before it starts.
    let run = call(
        &sandbox,
        &component,
        "grow",
        r#"{"pages": 0}"#,
        &budget(&[(LimitName::Memory, 4 * PAGE - 1)]),
    )
    .await;
    assert_limit(&run, LimitName::Memory, 4 * PAGE - 1);
}

#[tokio::test]
async fn a_guest_that_copes_with_refused_memory_keeps_its_value_and_the_receipt_tells() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "grow/memory").await;
    let three = budget(&[(LimitName::Memory, 3 * PAGE)]);
    let run = call(&sandbox, &component, "grow", r#"{"pages": 3}"#, &three).await;
    assert_eq!(value(&run), -1);
    assert_eq!(receipt(&run).limits_hit, ["memory"], "H16");
    assert_eq!(receipt(&run).memory_peak_bytes, PAGE, "nothing was granted");
    let run = call(&sandbox, &component, "grow", r#"{"pages": 2}"#, &three).await;
    assert_eq!(receipt(&run).limits_hit, [""; 0]);
}

/// X3, H5: growth that is refused costs fuel, too.
#[tokio::test]
async fn growing_memory_costs_fuel_by_the_page_and_a_growing_loop_ends() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "grow/memory").await;
    let mut fuel = Vec::new();
    for arguments in [r#"{"pages": 1}"#, r#"{"pages": 101}"#] {
        let run = call(&sandbox, &component, "grow", arguments, &Budget::default()).await;
        value(&run);
        fuel.push(receipt(&run).fuel_used);
    }
    assert_eq!(fuel[1] - fuel[0], 100 * 64, "H5");
    let tight = budget(&[(LimitName::Fuel, 100_000)]);
    let run = call(&sandbox, &component, "forever", "{}", &tight).await;
    assert_limit(&run, LimitName::Fuel, 100_000);
}

#[tokio::test]
async fn a_table_stops_at_exactly_its_limit() {
    check(
        "grow/table",
        "grow-or-die",
        r#"{"elements": 5}"#,
        LimitName::TableElements,
        15,
    )
    .await;
    let sandbox = sandbox();
    let component = hostile(&sandbox, "grow/table").await;
    let run = call(
        &sandbox,
        &component,
        "grow",
        r#"{"elements": 1000000}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(
        (value(&run), &receipt(&run).limits_hit[..]),
        ((-1).into(), &["table_elements"][..])
    );
    let run = call(
        &sandbox,
        &component,
        "grow",
        r#"{"elements": 0}"#,
        &budget(&[(LimitName::TableElements, 9)]),
    )
    .await;
    assert_limit(&run, LimitName::TableElements, 9);
}

#[tokio::test]
async fn instances_memories_and_tables_stop_at_exactly_their_number() {
    for name in [LimitName::Instances, LimitName::Memories, LimitName::Tables] {
        check("crowd/three", "go", "{}", name, 3).await;
    }
}

/// X4, H18: a million made and dropped are none held.
#[tokio::test]
async fn handles_stop_at_exactly_their_number_and_dropping_gives_them_back() {
    check(
        "handles/hoard",
        "hoard",
        r#"{"count": 1024}"#,
        LimitName::Handles,
        1_024,
    )
    .await;
    let sandbox = sandbox();
    let component = hostile(&sandbox, "handles/hoard").await;
    let run = call(
        &sandbox,
        &component,
        "churn",
        r#"{"count": 1000000}"#,
        &budget(&[(LimitName::Handles, 1), (LimitName::Deadline, 60_000)]),
    )
    .await;
    value(&run);
}

#[tokio::test]
async fn host_calls_stop_at_exactly_their_number() {
    check(
        "host-calls/draw",
        "draw",
        r#"{"times": 7}"#,
        LimitName::HostCalls,
        7,
    )
    .await;
    let sandbox = sandbox();
    let component = hostile(&sandbox, "host-calls/draw").await;
    let run = call(
        &sandbox,
        &component,
        "draw",
        r#"{"times": 1000000}"#,
        &Budget::default(),
    )
    .await;
    assert_limit(&run, LimitName::HostCalls, 100_000);
    assert_eq!(receipt(&run).host_calls, 100_001, "X22");
}

#[tokio::test]
async fn host_calls_cost_fuel_and_their_fuel_is_exact_too() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "host-calls/draw").await;
    let mut fuel = Vec::new();
    for arguments in [r#"{"times": 10}"#, r#"{"times": 10000}"#] {
        let run = call(&sandbox, &component, "draw", arguments, &Budget::default()).await;
        value(&run);
        fuel.push(receipt(&run).fuel_used);
    }
    assert!(fuel[1] - fuel[0] >= 9_990 * 1_000, "H7: {fuel:?}");
    check(
        "host-calls/draw",
        "draw",
        r#"{"times": 10}"#,
        LimitName::Fuel,
        fuel[0],
    )
    .await;
}

/// H17, B5: by the name of its limit.
#[tokio::test]
async fn bytes_copied_out_in_one_host_call_stop_at_exactly_their_limit() {
    check(
        "host-calls/log",
        "say",
        r#"{"bytes": 5000}"#,
        LimitName::Lift,
        5_000,
    )
    .await;
    let sandbox = sandbox();
    let component = hostile(&sandbox, "host-calls/log").await;
    let run = call(
        &sandbox,
        &component,
        "say",
        r#"{"bytes": 2097152}"#,
        &Budget::default(),
    )
    .await;
    assert_limit(&run, LimitName::Lift, 1 << 20);
}

/// H17, R-017: bounded before the text is built.
///
/// R-509.
#[tokio::test]
async fn output_stops_at_exactly_its_limit() {
    // 100 letters and two quotes.
    check(
        "output/text",
        "text",
        r#"{"bytes": 100}"#,
        LimitName::Output,
        102,
    )
    .await;
    let sandbox = sandbox();
    let component = hostile(&sandbox, "output/text").await;
    let run = call(
        &sandbox,
        &component,
        "text",
        r#"{"bytes": 262142}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(receipt(&run).bytes_out, 256 << 10);
    let run = call(
        &sandbox,
        &component,
        "text",
        r#"{"bytes": 262143}"#,
        &Budget::default(),
    )
    .await;
    assert_limit(&run, LimitName::Output, 256 << 10);
    assert_eq!(receipt(&run).bytes_out, 0);
}

#[tokio::test]
async fn arguments_stop_at_exactly_their_limits_and_no_instance_is_made() {
    let text = r#"{"items": [[1, 2], [3]]}"#;
    let sandbox = sandbox();
    let component = hostile(&sandbox, "output/text").await;
    let length = u64::try_from(text.len()).unwrap();
    let rows = [(LimitName::Arguments, length), (LimitName::JsonNodes, 7)];
    for (name, least) in rows {
        value(
            &call(
                &sandbox,
                &component,
                "nothing",
                text,
                &budget(&[(name, least)]),
            )
            .await,
        );
        let run = call(
            &sandbox,
            &component,
            "nothing",
            text,
            &budget(&[(name, least - 1)]),
        )
        .await;
        assert_limit(&run, name, least - 1);
        assert!(run.receipt.is_none(), "{}", name.as_str());
    }
    // Depth is a property of the text, like its form: a fault of the arguments.
    let deep = |limit| budget(&[(LimitName::JsonDepth, limit)]);
    value(&call(&sandbox, &component, "nothing", text, &deep(3)).await);
    let run = call(&sandbox, &component, "nothing", text, &deep(2)).await;
    let refusal = refusal(&run);
    assert_eq!(refusal.kind(), bindery_types::ErrorType::ArgumentsInvalid);
    assert!(
        refusal
            .message()
            .contains("deeper than 2 (limit `json_depth`)"),
        "B7: {refusal}"
    );
    assert!(run.receipt.is_none());
}

#[tokio::test]
async fn a_wait_inside_the_host_ends_with_the_deadline() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "wait/sleep").await;
    let grants = bindery_grants::Grants {
        clock: bindery_grants::Clock::Real,
        ..Default::default()
    };
    let (cancel, began) = (bindery_sandbox::Cancel::new(), Instant::now());
    let budget = budget(&[(LimitName::Deadline, 500)]);
    let arguments = r#"{"ns": 60000000000}"#;
    let run = sandbox
        .run(&component, "sleep", arguments, grants, &budget, &cancel)
        .await;
    assert_limit(&run, LimitName::Deadline, 500);
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "B1: 600 ms, times ten"
    );
    assert!(
        receipt(&run).host_us >= 400_000,
        "the wait is the host's time"
    );
    let fine = call(
        &sandbox,
        &component,
        "sleep",
        r#"{"ns": 0}"#,
        &Budget::default(),
    )
    .await;
    assert!(
        matches!(fine.outcome, Outcome::Value(_)),
        "B1: the next call works"
    );
}

#[tokio::test]
async fn every_limit_of_a_call_is_in_its_receipt() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    let run = call(
        &sandbox,
        &component,
        "turns",
        r#"{"turns": 1}"#,
        &budget(&[(LimitName::Memory, 77)]),
    )
    .await;
    assert_eq!(value(&run), 1);
    let limits = &receipt(&run).limits;
    let memory = limits.get(LimitName::Memory);
    assert_eq!(memory, Some(bindery_types::Limit::Finite(77)));
    assert_eq!(limits.get(LimitName::Concurrent), None);
    let written = serde_json::to_value(limits).unwrap();
    assert_eq!(written["memory"], 77);
    assert!(written.get("concurrent").is_none());
    let unknown = call(&sandbox, &component, "no-such", "{}", &Budget::default()).await;
    assert_eq!(
        refusal(&unknown).kind(),
        bindery_types::ErrorType::ArgumentsInvalid
    );
}
