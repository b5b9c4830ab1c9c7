//! What a question reaches: the rules that speak of it, the scope they give, and the risk
//! that comes of it.

use bindery_types::{Risk, SideEffectClass};

use crate::expect::{Verdict, denied, entry, listed, names, namespace};
use crate::model::*;

/// Whether a rule speaks about this question, arguments and risk aside.
pub(crate) fn concerns(q: &Question, rule: &Rule) -> bool {
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
pub(crate) fn speaks(doc: &Doc, q: &Question, rule: &Rule) -> bool {
    concerns(q, rule)
        && rule
            .risks
            .as_ref()
            .is_none_or(|risks| risks.contains(&risk(doc, q)))
}

/// The rules that permit this question when their conditions are left aside.
pub(crate) fn permitting<'a>(doc: &'a Doc, q: &Question) -> Vec<&'a Rule> {
    doc.rules
        .iter()
        .filter(|rule| rule.say != Say::Deny && speaks(doc, q, rule))
        .collect()
}

pub(crate) fn grant<'a>(doc: &'a Doc, name: &str) -> &'a Grant {
    doc.grants.iter().find(|grant| grant.name == name).unwrap()
}

pub(crate) fn kind_of(gives: &Gives) -> &'static str {
    match gives {
        Gives::Directory { .. } => "directory",
        Gives::Endpoint { .. } => "endpoint",
        Gives::Store { .. } => "store",
        Gives::Config => "config",
    }
}

/// A grant taken whole.
pub(crate) fn whole(doc: &Doc, name: &str) -> Wish {
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

pub(crate) fn below(prefix: &str, path: &str) -> bool {
    path == prefix || path.starts_with(&format!("{}/", prefix.trim_end_matches('/')))
}

/// What is left of a wish within the whole of its grant; nothing when nothing is.
pub(crate) fn within(doc: &Doc, wish: &Wish) -> Option<Wish> {
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

pub(crate) fn scope(doc: &Doc, q: &Question) -> Verdict {
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

/// C-62: what a grant makes possible, raised where the operator raised it.
pub(crate) fn class_of(doc: &Doc, wish: &Wish) -> SideEffectClass {
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

pub(crate) fn graver(a: SideEffectClass, b: SideEffectClass) -> SideEffectClass {
    if (b.least_risk(), b) > (a.least_risk(), a) {
        b
    } else {
        a
    }
}

pub(crate) fn class_of_scope(doc: &Doc, q: &Question) -> SideEffectClass {
    let scope = settled(doc, q).unwrap_or_default();
    scope
        .iter()
        .map(|wish| class_of(doc, wish))
        .fold(SideEffectClass::None, graver)
}

/// The class of what is declared and what the scope makes possible.
pub(crate) fn class(doc: &Doc, q: &Question) -> SideEffectClass {
    graver(
        class_of_scope(doc, q),
        entry(q).effect.unwrap_or(SideEffectClass::None),
    )
}

/// R-052, C-26, C-57: the greatest of what is declared, possible, and set by policy.
pub(crate) fn risk(doc: &Doc, q: &Question) -> Risk {
    let declared = entry(q).risk.unwrap_or(Risk::ReadOnly);
    declared.max(class(doc, q).least_risk()).max(raised(doc, q))
}

pub(crate) fn raised(doc: &Doc, q: &Question) -> Risk {
    let of = doc
        .raised_risks
        .iter()
        .filter(|(item, _)| names(std::slice::from_ref(item), q));
    of.map(|(_, risk)| *risk).max().unwrap_or(Risk::ReadOnly)
}
