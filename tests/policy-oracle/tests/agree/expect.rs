//! The decision, row by row, as slowly and as obviously as it can be written.
//!
//! Written from the requirement rows alone. Every check is a function of its own that
//! looks at the plain document and question, and says the error type when it blocks.

use bindery_types::{
    ApprovalRequirement as Requirement, BindingStatus, ExecutionState, PermissionMode, Risk,
    SideEffectClass, ValidationStatus,
};

use crate::condition::holds;
use crate::model::*;
use crate::random::CATALOGUE;

type Verdict = Option<&'static str>;
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
fn denied(q: &Question) -> Verdict {
    Some(if q.verb == Verb::Bind {
        "binding_denied"
    } else {
        "permission_denied"
    })
}

fn listed(list: &Option<Vec<String>>, value: &str) -> bool {
    // C-65: omitted = any, empty = none.
    list.as_ref()
        .is_none_or(|list| list.iter().any(|item| item == value))
}

/// C-49: a list names ids or public names.
fn names(list: &[String], q: &Question) -> bool {
    let named = |item: &str| {
        CATALOGUE
            .iter()
            .any(|(name, id)| *name == item && *id == q.id)
    };
    list.iter().any(|item| *item == q.id || named(item))
}

fn namespace(q: &Question) -> &str {
    q.id.split(':').next().unwrap()
}

/// R-497, C-48: a handle belongs to one session of one principal.
fn handle(_: &Doc, q: &Question) -> Verdict {
    match (q.verb, &q.held) {
        (Verb::Bind, _) => None,
        (_, None) => Some("handle_invalid"),
        (_, Some(held)) => (!held.own).then_some("handle_invalid"),
    }
}

///
fn environment(_: &Doc, q: &Question) -> Verdict {
    if !q.admitted {
        return Some("environment_unavailable");
    }
    let held_is_current =
        q.verb == Verb::Bind || q.held.as_ref().is_none_or(|held| held.same_generation);
    (!q.asked_generation_is_current || !held_is_current).then_some("environment_generation_changed")
}

/// C-11: visibility is namespaces, providers, hidden names, the profile.
fn visibility(doc: &Doc, q: &Question) -> Verdict {
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
fn revocation(_: &Doc, q: &Question) -> Verdict {
    let held = q.verb != Verb::Bind
        && q.held
            .as_ref()
            .is_some_and(|held| held.status == BindingStatus::Revoked);
    (q.revoked || held).then_some("capability_revoked")
}

/// C-51: the static registry is stage 1, late binding stage 6.
fn stage(doc: &Doc, q: &Question) -> Verdict {
    let needed = if entry(q).late_bound { 6 } else { 1 };
    (!doc.stages.contains(&needed)).then_some("stage_disabled")
}

fn entry(q: &Question) -> &Entry {
    q.entry.as_ref().unwrap()
}

/// R-478 … ….
fn binding(_: &Doc, q: &Question) -> Verdict {
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
fn execution_state(_: &Doc, q: &Question) -> Verdict {
    (entry(q).execution != Some(ExecutionState::Available)).then_some("not_executable")
}

/// Whether a rule speaks about this question, arguments and risk aside.
fn concerns(q: &Question, rule: &Rule) -> bool {
    let what = rule.capabilities.contains(&q.id)
        || names(&rule.names, q)
        || rule.namespaces.iter().any(|n| n == namespace(q))
        || (rule.capabilities.is_empty() && rule.names.is_empty() && rule.namespaces.is_empty());
    what && listed(&rule.principals, &q.principal)
        && listed(&rule.agents, &q.agent)
        && listed(&rule.archetypes, &q.archetype)
        && rule
            .modes
            .as_ref()
            .is_none_or(|modes| modes.contains(&q.mode))
}

/// The same, the risk included: it is known once the scope is.
fn speaks(doc: &Doc, q: &Question, rule: &Rule) -> bool {
    concerns(q, rule)
        && rule
            .risks
            .as_ref()
            .is_none_or(|risks| risks.contains(&risk(doc, q)))
}

/// The rules that permit this question when their conditions are left aside.
fn permitting<'a>(doc: &'a Doc, q: &Question) -> Vec<&'a Rule> {
    doc.rules
        .iter()
        .filter(|rule| rule.say != Say::Deny && speaks(doc, q, rule))
        .collect()
}

fn grant<'a>(doc: &'a Doc, name: &str) -> &'a Grant {
    doc.grants.iter().find(|grant| grant.name == name).unwrap()
}

