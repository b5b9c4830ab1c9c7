//! Reopening: everything acknowledged is there, nothing is authority, doubts are doubts.

use bindery_ledger::event::*;
use bindery_ledger::view::{explain_binding, explain_call};
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;
use serde_json::json;

use crate::rig::*;
use crate::world::*;

///
#[test]
fn a_state_reopens_as_it_was_closed_r374_r690_r695() {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 20);
    world.close_session(0).unwrap();
    let before = state(&world.journal);
    let records = everything(&world.journal);
    world.journal.close().unwrap();
    let store = open(&place.path).unwrap();
    store.verify().unwrap();
    let again = everything(&store);
    assert_eq!(again[..records.len()], records);
    assert_eq!(
        again.len(),
        records.len() + 1,
        "and one that says a host started"
    );
    let after = state(&store);
    let part = |state: &State, name: &str| serde_json::to_value(state).unwrap()[name].clone();
    for name in [
        "environment",
        "capabilities",
        "evidence",
        "write_gate",
        "switches",
    ] {
        assert_eq!(part(&after, name), part(&before, name), "{name}");
    }
}

#[test]
fn a_checkpoint_and_the_fold_from_the_first_record_are_one_state() {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 5);
    world.journal.close().unwrap();
    // The second start begins with the checkpoint that the first one's end wrote.
    let world = World::over(open(&place.path).unwrap());
    furnish(&world);
    work(&world, 100, 5);
    let verified = world.journal.verify().unwrap();
    assert_eq!(verified.records, state(&world.journal).sequence());
}

///
#[test]
fn what_was_in_flight_is_uncertain_and_old_handles_are_nobodys_i17_r708() {
    let place = place();
    let world = founded(&place.path);
    let keyed = world.keyed(world.intent(1, 0, 1, "writer"), "order-17", 60 * MINUTE);
    world.model(0, keyed.clone()).unwrap();
    world.start(2, 0, 2, "reader").unwrap();
    world.journal.close().unwrap();
    let world = World::over(open(&place.path).unwrap());
    let found = state(&world.journal);
    assert_eq!(
        found.call(call(1)).unwrap().standing,
        CallStanding::Uncertain
    );
    assert!(
        found.call(call(2)).is_none(),
        "a call without effects was interrupted"
    );
    assert_eq!((found.sessions().count(), found.bindings().count()), (0, 0));
    assert!(world.model(0, keyed.clone()).is_err());
    furnish(&world);
    let again = CallIntent {
        call: call(3),
        ..keyed
    };
    assert_eq!(
        rejected(world.model(0, again.clone())),
        Rejection::OutcomeUnknown { call: call(1) }
    );
    world.reconcile(1, Finding::Failed).unwrap();
    world.model(0, again).unwrap();
}

#[test]
fn an_approval_is_not_used_twice_by_a_restart_i15() {
    let place = place();
    let world = founded(&place.path);
    let every_time = ApprovalRequirement::ConfirmEveryTime;
    world
        .model(0, world.asked(1, 0, 1, "writer", every_time))
        .unwrap();
    world.approve(1).unwrap();
    let used = world.approved(world.intent(1, 0, 1, "writer"), 1, every_time);
    world.model(0, used.clone()).unwrap();
    drop(world);
    let world = World::over(open(&place.path).unwrap());
    furnish(&world);
    let again = CallIntent {
        call: call(2),
        ..used
    };
    assert!(world.model(0, again).is_err());
}

#[test]
fn a_budget_is_neither_refunded_nor_lost_by_a_restart_case_g4() {
    let place = place();
    let world = founded(&place.path);
    let mine = || BudgetScope::Principal("acme".parse().unwrap(), principal_of(0));
    world.budget(mine(), Meter::Calls, None, 5).unwrap();
    work(&world, 1, 2);
    world.start(3, 0, 1, "writer").unwrap();
    drop(world);
    let world = World::over(open(&place.path).unwrap());
    furnish(&world);
    assert_eq!(
        state(&world.journal).remaining(session(0), Meter::Calls),
        Some(2)
    );
    work(&world, 10, 2);
    assert!(world.start(20, 0, 1, "writer").is_err());
}

#[test]
fn lazy_records_are_there_after_a_flush_an_end_or_a_while() {
    let place = place();
    let world = founded(&place.path);
    let lazy = |n: u64| {
        let intent = world.model_entry(0, world.intent(n, 0, 2, "reader"));
        let outcome = world.model_entry(0, world.outcome(n, CallEnd::Succeeded, None));
        world.journal.append_lazy(vec![intent, outcome]).unwrap()
    };
    let at = lazy(1);
    world.journal.flush().unwrap();
    assert!(
        export(&place.path)
            .unwrap()
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            >= usize::try_from(at).unwrap()
    );
    let at = lazy(2);
    let written = || {
        export(&place.path)
            .unwrap()
            .iter()
            .filter(|b| **b == b'\n')
            .count()
    };
    // Bounded at a hundred milliseconds by the store; ten times that is a hang.
    let begun = std::time::Instant::now();
    while written() <= usize::try_from(at).unwrap() {
        assert!(begun.elapsed().as_secs() < 10, "never written");
    }
    let at = lazy(3);
    drop(world);
    assert_eq!(
        export(&place.path)
            .unwrap()
            .iter()
            .filter(|b| **b == b'\n')
            .count(),
        usize::try_from(at).unwrap() + 1
    );
}

