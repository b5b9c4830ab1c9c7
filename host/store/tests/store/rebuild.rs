//! The exported lines alone come to the state of the store, by a small program in another
//! language that shares no line with this one.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::drive::{Dice, step};
use crate::rig::*;
use crate::world::*;

/// What the other program makes of an export.
fn rebuilt(lines: &[u8]) -> Result<serde_json::Value, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store/rebuild.py");
    let mut python = Command::new("python3")
        .arg(script)
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

/// A map without an order, and pairs in the order of the map they came from.
fn sorted(mut state: serde_json::Value) -> serde_json::Value {
    for part in ["switches", "effects", "buckets", "forgettable"] {
        let pairs = state[part].as_array_mut().unwrap();
        pairs.sort_by_key(ToString::to_string);
    }
    state
}

fn export_of(world: &World<bindery_store::Store>) -> Vec<u8> {
    let mut lines = Vec::new();
    world.journal.export(&mut lines).unwrap();
    lines
}

#[test]
fn the_exported_lines_alone_come_to_the_state_of_the_store() {
    let mut kinds = std::collections::BTreeMap::new();
    for seed in 1..=5 {
        let place = place();
        let mut world = World::over(open(&place.path).unwrap());
        world.found();
        let mut dice = Dice(seed * 0x9e37_79b9);
        for _ in 0..2_000 {
            // Most are refused; the state is what the accepted ones make.
            let _ = step(&mut world, &mut dice);
        }
        let lines = export_of(&world);
        let ours = sorted(serde_json::to_value(state(&world.journal)).unwrap());
        let theirs = sorted(rebuilt(&lines).unwrap());
        for (part, value) in ours.as_object().unwrap() {
            assert_eq!(theirs[part], *value, "seed {seed}: {part}");
        }
        assert_eq!(theirs, ours, "seed {seed}");
        for record in everything(&world.journal) {
            *kinds.entry(record.entry.event.kind()).or_insert(0) += 1;
        }
    }
    for kind in [
        "call_intent",
        "call_outcome",
        "call_uncertain",
        "call_reconciled",
        "revoked",
        "binding_refreshed",
        "binding_renewed",
        "proposal_approved",
        "generation_raised",
        "policy_replaced",
        "run_moved",
        "session_closed",
        "budget_set",
    ] {
        assert!(
            kinds.get(kind).is_some_and(|count| *count > 3),
            "{kind} in {kinds:?}"
        );
    }
}

#[test]
fn the_other_program_notices_a_changed_a_missing_and_a_cut_line() {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 3);
    let lines = export_of(&world);
    rebuilt(&lines).unwrap();
    let text = String::from_utf8(lines.clone()).unwrap();
    let edited = text.replacen("a test", "a jest", 1);
    assert!(rebuilt(edited.as_bytes()).is_err());
    let missing: String = text
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(rebuilt(missing.as_bytes()).is_err());
    assert!(rebuilt(&lines[..lines.len() - 9]).is_err());
}