fn kind_of(gives: &Gives) -> &'static str {
    match gives {
        Gives::Directory { .. } => "directory",
        Gives::Endpoint { .. } => "endpoint",
        Gives::Store { .. } => "store",
        Gives::Config => "config",
    }
}

/// A grant taken whole.
fn whole(doc: &Doc, name: &str) -> Wish {
    match &grant(doc, name).gives {
        Gives::Directory { write } | Gives::Store { write } => Wish {
            grant: name.into(),
            read_only: !write,
            methods: None,
            path: None,
        },
        Gives::Endpoint { methods, path, .. } => Wish {
            grant: name.into(),
            read_only: false,
            methods: Some(methods.clone()),
            path: Some(path.clone()),
        },
        Gives::Config => Wish {
            grant: name.into(),
            read_only: false,
            methods: None,
            path: None,
        },
    }
}

fn below(prefix: &str, path: &str) -> bool {
    path == prefix || path.starts_with(&format!("{}/", prefix.trim_end_matches('/')))
}

/// What is left of a wish within the whole of its grant; nothing when nothing is.
fn within(doc: &Doc, wish: &Wish) -> Option<Wish> {
    let all = whole(doc, &wish.grant);
    let methods = all.methods.as_ref().map(|allowed| {
        let wanted = wish.methods.as_ref().unwrap_or(allowed);
        allowed
            .iter()
            .filter(|m| wanted.contains(m))
            .cloned()
            .collect::<Vec<_>>()
    });
    if methods.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    let path = match (&all.path, &wish.path) {
        (Some(allowed), Some(wanted)) if below(allowed, wanted) => Some(wanted.clone()),
        (Some(allowed), Some(wanted)) if below(wanted, allowed) => Some(allowed.clone()),
        (Some(_), Some(_)) => return None,
        (allowed, _) => allowed.clone(),
    };
    Some(Wish {
        grant: wish.grant.clone(),
        read_only: all.read_only || wish.read_only,
        methods,
        path,
    })
}

/// The scope this question is about: R-493 asked ∩ policy, R-495 else the least.
pub(crate) fn settled(doc: &Doc, q: &Question) -> Option<Vec<Wish>> {
    if q.verb != Verb::Bind {
        return q.held.as_ref().map(|held| held.scope.clone());
    }
    let concerned = doc
        .rules
        .iter()
        .filter(|rule| rule.say != Say::Deny && concerns(q, rule));
    let mut may: Vec<String> = concerned.flat_map(|rule| rule.grants.clone()).collect();
    may.sort();
    may.dedup();
    let scope = match &q.scope {
        Some(wishes) => {
            let mut scope = Vec::new();
            for wish in wishes {
                if !may.contains(&wish.grant) {
                    return None;
                }
                scope.push(within(doc, wish)?);
            }
            scope
        }
        None => {
            let mut scope = Vec::new();
            for need in &entry(q).needs {
                let fit: Vec<&String> = may
                    .iter()
                    .filter(|name| kind_of(&grant(doc, name).gives) == need.kind)
                    .collect();
                match fit.as_slice() {
                    [] => {}
                    [one] => {
                        let mut wish = whole(doc, one);
                        let reads_only = ["directory", "store"].contains(&need.kind) && !need.write;
                        wish.read_only |= reads_only;
                        scope.push(wish);
                    }
                    _ => return None,
                }
            }
            scope
        }
    };
    let covered = entry(q)
        .needs
        .iter()
        .filter(|need| need.required)
        .all(|need| {
            scope
                .iter()
                .any(|wish| kind_of(&grant(doc, &wish.grant).gives) == need.kind)
        });
    covered.then_some(scope)
}

fn scope(doc: &Doc, q: &Question) -> Verdict {
    let rules = permitting(doc, q);
    let inside = |wish: &Wish| {
        rules.iter().any(|rule| rule.grants.contains(&wish.grant))
            && within(doc, wish).as_ref() == Some(wish)
    };
    let settled = settled(doc, q);
    (!settled.is_some_and(|scope| scope.iter().all(inside)))
        .then(|| denied(q))
        .flatten()
}

///
fn provider(_: &Doc, q: &Question) -> Verdict {
    (!entry(q).provider_live).then_some("capability_unavailable")
}

