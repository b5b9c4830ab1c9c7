//! Budgets under parallel calls: case G4, to the last unit.

use std::collections::BTreeMap;

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;
use proptest::prelude::*;

use crate::world::*;

fn bound(budgets: &[(BudgetScope, Meter, Option<u64>, u64)]) -> World<Memory> {
    let world = World::new();
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    world.bind(2, 0, "reader").unwrap();
    for (scope, meter, window, limit) in budgets {
        world
            .budget(scope.clone(), *meter, *window, *limit)
            .unwrap();
    }
    world
}

fn key(scope: BudgetScope, meter: Meter, window_ms: Option<u64>) -> BucketKey {
    BucketKey {
        scope,
        meter,
        window_ms,
    }
}

///
#[test]
fn exactly_as_many_of_64_are_admitted_as_are_allowed_and_the_rest_is_limit_less_spent_case_g4() {
    for limit in [1, 5] {
        let scope = BudgetScope::Session(session(0));
        let world = bound(&[(scope.clone(), Meter::Calls, None, limit)]);
        let admitted: Vec<u64> = std::thread::scope(|threads| {
            let one = |n: u64| {
                let world = &world;
                threads.spawn(move || {
                    let done = world.start(n, 0, 1, "writer");
                    // Each of them ends in another way.
                    if done.is_ok() {
                        match n % 4 {
                            0 => world.succeed(n, 0).unwrap(),
                            1 => world
                                .model(
                                    0,
                                    world.outcome(n, CallEnd::Failed, Some(ErrorType::GuestFault)),
                                )
                                .unwrap(),
                            2 => world.lose(n, 0, Doubt::Cancelled).unwrap(),
                            _ => world
                                .model(
                                    0,
                                    world.outcome(
                                        n,
                                        CallEnd::FailedBeforeEffect,
                                        Some(ErrorType::GuestFault),
                                    ),
                                )
                                .unwrap(),
                        };
                    }
                    done.ok().map(|_| n)
                })
            };
            let all: Vec<_> = (0..64).map(one).collect();
            all.into_iter()
                .filter_map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(u64::try_from(admitted.len()).unwrap(), limit);
        let state = world.state();
        let bucket = state.bucket(&key(scope, Meter::Calls, None)).unwrap();
        assert_eq!((bucket.spent, bucket.reserved), (limit, 0));
        assert_eq!(bucket.remaining(), 0);
    }
}

#[test]
fn a_refused_call_takes_nothing_of_any_budget_i42() {
    let world = bound(&[
        (BudgetScope::Session(session(0)), Meter::Calls, None, 10),
        (BudgetScope::Environment, Meter::Fuel, None, 5),
    ]);
    let before = world.state();
    let mut greedy = world.intent(1, 0, 1, "writer");
    greedy.reserve = BTreeMap::from([(Meter::Calls, 1), (Meter::Fuel, 6)]);
    let refused = rejected(world.model(0, greedy.clone()));
    let Rejection::Budget {
        limit,
        used,
        asked,
        retry_after_ms,
        ..
    } = &refused
    else {
        panic!("{refused}")
    };
    assert_eq!((*limit, *used, *asked, *retry_after_ms), (5, 0, 6, None));
    assert_eq!(refused.kind(), ErrorType::BudgetExhausted);
    assert_eq!(world.state(), before);
    greedy.reserve.insert(Meter::Fuel, 5);
    world.model(0, greedy).unwrap();
}

#[test]
fn what_was_reserved_and_not_spent_is_there_again_and_a_loss_charges_all_case_g4() {
    let scope = BudgetScope::Principal("acme".parse().unwrap(), principal_of(0));
    let world = bound(&[(scope.clone(), Meter::Fuel, None, 100)]);
    let start = |n| {
        let mut intent = world.intent(n, 0, 1, "writer");
        intent.reserve.insert(Meter::Fuel, 60);
        world.model(0, intent)
    };
    start(1).unwrap();
    assert!(start(2).is_err());
    let mut outcome = world.outcome(1, CallEnd::Succeeded, None);
    outcome.spent.insert(Meter::Fuel, 25);
    world.model(0, outcome).unwrap();
    assert_eq!(world.state().remaining(session(0), Meter::Fuel), Some(75));
    start(2).unwrap();
    world.lose(2, 0, Doubt::Crash).unwrap();
    assert_eq!(world.state().remaining(session(0), Meter::Fuel), Some(15));
    world.reconcile(2, Finding::Failed).unwrap();
    assert_eq!(
        world.state().remaining(session(0), Meter::Fuel),
        Some(15),
        "nothing is refunded"
    );
}

#[test]
fn a_childs_share_is_its_parents_and_the_sums_are_equal_h45_i22() {
    let world = bound(&[(BudgetScope::Environment, Meter::Fuel, None, 100)]);
    let call_of = |n: u64, parent: Option<u64>, fuel: u64| {
        let mut intent = world.intent(n, 0, 1, "writer");
        intent.parent = parent.map(call);
        intent.reserve = BTreeMap::from([(Meter::Fuel, fuel)]);
        world.model(0, intent)
    };
    call_of(1, None, 50).unwrap();
    call_of(2, Some(1), 30).unwrap();
    let over = rejected(call_of(3, Some(1), 21));
    assert_eq!(
        over,
        Rejection::ParentBudget {
            meter: Meter::Fuel,
            left: 20,
            asked: 21
        }
    );
    call_of(3, Some(2), 30).unwrap();
    assert!(
        call_of(4, Some(2), 1).is_err(),
        "a fork bomb has the root's budget"
    );
    assert_eq!(rejected(world.succeed(2, 0)), Rejection::ChildrenRunning);
    let end = |n: u64, fuel: u64| {
        let mut outcome = world.outcome(n, CallEnd::Succeeded, None);
        outcome.spent = BTreeMap::from([(Meter::Fuel, fuel)]);
        world.model(0, outcome).unwrap()
    };
    end(3, 10);
    end(2, 12);
    assert!(call_of(5, Some(1), 39).is_err());
    call_of(5, Some(1), 38).unwrap();
    end(5, 8);
    // It says less than its children spent: their sum counts.
    end(1, 5);
    let state = world.state();
    let bucket = state
        .bucket(&key(BudgetScope::Environment, Meter::Fuel, None))
        .unwrap();
    assert_eq!((bucket.spent, bucket.reserved), (20, 0));
}

#[test]
fn a_rate_opens_again_with_its_window_and_says_when() {
    let mut world = bound(&[(
        BudgetScope::Session(session(0)),
        Meter::Calls,
        Some(MINUTE),
        2,
    )]);
    world.start(1, 0, 1, "writer").unwrap();
    world.now += 20_000;
    world.start(2, 0, 2, "reader").unwrap();
    world.succeed(2, 0).unwrap();
    world.now += 10_000;
    let refused = rejected(world.start(3, 0, 1, "writer"));
    let Rejection::Budget { retry_after_ms, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!(*retry_after_ms, Some(30_000));
    assert_eq!(refused.refusal().details()["retry_after_ms"], 30_000);
    world.now += 30_000;
    world.start(3, 0, 1, "writer").unwrap();
    world.start(4, 0, 1, "writer").unwrap();
    assert!(world.start(5, 0, 1, "writer").is_err());
}

#[test]
fn a_rate_counts_nested_calls_too() {
    let world = bound(&[(BudgetScope::Environment, Meter::Calls, Some(MINUTE), 2)]);
    let mut root = world.intent(1, 0, 1, "writer");
    root.reserve.insert(Meter::Calls, 5);
    assert!(
        world.model(0, root.clone()).is_err(),
        "five at once are over the rate"
    );
    root.reserve.insert(Meter::Calls, 1);
    world.model(0, root).unwrap();
    let mut child = world.intent(2, 0, 1, "writer");
    child.parent = Some(call(1));
    world.model(0, child.clone()).unwrap();
    child.call = call(3);
    assert!(world.model(0, child).is_err());
}

#[test]
fn a_budget_set_during_a_call_counts_what_runs_and_a_new_limit_keeps_what_was_spent() {
    let world = bound(&[]);
    world.start(1, 0, 1, "writer").unwrap();
    let scope = BudgetScope::Session(session(0));
    world.budget(scope.clone(), Meter::Calls, None, 2).unwrap();
    assert_eq!(world.state().remaining(session(0), Meter::Calls), Some(1));
    world.succeed(1, 0).unwrap();
    world.start(2, 0, 1, "writer").unwrap();
    assert!(world.start(3, 0, 1, "writer").is_err());
    world.budget(scope.clone(), Meter::Calls, None, 3).unwrap();
    world.start(3, 0, 1, "writer").unwrap();
    let bucket = key(scope, Meter::Calls, None);
    world
        .operator(BudgetSet {
            bucket: bucket.clone(),
            limit: None,
        })
        .unwrap();
    assert!(
        world
            .operator(BudgetSet {
                bucket,
                limit: None
            })
            .is_err()
    );
    world.start(4, 0, 1, "writer").unwrap();
}

#[test]
fn a_window_without_length_is_no_rate() {
    let world = bound(&[]);
    assert!(
        world
            .budget(BudgetScope::Environment, Meter::Calls, Some(0), 1)
            .is_err()
    );
}

proptest! {
    #[test]
    fn in_every_order_used_is_within_the_limit_and_remaining_is_exact_i22(
        limit in 0_u64..40,
        steps in prop::collection::vec((0_u64..8, 0_u64..20, 0_u64..20, 0_u8..3), 1..60),
    ) {
        let scope = BudgetScope::Session(session(0));
        let world = bound(&[(scope.clone(), Meter::Fuel, None, limit)]);
        let mut running: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut spent, mut next) = (0_u64, 0_u64);
        for (which, reserve, used, how) in steps {
            if how == 0 || running.is_empty() {
                next += 1;
                let mut intent = world.intent(next, 0, 1, "writer");
                intent.reserve = BTreeMap::from([(Meter::Fuel, reserve)]);
                let held: u64 = running.values().sum();
                let fits = spent + held + reserve <= limit;
                prop_assert_eq!(world.model(0, intent).is_ok(), fits);
                if fits { running.insert(next, reserve); }
                continue;
            }
            let index = usize::try_from(which).unwrap() % running.len();
            let (n, reserve) = running.iter().nth(index).map(|(n, r)| (*n, *r)).unwrap();
            running.remove(&n);
            if how == 1 {
                let used = used.min(reserve);
                let mut outcome = world.outcome(n, CallEnd::Succeeded, None);
                outcome.spent = BTreeMap::from([(Meter::Fuel, used)]);
                world.model(0, outcome).unwrap();
                spent += used;
            } else {
                world.lose(n, 0, Doubt::Crash).unwrap();
                spent += reserve;
            }
            let held: u64 = running.values().sum();
            let state = world.state();
            let bucket = state.bucket(&key(scope.clone(), Meter::Fuel, None)).unwrap();
            prop_assert_eq!((bucket.spent, bucket.reserved), (spent, held));
            prop_assert_eq!(bucket.remaining(), limit - spent - held);
        }
    }
}
