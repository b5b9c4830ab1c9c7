//! Approvals: bound to one action, used once, given by operators only.

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::ApprovalRequirement::{ConfirmEveryTime, ConfirmOnce};
use bindery_types::*;
use serde_json::json;

use crate::world::*;

fn asked(requirement: ApprovalRequirement) -> World<Memory> {
    let world = World::new();
    for session in [0, 1] {
        world.open_session(session).unwrap();
        world.bind(session * 10 + 1, session, "writer").unwrap();
    }
    world
        .model(0, world.asked(1, 0, 1, "writer", requirement))
        .unwrap();
    world
}

fn used(world: &World<Memory>, n: u64, requirement: ApprovalRequirement) -> CallIntent {
    world.approved(world.intent(n, 0, 1, "writer"), 1, requirement)
}

#[test]
fn an_answer_comes_from_an_operator_and_starts_nothing_r579_r552() {
    let world = asked(ConfirmEveryTime);
    for event in [
        Event::from(ProposalApproved {
            proposal: proposal(1),
        }),
        Event::from(ProposalDenied {
            proposal: proposal(1),
            note: None,
        }),
    ] {
        assert!(matches!(
            rejected(world.model(0, event)),
            Rejection::RightsMissing { .. }
        ));
    }
    world.approve(1).unwrap();
    assert_eq!(world.state().calls().count(), 0);
    assert!(world.approve(1).is_err(), "answered once");
}

#[test]
fn an_approval_is_used_once_i15_x48() {
    let world = asked(ConfirmEveryTime);
    let pending = rejected(world.model(0, used(&world, 1, ConfirmEveryTime)));
    assert_eq!(
        pending,
        Rejection::Proposal {
            status: ProposalStatus::Pending
        }
    );
    world.approve(1).unwrap();
    world.model(0, used(&world, 1, ConfirmEveryTime)).unwrap();
    let again = rejected(world.model(0, used(&world, 2, ConfirmEveryTime)));
    assert_eq!(
        again,
        Rejection::Proposal {
            status: ProposalStatus::Consumed
        }
    );
    assert_eq!(again.kind(), ErrorType::ApprovalRequired);
}

#[test]
fn of_fifty_at_once_one_gets_the_approval_i15() {
    let world = asked(ConfirmEveryTime);
    world.approve(1).unwrap();
    let started = std::thread::scope(|threads| {
        let one = |n| {
            let world = &world;
            threads.spawn(move || world.model(0, used(world, n, ConfirmEveryTime)).is_ok())
        };
        let all: Vec<_> = (1..51).map(one).collect();
        all.into_iter()
            .map(|t| t.join().unwrap())
            .filter(|ok| *ok)
            .count()
    });
    assert_eq!(started, 1);
}

#[test]
fn a_refused_start_leaves_the_approval_unused_i42() {
    let world = asked(ConfirmEveryTime);
    world.approve(1).unwrap();
    world
        .budget(BudgetScope::Session(session(0)), Meter::Calls, None, 0)
        .unwrap();
    assert!(matches!(
        rejected(world.model(0, used(&world, 1, ConfirmEveryTime))),
        Rejection::Budget { .. }
    ));
    world
        .budget(BudgetScope::Session(session(0)), Meter::Calls, None, 1)
        .unwrap();
    world.model(0, used(&world, 1, ConfirmEveryTime)).unwrap();
}

#[test]
fn a_call_that_must_be_confirmed_needs_one_and_any_other_takes_none_i14() {
    let world = asked(ConfirmEveryTime);
    world.approve(1).unwrap();
    let mut without = used(&world, 1, ConfirmEveryTime);
    without.approval = None;
    assert!(matches!(
        rejected(world.model(0, without)),
        Rejection::Missing { .. }
    ));
    for requirement in [
        ApprovalRequirement::NoApproval,
        ApprovalRequirement::Blocked,
    ] {
        let wrong = rejected(world.model(0, used(&world, 1, requirement)));
        assert!(
            matches!(wrong, Rejection::Missing { .. }),
            "C-18: {requirement}"
        );
    }
    world.start(1, 0, 1, "writer").unwrap();
}

