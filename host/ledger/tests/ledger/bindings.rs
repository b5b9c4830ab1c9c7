//! Bindings: every pin, every trigger, leases under clock jumps, revocation.

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;
use serde_json::json;

use crate::world::*;

fn bound() -> World<Memory> {
    let world = World::new();
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    world
}

type Change = fn(&mut Pins);

///
#[test]
fn a_binding_with_any_pin_wrong_is_refused_r478_to_r492_i9() {
    let changes: [(&str, Change); 15] = [
        ("R-478", |p| p.environment = "other".parse().unwrap()),
        ("R-479", |p| p.environment_generation = 2),
        ("R-480", |p| p.catalog_version = digest("old")),
        ("R-481", |p| p.capability = capability("absent")),
        ("R-482", |p| p.descriptor_digest = digest("old")),
        ("R-483", |p| {
            p.capability.implementation = Some(digest("old"))
        }),
        ("R-483", |p| p.capability.implementation = None),
        ("R-484", |p| p.principal = "bob".parse().unwrap()),
        ("R-485", |p| p.tenant = "other".parse().unwrap()),
        ("R-490", |p| p.policy_version = digest("old")),
        ("R-491", |p| p.approval = Some(proposal(404))),
        ("R-492", |p| p.lease_until = Moment::from_unix_ms(START)),
        ("R-527", |p| p.input_schema_ref = digest("old")),
        ("R-527", |p| p.output_schema_ref = digest("old")),
        ("R-529", |p| p.dependencies = vec![digest("new")]),
    ];
    for (row, change) in changes {
        let world = World::new();
        world.open_session(0).unwrap();
        let before = world.state();
        let mut opened = world.opened(1, 0, "writer", MINUTE);
        change(&mut opened.pins);
        let refused = world.model(0, opened);
        assert!(refused.is_err(), "{row}");
        assert_eq!(world.state(), before, "I42: {row}");
    }
    let world = bound();
    let state = world.state();
    let held = state.binding(binding(1)).unwrap();
    assert_eq!(
        held.pins,
        world.pins(0, "writer", 10 * MINUTE),
        "R-486 … R-489"
    );
    assert_eq!(held.status(), BindingStatus::Bound);
}

#[test]
fn a_binding_needs_an_allow_under_the_current_rules_i11() {
    let world = World::new();
    world.open_session(0).unwrap();
    for verdict in [Verdict::Ask, Verdict::Deny] {
        let mut opened = world.opened(1, 0, "writer", MINUTE);
        opened.decision = world.decision(verdict, ApprovalRequirement::NoApproval);
        assert_eq!(
            rejected(world.model(0, opened)),
            Rejection::Verdict { needed: "allow" }
        );
    }
    let mut old = world.opened(1, 0, "writer", MINUTE);
    old.decision.policy_version = digest("old");
    assert!(world.model(0, old).is_err());
}

#[test]
fn what_was_found_late_and_writes_waits_for_the_gate_c54() {
    let mut world = World::over(Memory::default());
    world.admit(1).unwrap();
    world.discover("writer").unwrap();
    world.describe("writer").unwrap();
    world.record_evidence(1, "writer").unwrap();
    let valid = Lifecycle::StructurallyValid;
    world
        .move_to("writer", 1, Lifecycle::Described, valid)
        .unwrap();
    world
        .move_to("writer", 1, valid, Lifecycle::Bindable)
        .unwrap();
    world.open_session(0).unwrap();
    assert_eq!(rejected(world.bind(1, 0, "writer")), Rejection::WriteGate);
    let mut fixed = world.opened(1, 0, "writer", MINUTE);
    fixed.route = Route::Static;
    world.model(0, fixed).unwrap();
    world
        .operator(WriteGateAccepted {
            evidence: line("run 17 of the bench"),
        })
        .unwrap();
    world.bind(2, 0, "writer").unwrap();
}

#[test]
fn a_handle_of_another_session_is_as_unknown_as_a_forged_one_c48_i3_i38() {
    let world = bound();
    world.open_session(1).unwrap();
    world.open_session(2).unwrap();
    for other in [1, 2] {
        let foreign = world
            .state()
            .bound(binding(1), session(other), world.moment())
            .cloned();
        let forged = world
            .state()
            .bound(binding(404), session(other), world.moment())
            .cloned();
        assert_eq!(foreign, forged);
        assert_eq!(foreign.unwrap_err().kind(), ErrorType::HandleInvalid);
        assert!(world.start(1, other, 1, "writer").is_err());
        assert!(world.release(1, other).is_err());
    }
    assert!(
        world
            .state()
            .bound(binding(1), session(0), world.moment())
            .is_ok()
    );
}

