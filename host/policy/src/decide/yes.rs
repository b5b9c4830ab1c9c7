//! The approval axis, and the making of a question or a grant.

use std::borrow::Cow;
use std::sync::Arc;

use bindery_types::{ApprovalRequirement, Budget, Limit, LimitName};

use super::case::Case;
use super::power::{spent, too_often};
use crate::ask::{ApprovalFacts, BindingFacts, Covers, Verb};
use crate::decision::{Grant, Question};
use crate::trace::{Line, Reason};
use crate::words::{Counter, Verdict};

/// R-258 …: a binding is no approval; each call is asked about anew.
pub(super) fn approval(case: &Case<'_>) -> Line {
    let requirement = case.requirement();
    if requirement == ApprovalRequirement::Blocked {
        let reason = match case.entry.approval {
            None => Reason::NoApprovalDeclared,
            Some(_) => Reason::Blocked,
        };
        return Line::block(case.denied(), reason);
    }
    if requirement == ApprovalRequirement::NoApproval {
        return Line::pass();
    }
    if case.ask.verb != Verb::Call {
        return Line::because(Reason::AskedAtCall).note(requirement.as_str());
    }
    if let Some(given) = given(case, requirement) {
        return Line::because(Reason::Approved).note(given.proposal.to_string());
    }
    let counters = [Counter::Proposals];
    let full = spent(case.policy, case.facts.used, &counters);
    match full.or_else(|| too_often(case.policy, case.facts.windows, case.ask.now, &counters)) {
        // H54: what may not even be asked any more is denied.
        Some(line) => Line {
            reason: Reason::NoMoreProposals,
            ..line
        },
        None => match strictest(case) {
            Some(rule) => Line::ask().note(requirement.as_str()).by(rule),
            None => Line::ask().note(requirement.as_str()),
        },
    }
}

/// The rule that decides: the one that asks for most, the first of those.
fn strictest<'a>(case: &'a Case<'a>) -> Option<&'a Arc<crate::policy::RuleRef>> {
    let rules = case.rules(&case.satisfied);
    let first = rules.reduce(|best, next| {
        if next.approval > best.approval {
            next
        } else {
            best
        }
    });
    first.map(|ready| &ready.shown)
}

/// The approval on record that answers the requirement (C-19).
fn given<'a>(case: &Case<'a>, requirement: ApprovalRequirement) -> Option<&'a ApprovalFacts<'a>> {
    let binding = case.facts.binding?;
    case.facts.approvals.iter().find(|approval| {
        let covered = match (requirement, approval.covers) {
            (ApprovalRequirement::ConfirmOnce, Covers::Run) => true,
            (ApprovalRequirement::ConfirmEveryTime, Covers::Arguments(digest)) => {
                case.ask.arguments_digest == Some(digest) && !approval.used
            }
            _ => false,
        };
        covered && same_action(case, binding, approval)
    })
}

/// I14: everything an approval is bound to is as it was.
fn same_action(case: &Case<'_>, binding: &BindingFacts<'_>, approval: &ApprovalFacts<'_>) -> bool {
    #[cfg(feature = "seeded-bugs")]
    let any_scope = case.policy.bug == Some(crate::seeded::Bug::ApprovalForAnyScope);
    #[cfg(not(feature = "seeded-bugs"))]
    let any_scope = false;
    let who = case.who;
    let generation = case
        .facts
        .environment
        .as_ref()
        .map(|environment| environment.generation);
    let pins = approval.capability == case.ask.capability
        && approval.implementation == case.entry.implementation
        && approval.descriptor == case.entry.descriptor
        && approval.policy_version == case.policy.version()
        && Some(approval.generation) == generation;
    let people = *approval.principal == who.principal
        && *approval.tenant == who.tenant
        && approval.session == who.session
        && approval.run == who.run
        && *approval.archetype == who.archetype;
    let scope = any_scope || approval.scope_digest == binding.scope_digest;
    pins && people && scope && case.ask.now < approval.expires
}

