//! R-258 …, C-19, I14: who has to say yes, and to what exactly.

use bindery_policy::{ApprovalFacts, Counter, Covers, Ruling, Subject, Verb};
use bindery_types::{
    ApprovalRequirement, Moment, ProposalId, Risk, RunId, SessionId, canonical_digest,
};
use serde_json::json;

use crate::rig::{NOW_MS, RIGHT, Rig, WRONG, id, keep};

fn approval(rig: &Rig, covers: Covers) -> ApprovalFacts<'static> {
    ApprovalFacts {
        proposal: ProposalId::from_random([5; 16]),
        covers,
        capability: keep(id(rig.capability)),
        implementation: RIGHT,
        descriptor: RIGHT,
        generation: 7,
        policy_version: RIGHT,
        scope_digest: rig.held.scope_digest,
        principal: rig.held.principal,
        tenant: rig.held.tenant,
        session: rig.held.session,
        run: None,
        archetype: keep("default".parse().unwrap()),
        expires: Moment::from_unix_ms(NOW_MS + 1),
        used: false,
    }
}

fn rig(requirement: ApprovalRequirement) -> Rig {
    Rig::new(Verb::Call).with(|rig| {
        rig.arguments = json!({"to": "a"});
        rig.entry().approval = Some(requirement);
    })
}

