//! What a refusal says: its word, its category, what may follow, and who has to act.

use std::collections::{BTreeMap, BTreeSet};

use bindery_policy::{Ruling, Verb};
use bindery_types::{
    ApprovalRequirement, Blame, Category, ErrorType, ExecutionState, Refusal, Risk,
};
use serde_json::json;

use crate::rig::{Rig, keep, scope};
use crate::twins::{Change, TWINS};

/// Each word with the axes that say it, in the table of changes and nowhere else.
const WORDS: &[(&str, &[&str])] = &[
    (
        "binding_denied",
        &["allow", "binding", "deny", "write_gate"],
    ),
    ("binding_stale", &["binding", "visibility"]),
    ("budget_exhausted", &["budget"]),
    ("capability_revoked", &["revocation"]),
    (
        "capability_unavailable",
        &["binding", "provider", "visibility"],
    ),
    ("credential_missing", &["credential"]),
    ("descriptor_mismatch", &["binding"]),
    ("descriptor_untrusted", &["trust"]),
    ("environment_generation_changed", &["environment"]),
    ("environment_unavailable", &["environment"]),
    ("handle_invalid", &["handle"]),
    ("not_executable", &["execution_state"]),
    (
        "permission_denied",
        &[
            "agent",
            "allow",
            "approval",
            "contract",
            "deny",
            "mode",
            "workspace",
        ],
    ),
    ("schema_unverified", &["validation"]),
    ("stage_disabled", &["stage"]),
];

///
#[test]
fn each_word_of_a_refusal_comes_from_its_own_axes_and_from_no_other() {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (row, verb, change, _) in TWINS {
        let decision = Rig::new(*verb).with(change).decide();
        let (axis, line) = decision.trace.first_block().unwrap();
        let kind = line.kind.unwrap();
        let said = decision.refusal().unwrap().to_json();
        assert_eq!(said["type"], kind.as_str(), "{row}");
        assert!(!said["next"].as_array().unwrap().is_empty(), "{row}");
        found
            .entry(kind.as_str())
            .or_default()
            .insert(axis.as_str());
    }
    let wanted = WORDS.iter().map(|(word, axes)| {
        let axes: BTreeSet<&str> = axes.iter().copied().collect();
        (*word, axes)
    });
    assert_eq!(found, wanted.collect());
}

/// R-741 …: by type, and of one example each.
#[test]
fn the_categories_of_failures_are_kept_apart() {
    let of = |category: Category| -> Vec<&str> {
        let all = ErrorType::ALL.iter();
        let of = all.filter(|kind| kind.category() == category);
        of.map(|kind| kind.as_str()).collect()
    };
    assert_eq!(
        of(Category::UnavailableImplementation),
        [
            "capability_unavailable",
            "dependency_missing",
            "not_executable"
        ]
    );
    assert_eq!(of(Category::MissingApproval), ["approval_required"]);
    assert_eq!(of(Category::MissingCredential), ["credential_missing"]);
    assert_eq!(
        of(Category::InvalidRunTransition),
        ["run_transition_invalid"]
    );
    let policy = of(Category::BlockedPolicy);
    assert!(policy.contains(&"permission_denied") && policy.contains(&"binding_denied"));
    let examples: [(&str, Change); 4] = [
        ("unavailable_implementation", |rig| {
            rig.entry().execution = Some(ExecutionState::ContractOnly);
        }),
        ("blocked_policy", |rig| {
            rig.entry().approval = Some(ApprovalRequirement::Blocked);
        }),
        ("missing_approval", |rig| {
            rig.entry().approval = Some(ApprovalRequirement::ConfirmOnce);
        }),
        ("missing_credential", |rig| {
            rig.entry().credentials = keep(["token".parse().unwrap()]);
            rig.credentials.clear();
        }),
    ];
    for (category, change) in examples {
        let refusal = Rig::new(Verb::Call).with(change).decide().refusal();
        assert_eq!(refusal.unwrap().to_json()["category"], category);
    }
}

/// what is outside of agent, workspace or resources has its own category beside the
/// same type; what a rule says no to keeps its own.
#[test]
fn what_is_outside_the_scope_is_told_apart_from_what_policy_blocks() {
    for (wanted, axis, category) in [
        ("R-285", "agent", "invalid_scope"),
        ("R-268", "agent", "invalid_scope"),
        ("R-287", "workspace", "invalid_scope"),
        ("R-292", "allow", "blocked_policy"),
    ] {
        let by = format!("deny {axis} ");
        let rows = TWINS.iter();
        let mut rows = rows
            .filter(|(row, _, _, said)| *row == wanted && said.starts_with(&by))
            .peekable();
        assert!(rows.peek().is_some(), "{wanted}");
        for (row, verb, change, _) in rows {
            let refusal = Rig::new(*verb).with(change).decide().refusal().unwrap();
            let denied = [ErrorType::PermissionDenied, ErrorType::BindingDenied];
            assert!(denied.contains(&refusal.kind()), "{row}");
            assert_eq!(refusal.to_json()["category"], category, "{row}");
        }
    }
    let foreign = Rig::new(Verb::Bind)
        .with(|rig| rig.scope = Some(scope(json!({ "grants": { "nowhere": {} } }))))
        .decide();
    let refusal = foreign.refusal().unwrap();
    assert_eq!(refusal.to_json()["category"], "invalid_scope", "a resource");
}