/// R-582 ….
fn credential(doc: &Doc, q: &Question) -> Verdict {
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
fn deny(doc: &Doc, q: &Question) -> Verdict {
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
fn allow(doc: &Doc, q: &Question) -> Verdict {
    let session = q.session_allow.as_ref().is_none_or(|list| names(list, q));
    let project = q.project_allow.as_ref().is_none_or(|list| names(list, q));
    if session && project && !permitting(doc, q).is_empty() {
        return None;
    }
    denied(q)
}

///
fn agent(doc: &Doc, q: &Question) -> Verdict {
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
fn workspace(doc: &Doc, q: &Question) -> Verdict {
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
fn trust(doc: &Doc, q: &Question) -> Verdict {
    (entry(q).trust < doc.minimum_trust).then_some("descriptor_untrusted")
}

///
fn validation(_: &Doc, q: &Question) -> Verdict {
    (entry(q).validation != ValidationStatus::Bindable).then_some("schema_unverified")
}

/// C-62: what a grant makes possible, raised where the operator raised it.
fn class_of(doc: &Doc, wish: &Wish) -> SideEffectClass {
    let grant = grant(doc, &wish.grant);
    let own = match &grant.gives {
        Gives::Directory { .. } if !wish.read_only => SideEffectClass::UserContent,
        Gives::Store { .. } if !wish.read_only => SideEffectClass::LocalState,
        Gives::Endpoint { .. } => {
            let quiet = wish
                .methods
                .iter()
                .flatten()
                .all(|m| m == "GET" || m == "HEAD");
            if quiet {
                SideEffectClass::None
            } else {
                SideEffectClass::ExternalSend
            }
        }
        Gives::Directory { .. } | Gives::Store { .. } | Gives::Config => SideEffectClass::None,
    };
    graver(own, grant.raised.unwrap_or(SideEffectClass::None))
}

fn graver(a: SideEffectClass, b: SideEffectClass) -> SideEffectClass {
    if (b.least_risk(), b) > (a.least_risk(), a) {
        b
    } else {
        a
    }
}

fn class_of_scope(doc: &Doc, q: &Question) -> SideEffectClass {
    let scope = settled(doc, q).unwrap_or_default();
    scope
        .iter()
        .map(|wish| class_of(doc, wish))
        .fold(SideEffectClass::None, graver)
}

/// The class of what is declared and what the scope makes possible.
fn class(doc: &Doc, q: &Question) -> SideEffectClass {
    graver(
        class_of_scope(doc, q),
        entry(q).effect.unwrap_or(SideEffectClass::None),
    )
}

/// R-052, C-26, C-57: the greatest of what is declared, possible, and set by policy.
fn risk(doc: &Doc, q: &Question) -> Risk {
    let declared = entry(q).risk.unwrap_or(Risk::ReadOnly);
    declared.max(class(doc, q).least_risk()).max(raised(doc, q))
}

fn raised(doc: &Doc, q: &Question) -> Risk {
    let of = doc
        .raised_risks
        .iter()
        .filter(|(item, _)| names(std::slice::from_ref(item), q));
    of.map(|(_, risk)| *risk).max().unwrap_or(Risk::ReadOnly)
}

/// C-26: fields that disagree stop the action.
fn contract(doc: &Doc, q: &Question) -> Verdict {
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
fn mode(doc: &Doc, q: &Question) -> Verdict {
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

fn effect(doc: &Doc, q: &Question) -> Verdict {
    if doc.denied_effects.contains(&class(doc, q)) {
        denied(q)
    } else {
        None
    }
}

/// C-43, C-54.
fn write_gate(doc: &Doc, q: &Question) -> Verdict {
    let writes = entry(q).late_bound && risk(doc, q) > Risk::ReadOnly;
    (q.verb == Verb::Bind && writes && !q.gate).then_some("binding_denied")
}

fn satisfied<'a>(doc: &'a Doc, q: &Question) -> Vec<&'a Rule> {
    let all = |rule: &&Rule| rule.conditions.iter().all(|c| holds(c, &q.arguments));
    let rules = permitting(doc, q).into_iter();
    // Before there are arguments, every rule may still turn out to hold.
    if q.verb == Verb::Call {
        rules.filter(all).collect()
    } else {
        rules.collect()
    }
}

fn arguments(doc: &Doc, q: &Question) -> Verdict {
    if q.verb != Verb::Call {
        return None;
    }
    let denied = doc.rules.iter().any(|rule| {
        rule.say == Say::Deny
            && !rule.conditions.is_empty()
            && speaks(doc, q, rule)
            && rule.conditions.iter().all(|c| holds(c, &q.arguments))
    });
    let rules = satisfied(doc, q);
    let none_holds = !permitting(doc, q).is_empty() && rules.is_empty();
    let scope = q
        .held
        .as_ref()
        .map(|held| held.scope.clone())
        .unwrap_or_default();
    let permitted = |name: &String, rules: &[&Rule]| rules.iter().any(|r| r.grants.contains(name));
    let grants_missing = scope
        .iter()
        .any(|wish| permitted(&wish.grant, &permitting(doc, q)) && !permitted(&wish.grant, &rules));
    (denied || none_holds || grants_missing).then_some("permission_denied")
}

fn counted(q: &Question) -> &'static [&'static str] {
    match q.verb {
        Verb::Bind => &["binds"],
        Verb::Call => &["calls", "fuel"],
        Verb::Refresh => &[],
    }
}

fn over(doc: &Doc, q: &Question, name: &str) -> bool {
    let limits = doc.aggregates.iter().filter(|(_, of, _)| of == name);
    limits.into_iter().any(|(whose, of, max)| {
        let used = q.used.iter().find(|(w, n, _)| w == whose && n == of);
        used.map_or(0, |(_, _, used)| *used) >= *max
    })
}

/// C-55, X44.
fn budget(doc: &Doc, q: &Question) -> Verdict {
    let asked_too_much = q.verb == Verb::Bind
        && q.asked_fuel
            .is_some_and(|asked| doc.fuel_ceiling.is_some_and(|max| asked > max));
    let spent = counted(q).iter().any(|name| over(doc, q, name));
    (asked_too_much || spent).then_some("budget_exhausted")
}

/// How long until the slowest of the full windows is over.
fn retry(doc: &Doc, q: &Question, counted: &[&str]) -> Option<u64> {
    let mut longest = None;
    for (whose, name, max, per_ms) in &doc.rates {
        if !counted.contains(&name.as_str()) {
            continue;
        }
        for (w, n, count, ago_ms) in &q.windows {
            if w == whose && n == name && ago_ms < per_ms && count >= max {
                longest = longest.max(Some(per_ms - ago_ms));
            }
        }
        if *max == 0 {
            longest = longest.max(Some(*per_ms));
        }
    }
    longest
}

///
fn rate(doc: &Doc, q: &Question) -> Verdict {
    retry(doc, q, counted(q))
        .is_some()
        .then_some("budget_exhausted")
}

/// the strictest of what contract, risk and rules say.
fn requirement(doc: &Doc, q: &Question) -> Requirement {
    let risk = risk(doc, q);
    let mut strictest = entry(q).approval.unwrap_or(Requirement::Blocked);
    if risk >= Risk::Destructive {
        strictest = strictest.max(Requirement::ConfirmEveryTime);
    }
    for (of, wanted) in &doc.approvals {
        if *of == risk {
            strictest = strictest.max(*wanted);
        }
    }
    for rule in satisfied(doc, q) {
        strictest = strictest.max(rule.approval.unwrap_or(Requirement::NoApproval));
        if rule.say == Say::Ask && rule.approval.is_none() {
            strictest = strictest.max(Requirement::ConfirmEveryTime);
        }
    }
    strictest
}

/// C-19: which approval on record answers which requirement.
fn answered(doc: &Doc, q: &Question) -> bool {
    // Without a binding there is no scope that an approval could be for, without an
    // environment no generation.
    let usable = |a: &&Approved| {
        q.admitted
            && q.held.is_some()
            && a.same_pins
            && a.same_principal
            && a.same_run
            && a.same_scope
            && !a.expired
    };
    let mut usable = q.approvals.iter().filter(usable);
    match requirement(doc, q) {
        Requirement::NoApproval => true,
        Requirement::ConfirmOnce => usable.any(|a| a.for_run),
        Requirement::ConfirmEveryTime => usable.any(|a| !a.for_run && a.same_arguments && !a.used),
        Requirement::Blocked => false,
    }
}

fn asks(doc: &Doc, q: &Question) -> bool {
    q.verb == Verb::Call && requirement(doc, q) != Requirement::Blocked && !answered(doc, q)
}

/// R-261, and H54: what may not be asked any more is denied.
fn approval(doc: &Doc, q: &Question) -> Verdict {
    if requirement(doc, q) == Requirement::Blocked {
        return denied(q);
    }
    let too_many = over(doc, q, "proposals") || retry(doc, q, &["proposals"]).is_some();
    (asks(doc, q) && too_many).then_some("budget_exhausted")
}
