//! How much: scope, contract, mode, effect, arguments, budgets, rates.

use bindery_types::{ErrorType, Moment, Refusal, Risk};

use super::case::Case;
use crate::ask::{Registration, Used, Verb, Window};
use crate::decision::Denial;
use crate::policy::Policy;
use crate::risk;
use crate::trace::{Axis, Line, Reason};
use crate::words::Counter;

/// what is held is, slice by slice, within what the rules give now.
pub(super) fn scope(case: &Case<'_>) -> Line {
    let scope = match &case.scope {
        Ok(scope) => scope,
        Err((reason, why)) => return Line::block(case.denied(), *reason).note(why.as_str()),
    };
    let lost = scope.slices().find(|(name, slice)| {
        let given = case
            .rules(&case.permitting)
            .any(|ready| ready.rule.grants.contains(name));
        !given
            || !case
                .granted(name)
                .is_some_and(|granted| granted.contains(slice))
    });
    if let Some((name, _)) = lost {
        return Line::block(case.denied(), Reason::ScopeLost).note(format!("grant `{name}`"));
    }
    match (case.ask.verb, case.ask.scope) {
        (Verb::Bind, Some(request)) if request.grants.is_some() => narrowed(scope, request),
        _ => Line::pass(),
    }
}

/// A wish for more than is granted is cut, and the cut is visible.
fn narrowed(scope: &crate::scope::Scope, request: &crate::scope::ScopeRequest) -> Line {
    if request.is_met_by(scope) {
        Line::pass()
    } else {
        Line::because(Reason::ScopeNarrowed)
    }
}

pub(super) fn contract(case: &Case<'_>) -> Line {
    match case.class.disagreement {
        None => Line::pass(),
        Some(fields) => Line::block(case.denied(), Reason::ContractDisagrees).note(fields),
    }
}

pub(super) fn mode(case: &Case<'_>) -> Line {
    let (mode, risk) = (case.ask.session.mode, case.class.risk);
    if risk::covers(mode, risk) {
        return Line::pass();
    }
    Line::block(case.denied(), Reason::ModeTooLow).note(format!("mode `{mode}`, risk `{risk}`"))
}

pub(super) fn effect(case: &Case<'_>) -> Line {
    let effect = case.class.side_effect;
    if !case
        .policy
        .document()
        .policy
        .denied_effects
        .contains(&effect)
    {
        return Line::pass();
    }
    Line::block(case.denied(), Reason::EffectDenied)
        .note(format!("`{effect}` is in `denied_effects`"))
}

/// C-43, C-54: what the host registered itself is not concerned.
pub(super) fn write_gate(case: &Case<'_>) -> Line {
    let late = case.entry.registration == Registration::LateBound;
    if case.ask.verb != Verb::Bind || !late || case.class.risk == Risk::ReadOnly {
        return Line::because(Reason::NotConcerned);
    }
    if case.facts.write_gate {
        return Line::pass();
    }
    Line::block(ErrorType::BindingDenied, Reason::GateClosed)
        .note("`bindery config accept-writes --evidence TEXT` opens it")
}

/// A denial whose conditions hold wins; else a rule that permits has to hold, and those
/// that hold have to give everything the binding holds.
pub(super) fn arguments(case: &Case<'_>) -> Line {
    if case.ask.verb != Verb::Call {
        return Line::because(Reason::NotConcerned);
    }
    let denied = |reason| Line::block(ErrorType::PermissionDenied, reason);
    let mut denying = case
        .rules(&case.denying)
        .filter(|ready| !ready.rule.arguments.is_empty());
    if let Some(ready) = denying.find(|ready| case.conditions_hold(ready)) {
        return denied(Reason::ArgumentsDenied).by(&ready.shown);
    }
    if case.satisfied.is_empty() && !case.permitting.is_empty() {
        return denied(Reason::ArgumentsNotAllowed)
            .note("no rule that allows it has conditions that hold");
    }
    let slices = case.scope.iter().flat_map(|scope| scope.slices());
    let gives = |of, name| case.rules(of).any(|ready| ready.rule.grants.contains(name));
    let mut names = slices.map(|(name, _)| name);
    match names.find(|name| gives(&case.permitting, *name) && !gives(&case.satisfied, *name)) {
        Some(name) => denied(Reason::ArgumentsNotAllowed).note(format!(
            "no rule whose conditions hold gives grant `{name}`"
        )),
        None => Line::pass(),
    }
}