/// What the operator is asked. None when there is nothing to be asked about.
pub(super) fn question(case: &Case<'_>) -> Option<Box<Question>> {
    let (environment, binding) = (case.facts.environment.as_ref()?, case.facts.binding?);
    let ttl_ms = case.policy.document().limits.approvals.ttl_ms;
    Some(Box::new(Question {
        requirement: case.requirement(),
        who: Arc::clone(&case.ask.session.who),
        capability: case.ask.capability.clone(),
        implementation: case.entry.implementation,
        descriptor: case.entry.descriptor,
        generation: environment.generation,
        policy_version: case.policy.version(),
        scope_digest: binding.scope_digest,
        arguments_digest: case.ask.arguments_digest,
        risk: case.class.risk,
        side_effect: case.class.side_effect,
        // An approval ends with the lease, whatever it was given for (C-19).
        expires: case.ask.now.after_ms(ttl_ms).min(binding.expires),
    }))
}

/// The grant; only here is one made.
pub(super) fn grant(case: &Case<'_>) -> Option<Grant> {
    let environment = case.facts.environment.as_ref()?;
    let scope = case.scope.as_ref().ok()?;
    let held = case.facts.binding.filter(|_| case.ask.verb != Verb::Bind);
    let leases = case.policy.document().limits.leases;
    let ttl_ms = match held {
        Some(binding) => binding.expires.ms_since(case.ask.now),
        None => scope
            .ttl_ms()
            .unwrap_or(leases.ttl_ms)
            .min(leases.ttl_max_ms),
    };
    let answer = (case.ask.verb == Verb::Call)
        .then(|| given(case, case.requirement()))
        .flatten();
    Some(Grant {
        verb: case.ask.verb,
        who: Arc::clone(&case.ask.session.who),
        capability: case.ask.capability.clone(),
        implementation: case.entry.implementation,
        descriptor: case.entry.descriptor,
        scope: Arc::clone(scope),
        budget: budget(case, held),
        ttl_ms,
        approval: answer.map(|approval| approval.proposal),
        policy_version: case.policy.version(),
        generation: environment.generation,
        catalog_version: environment.catalog_version,
        risk: case.class.risk,
        side_effect: case.class.side_effect,
        rule: strictest(case).map(Arc::clone),
    })
}

/// The limits: those of the binding or of the document, what was asked for, and never more
/// than the rules and the ceilings say. Nothing is copied when nothing has to be cut.
fn budget(case: &Case<'_>, held: Option<&BindingFacts<'_>>) -> Arc<Budget> {
    let mut budget = Cow::Borrowed(held.map_or(&case.policy.budget, |binding| binding.budget));
    if held.is_none() {
        for (name, limit) in case.scope.iter().flat_map(|scope| scope.limits()) {
            set(&mut budget, name, limit);
        }
    }
    let rules = case
        .rules(&case.satisfied)
        .filter(|ready| ready.rule.decision != Verdict::Deny);
    let caps = rules.flat_map(|ready| ready.rule.budget.iter().copied());
    let ceilings = case
        .policy
        .document()
        .limits
        .ceilings
        .iter()
        .map(|(name, limit)| (*name, *limit));
    for (name, cap) in caps.chain(ceilings) {
        if budget.get(name) > cap {
            set(&mut budget, name, cap);
        }
    }
    match budget {
        Cow::Borrowed(budget) => Arc::clone(budget),
        Cow::Owned(budget) => budget,
    }
}

fn set(budget: &mut Cow<'_, Arc<Budget>>, name: LimitName, limit: Limit) {
    let mut changed = Budget::clone(budget);
    // Ceilings of the product were compared on the axis `budget`.
    if changed.set(name, limit).is_ok() {
        *budget = Cow::Owned(Arc::new(changed));
    }
}
