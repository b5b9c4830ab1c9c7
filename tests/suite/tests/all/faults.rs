//! A guest that traps, lies, exits or never gets going: typed, contained, forgotten.
//!
//! Guards B6, D7, H3, H4, H6, H10, H20, H22, H38, X2, X7–X9, X19: each end has its own
//! name, the host lives, and the next call of the same component works.

use std::time::Duration;

use bindery_grants::Grants;
use bindery_sandbox::{Cancel, Sandbox, SandboxConfig};
use bindery_types::{Budget, ErrorType, LimitName, Outcome};

use crate::rig::{
    assert_limit, budget, call, fault_cause, hostile, receipt, refusal, sandbox, value,
};

/// R-018: a structured result, and the host goes on.
#[tokio::test]
async fn every_trap_has_a_cause_of_its_own_and_the_next_call_works() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "trap/each").await;
    let rows = [
        ("unreachable", "unreachable"),
        ("divide", "integer_division_by_zero"),
        ("overflow", "integer_overflow"),
        ("convert", "bad_conversion_to_integer"),
        ("load", "memory_out_of_bounds"),
        ("null", "null_call"),
        ("signature", "bad_signature"),
        ("element", "table_out_of_bounds"),
    ];
    for (function, cause) in rows {
        let run = call(&sandbox, &component, function, "{}", &Budget::default()).await;
        assert_eq!(fault_cause(&run), cause, "H38: {function}");
        assert_eq!(receipt(&run).exit_code, 1);
        let fine = call(&sandbox, &component, "fine", "{}", &Budget::default()).await;
        assert_eq!(value(&fine), 7, "B6, H20");
    }
}

#[tokio::test]
async fn unbounded_recursion_is_a_stack_overflow_of_the_guest() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    for _ in 0..3 {
        let run = call(
            &sandbox,
            &component,
            "deeper",
            r#"{"from": 1}"#,
            &Budget::default(),
        )
        .await;
        assert_eq!(fault_cause(&run), "stack_overflow", "X2, H8");
    }
}

#[tokio::test]
async fn traps_outside_the_function_itself_are_faults_too() {
    let sandbox = sandbox();
    let late = hostile(&sandbox, "trap/late").await;
    let start = hostile(&sandbox, "trap/start").await;
    let rows = [(&late, "return"), (&late, "destroy"), (&start, "go")];
    for (component, function) in rows {
        let run = call(&sandbox, component, function, "{}", &Budget::default()).await;
        assert_eq!(fault_cause(&run), "unreachable", "X7, X19: {function}");
    }
}

#[tokio::test]
async fn a_realloc_that_calls_an_import_is_a_fault() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "trap/leave-realloc").await;
    let run = call(
        &sandbox,
        &component,
        "go",
        r#"{"text": "x"}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(fault_cause(&run), "call_not_allowed_here", "H22");
}

#[tokio::test]
async fn guest_code_that_never_ends_is_stopped_wherever_it_runs() {
    let sandbox = sandbox();
    let rows = [
        ("spin/start", "{}"),
        ("spin/realloc", r#"{"text": "x"}"#),
        ("spin/post-return", "{}"),
    ];
    for (name, arguments) in rows {
        let component = hostile(&sandbox, name).await;
        let run = call(
            &sandbox,
            &component,
            "go",
            arguments,
            &budget(&[(LimitName::Deadline, 50)]),
        )
        .await;
        assert_limit(&run, LimitName::Deadline, 50);
        let run = call(
            &sandbox,
            &component,
            "go",
            arguments,
            &budget(&[(LimitName::Fuel, 10_000)]),
        )
        .await;
        assert_limit(&run, LimitName::Fuel, 10_000);
    }
}

#[tokio::test]
async fn handles_that_were_not_given_are_faults() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "handles/guess").await;
    for handle in [0u32, 1, 1 << 28, u32::MAX] {
        for function in ["rep", "drop"] {
            let arguments = format!(r#"{{"handle": {handle}}}"#);
            let run = call(
                &sandbox,
                &component,
                function,
                &arguments,
                &Budget::default(),
            )
            .await;
            assert_eq!(fault_cause(&run), "bad_handle", "X8: {function} {handle}");
        }
    }
    for function in ["drop-twice", "drop-as-other"] {
        let run = call(&sandbox, &component, function, "{}", &Budget::default()).await;
        assert_eq!(fault_cause(&run), "bad_handle", "X8: {function}");
    }
    let keeper = hostile(&sandbox, "handles/keep-borrow").await;
    let run = call(&sandbox, &keeper, "go", "{}", &Budget::default()).await;
    assert_eq!(fault_cause(&run), "bad_handle", "X8, X9");
}

#[tokio::test]
async fn nothing_kept_in_a_global_is_seen_by_the_next_call() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "handles/guess").await;
    for _ in 0..10 {
        let run = call(&sandbox, &component, "kept", "{}", &Budget::default()).await;
        assert_eq!(value(&run), 0, "R-019, X9");
    }
}

