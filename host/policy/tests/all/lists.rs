//! R-306 … R-312: lists of every scope, in all pairs.

use bindery_policy::{Document, KnownNames, Policy, Verb};

use crate::rig::Rig;

type Change = fn(&mut Rig);

/// The ways to allow, by scope.
const ALLOWS: [(&str, Change); 4] = [
    ("profile", |rig| {
        rig.document.push_str("[profile]\nallowed_tools = ['go']\n")
    }),
    ("policy", |rig| {
        rig.document
            .push_str("[[policy.rule]]\ndecision = 'allow'\nwhy = 'x'\nnames = ['go']\n")
    }),
    ("session", |rig| rig.allow = Some(vec!["go".to_owned()])),
    ("project", |rig| rig.project = Some(r#"{"allow": ["go"]}"#)),
];

/// The ways to deny, by scope.
const DENIES: [(&str, Change); 4] = [
    ("profile", |rig| {
        let table = if rig.document.contains("[profile]") {
            ""
        } else {
            "[profile]\n"
        };
        rig.document
            .push_str(&format!("{table}denied_tools = ['go']\n"));
    }),
    ("policy", |rig| {
        rig.document
            .push_str("[[policy.rule]]\ndecision = 'deny'\nnames = ['go']\n")
    }),
    ("session", |rig| rig.deny = vec!["go".to_owned()]),
    ("project", |rig| {
        rig.project = Some(match rig.project {
            None => r#"{"deny": ["go"]}"#,
            Some(_) => r#"{"allow": ["go"], "deny": ["go"]}"#,
        });
    }),
];

/// R-308, R-309.
#[test]
fn r_310_a_deny_of_any_scope_wins_over_an_allow_of_any_scope() {
    for (allowing, allow) in ALLOWS {
        assert_eq!(
            Rig::new(Verb::Bind).with(allow).said(),
            "allow",
            "{allowing}"
        );
        for (denying, deny) in DENIES {
            let said = Rig::new(Verb::Bind).with(allow).with(deny).said();
            let wanted = match denying {
                "profile" => "deny visibility capability_unavailable",
                _ => "deny deny binding_denied",
            };
            assert_eq!(
                said, wanted,
                "allowed by the {allowing}, denied by the {denying}"
            );
        }
    }
}

#[test]
fn r_310_the_order_of_rules_decides_nothing() {
    let deny = "[[policy.rule]]\ndecision = 'deny'\nnames = ['go']\n";
    let last = Rig::new(Verb::Call).with(|rig| rig.document.push_str(deny));
    let first = Rig::new(Verb::Call).with(|rig| {
        rig.document =
            rig.document
                .replacen("[[policy.rule]]", &format!("{deny}[[policy.rule]]"), 1);
    });
    assert_eq!(last.said(), "deny deny permission_denied");
    assert_eq!(first.said(), last.said());
}

#[test]
fn r_311_an_omitted_allow_is_everything_otherwise_permitted_and_never_more() {
    let only_deny = Rig::new(Verb::Bind).with(|rig| rig.project = Some(r#"{"deny": ["stop"]}"#));
    assert_eq!(only_deny.said(), "allow");
    let ceiling = Rig::new(Verb::Bind).with(|rig| {
        rig.project = Some(r#"{"deny": []}"#);
        rig.document
            .push_str("[profile]\nallowed_tools = ['stop']\n");
    });
    assert_eq!(
        ceiling.said(),
        "deny visibility capability_unavailable",
        "R-306"
    );
}

#[test]
fn r_312_an_empty_allow_is_nothing() {
    for change in [
        (|rig: &mut Rig| rig.project = Some(r#"{"allow": []}"#)) as Change,
        |rig| rig.allow = Some(Vec::new()),
    ] {
        assert_eq!(
            Rig::new(Verb::Bind).with(change).said(),
            "deny allow binding_denied"
        );
    }
}

/// R-887.
#[test]
fn r_306_r_307_no_session_rule_raises_the_profile_ceiling_or_replaces_a_rule() {
    let raised = Rig::new(Verb::Bind).with(|rig| {
        rig.document
            .push_str("[profile]\nallowed_tools = ['stop']\n");
        rig.allow = Some(vec!["go".to_owned()]);
        rig.project = Some(r#"{"allow": ["go"]}"#);
    });
    assert_eq!(raised.said(), "deny visibility capability_unavailable");
    let no_rule = Rig::new(Verb::Bind).with(|rig| {
        rig.capability = "acme:p#stop";
        rig.allow = Some(vec!["stop".to_owned()]);
    });
    assert_eq!(no_rule.said(), "deny allow binding_denied", "R-292");
}

#[test]
fn c_49_a_name_in_a_denial_covers_every_match_and_in_a_permission_only_one() {
    let two = |rig: &mut Rig| rig.catalogue.push(("go", "beta:q#go"));
    let denied = Rig::new(Verb::Bind)
        .with(two)
        .with(|rig| rig.deny = vec!["go".to_owned()]);
    assert_eq!(denied.said(), "deny deny binding_denied");
    let rig = Rig::new(Verb::Bind)
        .with(two)
        .with(|rig| rig.allow = Some(vec!["go".to_owned()]));
    let refusal = rig.open(&rig.policy()).unwrap_err();
    assert_eq!(refusal.kind().as_str(), "policy_malformed");
    let told = refusal.operator().unwrap();
    assert!(told.contains("acme:p#go, beta:q#go"), "{told}");
    assert!(!refusal.to_json().to_string().contains("beta:q"), "R-050");
}

#[test]
fn c_49_a_rule_that_permits_a_name_of_nothing_permits_nothing() {
    let text = "[names]\nmissing = 'warning'\n[[policy.rule]]\ndecision = 'allow'\nwhy = 'x'\nnames = ['gone']\n";
    let policy =
        Policy::compile(Document::parse("p", text).unwrap(), &KnownNames::default()).unwrap();
    assert_eq!(policy.warnings().len(), 1);
    let lenient = Rig::new(Verb::Bind).with(|rig| {
        rig.document = rig
            .document
            .replace("capabilities = ['acme:p#go']", "names = ['gone']");
        rig.document.push_str("[names]\nmissing = 'warning'\n");
    });
    assert_eq!(
        lenient.said(),
        "deny scope binding_denied".replace("scope", "allow")
    );
    let strict = Policy::compile(
        Document::parse("p", &text.replace("'warning'", "'error'")).unwrap(),
        &KnownNames::default(),
    );
    assert!(
        strict
            .unwrap_err()
            .to_string()
            .contains("`gone` names no capability")
    );
}

#[test]
fn a_denial_of_a_name_of_nothing_denies_nothing() {
    let rig = Rig::new(Verb::Bind).with(|rig| {
        rig.document
            .push_str("[[policy.rule]]\ndecision = 'deny'\nnames = ['bash']\n");
    });
    assert_eq!(rig.said(), "allow");
    let all = Rig::new(Verb::Bind).with(|rig| {
        rig.document
            .push_str("[[policy.rule]]\ndecision = 'deny'\n")
    });
    assert_eq!(
        all.said(),
        "deny deny binding_denied",
        "left out, it speaks of everything"
    );
}

#[test]
fn r_299_a_mode_above_the_ceiling_opens_no_session() {
    let rig = Rig::new(Verb::Bind)
        .with(|rig| rig.document = rig.document.replace("full_access", "safe_edit"));
    assert_eq!(
        rig.open(&rig.policy()).unwrap_err().kind().as_str(),
        "permission_denied"
    );
    let rig = rig.with(|rig| rig.mode = bindery_types::PermissionMode::SafeEdit);
    assert!(rig.open(&rig.policy()).is_ok());
}
