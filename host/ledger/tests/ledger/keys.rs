//! Idempotency keys: case G1, from every side.

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;

use crate::world::*;

fn bound() -> World<Memory> {
    let world = World::new();
    for session in [0, 1, 2] {
        world.open_session(session).unwrap();
        world.bind(session * 10 + 1, session, "writer").unwrap();
    }
    world
}

fn keyed(world: &World<Memory>, n: u64, session: u64, under: u64) -> CallIntent {
    world.keyed(
        world.intent(n, session, under, "writer"),
        "order-17",
        60 * MINUTE,
    )
}

///
#[test]
fn fifty_at_once_are_one_start_case_g1_i16() {
    let world = bound();
    let started: Vec<Done> = std::thread::scope(|scope| {
        let one = |n| {
            scope.spawn({
                let world = &world;
                move || world.model(0, keyed(world, n, 0, 1))
            })
        };
        let all: Vec<_> = (100..150).map(one).collect();
        all.into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(started.iter().filter(|done| done.is_ok()).count(), 1);
    for refused in started.into_iter().filter(Result::is_err) {
        let refused = rejected(refused);
        assert!(matches!(refused, Rejection::InProgress { .. }), "{refused}");
        assert_eq!(refused.kind(), ErrorType::Busy);
    }
}

#[test]
fn a_repetition_gets_the_recorded_outcome_whatever_it_was_i16() {
    for (end, error) in [
        (CallEnd::Succeeded, None),
        (CallEnd::CapabilityError, None),
        (CallEnd::Failed, Some(ErrorType::GuestFault)),
    ] {
        let world = bound();
        world.model(0, keyed(&world, 1, 0, 1)).unwrap();
        let by = world.model(0, world.outcome(1, end, error)).unwrap();
        let again = rejected(world.model(0, keyed(&world, 2, 0, 1)));
        assert_eq!(again, Rejection::AlreadyDone { call: call(1), end });
        let state = world.state();
        let key = EffectKey {
            tenant: "acme".parse().unwrap(),
            principal: principal_of(0),
            capability: capability("writer"),
            key: "order-17".parse().unwrap(),
        };
        let entry = state.effect(&key, world.moment()).unwrap();
        let output = world.outcome(1, end, None).output;
        assert_eq!(entry.standing, EffectStanding::Ended { end, output, by });
    }
}

#[test]
fn other_arguments_are_a_conflict_in_every_standing_case_g1() {
    let world = bound();
    let other = |n| {
        let mut intent = keyed(&world, n, 0, 1);
        intent.arguments = digest("other arguments");
        rejected(world.model(0, intent))
    };
    world.model(0, keyed(&world, 1, 0, 1)).unwrap();
    assert_eq!(other(2), Rejection::KeyConflict);
    world.succeed(1, 0).unwrap();
    assert_eq!(other(2), Rejection::KeyConflict);
    assert_eq!(other(2).kind(), ErrorType::IdempotencyConflict);
}

#[test]
fn another_principal_build_or_key_is_another_effect_c56_i38() {
    let world = bound();
    world.model(0, keyed(&world, 1, 0, 1)).unwrap();
    world.model(1, keyed(&world, 2, 1, 11)).unwrap();
    let plain = world.intent(3, 0, 1, "writer");
    world
        .model(0, world.keyed(plain, "order-18", MINUTE))
        .unwrap();
    world.bind(5, 0, "reader").unwrap();
    let reading = world.intent(4, 0, 5, "reader");
    world
        .model(0, world.keyed(reading, "order-17", MINUTE))
        .unwrap();
}

#[test]
fn a_new_binding_or_session_of_the_same_principal_repeats_no_effect_c56() {
    let world = bound();
    world.model(0, keyed(&world, 1, 0, 1)).unwrap();
    world.succeed(1, 0).unwrap();
    world.bind(5, 0, "writer").unwrap();
    for (session, under) in [(0, 5), (2, 21)] {
        let again = rejected(world.model(session, keyed(&world, 2, session, under)));
        assert!(matches!(again, Rejection::AlreadyDone { .. }), "{again}");
    }
}

///
#[test]
fn what_failed_before_any_effect_may_run_again_and_the_unknown_may_not_i17() {
    let world = bound();
    world.model(0, keyed(&world, 1, 0, 1)).unwrap();
    let failed = world.outcome(1, CallEnd::FailedBeforeEffect, Some(ErrorType::GuestFault));
    world.model(0, failed).unwrap();
    world.model(0, keyed(&world, 2, 0, 1)).unwrap();
    world.lose(2, 0, Doubt::AnswerLost).unwrap();
    let unknown = rejected(world.model(0, keyed(&world, 3, 0, 1)));
    assert_eq!(unknown, Rejection::OutcomeUnknown { call: call(2) });
    assert_eq!(unknown.kind(), ErrorType::UncertainSideEffect);
    world.reconcile(2, Finding::Failed).unwrap();
    world.model(0, keyed(&world, 3, 0, 1)).unwrap();
    world.lose(3, 0, Doubt::Crash).unwrap();
    world.reconcile(3, Finding::Done).unwrap();
    let done = rejected(world.model(0, keyed(&world, 4, 0, 1)));
    assert!(matches!(done, Rejection::AlreadyDone { .. }), "{done}");
}

#[test]
fn a_denied_call_leaves_no_key_behind_case_g1() {
    let world = bound();
    let mut denied = keyed(&world, 1, 0, 1);
    denied.decision = world.decision(Verdict::Deny, ApprovalRequirement::NoApproval);
    assert!(world.model(0, denied).is_err());
    world.model(0, keyed(&world, 2, 0, 1)).unwrap();
}

#[test]
fn a_known_outcome_is_forgotten_after_its_time_and_a_doubt_never_case_g1() {
    let mut world = bound();
    let lasting = |world: &World<Memory>, n: u64, key: &str| {
        world.keyed(world.intent(n, 0, 1, "writer"), key, MINUTE)
    };
    world.model(0, lasting(&world, 1, "known")).unwrap();
    world.succeed(1, 0).unwrap();
    world.model(0, lasting(&world, 2, "unknown")).unwrap();
    world.lose(2, 0, Doubt::Crash).unwrap();
    world.now += MINUTE - 1;
    assert!(world.model(0, lasting(&world, 3, "known")).is_err());
    world.now += 1;
    world.model(0, lasting(&world, 3, "known")).unwrap();
    let unknown = rejected(world.model(0, lasting(&world, 4, "unknown")));
    assert!(
        matches!(unknown, Rejection::OutcomeUnknown { .. }),
        "{unknown}"
    );
}
