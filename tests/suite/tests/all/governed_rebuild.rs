//! The exported lines of governed hosts come to the state of their stores, by the small
//! program in another language that the ledger's own tests hold it against.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use bindery_artefacts::repository;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use proptest_state_machine::ReferenceStateMachine;
use serde_json::Value;

use crate::governed_machine::Machine;
use crate::governed_verbs::Reference;

/// What the other program makes of an export.
fn rebuilt(lines: &[u8]) -> Result<Value, String> {
    let mut python = Command::new("python3")
        .arg(repository().join("host/store/tests/store/rebuild.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(lines).unwrap();
    let output = python.wait_with_output().unwrap();
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).unwrap());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Maps whose keys are objects, in one order.
fn sorted(mut state: Value) -> Value {
    for part in ["switches", "effects", "buckets", "forgettable"] {
        let pairs = state[part].as_array_mut().unwrap();
        pairs.sort_by_key(ToString::to_string);
    }
    state
}

/// R-784, I19: every verb of a host, restarts and clock jumps included, is in the lines.
#[test]
fn the_lines_of_a_governed_record_alone_come_to_the_state_of_its_store() {
    let mut runner = TestRunner::deterministic();
    let mut kinds = BTreeMap::new();
    for run in 0..8 {
        let strategy = Reference::sequential_strategy(70..90);
        let (mut model, verbs, _) = strategy.new_tree(&mut runner).unwrap().current();
        let mut machine = Machine::new(&model);
        for verb in &verbs {
            model = Reference::apply(model, verb);
            machine.step(&model, verb);
        }
        let (lines, state) = machine.exported();
        let (ours, theirs) = (sorted(state), sorted(rebuilt(&lines).unwrap()));
        for (part, value) in ours.as_object().unwrap() {
            assert_eq!(theirs[part], *value, "run {run}: {part}");
        }
        assert_eq!(theirs, ours, "run {run}");
        let edited = String::from_utf8(lines)
            .unwrap()
            .replacen("acme:", "acne:", 1);
        assert!(
            rebuilt(edited.as_bytes()).is_err(),
            "the chain is looked at"
        );
        for record in machine.records() {
            *kinds.entry(record.entry.event.kind()).or_insert(0) += 1;
        }
    }
    println!("{kinds:?}");
    for kind in [
        "environment_admitted",
        "write_gate_accepted",
        "capability_described",
        "capability_moved",
        "session_opened",
        "session_closed",
        "binding_opened",
        "binding_refreshed",
        "binding_moved",
        "bind_refused",
        "call_intent",
        "call_outcome",
        "call_refused",
        "call_decided",
        "revoked",
        "revocation_lifted",
        "policy_replaced",
        "proposal_made",
        "proposal_approved",
        "proposal_denied",
        "catalogue_changed",
        "operation_served",
        "budget_set",
        "host_started",
    ] {
        assert!(kinds.contains_key(kind), "{kind} is not in {kinds:?}");
    }
}
