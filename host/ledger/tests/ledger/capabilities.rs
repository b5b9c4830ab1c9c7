//! The capability's record: every field, every transition, and every one that is none.

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;

use crate::world::*;

#[test]
fn exactly_the_fifteen_transitions_of_the_table_exist_r360_to_r371_c22_c60() {
    use Lifecycle::*;
    let allowed = [
        (Discovered, Described),
        (Described, StructurallyValid),
        (StructurallyValid, Bindable),
        (Bindable, Bound),
        (StructurallyValid, Probed),
        (Probed, Bindable),
        (StructurallyValid, Rejected),
        (Bound, Stale),
        (Bound, Revoked),
        (Bound, Unavailable),
        (Bound, Released),
        (Probed, Rejected),
        (Bindable, Rejected),
        (Stale, StructurallyValid),
        (Unavailable, StructurallyValid),
    ];
    let mut pairs = 0;
    for from in Lifecycle::ALL {
        for to in Lifecycle::ALL {
            pairs += 1;
            let wanted = allowed.contains(&(*from, *to));
            assert_eq!(from.may_become(*to), wanted, "{from} → {to}");
        }
    }
    assert_eq!(pairs, 121);
}

/// A world whose `probe` capability stands in a given state of a record.
fn standing(at: Lifecycle) -> World<Memory> {
    use Lifecycle::*;
    let world = World::new();
    world.discover("probe").unwrap();
    let steps: &[(Lifecycle, Lifecycle)] = match at {
        Described => &[],
        StructurallyValid => &[(Described, StructurallyValid)],
        Probed => &[(Described, StructurallyValid), (StructurallyValid, Probed)],
        Bindable => &[
            (Described, StructurallyValid),
            (StructurallyValid, Bindable),
        ],
        Rejected => &[
            (Described, StructurallyValid),
            (StructurallyValid, Rejected),
        ],
        _ => return world,
    };
    world.describe("probe").unwrap();
    world
        .operator(world.evidence_about(9, "probe", EvidenceKind::Fixture))
        .unwrap();
    for (from, to) in steps {
        world.move_to("probe", 9, *from, *to).unwrap();
    }
    world
}

/// R-348 … R-352.
#[test]
fn a_record_moves_along_the_table_and_any_other_move_changes_nothing_r371_i42() {
    use Lifecycle::*;
    let of_record = [
        Discovered,
        Described,
        StructurallyValid,
        Probed,
        Bindable,
        Rejected,
    ];
    for from in of_record {
        for to in Lifecycle::ALL {
            let world = standing(from);
            let before = world.state();
            assert_eq!(
                before.capability(&capability("probe")).unwrap().lifecycle,
                from
            );
            let moved = world.move_to("probe", 9, from, *to);
            let by_move = matches!(to, StructurallyValid | Probed | Bindable | Rejected);
            if from.may_become(*to) && by_move {
                assert!(moved.is_ok(), "{from} → {to}: {moved:?}");
                let state = world.state();
                assert_eq!(
                    state.capability(&capability("probe")).unwrap().lifecycle,
                    *to
                );
            } else {
                let rejection = rejected(moved);
                assert!(
                    matches!(rejection, Rejection::Transition { .. }),
                    "{from} → {to}: {rejection}"
                );
                assert_eq!(world.state(), before, "{from} → {to}");
            }
        }
    }
}

#[test]
fn a_move_that_says_another_origin_is_refused_r371() {
    let world = standing(Lifecycle::StructurallyValid);
    let moved = world.move_to("probe", 9, Lifecycle::Probed, Lifecycle::Bindable);
    assert!(matches!(rejected(moved), Rejection::Transition { .. }));
}