#[test]
fn an_approval_of_another_action_in_any_one_field_is_refused_i14_r562() {
    type Change = fn(&mut ProposalMade);
    let changes: [(&str, Change); 9] = [
        ("arguments", |p| p.arguments = digest("other")),
        ("run", |p| p.run = Some(run(1))),
        ("capability", |p| {
            p.capability = capability("reader");
            p.descriptor_digest = digest("descriptor of reader");
        }),
        ("requirement", |p| p.requirement = ConfirmOnce),
        ("scope", |p| {
            p.binding = None;
            p.scope_digest = digest("other");
        }),
        ("kind of action", |p| {
            p.binding = None;
            p.call = None;
        }),
        ("descriptor", |p| p.descriptor_digest = digest("other")),
        ("generation", |p| p.environment_generation = 2),
        ("policy version", |p| p.policy_version = digest("other")),
    ];
    for (field, change) in changes {
        let world = asked(ConfirmEveryTime);
        let mut other = world.asked(2, 0, 1, "writer", ConfirmEveryTime);
        change(&mut other);
        let stale = ["descriptor", "generation", "policy version"].contains(&field);
        let made = world.model(0, other);
        assert_eq!(made.is_err(), stale, "{field}: {made:?}");
        if stale {
            continue;
        }
        world.approve(2).unwrap();
        let intent = world.approved(world.intent(1, 0, 1, "writer"), 2, ConfirmEveryTime);
        assert_eq!(
            rejected(world.model(0, intent)),
            Rejection::ApprovalDiffers {
                field: match field {
                    "scope" => "scope",
                    f => f,
                }
            },
        );
    }
}

#[test]
fn nobody_elses_approval_counts_and_none_is_asked_in_anothers_name_i38_x48() {
    let world = asked(ConfirmEveryTime);
    world.approve(1).unwrap();
    let borrowed = world.approved(world.intent(1, 1, 11, "writer"), 1, ConfirmEveryTime);
    assert_eq!(
        rejected(world.model(1, borrowed)),
        Rejection::Unknown { what: "proposal" }
    );
    let mut forged = world.asked(2, 1, 11, "writer", ConfirmEveryTime);
    forged.principal = principal_of(0);
    assert_eq!(rejected(world.model(1, forged)), Rejection::ForeignSession);
    let mut foreign = world.asked(2, 1, 1, "writer", ConfirmEveryTime);
    foreign.principal = principal_of(1);
    assert_eq!(
        rejected(world.model(1, foreign)),
        Rejection::Unknown { what: "binding" }
    );
}

#[test]
fn an_approval_ends_with_its_time_r580() {
    let mut world = asked(ConfirmEveryTime);
    let early = ProposalExpired {
        proposal: proposal(1),
    };
    assert!(world.operator(early.clone()).is_err());
    world.approve(1).unwrap();
    world.now += 5 * MINUTE;
    let late = rejected(world.model(0, used(&world, 1, ConfirmEveryTime)));
    assert_eq!(
        late,
        Rejection::Proposal {
            status: ProposalStatus::Expired
        }
    );
    world.operator(early).unwrap();
    let world = asked(ConfirmEveryTime);
    let mut world = world;
    world.now += 5 * MINUTE;
    let late = rejected(world.approve(1));
    assert_eq!(
        late,
        Rejection::Proposal {
            status: ProposalStatus::Expired
        }
    );
}

#[test]
fn an_answer_to_what_has_changed_starts_nothing_r580() {
    let changes: [fn(&mut World<Memory>); 3] = [
        |world| {
            world.raise().unwrap();
        },
        |world| {
            world.replace_policy("policy 2").unwrap();
        },
        |world| {
            world.close_session(0).unwrap();
        },
    ];
    for change in changes {
        let mut world = asked(ConfirmEveryTime);
        change(&mut world);
        let stale = rejected(world.approve(1));
        assert!(
            matches!(
                stale,
                Rejection::PinDiffers { .. } | Rejection::Unknown { .. }
            ),
            "{stale}"
        );
    }
    let world = asked(ConfirmEveryTime);
    world.approve(1).unwrap();
    let voided = ProposalVoided {
        proposal: proposal(1),
        trigger: Trigger::ApprovalScopeChanged,
    };
    world.operator(voided).unwrap();
    let refused = rejected(world.model(0, used(&world, 1, ConfirmEveryTime)));
    assert_eq!(
        refused,
        Rejection::Proposal {
            status: ProposalStatus::Voided
        }
    );
}

