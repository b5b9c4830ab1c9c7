//! The one change that makes each axis block, with the row that demands it.

use bindery_policy::{Counter, Registration, Stage, Stages, Subject, Switch, Verb};
use bindery_types::{
    BindingStatus, ExecutionState, Moment, PermissionMode, Risk, SessionId, TrustStatus,
    ValidationStatus,
};

use crate::rig::{NOW_MS, Rig, WRONG, id, keep, scope};

pub(crate) type Change = fn(&mut Rig);

/// Row, verb, the one change, what follows.
pub(crate) const TWINS: &[(&str, Verb, Change, &str)] = &[
    (
        "R-081",
        Verb::Bind,
        |r| r.environment = None,
        "deny environment environment_unavailable",
    ),
    (
        "R-498",
        Verb::Bind,
        |r| r.generation = Some(6),
        "deny environment environment_generation_changed",
    ),
    (
        "R-479",
        Verb::Call,
        |r| r.held.generation = 6,
        "deny environment environment_generation_changed",
    ),
    (
        "R-497",
        Verb::Call,
        |r| r.held.session = SessionId::from_random([9; 16]),
        "deny handle handle_invalid",
    ),
    (
        "R-484",
        Verb::Call,
        |r| r.held.principal = keep("token:b".parse().unwrap()),
        "deny handle handle_invalid",
    ),
    (
        "R-485",
        Verb::Call,
        |r| r.held.tenant = keep("u".parse().unwrap()),
        "deny handle handle_invalid",
    ),
    (
        "C-48",
        Verb::Call,
        |r| r.handle = false,
        "deny handle handle_invalid",
    ),
    (
        "R-048",
        Verb::Bind,
        |r| r.entry = None,
        "deny visibility capability_unavailable",
    ),
    (
        "R-048",
        Verb::Bind,
        |r| r.entry().shown = false,
        "deny visibility capability_unavailable",
    ),
    (
        "C-48",
        Verb::Call,
        |r| r.entry().shown = false,
        "deny visibility binding_stale",
    ),
    (
        "R-047",
        Verb::Bind,
        |r| r.document.push_str("[visibility]\nnamespaces = ['beta']\n"),
        "deny visibility capability_unavailable",
    ),
    (
        "R-047",
        Verb::Bind,
        |r| r.document.push_str("[visibility]\nproviders = ['other']\n"),
        "deny visibility capability_unavailable",
    ),
    (
        "R-048",
        Verb::Bind,
        |r| r.document.push_str("[visibility]\nhidden = ['go']\n"),
        "deny visibility capability_unavailable",
    ),
    (
        "R-306",
        Verb::Bind,
        |r| r.document.push_str("[profile]\nallowed_tools = ['stop']\n"),
        "deny visibility capability_unavailable",
    ),
    (
        "C-11",
        Verb::Bind,
        |r| r.document.push_str("[profile]\ndenied_tools = ['go']\n"),
        "deny visibility capability_unavailable",
    ),
    (
        "R-531",
        Verb::Call,
        |r| r.revoked = Some(Switch::Digest),
        "deny revocation capability_revoked",
    ),
    (
        "H56",
        Verb::Bind,
        |r| r.revoked = Some(Switch::All),
        "deny revocation capability_revoked",
    ),
    (
        "C-48",
        Verb::Call,
        |r| r.held.status = BindingStatus::Revoked,
        "deny revocation capability_revoked",
    ),
    (
        "R-801",
        Verb::Bind,
        |r| r.stages = Stages::default(),
        "deny stage stage_disabled",
    ),
    (
        "R-796",
        Verb::Bind,
        |r| {
            r.stages = Stages::of([Stage::Bindings]);
            r.entry().registration = Registration::Static;
        },
        "deny stage stage_disabled",
    ),
    (
        "R-861",
        Verb::Bind,
        |r| r.implementation = None,
        "deny binding binding_denied",
    ),
    (
        "R-528",
        Verb::Bind,
        |r| r.implementation = Some(WRONG),
        "deny binding descriptor_mismatch",
    ),
    (
        "R-526",
        Verb::Bind,
        |r| r.descriptor = Some(WRONG),
        "deny binding descriptor_mismatch",
    ),
    (
        "R-353",
        Verb::Call,
        |r| r.held.status = BindingStatus::Stale,
        "deny binding binding_stale",
    ),
    (
        "R-496",
        Verb::Call,
        |r| r.held.status = BindingStatus::Unbound,
        "deny binding binding_stale",
    ),
    (
        "R-474",
        Verb::Call,
        |r| r.held.status = BindingStatus::Unavailable,
        "deny binding capability_unavailable",
    ),
    (
        "R-494",
        Verb::Call,
        |r| r.held.expires = Moment::from_unix_ms(NOW_MS),
        "deny binding binding_stale",
    ),
    (
        "R-478",
        Verb::Call,
        |r| r.held.environment = keep("other".parse().unwrap()),
        "deny binding binding_stale",
    ),
    (
        "R-480",
        Verb::Call,
        |r| r.held.catalog_version = WRONG,
        "deny binding binding_stale",
    ),
    (
        "R-481",
        Verb::Call,
        |r| r.held.capability = keep(id("acme:p#stop")),
        "deny binding binding_stale",
    ),
    (
        "R-482",
        Verb::Call,
        |r| r.held.descriptor = WRONG,
        "deny binding descriptor_mismatch",
    ),
    (
        "R-483",
        Verb::Call,
        |r| r.held.implementation = WRONG,
        "deny binding binding_stale",
    ),
    (
        "R-490",
        Verb::Call,
        |r| r.held.policy_version = WRONG,
        "deny binding binding_stale",
    ),
    (
        "R-243",
        Verb::Call,
        |r| r.entry().execution = Some(ExecutionState::ContractOnly),
        "deny execution_state not_executable",
    ),
    (
        "R-244",
        Verb::Call,
        |r| r.entry().execution = Some(ExecutionState::Planned),
        "deny execution_state not_executable",
    ),
    (
        "R-235",
        Verb::Call,
        |r| r.entry().execution = None,
        "deny execution_state not_executable",
    ),
    (
        "R-236",
        Verb::Call,
        |r| r.entry().provider_live = false,
        "deny provider capability_unavailable",
    ),
    (
        "R-584",
        Verb::Call,
        |r| {
            r.entry().credentials = keep(["token".parse().unwrap()]);
            r.credentials.clear();
        },
        "deny credential credential_missing",
    ),
    (
        "R-594",
        Verb::Call,
        |r| r.entry().credentials = keep(["undeclared".parse().unwrap()]),
        "deny credential credential_missing",
    ),
    (
        "R-582",
        Verb::Call,
        |r| {
            r.document
                .push_str("[agents.bot]\nimplementation_status = 'active'\n");
            r.who.agent = "bot".parse().unwrap();
            r.hold(&["api"]);
        },
        "deny credential credential_missing",
    ),
    (
        "R-583",
        Verb::Call,
        |r| {
            r.who.archetype = "docs".parse().unwrap();
            r.hold(&["api"]);
        },
        "deny credential credential_missing",
    ),
    (
        "R-308",
        Verb::Call,
        |r| r.deny.push("go".to_owned()),
        "deny deny permission_denied",
    ),
    (
        "R-310",
        Verb::Call,
        |r| r.project = Some(r#"{"deny": ["go"]}"#),
        "deny deny permission_denied",
    ),
    (
        "C-18",
        Verb::Bind,
        |r| r.deny.push("acme:p#go".to_owned()),
        "deny deny binding_denied",
    ),
    (
        "R-310",
        Verb::Call,
        |r| {
            r.document
                .push_str("[[policy.rule]]\ndecision = 'deny'\nnamespaces = ['acme']\n")
        },
        "deny deny permission_denied",
    ),
    (
        "R-307",
        Verb::Call,
        |r| r.allow = Some(vec!["stop".to_owned()]),
        "deny allow permission_denied",
    ),
    (
        "R-312",
        Verb::Call,
        |r| r.project = Some(r#"{"allow": []}"#),
        "deny allow permission_denied",
    ),
    (
        "R-292",
        Verb::Call,
        |r| r.capability = "acme:p#stop",
        "deny binding binding_stale",
    ),
    (
        "R-292",
        Verb::Bind,
        |r| r.capability = "acme:p#stop",
        "deny allow binding_denied",
    ),
    (
        "R-285",
        Verb::Call,
        |r| {
            r.document = r
                .document
                .replace("[agents.cli]", "[agents.cli]\ntools = ['stop']")
        },
        "deny agent permission_denied",
    ),
    (
        "R-277",
        Verb::Call,
        |r| r.who.agent = "stub".parse().unwrap(),
        "deny agent permission_denied",
    ),
    (
        "R-268",
        Verb::Call,
        |r| r.who.agent = "nobody".parse().unwrap(),
        "deny agent permission_denied",
    ),
    (
        "R-286",
        Verb::Call,
        |r| r.entry().allowed_agents = Some(keep(["bot".parse().unwrap()])),
        "deny agent permission_denied",
    ),
    (
        "C-65",
        Verb::Call,
        |r| r.entry().allowed_agents = Some(&[]),
        "deny agent permission_denied",
    ),
    (
        "R-287",
        Verb::Call,
        |r| r.entry().allowed_archetypes = Some(keep(["docs".parse().unwrap()])),
        "deny workspace permission_denied",
    ),
    (
        "C-65",
        Verb::Call,
        |r| r.document.push_str("[workspaces]\narchetypes = []\n"),
        "deny workspace permission_denied",
    ),
    (
        "C-58",
        Verb::Bind,
        |r| r.entry().trust = TrustStatus::Untrusted,
        "deny trust descriptor_untrusted",
    ),
    (
        "C-58",
        Verb::Bind,
        |r| r.entry().trust = TrustStatus::Authenticated,
        "deny trust descriptor_untrusted",
    ),
    (
        "R-043",
        Verb::Bind,
        |r| r.entry().validation = ValidationStatus::StructurallyValid,
        "deny validation schema_unverified",
    ),
    (
        "R-043",
        Verb::Bind,
        |r| r.entry().validation = ValidationStatus::Rejected,
        "deny validation schema_unverified",
    ),
    (
        "R-084",
        Verb::Bind,
        |r| r.entry().validation = ValidationStatus::Candidate,
        "deny validation schema_unverified",
    ),
    (
        "R-540",
        Verb::Call,
        |r| r.entry().validation = ValidationStatus::Probed,
        "deny validation schema_unverified",
    ),
    (
        "R-233",
        Verb::Call,
        |r| {
            r.entry().declared.read_only = Some(true);
            r.entry().declared.risk = Some(Risk::Write);
        },
        "deny contract permission_denied",
    ),
    (
        "R-241",
        Verb::Call,
        |r| r.hold(&["src"]),
        "deny contract permission_denied",
    ),
    (
        "R-248",
        Verb::Call,
        |r| r.mode = PermissionMode::PlanOnly,
        "deny mode permission_denied",
    ),
    (
        "R-253",
        Verb::Call,
        |r| {
            r.mode = PermissionMode::ReadOnly;
            r.entry().declared.risk = Some(Risk::Write);
        },
        "deny mode permission_denied",
    ),
    (
        "R-250",
        Verb::Call,
        |r| {
            r.mode = PermissionMode::SafeEdit;
            r.entry().declared.risk = Some(Risk::ExternalSideEffect);
        },
        "deny mode permission_denied",
    ),
    (
        "C-54",
        Verb::Bind,
        |r| {
            r.gate = false;
            r.entry().declared.risk = Some(Risk::Write);
        },
        "deny write_gate binding_denied",
    ),
    (
        "R-505",
        Verb::Call,
        |r| r.used = r.used.with(Subject::Session, Counter::Calls, 100_000),
        "deny budget budget_exhausted",
    ),
    (
        "X44",
        Verb::Bind,
        |r| {
            r.document.push_str("[aggregates.principal]\nbinds = 5\n");
            r.used = r.used.with(Subject::Principal, Counter::Binds, 5);
        },
        "deny budget budget_exhausted",
    ),
    (
        "X62",
        Verb::Call,
        |r| r.document.push_str("[aggregates.environment]\nfuel = 0\n"),
        "deny budget budget_exhausted",
    ),
    (
        "R-316",
        Verb::Bind,
        |r| {
            r.document.push_str("[ceilings]\nfuel = 100\n");
            r.scope = Some(scope(serde_json::json!({"budget": {"fuel": "101"}})));
        },
        "deny budget budget_exhausted",
    ),
    (
        "R-234",
        Verb::Call,
        |r| r.entry().approval = None,
        "deny approval permission_denied",
    ),
];
