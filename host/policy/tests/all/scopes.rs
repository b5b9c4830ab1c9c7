//! R-486 … R-495: what a binding may touch, and what a grant carries.

use bindery_policy::{Access, Axis, GrantKind, Need, Reason, Ruling, Scope, Slice, Verb};
use bindery_types::{ErrorType, Limit, LimitName, Risk};
use serde_json::{Value, json};

use crate::rig::{Rig, keep, scope};

fn bind(wanted: Value) -> Rig {
    Rig::new(Verb::Bind).with(|rig| {
        rig.scope = Some(scope(wanted));
        rig.entry().declared.risk = None;
    })
}

fn granted(rig: &Rig) -> Scope {
    match rig.decide().ruling {
        Ruling::Allow(grant) => (**grant.scope()).clone(),
        other => panic!("{other:?}"),
    }
}

fn need(kind: GrantKind, required: bool, write: bool) -> &'static [Need] {
    keep([Need {
        kind,
        required,
        write,
    }])
}

#[test]
fn r_493_what_is_granted_is_within_what_was_asked_and_within_policy() {
    let scope = granted(&bind(
        json!({"grants": {"src": {"access": "read_only", "path": "docs"}}}),
    ));
    let slice = scope.slice(&"src".parse().unwrap()).unwrap();
    assert_eq!(
        *slice,
        Slice::Directory {
            access: Access::ReadOnly,
            path: "docs".parse().unwrap()
        }
    );
    assert_eq!(scope.slices().count(), 1, "nothing that was not asked for");
}

#[test]
fn r_493_a_wider_wish_is_cut_visibly_or_denied() {
    let rig =
        bind(json!({"grants": {"api": {"methods": ["GET", "POST"], "url": "https://api.test/"}}}));
    let decision = rig.decide();
    assert_eq!(
        decision.trace.line(Axis::Scope).unwrap().reason,
        Reason::ScopeNarrowed
    );
    let scope = granted(&rig);
    let Some(Slice::Endpoint { methods, url }) = scope.slice(&"api".parse().unwrap()) else {
        panic!()
    };
    assert_eq!(
        (methods.len(), url.to_string().as_str()),
        (1, "https://api.test/v1/")
    );
    let exact = bind(json!({"grants": {"api": {"methods": ["GET"]}}})).decide();
    assert_eq!(exact.trace.line(Axis::Scope).unwrap().reason, Reason::Ok);
    for outside in [
        json!({"grants": {"api": {"methods": ["DELETE"]}}}),
        json!({"grants": {"api": {"url": "https://other.test/"}}}),
        json!({"grants": {"src": {"methods": ["GET"]}}}),
        json!({"grants": {"unknown": {}}}),
    ] {
        assert_eq!(bind(outside).said(), "deny scope binding_denied");
    }
}

#[test]
fn a_grant_that_no_rule_names_for_it_answers_like_one_that_is_not_there() {
    let answer = |name: &str| {
        let rig = bind(json!({"grants": {name: {}}})).with(|rig| {
            rig.document.push_str("[grants.other]\nkind = 'clock'\n");
        });
        rig.decide().refusal().unwrap().to_json().to_string()
    };
    assert_eq!(answer("other"), answer("unknown"), "R-050");
}

#[test]
fn r_495_without_a_wish_the_scope_is_the_least_that_is_needed() {
    let rig = |needs: &'static [Need]| {
        Rig::new(Verb::Bind).with(|rig| {
            rig.entry().needs = needs;
            rig.entry().declared.risk = None;
        })
    };
    assert_eq!(
        granted(&rig(&[])),
        Scope::default(),
        "nothing needed, nothing given"
    );
    let read = granted(&rig(need(GrantKind::Directory, true, false)));
    let slice = read.slice(&"src".parse().unwrap()).unwrap();
    assert!(matches!(
        slice,
        Slice::Directory {
            access: Access::ReadOnly,
            ..
        }
    ));
    let write = granted(&rig(need(GrantKind::Directory, true, true)));
    let slice = write.slice(&"src".parse().unwrap()).unwrap();
    assert!(matches!(
        slice,
        Slice::Directory {
            access: Access::ReadWrite,
            ..
        }
    ));
    assert_eq!(
        rig(need(GrantKind::Store, true, false)).said(),
        "deny scope binding_denied",
        "C-46"
    );
    assert_eq!(
        rig(need(GrantKind::Store, false, false)).said(),
        "allow",
        "C-46: inert"
    );
}

#[test]
fn r_495_of_two_grants_that_would_do_the_caller_names_one() {
    let rig = Rig::new(Verb::Bind).with(|rig| {
        rig.document = rig.document.replace("'api']", "'api', 'two']");
        rig.document
            .push_str("[grants.two]\nkind = 'directory'\nhost = '.'\nguest = '/two'\n");
        rig.entry().needs = need(GrantKind::Directory, true, false);
    });
    assert_eq!(rig.said(), "deny scope binding_denied");
    let named = rig.with(|rig| rig.scope = Some(scope(json!({"grants": {"two": {}}}))));
    assert_eq!(named.said(), "allow");
}