fn given(
    requirement: ApprovalRequirement,
    change: impl FnOnce(&mut ApprovalFacts<'static>),
) -> String {
    let rig = rig(requirement);
    let covers = match requirement {
        ApprovalRequirement::ConfirmOnce => Covers::Run,
        _ => Covers::Arguments(canonical_digest(&rig.arguments)),
    };
    let mut approval = approval(&rig, covers);
    change(&mut approval);
    rig.with(|rig| rig.approvals = vec![approval]).said()
}

const ONCE: ApprovalRequirement = ApprovalRequirement::ConfirmOnce;
const EACH: ApprovalRequirement = ApprovalRequirement::ConfirmEveryTime;

///
#[test]
fn r_549_a_requirement_without_an_approval_asks_and_starts_nothing() {
    for requirement in [ONCE, EACH] {
        let decision = rig(requirement).decide();
        let Ruling::Ask(question) = &decision.ruling else {
            panic!("{requirement}")
        };
        assert_eq!(question.requirement, requirement);
        assert_eq!(
            question.arguments_digest,
            Some(canonical_digest(&json!({"to": "a"})))
        );
        assert_eq!(
            decision.refusal().unwrap().kind().as_str(),
            "approval_required"
        );
        // C-19: an approval ends with the lease, whatever it was given for.
        assert_eq!(question.expires, Moment::from_unix_ms(NOW_MS + 1_000));
    }
}

#[test]
fn r_259_r_260_the_approval_of_the_very_action_lets_it_start() {
    assert_eq!(given(ONCE, |_| {}), "allow");
    assert_eq!(given(EACH, |_| {}), "allow");
    let rig = rig(EACH);
    let covers = Covers::Arguments(canonical_digest(&rig.arguments));
    let approval = approval(&rig, covers);
    let decision = rig.with(|rig| rig.approvals = vec![approval]).decide();
    let Ruling::Allow(grant) = decision.ruling else {
        panic!()
    };
    assert_eq!(
        grant.approval(),
        Some(ProposalId::from_random([5; 16])),
        "R-491"
    );
}

#[test]
fn i14_an_approval_of_which_any_one_field_differs_asks_again() {
    type Change = fn(&mut ApprovalFacts<'static>);
    let changes: [(&str, Change); 12] = [
        ("capability", |a| a.capability = keep(id("acme:p#stop"))),
        ("implementation", |a| a.implementation = WRONG),
        ("descriptor", |a| a.descriptor = WRONG),
        ("generation", |a| a.generation = 6),
        ("policy", |a| a.policy_version = WRONG),
        ("scope", |a| a.scope_digest = WRONG),
        ("principal", |a| {
            a.principal = keep("token:b".parse().unwrap())
        }),
        ("tenant", |a| a.tenant = keep("u".parse().unwrap())),
        ("session", |a| a.session = SessionId::from_random([8; 16])),
        ("run", |a| a.run = Some(RunId::from_random([8; 16]))),
        ("archetype", |a| a.archetype = keep("docs".parse().unwrap())),
        ("expiry", |a| a.expires = Moment::from_unix_ms(NOW_MS)),
    ];
    for (field, change) in changes {
        assert_eq!(given(ONCE, change), "ask", "C-19: {field}");
        assert_eq!(given(EACH, change), "ask", "R-562, X47: {field}");
    }
}

#[test]
fn r_260_x48_an_approval_of_one_call_is_used_once_and_for_its_arguments() {
    assert_eq!(given(EACH, |a| a.used = true), "ask");
    assert_eq!(given(EACH, |a| a.covers = Covers::Arguments(WRONG)), "ask");
    assert_eq!(
        given(EACH, |a| a.covers = Covers::Run),
        "ask",
        "an answer once is none each time"
    );
    assert_eq!(given(ONCE, |a| a.used = true), "allow", "R-259");
    let other = canonical_digest(&json!({"to": "a"}));
    assert_eq!(
        given(ONCE, |a| a.covers = Covers::Arguments(other)),
        "ask",
        "R-562"
    );
}

#[test]
fn r_258_r_261_no_approval_overrides_a_deny_and_blocked_never_runs() {
    let denied = rig(ApprovalRequirement::NoApproval).with(|rig| rig.deny = vec!["go".to_owned()]);
    assert_eq!(denied.said(), "deny deny permission_denied");
    assert_eq!(
        given(ApprovalRequirement::Blocked, |_| {}),
        "deny approval permission_denied"
    );
    let bind =
        Rig::new(Verb::Bind).with(|rig| rig.entry().approval = Some(ApprovalRequirement::Blocked));
    assert_eq!(bind.said(), "deny approval binding_denied");
    let approved_but_denied = {
        let rig = rig(ONCE);
        let approval = approval(&rig, Covers::Run);
        rig.with(|rig| {
            rig.approvals = vec![approval];
            rig.deny = vec!["go".to_owned()];
        })
    };
    assert_eq!(approved_but_denied.said(), "deny deny permission_denied");
}

#[test]
fn r_257_r_558_the_gravest_risks_ask_whatever_the_contract_says() {
    for risk in [Risk::Destructive, Risk::Privileged] {
        let rig = Rig::new(Verb::Call).with(|rig| rig.entry().declared.risk = Some(risk));
        assert_eq!(
            rig.said(),
            "ask",
            "{risk}: full_access alone does not unlock it"
        );
    }
    let milder =
        Rig::new(Verb::Call).with(|rig| rig.entry().declared.risk = Some(Risk::ExternalSideEffect));
    assert_eq!(milder.said(), "allow");
}

#[test]
fn r_559_policy_makes_a_requirement_stricter_and_never_milder() {
    let with = |rule: &str, requirement| {
        rig(requirement)
            .with(|rig| rig.document = rig.document.replace("grants = ['src', 'api']", rule))
            .said()
    };
    assert_eq!(
        with("approval = 'blocked'", ONCE),
        "deny approval permission_denied"
    );
    assert_eq!(
        with("approval = 'confirm_once'", ApprovalRequirement::NoApproval),
        "ask"
    );
    assert_eq!(with("approval = 'no_approval'", EACH), "ask");
    let by_risk = rig(ApprovalRequirement::NoApproval).with(|rig| {
        rig.document
            .push_str("[approvals.risk]\nread_only = 'confirm_every_time'\n")
    });
    assert_eq!(by_risk.said(), "ask");
}

#[test]
fn an_ask_rule_asks_where_an_allow_rule_would_have_allowed() {
    let rule = "[[policy.rule]]\ndecision = 'ask'\nwhy = 'look first'\nnames = ['go']\n";
    let rig = Rig::new(Verb::Call).with(|rig| rig.document.push_str(rule));
    assert_eq!(rig.said(), "ask", "C-18");
    let bind = Rig::new(Verb::Bind).with(|rig| rig.document.push_str(rule));
    assert_eq!(
        bind.said(),
        "allow",
        "R-473: a binding is no approval, each call asks"
    );
    let decision = rig.decide();
    let told = decision
        .explain(&rig.policy(), bindery_types::Rights::Operator)
        .unwrap();
    assert_eq!(told.json["rule"]["why"], "look first");
}

#[test]
fn h54_who_asks_too_often_is_denied_and_not_asked_about() {
    let used = |count| {
        rig(ONCE).with(|rig| rig.used = rig.used.with(Subject::Session, Counter::Proposals, count))
    };
    assert_eq!(used(999).said(), "ask");
    assert_eq!(used(1_000).said(), "deny approval budget_exhausted");
}
