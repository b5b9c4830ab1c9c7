//! The decision, row by row, as slowly and as obviously as it can be written.
//!
//! Written from the requirement rows alone. Every check is a function of its own that
//! looks at the plain document and question, and says the error type when it blocks.

use bindery_types::{
    ApprovalRequirement as Requirement, BindingStatus, ExecutionState, PermissionMode, Risk,
    SideEffectClass, ValidationStatus,
};

use crate::limits::{approval, arguments, asks, budget, counted, over, rate, requirement, retry};
use crate::model::*;
use crate::random::CATALOGUE;
use crate::reach::{class, class_of_scope, grant, permitting, risk, scope, settled, speaks};

pub(crate) type Verdict = Option<&'static str>;
type Check = fn(&Doc, &Question) -> Verdict;

/// What must come out for `q` under `doc`.
pub(crate) fn expect(doc: &Doc, q: &Question) -> Expected {
    let checks: [(&'static str, Check); 24] = [
        ("handle", handle),
        ("environment", environment),
        ("visibility", visibility),
        ("revocation", revocation),
        ("stage", stage),
        ("binding", binding),
        ("execution_state", execution_state),
        ("scope", scope),
        ("provider", provider),
        ("credential", credential),
        ("deny", deny),
        ("allow", allow),
        ("agent", agent),
        ("workspace", workspace),
        ("trust", trust),
        ("validation", validation),
        ("contract", contract),
        ("mode", mode),
        ("effect", effect),
        ("write_gate", write_gate),
        ("arguments", arguments),
        ("budget", budget),
        ("rate", rate),
        ("approval", approval),
    ];
    let mut blocked = Vec::new();
    for (axis, check) in checks {
        // Of an entry that is not there, nothing but its absence is said.
        let about_the_entry = !["handle", "environment", "visibility"].contains(&axis);
        if q.entry.is_none() && about_the_entry {
            continue;
        }
        if let Some(kind) = check(doc, q) {
            blocked.push((axis, kind));
        }
    }
    let asks = q.entry.is_some() && asks(doc, q);
    let word = match (blocked.is_empty(), asks) {
        (false, _) => "deny",
        (true, true) => "ask",
        (true, false) => "allow",
    };
    let retry_after_ms = match blocked.first() {
        Some(("rate", _)) => retry(doc, q, counted(q)),
        Some(("approval", "budget_exhausted")) if !over(doc, q, "proposals") => {
            retry(doc, q, &["proposals"])
        }
        _ => None,
    };
    let allowed = word == "allow";
    let needs_answer = || q.verb == Verb::Call && requirement(doc, q) != Requirement::NoApproval;
    Expected {
        word,
        blocked,
        retry_after_ms,
        scope: allowed.then(|| settled(doc, q)).flatten(),
        approved: allowed && needs_answer(),
    }
}

/// C-18: a denial at bind time is `binding_denied`.
pub(crate) fn denied(q: &Question) -> Verdict {
    Some(if q.verb == Verb::Bind {
        "binding_denied"
    } else {
        "permission_denied"
    })
}

pub(crate) fn listed(list: &Option<Vec<String>>, value: &str) -> bool {
    // C-65: omitted = any, empty = none.
    list.as_ref()
        .is_none_or(|list| list.iter().any(|item| item == value))
}

/// C-49: a list names ids or public names.
pub(crate) fn names(list: &[String], q: &Question) -> bool {
    let named = |item: &str| {
        CATALOGUE
            .iter()
            .any(|(name, id)| *name == item && *id == q.id)
    };
    list.iter().any(|item| *item == q.id || named(item))
}

pub(crate) fn namespace(q: &Question) -> &str {
    q.id.split(':').next().unwrap()
}

/// R-497, C-48: a handle belongs to one session of one principal.
pub(crate) fn handle(_: &Doc, q: &Question) -> Verdict {
    match (q.verb, &q.held) {
        (Verb::Bind, _) => None,
        (_, None) => Some("handle_invalid"),
        (_, Some(held)) => (!held.own).then_some("handle_invalid"),
    }
}

///
pub(crate) fn environment(_: &Doc, q: &Question) -> Verdict {
    if !q.admitted {
        return Some("environment_unavailable");
    }
    let held_is_current =
        q.verb == Verb::Bind || q.held.as_ref().is_none_or(|held| held.same_generation);
    (!q.asked_generation_is_current || !held_is_current).then_some("environment_generation_changed")
}

/// C-11: visibility is namespaces, providers, hidden names, the profile.
pub(crate) fn visibility(doc: &Doc, q: &Question) -> Verdict {
    let visible = q.entry.as_ref().is_some_and(|entry| {
        entry.shown
            && listed(&doc.namespaces, namespace(q))
            && listed(&doc.providers, &entry.provider)
            && !names(&doc.hidden, q)
            && doc
                .profile_allowed
                .as_ref()
                .is_none_or(|allowed| names(allowed, q))
            && !names(&doc.profile_denied, q)
    });
    // C-48: a binding whose capability became hidden answers `binding_stale`.
    let kind = if q.verb == Verb::Bind {
        "capability_unavailable"
    } else {
        "binding_stale"
    };
    (!visible).then_some(kind)
}

/// H56.
pub(crate) fn revocation(_: &Doc, q: &Question) -> Verdict {
    let held = q.verb != Verb::Bind
        && q.held
            .as_ref()
            .is_some_and(|held| held.status == BindingStatus::Revoked);
    (q.revoked || held).then_some("capability_revoked")
}

/// C-51: the static registry is stage 1, late binding stage 6.
pub(crate) fn stage(doc: &Doc, q: &Question) -> Verdict {
    let needed = if entry(q).late_bound { 6 } else { 1 };
    (!doc.stages.contains(&needed)).then_some("stage_disabled")
}

pub(crate) fn entry(q: &Question) -> &Entry {
    q.entry.as_ref().unwrap()
}

/// R-478 … ….
pub(crate) fn binding(_: &Doc, q: &Question) -> Verdict {
    if q.verb == Verb::Bind {
        return match (q.implementation, q.descriptor) {
            (Some(false), _) | (_, Some(false)) => Some("descriptor_mismatch"),
            (None, _) if q.model => Some("binding_denied"),
            _ => None,
        };
    }
    let held = q.held.as_ref()?;
    match held.status {
        BindingStatus::Stale | BindingStatus::Unbound => return Some("binding_stale"),
        BindingStatus::Unavailable => return Some("capability_unavailable"),
        BindingStatus::Bound | BindingStatus::Revoked => {}
    }
    // Of an environment that is not there, the axis before has said all there is to say.
    let other_environment = q.admitted && !held.same_environment;
    if held.expired || !held.same_capability || other_environment {
        return Some("binding_stale");
    }
    // C-53: a refresh is what brings catalogue and policy versions up to date.
    if q.verb == Verb::Call && q.admitted && !held.same_catalogue {
        return Some("binding_stale");
    }
    if !held.same_implementation {
        return Some("binding_stale");
    }
    if !held.same_descriptor {
        return Some("descriptor_mismatch");
    }
    (q.verb == Verb::Call && !held.same_policy).then_some("binding_stale")
}

/// … R-244: missing is not executable.
pub(crate) fn execution_state(_: &Doc, q: &Question) -> Verdict {
    (entry(q).execution != Some(ExecutionState::Available)).then_some("not_executable")
}

///
pub(crate) fn provider(_: &Doc, q: &Question) -> Verdict {
    (!entry(q).provider_live).then_some("capability_unavailable")
}

/// R-582 ….
pub(crate) fn credential(doc: &Doc, q: &Question) -> Verdict {
    let mut needed = entry(q).credentials.clone();
    for wish in settled(doc, q).unwrap_or_default() {
        if let Gives::Endpoint {
            credential: Some(name),
            ..
        } = &grant(doc, &wish.grant).gives
        {
            needed.push(name.clone());
        }
    }
    let there = |name: &String| {
        doc.credentials.iter().any(|c| {
            c.name == *name && listed(&c.agents, &q.agent) && listed(&c.archetypes, &q.archetype)
        }) && q.configured.contains(name)
    };
    (!needed.iter().all(there)).then_some("credential_missing")
}

/// deny wins at every scope.
pub(crate) fn deny(doc: &Doc, q: &Question) -> Verdict {
    let by_rule = doc
        .rules
        .iter()
        .any(|rule| rule.say == Say::Deny && rule.conditions.is_empty() && speaks(doc, q, rule));
    if names(&q.session_deny, q) || names(&q.project_deny, q) || by_rule {
        return denied(q);
    }
    None
}

/// every scope has to allow.
pub(crate) fn allow(doc: &Doc, q: &Question) -> Verdict {
    let session = q.session_allow.as_ref().is_none_or(|list| names(list, q));
    let project = q.project_allow.as_ref().is_none_or(|list| names(list, q));
    if session && project && !permitting(doc, q).is_empty() {
        return None;
    }
    denied(q)
}

///
pub(crate) fn agent(doc: &Doc, q: &Question) -> Verdict {
    let registered = doc.agents.iter().find(|agent| agent.name == q.agent);
    let eligible = registered.is_some_and(|agent| {
        agent.active && agent.tools.as_ref().is_none_or(|tools| names(tools, q))
    });
    if eligible && listed(&entry(q).agents, &q.agent) {
        return None;
    }
    denied(q)
}

///
pub(crate) fn workspace(doc: &Doc, q: &Question) -> Verdict {
    let of_agent = doc
        .agents
        .iter()
        .find(|agent| agent.name == q.agent)
        .is_none_or(|agent| listed(&agent.archetypes, &q.archetype));
    let known = listed(&doc.archetypes, &q.archetype);
    if of_agent && known && listed(&entry(q).archetypes, &q.archetype) {
        return None;
    }
    denied(q)
}

/// R-345 … R-347.
pub(crate) fn trust(doc: &Doc, q: &Question) -> Verdict {
    (entry(q).trust < doc.minimum_trust).then_some("descriptor_untrusted")
}

///
pub(crate) fn validation(_: &Doc, q: &Question) -> Verdict {
    (entry(q).validation != ValidationStatus::Bindable).then_some("schema_unverified")
}

/// C-26: fields that disagree stop the action.
pub(crate) fn contract(doc: &Doc, q: &Question) -> Verdict {
    let entry = entry(q);
    let of_grants = class_of_scope(doc, q).least_risk();
    let of_effect = entry
        .effect
        .map_or(Risk::ReadOnly, SideEffectClass::least_risk);
    let of_all = entry
        .risk
        .unwrap_or(Risk::ReadOnly)
        .max(of_grants)
        .max(of_effect);
    let flag_lies = entry.read_only == Some(true) && of_all > Risk::ReadOnly;
    let flag_denies = entry.read_only == Some(false) && entry.risk == Some(Risk::ReadOnly);
    let grant_lies = entry.risk == Some(Risk::ReadOnly) && of_grants > Risk::ReadOnly;
    let effect_lies = entry.risk.is_some_and(|risk| of_effect > risk);
    if flag_lies || flag_denies || grant_lies || effect_lies {
        return denied(q);
    }
    None
}

/// R-248 … R-251 and the table of the gaps.
pub(crate) fn mode(doc: &Doc, q: &Question) -> Verdict {
    let risk = risk(doc, q);
    let fits = match q.mode {
        PermissionMode::PlanOnly => false,
        PermissionMode::ReadOnly => risk == Risk::ReadOnly,
        PermissionMode::SafeEdit => {
            [Risk::ReadOnly, Risk::Write, Risk::WritesUserContent].contains(&risk)
        }
        PermissionMode::FullAccess => true,
    };
    if fits { None } else { denied(q) }
}

pub(crate) fn effect(doc: &Doc, q: &Question) -> Verdict {
    if doc.denied_effects.contains(&class(doc, q)) {
        denied(q)
    } else {
        None
    }
}

/// C-43, C-54.
pub(crate) fn write_gate(doc: &Doc, q: &Question) -> Verdict {
    let writes = entry(q).late_bound && risk(doc, q) > Risk::ReadOnly;
    (q.verb == Verb::Bind && writes && !q.gate).then_some("binding_denied")
}
