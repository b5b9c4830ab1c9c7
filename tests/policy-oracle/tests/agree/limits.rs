//! What limits a question: arguments, counters, rates, and who has to say yes.

use bindery_types::{ApprovalRequirement as Requirement, Risk};

use crate::condition::holds;
use crate::expect::{Verdict, denied, entry};
use crate::model::*;
use crate::reach::{permitting, risk, speaks};

pub(crate) fn satisfied<'a>(doc: &'a Doc, q: &Question) -> Vec<&'a Rule> {
    let all = |rule: &&Rule| rule.conditions.iter().all(|c| holds(c, &q.arguments));
    let rules = permitting(doc, q).into_iter();
    // Before there are arguments, every rule may still turn out to hold.
    if q.verb == Verb::Call {
        rules.filter(all).collect()
    } else {
        rules.collect()
    }
}

pub(crate) fn arguments(doc: &Doc, q: &Question) -> Verdict {
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

pub(crate) fn counted(q: &Question) -> &'static [&'static str] {
    match q.verb {
        Verb::Bind => &["binds"],
        Verb::Call => &["calls", "fuel"],
        Verb::Refresh => &[],
    }
}

pub(crate) fn over(doc: &Doc, q: &Question, name: &str) -> bool {
    let limits = doc.aggregates.iter().filter(|(_, of, _)| of == name);
    limits.into_iter().any(|(whose, of, max)| {
        let used = q.used.iter().find(|(w, n, _)| w == whose && n == of);
        used.map_or(0, |(_, _, used)| *used) >= *max
    })
}

/// C-55, X44.
pub(crate) fn budget(doc: &Doc, q: &Question) -> Verdict {
    let asked_too_much = q.verb == Verb::Bind
        && q.asked_fuel
            .is_some_and(|asked| doc.fuel_ceiling.is_some_and(|max| asked > max));
    let spent = counted(q).iter().any(|name| over(doc, q, name));
    (asked_too_much || spent).then_some("budget_exhausted")
}

/// How long until the slowest of the full windows is over.
pub(crate) fn retry(doc: &Doc, q: &Question, counted: &[&str]) -> Option<u64> {
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
pub(crate) fn rate(doc: &Doc, q: &Question) -> Verdict {
    retry(doc, q, counted(q))
        .is_some()
        .then_some("budget_exhausted")
}

/// the strictest of what contract, risk and rules say.
pub(crate) fn requirement(doc: &Doc, q: &Question) -> Requirement {
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
pub(crate) fn answered(doc: &Doc, q: &Question) -> bool {
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

pub(crate) fn asks(doc: &Doc, q: &Question) -> bool {
    q.verb == Verb::Call && requirement(doc, q) != Requirement::Blocked && !answered(doc, q)
}

/// R-261, and H54: what may not be asked any more is denied.
pub(crate) fn approval(doc: &Doc, q: &Question) -> Verdict {
    if requirement(doc, q) == Requirement::Blocked {
        return denied(q);
    }
    let too_many = over(doc, q, "proposals") || retry(doc, q, &["proposals"]).is_some();
    (asks(doc, q) && too_many).then_some("budget_exhausted")
}