/// What one question of this kind counts against.
fn counted(verb: Verb) -> &'static [Counter] {
    match verb {
        Verb::Bind => &[Counter::Binds],
        Verb::Call => &[
            Counter::Calls,
            Counter::Fuel,
            Counter::Time,
            Counter::EgressBytes,
            Counter::WrittenBytes,
        ],
        Verb::Refresh => &[],
    }
}

/// refused before anything starts; the exact reservation is the ledger's.
pub(super) fn budget(case: &Case<'_>) -> Line {
    let exhausted = |reason| Line::block(ErrorType::BudgetExhausted, reason);
    if case.ask.verb == Verb::Bind {
        // What was asked counts, whether or not the scope around it could be given.
        let asked = case.ask.scope.and_then(|request| request.limits().ok());
        let mut above = asked
            .into_iter()
            .flatten()
            .map(|(name, limit)| (name, limit, case.policy.ceiling(name, case.who.rights)));
        if let Some((name, limit, ceiling)) = above.find(|(_, limit, ceiling)| limit > ceiling) {
            return exhausted(Reason::AboveCeiling).note(format!(
                "`{}`: {limit} was asked for, the ceiling is {ceiling}",
                name.as_str()
            ));
        }
    }
    spent(case.policy, case.facts.used, counted(case.ask.verb)).unwrap_or_else(Line::pass)
}

/// The first counter that is used up.
pub(crate) fn spent(policy: &Policy, used: &Used, counters: &[Counter]) -> Option<Line> {
    let limits = policy
        .aggregates
        .iter()
        .filter(|(_, counter, _)| counters.contains(counter));
    let counted =
        limits.map(|(subject, counter, max)| (subject, counter, max, used.get(*subject, *counter)));
    #[cfg(feature = "seeded-bugs")]
    let off_by_one = u64::from(policy.bug == Some(crate::seeded::Bug::OneCallTooMany));
    #[cfg(not(feature = "seeded-bugs"))]
    let off_by_one = 0;
    let mut full = counted.filter(|(_, _, max, used)| *used >= max.saturating_add(off_by_one));
    full.next().map(|(subject, counter, max, used)| {
        Line::block(ErrorType::BudgetExhausted, Reason::Spent).note(format!(
            "`{counter}` of the {subject}: {used} of {max}; `[aggregates.{subject}] {counter}`"
        ))
    })
}

pub(super) fn rate(case: &Case<'_>) -> Line {
    let counters = counted(case.ask.verb);
    too_often(case.policy, case.facts.windows, case.ask.now, counters).unwrap_or_else(Line::pass)
}

/// how long until the last of the full windows is over.
pub(crate) fn too_often(
    policy: &Policy,
    windows: &[Window],
    now: Moment,
    counters: &[Counter],
) -> Option<Line> {
    let rates = policy
        .rates
        .iter()
        .filter(|(_, counter, _)| counters.contains(counter));
    let waits = rates.filter_map(|(subject, counter, rate)| {
        if rate.max == 0 {
            return Some((subject, counter, rate, rate.per_ms));
        }
        let mut open = windows.iter();
        let window =
            open.find(|window| window.subject == *subject && window.counter == *counter)?;
        let left = rate
            .per_ms
            .checked_sub(now.ms_since(window.opened))
            .filter(|left| *left > 0)?;
        (window.count >= rate.max).then_some((subject, counter, rate, left))
    });
    let (subject, counter, rate, left) = waits.max_by_key(|(_, _, _, left)| *left)?;
    let mut line = Line::block(ErrorType::BudgetExhausted, Reason::TooOften).note(format!(
        "`{counter}` of the {subject}: {} in {}ms",
        rate.max, rate.per_ms
    ));
    line.retry_after_ms = Some(left);
    Some(line)
}

impl Policy {
    /// Whether one more of `counter` is within the counters and rates: for what is counted
    /// without being decided (searches, probes, proposals).
    ///
    /// # Errors
    ///
    /// `budget_exhausted`, for rates with `retry_after_ms`.
    pub fn allowance(
        &self,
        counter: Counter,
        used: &Used,
        windows: &[Window],
        now: Moment,
    ) -> Result<(), Refusal> {
        let counters = [counter];
        let full = spent(self, used, &counters).map(|line| (Axis::Budget, line));
        let full = full.or_else(|| Some((Axis::Rate, too_often(self, windows, now, &counters)?)));
        match full {
            None => Ok(()),
            Some((axis, line)) => Err(Denial::of(axis, &line).refusal()),
        }
    }
}
