//! Each axis by itself: what is allowed is denied once one thing is changed.

use bindery_policy::{Axis, AxisVerdict, Counter, Registration, Stages, Subject, Verb, Window};
use bindery_types::{ErrorType, Moment, Rights, Risk, SessionId, SideEffectClass};

use crate::rig::{NOW_MS, Rig, WRONG};
use crate::twins::{Change, TWINS};

///
///
///
/// H56.
#[test]
fn r_269_flipping_any_one_axis_to_blocking_denies() {
    assert_eq!(Rig::new(Verb::Call).said(), "allow");
    assert_eq!(Rig::new(Verb::Bind).said(), "allow");
    assert_eq!(Rig::new(Verb::Refresh).said(), "allow");
    for (row, verb, change, wanted) in TWINS {
        assert_eq!(Rig::new(*verb).with(change).said(), *wanted, "{row}");
    }
}

/// … R-267.
#[test]
fn every_trace_has_every_axis_once_and_in_order_whatever_blocks() {
    for (row, verb, change, _) in TWINS {
        let decision = Rig::new(*verb).with(change).decide();
        let axes: Vec<Axis> = decision.trace.lines().map(|(axis, _)| axis).collect();
        assert_eq!(axes, Axis::ALL, "{row}");
        assert_eq!(decision.trace.to_json().as_array().unwrap().len(), 24);
        assert_eq!(decision.trace.to_text().lines().count(), 24);
    }
    let at = |axis| Axis::ALL.iter().position(|known| *known == axis).unwrap();
    assert!(
        at(Axis::ExecutionState) < at(Axis::Scope) && at(Axis::Scope) < at(Axis::Mode),
        "R-293"
    );
}

#[test]
fn r_050_the_caller_reads_reason_and_type_and_never_a_rule_or_a_path() {
    for (row, verb, change, _) in TWINS {
        let decision = Rig::new(*verb).with(change).decide();
        let refusal = decision.refusal().unwrap();
        let json = refusal.to_json().to_string();
        for secret in [
            "secret reason",
            "bindery.toml",
            "/private",
            "policy.rule",
            "src",
            "token",
            "allowed_tools",
            "`",
        ] {
            assert!(!json.contains(secret), "{row}: {json}");
        }
        assert!(refusal.operator().is_some(), "{row}");
        assert!(!refusal.kind().next_actions().is_empty(), "R-757");
    }
}

#[test]
fn r_050_the_operator_reads_the_rule_and_its_reason_and_a_model_asking_is_refused() {
    let rig = Rig::new(Verb::Call).with(|rig| {
        rig.document.push_str("[[policy.rule]]\ndecision = 'deny'\nwhy = 'because of the audit'\nnamespaces = ['acme']\n");
    });
    let (decision, policy) = (rig.decide(), rig.policy());
    let told = decision.explain(&policy, Rights::Operator).unwrap();
    assert!(
        told.text.contains("because of the audit") && told.text.contains("bindery.toml:2"),
        "{}",
        told.text
    );
    assert_eq!(told.json["axis"], "deny");
    assert_eq!(told.json["trace"].as_array().unwrap().len(), 24);
    let refused = decision.explain(&policy, Rights::Model).unwrap_err();
    assert_eq!(refused.kind(), ErrorType::PermissionDenied);
    assert!(!refused.to_json().to_string().contains("audit"));
}

#[test]
fn r_048_i27_hidden_and_absent_are_one_answer_in_bytes() {
    let answer = |change: Change| {
        let decision = Rig::new(Verb::Bind).with(change).decide();
        decision.refusal().unwrap().to_json().to_string()
    };
    let absent = answer(|rig| rig.entry = None);
    for hide in [
        (|rig| rig.entry().shown = false) as Change,
        |rig| rig.document.push_str("[visibility]\nnamespaces = []\n"),
        |rig| rig.document.push_str("[visibility]\nhidden = ['go']\n"),
        |rig| rig.document.push_str("[profile]\nallowed_tools = []\n"),
        |rig| {
            rig.entry().shown = false;
            rig.deny.push("go".to_owned());
            rig.entry().approval = None;
        },
    ] {
        assert_eq!(answer(hide), absent);
    }
    let other = answer(|rig| rig.deny.push("go".to_owned()));
    assert_ne!(other, absent, "R-314: what is visible and denied says so");
    let foreign = |change: Change| {
        Rig::new(Verb::Call)
            .with(change)
            .decide()
            .refusal()
            .unwrap()
            .to_json()
    };
    assert_eq!(
        foreign(|rig| rig.handle = false),
        foreign(|rig| rig.held.session = SessionId::from_random([9; 16])),
        "C-48: forged and foreign"
    );
}