#[test]
fn a_result_with_a_key_is_given_back_after_a_restart_and_deleted_after_its_time_case_g1() {
    let place = place();
    let mut world = founded(&place.path);
    let text = "\"CANARY-RESULT\"";
    let kept = Kept {
        digest: digest(text),
        text: text.to_owned(),
        expires_at: world.in_ms(MINUTE),
    };
    let keyed = world.keyed(world.intent(1, 0, 1, "writer"), "order-17", MINUTE);
    world.model(0, keyed).unwrap();
    let mut outcome = world.outcome(1, CallEnd::Succeeded, None);
    outcome.output = Some(OutputRef {
        digest: digest(text),
        bytes: 15,
    });
    let outcome = world.model_entry(0, outcome);
    world
        .journal
        .append(vec![outcome], vec![kept.clone()])
        .unwrap();
    world.journal.close().unwrap();
    world.journal = open(&place.path).unwrap();
    assert_eq!(
        world.journal.kept(digest(text)).unwrap().as_deref(),
        Some(text)
    );
    assert_eq!(world.journal.kept(digest("other")).unwrap(), None);
    world.now += MINUTE;
    furnish(&world);
    world.journal.close().unwrap();
    for name in ["ledger.sqlite", "ledger.sqlite-wal"] {
        let Ok(bytes) = std::fs::read(place.path.join(name)) else {
            continue;
        };
        let marker = b"CANARY-RESULT";
        assert!(!bytes.windows(marker.len()).any(|w| w == marker), "{name}");
    }
}

#[test]
fn no_argument_prompt_output_or_secret_is_in_the_bytes_of_the_store_r777_to_r780() {
    let place = place();
    let world = founded(&place.path);
    // What a caller has, and what the record holds of it: digests.
    for (n, end, error) in [
        (1, CallEnd::Succeeded, None),
        (2, CallEnd::Failed, Some(ErrorType::GuestFault)),
        (3, CallEnd::CapabilityError, None),
    ] {
        let mut intent = world.intent(n, 0, 1, "writer");
        intent.arguments = canonical_digest(&json!({"note": "CANARY"}));
        intent.input = summary(json!({"note": {"redacted": true, "chars": 6}}));
        world.model(0, intent).unwrap();
        let mut outcome = world.outcome(n, end, error);
        outcome.output = Some(OutputRef {
            digest: digest("CANARY"),
            bytes: 6,
        });
        world.model(0, outcome).unwrap();
    }
    world.journal.close().unwrap();
    for entry in std::fs::read_dir(&place.path).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            !bytes.windows(6).any(|w| w == b"CANARY"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn records_are_found_by_their_subject_and_by_their_session() {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 3);
    world.release(1, 0).unwrap();
    let all = everything(&world.journal);
    for subject in [
        binding(1).to_string(),
        call(2).to_string(),
        "environment".to_owned(),
    ] {
        let query = Query::Subject(subject);
        let found = world.journal.records(&query).unwrap();
        let wanted: Vec<_> = all
            .iter()
            .filter(|record| query.fits(record))
            .cloned()
            .collect();
        assert!(!found.is_empty());
        assert_eq!(found, wanted, "{query:?}");
    }
    let query = Query::Session(session(0));
    let wanted: Vec<_> = all
        .iter()
        .filter(|record| query.fits(record))
        .cloned()
        .collect();
    assert_eq!(world.journal.records(&query).unwrap(), wanted);
    let page = Query::From {
        sequence: 5,
        count: 3,
    };
    let page = world.journal.records(&page).unwrap();
    assert_eq!(page, all[4..7]);
    let trace = explain_call(&world.journal, call(2)).unwrap();
    assert_eq!(
        trace.binding,
        explain_binding(&world.journal, binding(1)).unwrap()
    );
    assert!(trace.binding.ended.is_some());
}

#[test]
fn a_refused_batch_leaves_nothing_in_the_store_i42() {
    let place = place();
    let world = founded(&place.path);
    let before = export_of(&world.journal);
    let good = world.model_entry(0, world.intent(1, 0, 1, "writer"));
    let bad = world.model_entry(0, world.intent(1, 0, 1, "writer"));
    assert!(world.journal.append(vec![good, bad], Vec::new()).is_err());
    assert_eq!(export_of(&world.journal), before);
    assert!(state(&world.journal).call(call(1)).is_none());
}

fn export_of(store: &bindery_store::Store) -> Vec<u8> {
    let mut out = Vec::new();
    store.export(&mut out).unwrap();
    out
}
