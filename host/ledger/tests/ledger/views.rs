//! The three readings of the log: content-free, for a reviewer, for proof.

use bindery_ledger::Record;
use bindery_ledger::event::*;
use bindery_ledger::view::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;
use serde_json::json;

use crate::world::*;

fn all(world: &World<Memory>) -> Vec<Record> {
    let query = Query::From {
        sequence: 1,
        count: usize::MAX,
    };
    world.journal.records(&query).unwrap()
}

/// One action for each way an action can end, with a marker wherever content could be.
fn eventful() -> World<Memory> {
    let world = World::new();
    world.open_session(0).unwrap();
    let mut opened = world.opened(1, 0, "writer", 10 * MINUTE);
    opened.pins.resource_scope = summary(json!({"path": "MARKER"}));
    world.model(0, opened).unwrap();
    world.bind(2, 0, "reader").unwrap();
    let decided = |n: u64, verdict: Verdict, error: ErrorType| CallDecided {
        call: call(n),
        binding: binding(1),
        capability: capability("writer"),
        run: None,
        arguments: digest("arguments"),
        input: summary(json!({"note": "MARKER"})),
        decision: Decision {
            trace: summary(json!("MARKER")),
            ..world.decision(verdict, ApprovalRequirement::ConfirmEveryTime)
        },
        error,
    };
    world
        .model(0, decided(1, Verdict::Deny, ErrorType::PermissionDenied))
        .unwrap();
    world
        .model(0, decided(2, Verdict::Ask, ErrorType::ApprovalRequired))
        .unwrap();
    world
        .model(
            0,
            CallRefused {
                call: call(3),
                binding: Some(binding(1)),
                capability: Some(capability("writer")),
                run: None,
                step: Step::Resolve,
                error: ErrorType::CapabilityUnavailable,
            },
        )
        .unwrap();
    for n in 4..9 {
        let mut intent = world.intent(n, 0, 1, "writer");
        intent.input = summary(json!({"note": "MARKER"}));
        world.model(0, intent).unwrap();
    }
    let mut well = world.outcome(5, CallEnd::Succeeded, None);
    well.effects[0].resource = "MARKER".to_owned();
    world.model(0, well).unwrap();
    let mut badly = world.outcome(6, CallEnd::Failed, Some(ErrorType::GuestFault));
    badly.message = Some(line("MARKER"));
    world.model(0, badly).unwrap();
    world.lose(7, 0, Doubt::AnswerLost).unwrap();
    let mut silent = world.outcome(8, CallEnd::Succeeded, None);
    silent.effects.clear();
    world.model(0, silent).unwrap();
    world.start(9, 0, 2, "reader").unwrap();
    world
        .model(
            0,
            world.outcome(9, CallEnd::Cancelled, Some(ErrorType::Cancelled)),
        )
        .unwrap();
    world
}

#[test]
fn activity_shows_every_kind_of_end_and_no_content_r773_r775_to_r780() {
    let world = eventful();
    let records = all(&world);
    assert!(
        records
            .iter()
            .any(|r| serde_json::to_string(r).unwrap().contains("MARKER"))
    );
    let activity: Vec<Activity> = records.iter().map(Activity::from).collect();
    let text = serde_json::to_string(&activity).unwrap();
    assert!(!text.contains("MARKER"), "{text}");
    for line in &activity {
        assert_eq!(line.provider.as_str(), "native", "R-775");
        assert!(!line.reason.as_str().is_empty(), "R-776");
    }
    let started = |a: &&Activity| a.kind == "call_intent";
    assert_eq!(activity.iter().filter(started).count(), 6, "R-773");
    let denied = |a: &&Activity| a.verdict == Some(Verdict::Deny);
    assert_eq!(activity.iter().filter(denied).count(), 1, "R-772");
}

#[test]
fn a_record_without_provider_reason_or_basis_cannot_be_read_r775_r776_r788() {
    let world = World::new();
    let record = serde_json::to_value(&all(&world)[0]).unwrap();
    assert!(serde_json::from_value::<Record>(record.clone()).is_ok());
    for field in [
        "provider",
        "reason",
        "basis",
        "actor",
        "operation",
        "moment",
    ] {
        let mut without = record.clone();
        without["entry"].as_object_mut().unwrap().remove(field);
        assert!(
            serde_json::from_value::<Record>(without).is_err(),
            "{field}"
        );
    }
    let mut empty = record;
    empty["entry"]["reason"] = json!("");
    assert!(serde_json::from_value::<Record>(empty).is_err());
}