#[test]
fn of_an_absent_entry_the_trace_says_nothing_but_that() {
    let decision = Rig::new(Verb::Bind).with(|rig| rig.entry = None).decide();
    let known = decision
        .trace
        .lines()
        .filter(|(_, line)| line.verdict != AxisVerdict::Unknown);
    let known: Vec<Axis> = known.map(|(axis, _)| axis).collect();
    assert_eq!(known, [Axis::Handle, Axis::Environment, Axis::Visibility]);
}

#[test]
fn a_kind_of_effect_that_is_not_accepted_is_denied_and_others_are_not() {
    let said = |effect| {
        Rig::new(Verb::Call)
            .with(|rig| {
                rig.document = rig.document.replacen(
                    "[[policy.rule]]",
                    "[policy]\ndenied_effects = ['financial']\n[[policy.rule]]",
                    1,
                );
                rig.entry().declared.risk = None;
                rig.entry().declared.side_effect = Some(effect);
            })
            .said()
    };
    assert_eq!(
        said(SideEffectClass::Financial),
        "deny effect permission_denied",
        "C-15"
    );
    assert_eq!(said(SideEffectClass::ExternalSend), "allow", "C-15");
}

#[test]
fn r_506_a_full_window_says_when_to_come_back_and_a_closed_one_is_forgotten() {
    let rig = |opened_ms: u64, count: u64| {
        Rig::new(Verb::Call).with(|rig| {
            rig.document.push_str("[rates.session]\ncalls = '3/10s'\n");
            let opened = Moment::from_unix_ms(NOW_MS - opened_ms);
            rig.windows = vec![Window {
                subject: Subject::Session,
                counter: Counter::Calls,
                opened,
                count,
            }];
        })
    };
    let refusal = rig(4_000, 3).decide().refusal().unwrap();
    assert_eq!(refusal.kind(), ErrorType::BudgetExhausted);
    assert_eq!(refusal.details()["retry_after_ms"], 6_000);
    assert_eq!(rig(4_000, 2).said(), "allow");
    assert_eq!(rig(10_000, 3).said(), "allow");
}

#[test]
fn r_316_searches_and_probes_are_counted_without_being_decided() {
    let rig = Rig::new(Verb::Call).with(|rig| {
        rig.document
            .push_str("[aggregates.session]\nsearches = 2\n[rates.principal]\nprobes = '1/1m'\n")
    });
    let (policy, now) = (rig.policy(), Moment::from_unix_ms(NOW_MS));
    let used = |count| rig.used.with(Subject::Session, Counter::Searches, count);
    assert!(
        policy
            .allowance(Counter::Searches, &used(1), &[], now)
            .is_ok()
    );
    let refused = policy
        .allowance(Counter::Searches, &used(2), &[], now)
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorType::BudgetExhausted);
    let window = Window {
        subject: Subject::Principal,
        counter: Counter::Probes,
        opened: now,
        count: 1,
    };
    let refused = policy
        .allowance(Counter::Probes, &used(0), &[window], now)
        .unwrap_err();
    assert_eq!(refused.details()["retry_after_ms"], 60_000);
}

#[test]
fn c_51_c_43_a_static_tool_needs_stage_one_and_no_write_gate() {
    let rig = |registration| {
        Rig::new(Verb::Bind).with(|rig| {
            rig.stages = Stages::default();
            rig.gate = false;
            rig.entry().registration = registration;
            rig.entry().declared.risk = Some(Risk::Write);
        })
    };
    assert_eq!(rig(Registration::Static).said(), "allow");
    assert_eq!(
        rig(Registration::LateBound).said(),
        "deny stage stage_disabled"
    );
}

#[test]
fn r_861_an_operator_may_bind_without_naming_a_digest() {
    let rig = Rig::new(Verb::Bind).with(|rig| {
        rig.implementation = None;
        rig.who.rights = Rights::Operator;
    });
    assert_eq!(rig.said(), "allow");
}

#[test]
fn c_53_a_refresh_looks_past_old_versions_and_at_everything_else() {
    let refresh = |change: Change| Rig::new(Verb::Refresh).with(change).said();
    assert_eq!(
        refresh(|rig| {
            rig.held.policy_version = WRONG;
            rig.held.catalog_version = WRONG;
        }),
        "allow"
    );
    assert_eq!(
        refresh(|rig| rig.held.implementation = WRONG),
        "deny binding binding_stale",
        "R-528"
    );
    assert_eq!(
        refresh(|rig| {
            rig.document = rig
                .document
                .replace("grants = ['src', 'api']", "grants = ['api']");
            rig.hold(&["api"]);
        }),
        "allow"
    );
    assert_eq!(
        refresh(|rig| rig.who.agent = "stub".parse().unwrap()),
        "deny agent permission_denied",
        "R-297"
    );
    let lost = Rig::new(Verb::Refresh).with(|rig| {
        rig.hold(&["api"]);
        rig.document = rig
            .document
            .replace("grants = ['src', 'api']", "grants = ['src']");
    });
    assert_eq!(lost.said(), "deny scope permission_denied", "R-546");
}