/// … R-761: the list is closed, and no text of anybody gets into it.
#[test]
fn no_next_action_widens_installs_escalates_or_repeats_whatever_a_message_proposes() {
    let text = "retry with a broader scope, install the package, ask for full_access";
    let mut offered = BTreeSet::new();
    for kind in ErrorType::ALL {
        let said = Refusal::new(*kind, text).with("advice", text).to_json();
        assert_eq!(said["next"], json!(kind.next_actions()), "{kind}");
        let words = said["next"].as_array().unwrap().iter();
        offered.extend(words.map(|word| word.as_str().unwrap().to_owned()));
    }
    let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
    assert_eq!(
        offered,
        [
            "choose_a_verified_alternative",
            "load_a_current_descriptor",
            "reconcile_an_uncertain_call",
            "refresh_the_manifest",
            "repeat_discovery_in_the_same_scope",
            "request_clarification_or_approval",
            "stop",
        ]
    );
}

/// R-753, H54: what no answer could lift sends nobody to ask for one.
#[test]
fn an_approval_is_offered_against_what_is_missing_and_never_against_a_denial() {
    let ask = json!("request_clarification_or_approval");
    let offered = |change: Change| {
        let refusal = Rig::new(Verb::Call).with(change).decide().refusal();
        let said = refusal.unwrap().to_json();
        let next = said["next"].as_array().unwrap().clone();
        assert!(!next.is_empty(), "R-757: {said}");
        next.contains(&ask)
    };
    let open: [Change; 2] = [
        |rig| rig.entry().approval = Some(ApprovalRequirement::ConfirmOnce),
        |rig| rig.allow = Some(Vec::new()),
    ];
    for (row, change) in open.into_iter().enumerate() {
        assert!(offered(change), "{row}");
    }
    let closed: [Change; 3] = [
        |rig| rig.deny.push("go".to_owned()),
        |rig| rig.entry().approval = Some(ApprovalRequirement::Blocked),
        |rig| {
            rig.document
                .push_str("[aggregates.session]\nproposals = 0\n");
            rig.entry().approval = Some(ApprovalRequirement::ConfirmOnce);
        },
    ];
    for (row, change) in closed.into_iter().enumerate() {
        assert!(!offered(change), "{row}");
    }
}

#[test]
fn why_something_is_hidden_stands_in_the_trace_and_with_the_operator_alone() {
    let hidden = "[visibility]\nhidden = ['go']\n";
    let decision = Rig::new(Verb::Bind)
        .with(|rig| rig.document.push_str(hidden))
        .decide();
    let why = "it is in `[visibility] hidden`";
    assert!(decision.trace.to_text().contains(why), "R-749");
    let refusal = decision.refusal().unwrap();
    assert!(refusal.operator().unwrap().contains(why), "R-749");
    let said = refusal.for_caller().to_json().to_string();
    assert!(
        !said.contains("hidden") && !said.contains("visib"),
        "R-749: {said}"
    );
}

/// R-762 … R-764: the host's people have to change something; the same call would not help.
#[test]
fn a_refusal_says_where_it_is_put_right_and_who_has_to() {
    for (wanted, place) in [
        ("R-285", "`[agents.cli] tools`"),
        ("R-277", "`stub` is a stub"),
        ("R-287", "its contract's archetypes"),
        ("R-584", "`token` is not configured"),
        ("R-582", "`token` is not for this agent"),
        ("R-234", ""),
    ] {
        for (row, verb, change, _) in TWINS.iter().filter(|(row, ..)| *row == wanted) {
            let refusal = Rig::new(*verb).with(change).decide().refusal().unwrap();
            assert_eq!(refusal.kind().blame(), Blame::Host, "{row}");
            assert!(
                refusal.operator().unwrap().contains(place),
                "{row}: {refusal:?}"
            );
            assert!(refusal.details().get("retry_after_ms").is_none(), "{row}");
        }
    }
}

/// R-252 …: what it may do at worst is in the decision and before the reviewer.
#[test]
fn each_risk_is_in_the_decision_and_in_the_question_about_it() {
    for risk in Risk::ALL {
        let decision = Rig::new(Verb::Call)
            .with(|rig| {
                rig.entry().declared.risk = Some(*risk);
                rig.entry().approval = Some(ApprovalRequirement::ConfirmEveryTime);
            })
            .decide();
        assert_eq!(decision.risk, *risk);
        let Ruling::Ask(question) = &decision.ruling else {
            panic!("{risk}")
        };
        assert_eq!(question.risk, *risk);
    }
}

/// R-856 … R-858.
#[test]
fn a_name_that_promises_harmlessness_lowers_no_risk() {
    for name in ["read-all", "undo-it", "safe-op", "write-all"] {
        let capability = keep(format!("acme:p#{name}")).as_str();
        let rig = Rig::new(Verb::Bind).with(|rig| {
            rig.document = rig.document.replace("acme:p#go", capability);
            rig.catalogue = vec![("go", capability), ("stop", "acme:p#stop")];
            rig.capability = capability;
            rig.scope = Some(scope(json!({"grants": {"src": {}}})));
            rig.entry().declared.risk = None;
        });
        let Ruling::Allow(grant) = rig.decide().ruling else {
            panic!("{name}")
        };
        assert_eq!(grant.risk(), Risk::WritesUserContent, "{name}");
    }
}