///
#[test]
fn every_field_of_the_record_is_filled_once_it_is_described_r319_to_r336_r338_r339() {
    let world = standing(Lifecycle::Bindable);
    let state = world.state();
    let record = state.capability(&capability("probe")).unwrap();
    let described = world.described("probe");
    assert_eq!(record.environment.as_str(), "test", "R-320");
    assert_eq!(record.environment_generation, 1, "R-321");
    assert_eq!(record.catalog_version, world.catalogue, "R-322");
    assert_eq!(record.source, SourceKind::HostRegistry, "R-323");
    assert_eq!(record.origin_ref.as_str(), "registry", "R-324");
    let description = record.description.as_ref().unwrap();
    assert_eq!(
        description.descriptor_digest, described.descriptor_digest,
        "R-325"
    );
    assert_eq!(
        description.implementation_version.as_str(),
        "1.0.0",
        "R-326"
    );
    assert_eq!(description.input_schema_ref, digest("input"), "R-328");
    assert_eq!(description.output_schema_ref, digest("output"), "R-329");
    assert_eq!(description.risk_class, Risk::Write, "R-330");
    assert_eq!(
        description.side_effect_class,
        SideEffectClass::LocalState,
        "R-331"
    );
    assert_eq!(
        description.resource_scope, described.resource_scope,
        "R-332"
    );
    assert!(description.authentication_requirements.is_empty(), "R-333");
    assert_eq!(record.trust_status, TrustStatus::HostVerified, "R-334");
    assert_eq!(
        record.validation_status(),
        ValidationStatus::Bindable,
        "R-335"
    );
    assert_eq!(record.evidence_refs, [evidence(9)], "R-336");
    assert_eq!(record.last_observed_at, world.moment(), "R-338");
    assert!(record.expires_at > world.moment(), "R-339");
}

#[test]
fn a_capability_is_discovered_once_and_untrusted_r319_r345() {
    let world = World::new();
    world.discover("probe").unwrap();
    let state = world.state();
    let record = state.capability(&capability("probe")).unwrap();
    assert_eq!(record.trust_status, TrustStatus::Untrusted);
    assert_eq!(record.validation_status(), ValidationStatus::Candidate);
    let again = rejected(world.discover("probe"));
    assert_eq!(again, Rejection::Duplicate { what: "capability" });
}

#[test]
fn two_digests_of_one_id_are_two_records() {
    let world = World::new();
    world.discover("probe").unwrap();
    let mut other = world.discovered("probe");
    other.capability.implementation = Some(digest("another build"));
    world.operator(other).unwrap();
    let of_id = |(key, _): &(&CapabilityKey, &Capability)| key.id == capability("probe").id;
    assert_eq!(world.state().capabilities().filter(of_id).count(), 2);
}

#[test]
fn an_observation_from_the_future_or_another_environment_is_refused_r320_r338() {
    let world = World::new();
    let mut future = world.discovered("probe");
    future.last_observed_at = world.in_ms(1);
    assert!(matches!(
        rejected(world.operator(future)),
        Rejection::Malformed { .. }
    ));
    let mut foreign = world.discovered("probe");
    foreign.environment = "elsewhere".parse().unwrap();
    let foreign = rejected(world.operator(foreign));
    assert_eq!(
        foreign,
        Rejection::Unknown {
            what: "environment"
        }
    );
    let mut old = world.discovered("probe");
    old.environment_generation = 0;
    assert!(
        matches!(rejected(world.operator(old)), Rejection::PinDiffers { .. }),
        "R-321"
    );
}

///
#[test]
fn no_model_writes_into_the_record_r318_r330_r345() {
    let world = World::new();
    world.open_session(0).unwrap();
    let before = world.state();
    let mut tries: Vec<Event> = vec![
        world.discovered("probe").into(),
        world.described("reader").into(),
        world
            .moved("reader", 2, Lifecycle::Bindable, Lifecycle::Rejected)
            .into(),
        CapabilityReviewed {
            capability: capability("reader"),
            trust_status: TrustStatus::HostVerified,
            evidence: vec![evidence(2)],
        }
        .into(),
        world
            .evidence_about(77, "reader", EvidenceKind::Review)
            .into(),
    ];
    tries.push(
        Revoked {
            target: Target::All,
        }
        .into(),
    );
    for event in tries {
        let kind = event.kind();
        let rejection = rejected(world.model(0, event));
        assert_eq!(rejection, Rejection::RightsMissing { kind });
    }
    assert_eq!(world.state(), before, "I42");
}

#[test]
fn certainty_raises_no_trust_and_no_status_r358() {
    let world = World::new();
    world.discover("probe").unwrap();
    let before = world.state().capability(&capability("probe")).cloned();
    let mut sure = world.evidence_about(9, "probe", EvidenceKind::Declared);
    sure.confidence_permille = Some(1_000);
    world.operator(sure).unwrap();
    assert_eq!(
        world.state().capability(&capability("probe")).cloned(),
        before
    );
    let mut absurd = world.evidence_about(10, "probe", EvidenceKind::Declared);
    absurd.confidence_permille = Some(1_001);
    assert!(world.operator(absurd).is_err());
}

