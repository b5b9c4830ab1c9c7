//! Calls: what must be so before a start, and what an end may say.

use std::sync::Arc;

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;

use crate::world::*;

fn bound() -> World<Memory> {
    let world = World::new();
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    world.bind(2, 0, "reader").unwrap();
    world
}

///
#[test]
fn a_start_needs_an_allow_under_the_current_rules_r548_r549_r550_i11() {
    let world = bound();
    let before = world.state();
    for verdict in [Verdict::Ask, Verdict::Deny] {
        let mut intent = world.intent(1, 0, 1, "writer");
        intent.decision = world.decision(verdict, ApprovalRequirement::NoApproval);
        let rejection = rejected(world.model(0, intent));
        assert_eq!(rejection, Rejection::Verdict { needed: "allow" });
    }
    let mut old = world.intent(1, 0, 1, "writer");
    old.decision.policy_version = digest("older rules");
    assert!(matches!(
        rejected(world.model(0, old)),
        Rejection::PinDiffers { .. }
    ));
    assert_eq!(world.state(), before, "I42");
    world.start(1, 0, 1, "writer").unwrap();
}

#[test]
fn an_ask_or_a_denial_is_recorded_and_starts_nothing_r556_i42() {
    let world = bound();
    let before = world.state();
    let decided = |verdict| CallDecided {
        call: call(1),
        binding: binding(1),
        capability: capability("writer"),
        run: None,
        arguments: digest("arguments"),
        input: Summary::default(),
        decision: world.decision(verdict, ApprovalRequirement::ConfirmOnce),
        error: ErrorType::ApprovalRequired,
    };
    world.model(0, decided(Verdict::Ask)).unwrap();
    world.model(0, decided(Verdict::Deny)).unwrap();
    assert!(world.model(0, decided(Verdict::Allow)).is_err());
    let after = world.state();
    assert_eq!(after.sequence(), before.sequence() + 2);
    assert_eq!(after.calls().count(), 0);
}

#[test]
fn what_runs_is_what_the_binding_pins_i9() {
    let world = bound();
    let other = world.intent(1, 0, 1, "reader");
    assert!(matches!(
        rejected(world.model(0, other)),
        Rejection::Malformed { .. }
    ));
    let mut build = world.intent(1, 0, 1, "writer");
    build.capability.implementation = Some(digest("another build"));
    assert!(world.model(0, build).is_err());
}

#[test]
fn a_rejected_capability_runs_no_more_under_any_binding() {
    let world = bound();
    world
        .move_to("writer", 1, Lifecycle::Bindable, Lifecycle::Rejected)
        .unwrap();
    assert!(world.start(1, 0, 1, "writer").is_err());
    world.start(2, 0, 2, "reader").unwrap();
}

#[test]
fn a_call_is_asked_for_then_decided_then_started_r556_r572() {
    let world = bound();
    let mut late = world.intent(1, 0, 1, "writer");
    late.decided_at = world.in_ms(1);
    assert!(matches!(
        rejected(world.model(0, late)),
        Rejection::Malformed { .. }
    ));
    let mut swapped = world.intent(1, 0, 1, "writer");
    swapped.asked_at = world.moment();
    swapped.decided_at = Moment::from_unix_ms(START - 1);
    assert!(matches!(
        rejected(world.model(0, swapped)),
        Rejection::Malformed { .. }
    ));
}

#[test]
fn a_call_is_started_once_and_ends_once() {
    let world = bound();
    world.start(1, 0, 1, "writer").unwrap();
    let twice = rejected(world.start(1, 0, 1, "writer"));
    assert_eq!(twice, Rejection::Duplicate { what: "call" });
    world.succeed(1, 0).unwrap();
    assert_eq!(
        rejected(world.succeed(1, 0)),
        Rejection::Unknown { what: "call" }
    );
    assert!(world.lose(1, 0, Doubt::Crash).is_err());
}