#[test]
fn no_one_writes_in_anothers_name_i38() {
    let world = bound();
    world.open_session(1).unwrap();
    let intent = world.intent(1, 0, 1, "writer");
    let bob = principal_of(1);
    let forged = world.entry((&bob, Rights::Model), Some(session(0)), intent.clone());
    assert_eq!(rejected(world.write(forged)), Rejection::ForeignSession);
    let elsewhere = world.entry((&bob, Rights::Model), Some(session(1)), intent);
    assert_eq!(rejected(world.write(elsewhere)), Rejection::ForeignSession);
    let nowhere = world.entry((&bob, Rights::Model), None, world.intent(1, 1, 1, "writer"));
    assert_eq!(rejected(world.write(nowhere)), Rejection::ForeignSession);
}

/// … R-357.
#[test]
fn every_trigger_ends_a_binding_and_is_named_and_leaves_others_alone_g16() {
    for trigger in Trigger::ALL {
        let world = bound();
        world.bind(2, 0, "writer").unwrap();
        let (to, kind) = match trigger {
            Trigger::ReleaseRequested => (Lifecycle::Released, ErrorType::BindingStale),
            Trigger::AuthorizationRevoked => (Lifecycle::Revoked, ErrorType::CapabilityRevoked),
            Trigger::ProviderGone => (Lifecycle::Unavailable, ErrorType::CapabilityUnavailable),
            _ => (Lifecycle::Stale, ErrorType::BindingStale),
        };
        let by = world.end_binding(1, 0, to, *trigger).unwrap();
        let refused = rejected(world.start(1, 0, 1, "writer"));
        assert_eq!(
            refused,
            Rejection::NotBound {
                status: to,
                trigger: *trigger,
                since: by
            },
            "{trigger}"
        );
        assert_eq!(refused.kind(), kind, "{trigger}");
        world.start(2, 0, 2, "writer").unwrap();
        let again = world.end_binding(1, 0, Lifecycle::Stale, Trigger::SemanticDrift);
        assert!(again.is_err(), "an ended binding is not ended again");
    }
    assert_eq!(Trigger::ALL.len(), 27);
}

#[test]
fn a_model_gives_back_and_ends_nothing_else() {
    let world = bound();
    for (to, trigger) in [
        (Lifecycle::Stale, Trigger::SemanticDrift),
        (Lifecycle::Revoked, Trigger::AuthorizationRevoked),
    ] {
        let moved = BindingMoved {
            binding: binding(1),
            to,
            trigger,
        };
        assert!(matches!(
            rejected(world.model(0, moved)),
            Rejection::RightsMissing { .. }
        ));
    }
    world.release(1, 0).unwrap();
    assert_eq!(
        world.state().binding(binding(1)).unwrap().status(),
        BindingStatus::Unbound,
        "R-496, C-21"
    );
    assert!(world.start(1, 0, 1, "writer").is_err());
}

#[test]
fn a_lease_is_over_for_good_whatever_the_clock_does_i10_r494_r537() {
    let mut world = bound();
    let start = world.now;
    world.now = start + 10 * MINUTE - 1;
    world.start(1, 0, 1, "writer").unwrap();
    world.now = start + 10 * MINUTE;
    let over = rejected(world.start(2, 0, 1, "writer"));
    assert!(matches!(over, Rejection::LeaseOver { .. }), "{over}");
    // Something else is recorded at the later moment; then the clock jumps back.
    world.open_session(2).unwrap();
    world.now = start;
    let revived = rejected(world.start(3, 0, 1, "writer"));
    assert!(
        matches!(revived, Rejection::LeaseOver { .. }),
        "R-494: {revived}"
    );
    let water = HighWater::from(world.state().now());
    assert_eq!(water.see(world.moment()), world.state().now());
}

