//! The closed set of outcomes: every type has its exit code, and the process shows each
//! kind that a run can come to.

use bindery::ErrorType;
use serde_json::Value;

use crate::process::{bindery, calc, folder, guest, signalled};

/// The table of the architecture page, § 10, written again by hand: the oracle.
const CODES: &[(u8, &[&str])] = &[
    (
        1,
        &[
            "guest_fault",
            "result_schema_mismatch",
            "schema_invalid",
            "probe_failed",
            "semantic_drift_detected",
            "run_transition_invalid",
            "internal",
        ],
    ),
    (
        2,
        &[
            "arguments_invalid",
            "capability_ambiguous",
            "component_invalid",
            "policy_malformed",
            "idempotency_conflict",
            "usage",
        ],
    ),
    (3, &["not_authenticated"]),
    (
        4,
        &[
            "permission_denied",
            "binding_denied",
            "stage_disabled",
            "handle_invalid",
            "capability_revoked",
            "descriptor_untrusted",
            "schema_unverified",
            "probe_not_safe",
            "dependency_missing",
        ],
    ),
    (5, &["capability_error"]),
    (6, &["approval_required"]),
    (7, &["budget_exhausted", "timeout"]),
    (8, &["descriptor_mismatch", "integrity_failed"]),
    (
        9,
        &[
            "capability_unavailable",
            "not_executable",
            "credential_missing",
            "environment_unavailable",
            "binding_stale",
            "store_unavailable",
        ],
    ),
    (10, &["uncertain_side_effect"]),
    (
        75,
        &["busy", "catalog_changed", "environment_generation_changed"],
    ),
    (130, &["cancelled"]),
];

#[test]
fn every_error_type_stands_in_the_table_of_exit_codes_once() {
    let mut rows: Vec<(&str, u8)> = CODES
        .iter()
        .flat_map(|(code, names)| names.iter().map(move |name| (*name, *code)))
        .collect();
    let mut types: Vec<(&str, u8)> = ErrorType::ALL
        .iter()
        .map(|kind| (kind.as_str(), kind.exit_code()))
        .collect();
    rows.sort_unstable();
    types.sort_unstable();
    assert_eq!(types, rows);
}

#[track_caller]
fn ends(words: &[&str], code: i32, kind: &str) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["-o", "json"]).collect();
    let printed = bindery(&words);
    let value = printed.json();
    assert_eq!(value["error"]["type"], kind, "{words:?}: {value}");
    assert_eq!(printed.code, code, "{words:?}: {value}");
    if let Some(receipt) = value["receipt"].as_object() {
        assert_eq!(
            receipt["exit_code"], code,
            "the receipt says what the process does"
        );
    }
    value
}

#[test]
fn a_value_ends_with_0_and_its_receipt() {
    let printed = bindery(&["run", &calc(), "add", r#"{"a":40,"b":2}"#, "-o", "json"]);
    let value = printed.json();
    assert_eq!((printed.code, &value["value"]), (0, &42.into()));
    assert_eq!(value["receipt"]["exit_code"], 0);
}

#[test]
fn a_trap_a_stack_overflow_and_a_lie_end_with_1() {
    let trap = ends(&["run", &calc(), "trap"], 1, "guest_fault");
    assert_eq!(trap["error"]["category"], "adapter_error", "R-746");
    let deep = ends(&["run", &calc(), "deep"], 1, "guest_fault");
    assert_eq!(deep["error"]["details"]["cause"], "stack_overflow", "C-55");
}

#[test]
fn wrong_arguments_and_files_that_are_no_components_end_with_2() {
    ends(
        &["run", &calc(), "add", r#"{"a":1}"#],
        2,
        "arguments_invalid",
    );
    ends(&["run", &calc(), "add", "{"], 2, "arguments_invalid");
    let page = folder().join("page.html");
    std::fs::write(&page, "<!doctype html><title>Sign in</title>").unwrap();
    ends(
        &["run", page.to_str().unwrap(), "go"],
        2,
        "component_invalid",
    );
    ends(&["inspect", page.to_str().unwrap()], 2, "component_invalid");
}

#[test]
fn imports_that_nothing_covers_end_with_4_before_any_fuel_is_used() {
    let wants = guest(
        "wants-unknown",
        r#"(component (import "ex:other/thing@1.0.0" (instance (export "go" (func)))))"#,
    );
    ends(&["run", &wants, "go"], 2, "arguments_invalid");
    let exporting = guest(
        "wants-unknown-and-exports",
        r#"(component
            (import "ex:other/thing@1.0.0" (instance (export "go" (func))))
            (core module $m (func (export "go")))
            (core instance $i (instantiate $m))
            (func (export "go") (canon lift (core func $i "go"))))"#,
    );
    let value = ends(&["run", &exporting, "go"], 4, "dependency_missing");
    assert!(
        value["receipt"].is_null() || value["receipt"]["fuel_used"] == 0,
        "R-012: {value}"
    );
}

#[test]
fn the_capabilitys_own_error_ends_with_5_and_carries_its_value() {
    let value = ends(
        &["run", &calc(), "fail", r#"{"why":7}"#],
        5,
        "capability_error",
    );
    assert_eq!(value["error"]["details"]["value"], 7);
}

#[test]
fn limits_end_with_7_and_say_which_and_how_much() {
    let calc = calc();
    let spin = ends(
        &["run", &calc, "spin", "--fuel", "1e6"],
        7,
        "budget_exhausted",
    );
    let details = &spin["error"]["details"];
    assert_eq!(
        (&details["limit"], &details["value"]),
        (&"fuel".into(), &1_000_000.into()),
        "R-014"
    );
    assert_eq!(spin["receipt"]["fuel_used"], 1_000_000, "R-014");
    // What was asked for when it stopped: the block that crosses the limit counts whole.
    let used = details["used"].as_u64().unwrap();
    assert!((1_000_001..1_000_100).contains(&used), "U5: {used}");
    let spin = ends(
        &[
            "run",
            &calc,
            "spin",
            "--deadline",
            "50ms",
            "--fuel",
            "unlimited",
        ],
        7,
        "timeout",
    );
    assert_eq!(spin["error"]["details"]["limit"], "deadline", "C-55");
    let grow = ends(
        &["run", &calc, "grow", "--memory", "4MiB"],
        7,
        "budget_exhausted",
    );
    assert_eq!(grow["error"]["details"]["limit"], "memory");
    let wide = ends(
        &["run", &calc, "wide", "--output", "1KiB"],
        7,
        "budget_exhausted",
    );
    assert_eq!(wide["error"]["details"]["limit"], "output");
}

#[test]
fn a_store_that_cannot_be_trusted_ends_with_9() {
    use std::os::unix::fs::PermissionsExt;
    let open = folder().join("open-cache");
    std::fs::create_dir_all(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    ends(
        &[
            "run",
            &calc(),
            "add",
            r#"{"a":1,"b":2}"#,
            "--cache",
            open.to_str().unwrap(),
        ],
        9,
        "store_unavailable",
    );
}

#[test]
fn an_interrupt_ends_with_130_and_keeps_the_receipt() {
    let (code, value) = signalled(rustix::process::Signal::INT);
    assert_eq!(
        (code, &value["error"]["type"]),
        (Some(130), &"cancelled".into())
    );
    assert!(value["receipt"]["fuel_used"].as_u64().unwrap() > 0);
}