#[test]
fn a_stopped_call_with_effects_is_uncertain_and_nothing_else_c39_i17() {
    let world = bound();
    world.start(1, 0, 1, "writer").unwrap();
    let endings = [
        (CallEnd::Cancelled, ErrorType::Cancelled),
        (CallEnd::Interrupted, ErrorType::Cancelled),
        (CallEnd::Failed, ErrorType::Timeout),
        (CallEnd::Failed, ErrorType::Cancelled),
        (CallEnd::Failed, ErrorType::UncertainSideEffect),
    ];
    for (end, error) in endings {
        let outcome = world.outcome(1, end, Some(error));
        assert_eq!(
            rejected(world.model(0, outcome)),
            Rejection::MustBeUncertain
        );
    }
    world.lose(1, 0, Doubt::Timeout).unwrap();
    world.start(2, 0, 2, "reader").unwrap();
    assert!(
        world.lose(2, 0, Doubt::Timeout).is_err(),
        "without effects there is no doubt"
    );
    let stopped = world.outcome(2, CallEnd::Cancelled, Some(ErrorType::Cancelled));
    world.model(0, stopped).unwrap();
}

#[test]
fn only_a_person_ends_a_doubt_and_only_once_i17() {
    let world = bound();
    world.start(1, 0, 1, "writer").unwrap();
    assert!(world.reconcile(1, Finding::Done).is_err(), "it still runs");
    world.lose(1, 0, Doubt::AnswerLost).unwrap();
    assert_eq!(
        rejected(world.succeed(1, 0)),
        Rejection::Unknown { what: "call" }
    );
    let found = CallReconciled {
        call: call(1),
        finding: Finding::Done,
        evidence: line("I think so"),
    };
    assert!(matches!(
        rejected(world.model(0, found)),
        Rejection::RightsMissing { .. }
    ));
    world.reconcile(1, Finding::Done).unwrap();
    assert!(world.reconcile(1, Finding::Failed).is_err());
}

#[test]
fn a_failure_has_a_type_and_a_success_has_none() {
    let world = bound();
    world.start(1, 0, 1, "writer").unwrap();
    for (end, error) in [
        (CallEnd::Succeeded, Some(ErrorType::GuestFault)),
        (CallEnd::CapabilityError, Some(ErrorType::CapabilityError)),
        (CallEnd::Failed, None),
        (CallEnd::FailedBeforeEffect, None),
    ] {
        let outcome = world.model(0, world.outcome(1, end, error));
        assert!(
            matches!(rejected(outcome), Rejection::Malformed { .. }),
            "{end}"
        );
    }
    world
        .model(0, world.outcome(1, CallEnd::CapabilityError, None))
        .unwrap();
}

#[test]
fn a_lost_lease_ends_its_call_in_full_and_a_settled_one_does_not() {
    let world = bound();
    let lost = Arc::new(Lost::default());
    for n in [1, 2, 3] {
        let name = if n == 3 { "reader" } else { "writer" };
        let under = if n == 3 { 2 } else { 1 };
        world.start(n, 0, under, name).unwrap();
    }
    let state = world.state();
    let settled = state.lease(call(1), &lost).unwrap();
    assert_eq!(settled.pins().capability, capability("writer"));
    drop(state.lease(call(2), &lost).unwrap());
    drop(state.lease(call(3), &lost).unwrap());
    let outcome = settled
        .settle(world.outcome(1, CallEnd::Succeeded, None))
        .unwrap();
    world.model(0, outcome).unwrap();
    for (session, event) in lost.sweep(&world.state()) {
        assert_eq!(session, crate::world::session(0));
        world.operator_in(0, event).unwrap();
    }
    let state = world.state();
    assert!(state.call(call(1)).is_none());
    assert_eq!(
        state.call(call(2)).unwrap().standing,
        CallStanding::Uncertain
    );
    assert!(state.call(call(3)).is_none(), "interrupted");
    assert!(lost.sweep(&state).is_empty(), "each is given once");
    assert!(state.lease(call(3), &lost).is_err());
}

#[test]
fn an_outcome_settles_its_own_call_only() {
    let world = bound();
    let lost = Arc::new(Lost::default());
    world.start(1, 0, 1, "writer").unwrap();
    let lease = world.state().lease(call(1), &lost).unwrap();
    let foreign = world.outcome(2, CallEnd::Succeeded, None);
    assert_eq!(
        lease.settle(foreign),
        Err(Rejection::Unknown { what: "call" })
    );
    assert_eq!(lost.sweep(&world.state()).len(), 1);
}