#[test]
fn a_lease_ends_with_its_session_and_its_parent_at_the_latest_i10() {
    let world = bound();
    let too_long = world.opened(2, 0, "writer", 1_000 * MINUTE + 1);
    assert!(matches!(
        rejected(world.model(0, too_long)),
        Rejection::LeaseTooLong {
            limit_of: "session",
            ..
        }
    ));
    let mut child = world.opened(2, 0, "writer", 10 * MINUTE + 1);
    child.parent = Some(binding(1));
    assert!(matches!(
        rejected(world.model(0, child.clone())),
        Rejection::LeaseTooLong {
            limit_of: "parent",
            ..
        }
    ));
    child.pins.lease_until = world.in_ms(10 * MINUTE);
    world.model(0, child).unwrap();
    for (n, until, fine) in [
        (2, 10 * MINUTE + 1, false),
        (1, 1_000 * MINUTE + 1, false),
        (1, 20 * MINUTE, true),
        (2, 20 * MINUTE, true),
    ] {
        let renewed = BindingRenewed {
            binding: binding(n),
            lease_until: world.in_ms(until),
        };
        let done = world.operator_in(0, renewed);
        assert_eq!(done.is_ok(), fine, "{n} until {until}: {done:?}");
    }
}

#[test]
fn a_refresh_pins_anew_and_never_wider_r546_c53() {
    let mut world = bound();
    let before = world.pins(0, "writer", 10 * MINUTE);
    world.replace_policy("policy 2").unwrap();
    assert!(world.start(1, 0, 1, "writer").is_err(), "R-544");
    let refresh = |after: Pins| BindingRefreshed {
        binding: binding(1),
        trigger: Trigger::PolicyVersionChanged,
        before: before.clone(),
        after,
        decision: world.allow(),
    };
    let sound = Pins {
        policy_version: world.policy,
        ..before.clone()
    };
    let wider: [Change; 4] = [
        |p| p.resource_scope = summary(json!({"store": "*"})),
        |p| p.lease_until = p.lease_until.after_ms(1),
        |p| p.capability.implementation = Some(digest("new build")),
        |p| p.risk = Risk::Destructive,
    ];
    for change in wider {
        let mut after = sound.clone();
        change(&mut after);
        let widened = rejected(world.operator_in(0, refresh(after)));
        assert!(matches!(widened, Rejection::Malformed { .. }), "{widened}");
    }
    world.operator_in(0, refresh(sound.clone())).unwrap();
    assert_eq!(world.state().binding(binding(1)).unwrap().pins, sound);
    world.start(1, 0, 1, "writer").unwrap();
    let twice = rejected(world.operator_in(0, refresh(sound)));
    assert!(
        matches!(twice, Rejection::Malformed { .. }),
        "the old pins are old: {twice}"
    );
}

///
#[test]
fn a_call_never_crosses_a_generation_a_catalogue_or_a_policy_i8_r539_r524_r544() {
    let mut world = bound();
    world.raise().unwrap();
    let crossed = rejected(world.start(1, 0, 1, "writer"));
    assert_eq!(crossed.kind(), ErrorType::EnvironmentGenerationChanged);
    let world = bound();
    world
        .operator_in(
            0,
            CatalogueChanged {
                session: Some(session(0)),
                from: digest("seen 1"),
                to: digest("seen 2"),
                inputs: vec![CatalogueInput::Aliases],
                standing: None,
            },
        )
        .unwrap();
    let crossed = rejected(world.start(1, 0, 1, "writer"));
    assert_eq!(crossed.kind(), ErrorType::CatalogChanged);
    let mut world = bound();
    world.replace_policy("policy 2").unwrap();
    let crossed = rejected(world.start(1, 0, 1, "writer"));
    assert_eq!(crossed.kind(), ErrorType::BindingStale);
    let same = PolicyReplaced {
        from: world.policy,
        to: world.policy,
    };
    assert!(
        world.operator(same).is_err(),
        "R-544: equal rules are no change"
    );
}

#[test]
fn a_generation_rises_and_never_sinks_c09() {
    let mut world = World::new();
    world.raise().unwrap();
    assert!(world.admit(1).is_err());
    world.generation = 2;
    let mut other = EnvironmentAdmitted {
        environment: "test".parse().unwrap(),
        tenant: "other".parse().unwrap(),
        generation: 2,
        catalog_version: world.catalogue,
        policy_version: world.policy,
        providers: vec!["native".parse().unwrap(), "other".parse().unwrap()],
        expires_at: world.in_ms(MINUTE),
    };
    assert!(
        world.operator(other.clone()).is_err(),
        "another tenant, the same generation"
    );
    other.generation = 3;
    world.operator(other).unwrap();
}