///
#[test]
fn trusted_and_pinned_becomes_bindable_without_a_probe_and_untrusted_does_not_r372() {
    let world = World::new();
    for (name, trust, bindable) in [
        ("trusted", TrustStatus::HostVerified, true),
        ("signed", TrustStatus::Authenticated, false),
        ("strange", TrustStatus::Untrusted, false),
    ] {
        let n = u64::from(bindable) + 20 + u64::try_from(name.len()).unwrap();
        world.discover(name).unwrap();
        let mut described = world.described(name);
        described.trust_status = trust;
        world.operator(described).unwrap();
        world.record_evidence(n, name).unwrap();
        world
            .move_to(name, n, Lifecycle::Described, Lifecycle::StructurallyValid)
            .unwrap();
        let moved = world.move_to(name, n, Lifecycle::StructurallyValid, Lifecycle::Bindable);
        assert_eq!(moved.is_ok(), bindable, "{name}: {moved:?}");
    }
}

#[test]
fn an_unknown_effect_is_never_probed_and_needs_a_person_r373() {
    let world = World::new();
    world.discover("probe").unwrap();
    let mut described = world.described("probe");
    described.side_effect_class = SideEffectClass::Unknown;
    world.operator(described).unwrap();
    world
        .operator(world.evidence_about(9, "probe", EvidenceKind::Fixture))
        .unwrap();
    world
        .move_to(
            "probe",
            9,
            Lifecycle::Described,
            Lifecycle::StructurallyValid,
        )
        .unwrap();
    let valid = Lifecycle::StructurallyValid;
    for to in [Lifecycle::Probed, Lifecycle::Bindable] {
        let moved = rejected(world.move_to("probe", 9, valid, to));
        assert!(matches!(moved, Rejection::Missing { .. }), "{to}: {moved}");
    }
    world
        .operator(CapabilityReviewed {
            capability: capability("probe"),
            trust_status: TrustStatus::HostVerified,
            evidence: vec![evidence(9)],
        })
        .unwrap();
    world
        .move_to("probe", 9, valid, Lifecycle::Bindable)
        .unwrap();
}

#[test]
fn a_record_without_a_digest_needs_a_review_and_even_then_no_binding_r327() {
    let world = World::new();
    world.open_session(0).unwrap();
    let mut key = capability("docs");
    key.implementation = None;
    let mut discovered = world.discovered("docs");
    discovered.capability = key.clone();
    world.operator(discovered).unwrap();
    let mut described = world.described("docs");
    described.capability = key.clone();
    world.operator(described).unwrap();
    let mut proof = world.evidence_about(9, "docs", EvidenceKind::Review);
    proof.capability = key.clone();
    world.operator(proof).unwrap();
    let moved = |from, to| {
        let mut moved = world.moved("docs", 9, from, to);
        moved.capability = key.clone();
        world.operator(moved)
    };
    moved(Lifecycle::Described, Lifecycle::StructurallyValid).unwrap();
    let valid = Lifecycle::StructurallyValid;
    assert!(matches!(
        rejected(moved(valid, Lifecycle::Bindable)),
        Rejection::Missing { .. }
    ));
    let reviewed = CapabilityReviewed {
        capability: key.clone(),
        trust_status: TrustStatus::HostVerified,
        evidence: vec![evidence(9)],
    };
    world.operator(reviewed).unwrap();
    moved(valid, Lifecycle::Bindable).unwrap();
    let mut opened = world.opened(1, 0, "docs", MINUTE);
    opened.pins.capability = key;
    let missing = rejected(world.model(0, opened));
    assert!(matches!(missing, Rejection::Missing { .. }), "{missing}");
}

#[test]
fn evidence_that_does_not_exist_or_is_about_something_else_proves_nothing_r336() {
    let world = World::new();
    world.discover("probe").unwrap();
    world.describe("probe").unwrap();
    let valid = Lifecycle::StructurallyValid;
    let dangling = world.move_to("probe", 404, Lifecycle::Described, valid);
    assert_eq!(rejected(dangling), Rejection::Unknown { what: "evidence" });
    let foreign = world.move_to("probe", 2, Lifecycle::Described, valid);
    assert_eq!(rejected(foreign), Rejection::Unknown { what: "evidence" });
    let mut without = world.moved("probe", 2, Lifecycle::Described, valid);
    without.evidence.clear();
    let without = rejected(world.operator(without));
    assert_eq!(without, Rejection::Missing { what: "evidence" });
}