#[test]
fn r_493_a_held_scope_is_compared_with_the_rules_of_now() {
    let rig = Rig::new(Verb::Call).with(|rig| {
        rig.entry().declared.risk = None;
        rig.hold(&["src"]);
    });
    assert_eq!(rig.said(), "allow");
    let narrower = rig.with(|rig| rig.document = rig.document.replace("read_write", "read_only"));
    assert_eq!(narrower.said(), "deny scope permission_denied", "R-535");
}

#[test]
fn c_62_r_052_what_a_grant_makes_possible_is_the_risk_whatever_is_declared() {
    let risk = |wanted: Value| match bind(wanted).decide().ruling {
        Ruling::Allow(grant) => grant.risk(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        risk(json!({"grants": {"src": {}}})),
        Risk::WritesUserContent
    );
    assert_eq!(
        risk(json!({"grants": {"src": {"access": "read_only"}}})),
        Risk::ReadOnly
    );
    assert_eq!(risk(json!({"grants": {"api": {}}})), Risk::ReadOnly);
    let raised = bind(json!({"grants": {"api": {}}})).with(|rig| {
        rig.document = rig.document.replace(
            "credential = 'token'",
            "credential = 'token'\nside_effect = 'financial'",
        );
    });
    let Ruling::Allow(grant) = raised.decide().ruling else {
        panic!()
    };
    assert_eq!(
        grant.risk(),
        Risk::ExternalSideEffect,
        "C-62: raised by the operator"
    );
    let by_policy = bind(json!({})).with(|rig| {
        rig.document = rig.document.replacen(
            "[[policy.rule]]",
            "[policy.risk]\ngo = 'privileged'\n[[policy.rule]]",
            1,
        );
    });
    let Ruling::Allow(grant) = by_policy.decide().ruling else {
        panic!()
    };
    assert_eq!(grant.risk(), Risk::Privileged, "C-57");
}

#[test]
fn r_494_a_ttl_is_capped_and_has_a_default() {
    let ttl = |wanted: Value| match bind(wanted).decide().ruling {
        Ruling::Allow(grant) => grant.ttl_ms(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ttl(json!({})), 600_000);
    assert_eq!(ttl(json!({"ttl_ms": 5})), 5);
    assert_eq!(ttl(json!({"ttl_ms": 999_999_999})), 3_600_000);
    let call = Rig::new(Verb::Call).decide();
    let Ruling::Allow(grant) = call.ruling else {
        panic!()
    };
    assert_eq!(grant.ttl_ms(), 1_000, "what is left of the lease");
}

#[test]
fn r_316_a_budget_is_what_was_asked_cut_by_rules_and_ceilings() {
    let fuel = |rig: &Rig| match rig.decide().ruling {
        Ruling::Allow(grant) => grant.budget().get(LimitName::Fuel),
        other => panic!("{other:?}"),
    };
    let asked = |text: &str| bind(json!({"budget": {"fuel": text}}));
    assert_eq!(fuel(&asked("1000")), Limit::Finite(1_000));
    let rule = |rig: &mut Rig| {
        rig.document = rig
            .document
            .replace("grants = ['src', 'api']", "budget = { fuel = 500 }")
    };
    assert_eq!(fuel(&asked("1000").with(rule)), Limit::Finite(500));
    assert_eq!(fuel(&asked("100").with(rule)), Limit::Finite(100));
    assert_eq!(
        fuel(&Rig::new(Verb::Call).with(rule)),
        Limit::Finite(500),
        "at the call, too"
    );
    let ceiling = |rig: &mut Rig| rig.document.push_str("[ceilings]\nfuel = 700\n");
    assert_eq!(
        fuel(&bind(json!({})).with(ceiling)),
        Limit::Finite(700),
        "R-316"
    );
    let unlimited = asked("unlimited").with(ceiling).decide().refusal().unwrap();
    assert_eq!(unlimited.kind(), ErrorType::BudgetExhausted, "X62");
    assert_eq!(asked("many").said(), "deny scope binding_denied");
}

#[test]
fn arguments_decide_which_rule_holds_and_what_it_gives() {
    let call = |path: &str, grants: &[&str]| {
        Rig::new(Verb::Call).with(|rig| {
        rig.document = rig.document.replace("grants = ['src', 'api']", "grants = ['src']\narguments = [{ at = '/path', path_under = '/src' }]");
        rig.document.push_str("[[policy.rule]]\ndecision = 'allow'\nwhy = 'x'\nnames = ['go']\ngrants = ['api']\narguments = [{ at = '/path', prefix = 'https:' }]\n");
        rig.document.push_str("[[policy.rule]]\ndecision = 'deny'\nnames = ['go']\narguments = [{ at = '/path', path_under = '/src/secret' }]\n");
        rig.entry().declared.risk = None;
        rig.hold(grants);
        rig.arguments = json!({ "path": path });
    }).said()
    };
    assert_eq!(call("/src/a", &["src"]), "allow");
    assert_eq!(
        call("/etc/passwd", &["src"]),
        "deny arguments permission_denied"
    );
    assert_eq!(
        call("/src/../etc/passwd", &[]),
        "deny arguments permission_denied"
    );
    assert_eq!(
        call("/src/x/../secret/key", &["src"]),
        "deny arguments permission_denied"
    );
    assert_eq!(call("https://api.test/", &["api"]), "allow");
    assert_eq!(
        call("https://api.test/", &["src"]),
        "deny arguments permission_denied",
        "the rule that holds does not give it"
    );
}