#[test]
fn a_new_host_says_what_it_found_and_restores_no_authority_r374_r708_i17() {
    let world = bound();
    world.start(1, 0, 1, "writer").unwrap();
    let mut child = world.intent(2, 0, 1, "writer");
    child.parent = Some(call(1));
    world.model(0, child).unwrap();
    world.start(3, 0, 2, "reader").unwrap();
    let actor = world.operator_entry(
        None,
        HostStarted {
            runtime: line("0"),
            uncertain: 0,
            interrupted: 0,
            sessions: 0,
        },
    );
    let before = world.state();
    let entries = recovery(
        &before,
        world.moment(),
        &actor.actor,
        &actor.provider,
        &line("0.1.0"),
    );
    let Event::HostStarted(started) = &entries[0].event else {
        panic!("{:?}", entries[0].event)
    };
    assert_eq!(
        (started.uncertain, started.interrupted, started.sessions),
        (2, 1, 1)
    );
    world.journal.append(entries, Vec::new()).unwrap();
    let state = world.state();
    let standing = |n| state.call(call(n)).map(|call| call.standing);
    assert_eq!(standing(1), Some(CallStanding::Uncertain));
    assert_eq!(standing(2), Some(CallStanding::Uncertain));
    assert_eq!(standing(3), None);
    assert_eq!(
        state.bindings().count(),
        0,
        "R-708: an old handle is nobody's"
    );
    assert_eq!(state.sessions().count(), 0);
    let kept = |state: &State| {
        state
            .capabilities()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&state), kept(&before), "R-374");
    assert!(world.start(4, 0, 1, "writer").is_err());
}

///
#[test]
fn runs_move_by_the_fixed_table_only_r578() {
    use RunStatus::*;
    let allowed = [
        (Created, Running),
        (Created, Rejected),
        (Created, Cancelled),
        (Running, AwaitingApproval),
        (Running, Completed),
        (Running, Failed),
        (Running, Rejected),
        (Running, Cancelled),
        (AwaitingApproval, Running),
        (AwaitingApproval, Failed),
        (AwaitingApproval, Rejected),
        (AwaitingApproval, Cancelled),
    ];
    for from in RunStatus::ALL {
        for to in RunStatus::ALL {
            assert_eq!(
                from.may_become(*to),
                allowed.contains(&(*from, *to)),
                "{from} → {to}"
            );
        }
    }
    let world = with_agent(AgentStatus::Active);
    create(&world, 1).unwrap();
    let moved = |to| world.model(0, RunMoved { run: run(1), to });
    let illegal = rejected(moved(Completed));
    assert_eq!(
        illegal,
        Rejection::RunTransition {
            from: Created,
            to: Completed
        }
    );
    assert_eq!(illegal.kind(), ErrorType::RunTransitionInvalid);
    moved(Running).unwrap();
    assert_eq!(rejected(moved(Completed)), Rejection::NothingDone, "R-288");
    let mut intent = world.intent(1, 0, 1, "writer");
    intent.run = Some(run(1));
    world.model(0, intent).unwrap();
    world.succeed(1, 0).unwrap();
    moved(Completed).unwrap();
    assert!(moved(Running).is_err());
}

/// what ends with its session is completed by what was done in it alone.
#[test]
fn a_run_ends_with_its_session_by_a_move_of_the_table_whatever_it_did() {
    for from in RunStatus::ALL {
        for end in SessionEnd::ALL {
            for done in [0, 1] {
                let to = from.at_end(*end, done);
                assert_eq!(to.is_none(), from.is_over(), "{from}, {end}");
                let Some(to) = to else { continue };
                assert!(from.may_become(to) && to.is_over(), "{from} → {to}");
                let completed = to == RunStatus::Completed;
                let well = *from == RunStatus::Running && *end == SessionEnd::Completed;
                assert_eq!(completed, well && done == 1, "{from}, {end}, {done}");
            }
        }
    }
}