fn revalidated(
    world: &World<Memory>,
    name: &str,
    proof: u64,
    from: Lifecycle,
) -> CapabilityRevalidated {
    CapabilityRevalidated {
        capability: capability(name),
        from,
        trigger: Trigger::SemanticDrift,
        evidence: vec![evidence(proof)],
        described: None,
        environment_generation: world.generation,
        catalog_version: world.catalogue,
        last_observed_at: world.moment(),
        expires_at: world.in_ms(MINUTE),
    }
}

#[test]
fn a_stale_or_unavailable_binding_sends_its_capability_back_to_validation_c22_c60() {
    for to in [Lifecycle::Stale, Lifecycle::Unavailable] {
        let world = World::new();
        world.open_session(0).unwrap();
        world.bind(1, 0, "reader").unwrap();
        let sound = revalidated(&world, "reader", 2, to);
        let early = rejected(world.operator(sound.clone()));
        assert!(matches!(early, Rejection::Missing { .. }), "{early}");
        world.end_binding(1, 0, to, Trigger::SemanticDrift).unwrap();
        world.operator(sound).unwrap();
        let state = world.state();
        let record = state.capability(&capability("reader")).unwrap();
        assert_eq!(record.lifecycle, Lifecycle::StructurallyValid);
        assert!(world.bind(2, 0, "reader").is_err(), "not bindable yet");
        let bindable = Lifecycle::Bindable;
        world
            .move_to("reader", 2, Lifecycle::StructurallyValid, bindable)
            .unwrap();
        world.bind(2, 0, "reader").unwrap();
        assert_eq!(
            world.state().binding(binding(1)).unwrap().lifecycle(),
            to,
            "not revived"
        );
    }
}

#[test]
fn a_rejected_capability_comes_back_by_no_way() {
    let world = World::new();
    let rejected_state = Lifecycle::Rejected;
    world
        .move_to("reader", 2, Lifecycle::Bindable, rejected_state)
        .unwrap();
    for from in Lifecycle::ALL {
        assert!(
            world
                .operator(revalidated(&world, "reader", 2, *from))
                .is_err(),
            "{from}"
        );
    }
}

#[test]
fn an_older_or_expired_record_is_not_bound_until_it_is_observed_again_r321_r322_r339() {
    let mut world = World::new();
    world.open_session(0).unwrap();
    world
        .operator(CatalogueChanged {
            session: None,
            from: world.catalogue,
            to: digest("catalogue 2"),
            inputs: vec![CatalogueInput::Descriptors],
            standing: None,
        })
        .unwrap();
    world.catalogue = digest("catalogue 2");
    let missing = rejected(world.bind(1, 0, "reader"));
    assert!(matches!(missing, Rejection::Missing { .. }), "{missing}");
    let mut observed = CapabilityObserved {
        capability: capability("reader"),
        descriptor_digest: digest("another descriptor"),
        execution_state: ExecutionState::Available,
        environment_generation: 1,
        catalog_version: world.catalogue,
        last_observed_at: world.moment(),
        expires_at: world.in_ms(MINUTE),
    };
    assert!(
        world.operator(observed.clone()).is_err(),
        "R-325: the digest differs"
    );
    observed.descriptor_digest = digest("descriptor of reader");
    world.operator(observed).unwrap();
    world.bind(1, 0, "reader").unwrap();
    world.now += MINUTE;
    assert!(world.bind(2, 0, "reader").is_err(), "R-339");
}

/// one statement for all that stand, none for those that do not.
#[test]
fn what_stands_in_a_new_version_is_current_and_what_is_excepted_is_not() {
    let mut world = World::new();
    world.open_session(0).unwrap();
    let standing = Standing {
        except: vec![capability("writer")],
        last_observed_at: world.moment(),
        expires_at: world.in_ms(MINUTE),
    };
    let changed = CatalogueChanged {
        session: None,
        from: world.catalogue,
        to: digest("catalogue 2"),
        inputs: vec![CatalogueInput::Descriptors],
        standing: Some(standing.clone()),
    };
    let future = Standing {
        expires_at: standing.last_observed_at,
        ..standing
    };
    let wrong = CatalogueChanged {
        standing: Some(future),
        ..changed.clone()
    };
    assert!(
        world.operator(wrong).is_err(),
        "it expires before it is seen"
    );
    world.operator(changed).unwrap();
    world.catalogue = digest("catalogue 2");
    world.bind(1, 0, "reader").unwrap();
    let missing = rejected(world.bind(2, 0, "writer"));
    assert!(matches!(missing, Rejection::Missing { .. }), "{missing}");
}