/// H30: a command that exits with success has succeeded.
#[tokio::test]
async fn exit_ends_a_command_with_its_code() {
    let sandbox = sandbox();
    let rows = [
        ("exit/exit-ok", Outcome::Value("null".into()), 0),
        ("exit/return-ok", Outcome::Value("null".into()), 0),
        (
            "exit/exit-err",
            Outcome::CapabilityError(r#"{"exit_code":1}"#.into()),
            5,
        ),
        (
            "exit/return-err",
            Outcome::CapabilityError("null".into()),
            5,
        ),
    ];
    for (name, outcome, exit_code) in rows {
        let component = hostile(&sandbox, name).await;
        let run = call(&sandbox, &component, "run", "{}", &Budget::default()).await;
        assert_eq!(run.outcome, outcome, "D7, C-47: {name}");
        assert_eq!(receipt(&run).exit_code, exit_code, "{name}");
    }
}

#[tokio::test]
async fn exit_anywhere_else_is_a_fault_even_with_success() {
    let sandbox = sandbox();
    let typed = hostile(&sandbox, "exit/typed").await;
    for (status, code) in [
        (r#"{"status": {"ok": null}}"#, 0),
        (r#"{"status": {"err": null}}"#, 1),
    ] {
        let run = call(&sandbox, &typed, "go", status, &Budget::default()).await;
        assert_eq!(fault_cause(&run), "exited", "D7, X19");
        assert_eq!(refusal(&run).details()["exit_code"], code);
    }
    let start = hostile(&sandbox, "exit/start").await;
    let run = call(&sandbox, &start, "go", "{}", &Budget::default()).await;
    assert_eq!(fault_cause(&run), "exited", "C-47: instantiation included");
}

#[tokio::test]
async fn a_nan_has_one_bit_pattern_however_it_is_made() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "determinism/nan").await;
    for way in 0..4 {
        let arguments = format!(r#"{{"way": {way}}}"#);
        let run = call(&sandbox, &component, "bits", &arguments, &Budget::default()).await;
        // Beyond 2^53, so it is spelled as text.
        assert_eq!(
            value(&run),
            0x7ff8_0000_0000_0000u64.to_string(),
            "H4: way {way}"
        );
    }
}

#[tokio::test]
async fn a_component_of_another_sandbox_is_refused() {
    let (here, there) = (sandbox(), sandbox());
    let component = hostile(&there, "trap/each").await;
    let run = call(&here, &component, "fine", "{}", &Budget::default()).await;
    assert_eq!(refusal(&run).kind(), ErrorType::Internal, "H11");
    assert!(run.receipt.is_none());
}

#[tokio::test]
async fn a_cancelled_call_ends_as_cancelled_and_keeps_its_receipt() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "spin/call").await;
    let (cancel, budget) = (Cancel::new(), budget(&[(LimitName::Deadline, 60_000)]));
    let spinning = sandbox.run(
        &component,
        "forever",
        "{}",
        Grants::default(),
        &budget,
        &cancel,
    );
    let (run, ()) = tokio::join!(spinning, async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        cancel.cancel();
    });
    assert_eq!(refusal(&run).kind(), ErrorType::Cancelled);
    assert_eq!(receipt(&run).exit_code, 130);
    assert!(receipt(&run).fuel_used > 0);
    let turns = call(
        &sandbox,
        &component,
        "turns",
        r#"{"turns": 3}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(value(&turns), 3, "B6");
    let early = sandbox.run(
        &component,
        "turns",
        r#"{"turns": 3}"#,
        Grants::default(),
        &budget,
        &cancel,
    );
    assert_eq!(refusal(&early.await).kind(), ErrorType::Cancelled);
}

#[test]
fn the_environment_adds_no_detail_to_what_a_caller_sees() {
    // H10, X65: the variables are read when an engine is made, so it is made by a child.
    const CHILD: &str = "faults::a_trap_names_no_function_of_the_guest";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD])
        .env("WASMTIME_BACKTRACE_DETAILS", "1")
        .env("RUST_BACKTRACE", "full")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}

#[tokio::test]
async fn a_trap_names_no_function_of_the_guest() {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let text = r#"(component
        (core module $m (func $secret-name (export "go") (unreachable)))
        (core instance $i (instantiate $m))
        (func (export "go") (canon lift (core func $i "go"))))"#;
    let component = sandbox.load(wat::parse_str(text).unwrap()).await.unwrap();
    let run = call(&sandbox, &component, "go", "{}", &Budget::default()).await;
    let refusal = refusal(&run);
    let shown = format!("{} {:?}", refusal.to_json(), refusal.operator());
    for hidden in ["secret", "wasm backtrace", ".wat", ".rs", "/"] {
        assert!(!shown.contains(hidden), "H10: {hidden} in {shown}");
    }
}