///
#[test]
fn each_action_has_its_own_status_and_all_its_fields_r565_to_r575() {
    let world = eventful();
    let records = all(&world);
    let actions = actions(&records);
    let status: Vec<ActionStatus> = actions.iter().map(|action| action.status).collect();
    use ActionStatus::*;
    assert_eq!(
        status,
        [
            Blocked,
            AwaitingApproval,
            Unavailable,
            Running,
            Succeeded,
            Failed,
            Uncertain,
            Succeeded,
            Cancelled
        ],
        "R-575: a denied action is never failed"
    );
    assert!(ActionStatus::ALL.iter().all(|word| status.contains(word)));
    let done = &actions[4];
    assert_eq!(done.capability, Some(capability("writer")), "R-565");
    assert_eq!(done.risk, Some(Risk::Write), "R-567");
    assert_eq!(
        done.input,
        Some(summary(json!({"note": "MARKER"}))),
        "R-570"
    );
    assert_eq!(done.output.as_ref().unwrap().bytes, 6, "R-571");
    assert!(
        done.times.decided.is_some() && done.times.started.is_some(),
        "R-572"
    );
    assert!(done.times.ended.is_some());
    assert_eq!(
        done.decision.as_ref().unwrap().verdict,
        Verdict::Allow,
        "R-573"
    );
    let failed = &actions[5];
    assert_eq!(failed.error, Some(ErrorType::GuestFault), "R-574");
    assert_eq!(
        (&failed.capability, failed.risk, failed.proposal),
        (&done.capability, done.risk, None),
        "R-767"
    );
    assert!(!done.effects_missing && actions[7].effects_missing, "R-564");
}

///
#[test]
fn an_ask_shows_its_proposal_r569_and_a_revoke_marks_what_runs_r547() {
    let world = eventful();
    let mut question = world.asked(1, 0, 2, "reader", ApprovalRequirement::ConfirmEveryTime);
    question.call = Some(call(2));
    world.model(0, question).unwrap();
    world
        .end_binding(1, 0, Lifecycle::Stale, Trigger::SemanticDrift)
        .unwrap();
    let actions = actions(&all(&world));
    assert_eq!(actions[1].proposal, Some(proposal(1)));
    assert_eq!(actions[3].overtaken, Some(Trigger::SemanticDrift));
    assert_eq!(actions[4].overtaken, None);
}

#[test]
fn the_trace_names_the_record_behind_every_answer_r781_to_r784_r787() {
    let mut world = World::new();
    world.open_session(0).unwrap();
    let opened = world.bind(1, 0, "writer").unwrap();
    let before = world.pins(0, "writer", 10 * MINUTE);
    world.replace_policy("policy 2").unwrap();
    let refreshed = BindingRefreshed {
        binding: binding(1),
        trigger: Trigger::PolicyVersionChanged,
        before: before.clone(),
        after: Pins {
            policy_version: world.policy,
            ..before.clone()
        },
        decision: world.allow(),
    };
    let refreshed = world.operator_in(0, refreshed).unwrap();
    world.start(7, 0, 1, "writer").unwrap();
    world.succeed(7, 0).unwrap();
    let released = world.release(1, 0).unwrap();
    let trace = explain_binding(&world.journal, binding(1)).unwrap();
    assert_eq!(
        (trace.generation.value, trace.generation.record),
        (1, 1),
        "R-781"
    );
    let descriptor = &trace.descriptor;
    assert_eq!(descriptor.value, digest("descriptor of writer"), "R-782");
    let records = all(&world);
    let index = usize::try_from(descriptor.record).unwrap() - 1;
    assert_eq!(records[index].entry.event.kind(), "capability_described");
    assert_eq!(trace.opened.record, opened);
    assert_eq!(trace.refreshed.len(), 1);
    assert_eq!(trace.refreshed[0].record, refreshed, "R-784");
    assert_eq!(trace.refreshed[0].value.0, Trigger::PolicyVersionChanged);
    let ended = trace.ended.unwrap();
    assert_eq!(
        (ended.record, ended.value.trigger),
        (released, Trigger::ReleaseRequested),
        "R-787"
    );
    let call = explain_call(&world.journal, call(7)).unwrap();
    assert_eq!(call.governed_by.record, refreshed, "R-783");
    assert_eq!(call.governed_by.value.resource_scope, before.resource_scope);
    assert!(call.outcome.is_some());
}