///
#[test]
fn the_journal_counts_the_steps_of_whoever_names_none() {
    let world = with_agent(AgentStatus::Active);
    create(&world, 1).unwrap();
    let to = RunStatus::Running;
    world.model(0, RunMoved { run: run(1), to }).unwrap();
    for n in 1..=3 {
        let mut intent = world.intent(n, 0, 1, "writer");
        intent.run = Some(run(1));
        world.model(0, intent).unwrap();
    }
    let all = Query::From {
        sequence: 1,
        count: 1_000,
    };
    let records = world.journal.records(&all).unwrap();
    let steps: Vec<u64> = records
        .iter()
        .filter_map(|record| match &record.entry.event {
            Event::CallIntent(intent) => Some(intent.step),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [1, 2, 3]);
}

/// the provider that a run is for is the only one it uses.
#[test]
fn a_run_of_one_provider_starts_nothing_of_another() {
    for (provider, starts) in [(None, true), (Some("native"), true), (Some("other"), false)] {
        let world = with_agent(AgentStatus::Active);
        world
            .operator(AgentRegistered {
                agent: "helper".parse().unwrap(),
                status: AgentStatus::Active,
                tools: None,
                archetypes: None,
                providers: None,
                declaration: line("writes notes"),
            })
            .unwrap();
        let mut made = created(1, "home", "native");
        made.provider = provider.map(|name| name.parse().unwrap());
        world.model(0, made).unwrap();
        let to = RunStatus::Running;
        world.model(0, RunMoved { run: run(1), to }).unwrap();
        let mut intent = world.intent(1, 0, 1, "writer");
        intent.run = Some(run(1));
        let started = world.model(0, intent);
        assert_eq!(started.is_ok(), starts, "{provider:?}: {started:?}");
        if !starts {
            assert_eq!(rejected(started), Rejection::ProviderOutside);
        }
    }
}

fn with_agent(status: AgentStatus) -> World<Memory> {
    let world = bound();
    world
        .operator(AgentRegistered {
            agent: "helper".parse().unwrap(),
            status,
            tools: Some(vec![capability("writer").id]),
            archetypes: Some(vec!["default".parse().unwrap(), "other".parse().unwrap()]),
            providers: Some(vec!["native".parse().unwrap()]),
            declaration: line("writes notes"),
        })
        .unwrap();
    for (name, archetype) in [("home", "default"), ("away", "other"), ("far", "strange")] {
        world
            .operator(WorkspaceRegistered {
                workspace: name.parse().unwrap(),
                archetype: archetype.parse().unwrap(),
            })
            .unwrap();
    }
    world
}

fn created(n: u64, workspace: &str, provider: &str) -> RunCreated {
    RunCreated {
        run: run(n),
        session: session(0),
        workspace: workspace.parse().unwrap(),
        provider: Some(provider.parse().unwrap()),
    }
}

fn create(world: &World<Memory>, n: u64) -> Done {
    world.model(0, created(n, "home", "native"))
}

#[test]
fn a_stub_creates_no_run_and_an_agent_only_where_it_may_work_r577_c37() {
    let stub = with_agent(AgentStatus::Stub);
    assert_eq!(
        rejected(create(&stub, 1)),
        Rejection::RunRefused {
            why: "it is a stub"
        }
    );
    let world = with_agent(AgentStatus::Active);
    for (workspace, provider) in [
        ("away", "native"),
        ("far", "native"),
        ("nowhere", "native"),
        ("home", "other"),
    ] {
        let refused = rejected(world.model(0, created(1, workspace, provider)));
        assert!(
            matches!(refused, Rejection::RunRefused { .. }),
            "{workspace}, {provider}"
        );
    }
    create(&world, 1).unwrap();
    assert_eq!(
        rejected(create(&bound(), 1)),
        Rejection::RunRefused {
            why: "it is not registered"
        }
    );
}

#[test]
fn actions_of_a_run_are_counted_and_start_only_while_it_runs_r566_r555() {
    let world = with_agent(AgentStatus::Active);
    create(&world, 1).unwrap();
    let step = |n: u64, step: u64| {
        let mut intent = world.intent(n, 0, 1, "writer");
        intent.run = Some(run(1));
        intent.step = step;
        world.model(0, intent)
    };
    assert!(
        matches!(rejected(step(1, 1)), Rejection::RunTransition { .. }),
        "not running yet"
    );
    world
        .model(
            0,
            RunMoved {
                run: run(1),
                to: RunStatus::Running,
            },
        )
        .unwrap();
    assert!(matches!(rejected(step(1, 2)), Rejection::Malformed { .. }));
    step(1, 1).unwrap();
    step(2, 2).unwrap();
    world
        .model(
            0,
            RunMoved {
                run: run(1),
                to: RunStatus::Rejected,
            },
        )
        .unwrap();
    assert!(step(3, 3).is_err(), "R-555: the rest does not start");
}