/// I7.
#[test]
fn a_switch_ends_what_it_hits_and_what_hangs_on_it_and_nothing_else_i6_h56() {
    let targets = [
        Target::Binding(binding(1)),
        Target::Capability(capability("writer").id),
        Target::Digest(digest("writer")),
        Target::Namespace("acme".parse().unwrap()),
        Target::Principal("alice".parse().unwrap()),
        Target::All,
    ];
    for target in targets {
        let world = bound();
        let mut child = world.opened(2, 0, "writer", MINUTE);
        child.parent = Some(binding(1));
        world.model(0, child).unwrap();
        world.open_session(1).unwrap();
        world.bind(3, 1, "reader").unwrap();
        world.start(7, 0, 2, "writer").unwrap();
        let by = world.revoke(target.clone()).unwrap();
        for hit in [1, 2] {
            let refused = rejected(world.start(8, 0, hit, "writer"));
            assert!(
                matches!(refused, Rejection::NotBound { status: Lifecycle::Revoked, since, .. } if since == by),
                "{target:?}: {refused}"
            );
        }
        let state = world.state();
        assert!(
            state.call(call(7)).unwrap().overtaken.is_some(),
            "R-547: in flight at revoke"
        );
        assert!(
            state.may_go_on(call(7), world.moment()).is_err(),
            "no further effect"
        );
        let broad = matches!(target, Target::Namespace(_) | Target::All);
        let spared = world.start(9, 1, 3, "reader");
        assert_eq!(spared.is_ok(), !broad, "{target:?}: {spared:?}");
        let rebound = world.bind(4, 0, "writer");
        let once = matches!(target, Target::Binding(_));
        assert_eq!(rebound.is_ok(), once, "{target:?}: {rebound:?}");
        world.succeed(7, 0).unwrap();
    }
}

#[test]
fn lifting_a_switch_revives_nothing() {
    let world = bound();
    let target = Target::Namespace("acme".parse().unwrap());
    world.revoke(target.clone()).unwrap();
    assert!(world.revoke(target.clone()).is_err(), "thrown once");
    world
        .operator(RevocationLifted {
            target: target.clone(),
        })
        .unwrap();
    assert!(world.operator(RevocationLifted { target }).is_err());
    assert!(world.start(1, 0, 1, "writer").is_err());
    world.bind(2, 0, "writer").unwrap();
    world.start(1, 0, 2, "writer").unwrap();
}

#[test]
fn a_session_fixes_its_six_fields_and_takes_its_handles_with_it_r299_r472() {
    let world = bound();
    let twice = rejected(world.open_session(0));
    assert_eq!(twice, Rejection::Duplicate { what: "session" });
    let state = world.state();
    let open = state.session(session(0)).unwrap();
    let opened = world.opened_session(0);
    assert_eq!(
        (
            &open.principal,
            &open.tenant,
            &open.agent,
            &open.archetype,
            open.mode,
            open.configuration
        ),
        (
            &opened.principal,
            &opened.tenant,
            &opened.agent,
            &opened.archetype,
            opened.mode,
            opened.configuration
        )
    );
    world.start(1, 0, 1, "writer").unwrap();
    world.close_session(0).unwrap();
    assert!(world.start(2, 0, 1, "writer").is_err());
    world.succeed(1, 0).unwrap();
    assert!(
        world.state().calls().next().is_none(),
        "the outcome is not lost"
    );
}

#[test]
fn a_session_ends_with_its_time_r538() {
    let mut world = bound();
    world.now += 1_000 * MINUTE;
    assert!(world.bind(2, 0, "writer").is_err());
    let mut short = world.opened_session(2);
    short.expires_at = world.moment();
    assert!(world.operator_in(2, short).is_err());
}

///
#[test]
fn discovery_and_refusals_change_nothing_that_decides_i2_i42() {
    let world = bound();
    let before = world.state();
    for operation in Operation::ALL {
        let served = OperationServed {
            operation: *operation,
            capability: Some(capability("writer")),
            shown: 8,
            refused: None,
        };
        world.model(0, served).unwrap();
    }
    world
        .model(
            0,
            BindRefused {
                capability: capability("writer"),
                error: ErrorType::BindingDenied,
                decision: None,
            },
        )
        .unwrap();
    let mut after = world.state();
    let moved = after.sequence() - before.sequence();
    assert_eq!(moved, u64::try_from(Operation::ALL.len()).unwrap() + 1);
    for (key, value) in serde_json::to_value(&before).unwrap().as_object().unwrap() {
        if key != "sequence" {
            assert_eq!(serde_json::to_value(&after).unwrap()[key], *value, "{key}");
        }
    }
    after = serde_json::from_value(serde_json::to_value(&after).unwrap()).unwrap();
    assert_eq!(after, world.state(), "a state reads back as it was written");
}