#[test]
fn the_trace_finds_the_end_that_somebody_else_made_r786() {
    type End = fn(&World<Memory>) -> Done;
    let ends: [(Trigger, End); 3] = [
        (Trigger::AuthorizationRevoked, |world| {
            world.revoke(Target::All)
        }),
        (Trigger::SessionEnded, |world| world.close_session(0)),
        (Trigger::ParentEnded, |world| world.release(1, 0)),
    ];
    for (trigger, end) in ends {
        let world = World::new();
        world.open_session(0).unwrap();
        world.bind(1, 0, "writer").unwrap();
        let mut child = world.opened(2, 0, "writer", MINUTE);
        child.parent = Some(binding(1));
        world.model(0, child).unwrap();
        assert_eq!(
            explain_binding(&world.journal, binding(2)).unwrap().ended,
            None
        );
        let by = end(&world).unwrap();
        let ended = explain_binding(&world.journal, binding(2))
            .unwrap()
            .ended
            .unwrap();
        assert_eq!((ended.record, ended.value.trigger), (by, trigger));
    }
}

#[test]
fn a_missing_link_is_an_error_and_no_blank_r781() {
    let world = World::new();
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    for error in [
        explain_binding(&world.journal, binding(404)).unwrap_err(),
        explain_call(&world.journal, call(404)).unwrap_err(),
    ] {
        assert!(matches!(error, MissingLink::NotRecorded { .. }), "{error}");
    }
    struct Without(Memory, &'static str);
    impl Journal for Without {
        fn append(&self, _: Vec<Entry>, _: Vec<Kept>) -> Done {
            unreachable!("nothing is written")
        }
        fn append_lazy(&self, _: Vec<Entry>) -> Done {
            unreachable!("nothing is written")
        }
        fn look(&self, see: &mut dyn FnMut(&State)) {
            self.0.look(see);
        }
        fn records(&self, query: &Query) -> Result<Vec<Record>, JournalError> {
            let mut records = self.0.records(query)?;
            records.retain(|record| record.entry.event.kind() != self.1);
            Ok(records)
        }
        fn kept(&self, digest: Digest) -> Result<Option<String>, JournalError> {
            self.0.kept(digest)
        }
    }
    let mut journal = world.journal;
    for link in [
        "environment_admitted",
        "capability_described",
        "binding_opened",
    ] {
        let without = Without(journal, link);
        let error = explain_binding(&without, binding(1)).unwrap_err();
        assert!(
            matches!(error, MissingLink::NotRecorded { .. }),
            "{link}: {error}"
        );
        journal = without.0;
    }
    assert!(explain_binding(&journal, binding(1)).is_ok());
}

#[test]
fn every_refusal_of_a_rejection_has_a_type_and_names_no_path() {
    let rejections = [
        Rejection::NoEnvironment,
        Rejection::ForeignSession,
        Rejection::KeyConflict,
        Rejection::WriteGate,
        Rejection::ChildrenRunning,
        Rejection::LeaseOver {
            until: Moment::from_unix_ms(START),
        },
        Rejection::SwitchedOff {
            target: Target::All,
        },
    ];
    for rejection in rejections {
        let refusal = rejection.refusal();
        let message = refusal.message();
        assert!(
            !message.ends_with('.') && !message.contains("/work"),
            "{message}"
        );
    }
    let poisoned = JournalError::Poisoned("no space left on /var/lib/x".to_owned()).refusal();
    assert_eq!(poisoned.kind(), ErrorType::StoreUnavailable);
    assert!(!poisoned.message().contains("/var"));
    assert!(poisoned.operator().unwrap().contains("/var"));
}