#[test]
fn a_denial_is_final() {
    let world = asked(ConfirmEveryTime);
    let denied = ProposalDenied {
        proposal: proposal(1),
        note: Some(line("not today")),
    };
    world.operator(denied).unwrap();
    assert!(world.approve(1).is_err());
    let refused = rejected(world.model(0, used(&world, 1, ConfirmEveryTime)));
    assert_eq!(
        refused,
        Rejection::Proposal {
            status: ProposalStatus::Denied
        }
    );
}

#[test]
fn a_proposal_without_evidence_cannot_be_approved_r561() {
    let world = asked(ConfirmEveryTime);
    for (n, evidence) in [(2, vec![]), (3, vec![evidence(404)])] {
        let mut bare = world.asked(n, 0, 1, "writer", ConfirmEveryTime);
        bare.evidence = evidence;
        world.model(0, bare).unwrap();
        assert!(matches!(
            rejected(world.approve(n)),
            Rejection::Missing { .. }
        ));
    }
}

#[test]
fn only_what_can_be_confirmed_is_proposed_c18() {
    let world = asked(ConfirmEveryTime);
    for requirement in [
        ApprovalRequirement::NoApproval,
        ApprovalRequirement::Blocked,
    ] {
        let made = world.model(0, world.asked(2, 0, 1, "writer", requirement));
        assert!(matches!(rejected(made), Rejection::Malformed { .. }));
    }
}

#[test]
fn confirm_once_stands_for_its_binding_with_any_arguments_and_no_longer_c19() {
    let world = asked(ConfirmOnce);
    world.approve(1).unwrap();
    let mut other = used(&world, 1, ConfirmOnce);
    other.arguments = digest("other");
    assert!(
        world.model(0, other.clone()).is_err(),
        "first for what was asked"
    );
    world.model(0, used(&world, 1, ConfirmOnce)).unwrap();
    other.call = call(2);
    world.model(0, other.clone()).unwrap();
    world.bind(5, 0, "writer").unwrap();
    other.call = call(3);
    other.binding = binding(5);
    assert_eq!(
        rejected(world.model(0, other.clone())),
        Rejection::ApprovalDiffers { field: "binding" }
    );
    other.binding = binding(1);
    world.release(1, 0).unwrap();
    assert!(world.model(0, other).is_err(), "it ends with the lease");
}

#[test]
fn confirm_once_stands_beyond_the_time_of_the_question() {
    let mut world = asked(ConfirmOnce);
    world.approve(1).unwrap();
    world.model(0, used(&world, 1, ConfirmOnce)).unwrap();
    world.now += 6 * MINUTE;
    world.model(0, used(&world, 2, ConfirmOnce)).unwrap();
    world.now += 4 * MINUTE;
    assert!(
        world.model(0, used(&world, 3, ConfirmOnce)).is_err(),
        "and ends with the lease"
    );
}

#[test]
fn a_caller_that_repeats_itself_is_led_to_its_approval_and_to_no_other_c56() {
    let world = asked(ConfirmEveryTime);
    let find = |arguments: &str| {
        let state = world.state();
        state.approval_for(
            session(0),
            binding(1),
            digest(arguments),
            None,
            world.moment(),
        )
    };
    assert_eq!(find("arguments"), None);
    world.approve(1).unwrap();
    assert_eq!(find("arguments"), Some(proposal(1)));
    assert_eq!(find("other"), None);
    world.model(0, used(&world, 1, ConfirmEveryTime)).unwrap();
    assert_eq!(find("arguments"), None);
}

#[test]
fn a_binding_uses_up_its_approval_r491() {
    let world = asked(ConfirmEveryTime);
    let mut question = world.asked(2, 0, 1, "writer", ConfirmOnce);
    question.call = None;
    question.binding = None;
    world.model(0, question).unwrap();
    let opened = |n| {
        let mut opened = world.opened(n, 0, "writer", MINUTE);
        opened.pins.approval = Some(proposal(2));
        opened.decision.requirement = ConfirmOnce;
        world.model(0, opened)
    };
    assert!(opened(7).is_err());
    world.approve(2).unwrap();
    opened(7).unwrap();
    assert!(opened(8).is_err());
    assert_eq!(
        world.state().proposal(proposal(2)).unwrap().status,
        ProposalStatus::Consumed
    );
    assert_eq!(
        world.state().proposal(proposal(1)).unwrap().asked.summary,
        summary(json!({"expected": "one note is written"}))
    );
}
