//! One question with everything that several axes look at, worked out once.
//!
//! Order (risk may be in a rule, and the scope comes from rules): the rules that speak of
//! the question whatever its risk; the scope out of their grants; its class and risk; then
//! the rules that speak of that risk; then, of a call, those whose conditions hold.

use std::borrow::Cow;
use std::sync::Arc;

use bindery_types::{
    ApprovalRequirement, Digest, ErrorType, GrantName, SideEffectClass, TrustStatus,
    ValidationStatus,
};
use serde_json::Value;

use super::matched::Matched;
use crate::ask::{Ask, EntryFacts, Facts, Registration, Verb};
use crate::policy::{Policy, Ready};
use crate::risk::{Classification, Declared, class_of, classify, graver};
use crate::scope::{Scope, Slice};
use crate::session::Who;
use crate::trace::Reason;
use crate::words::{GrantKind, Verdict};

/// Nothing that could be allowed: stands in where there is no entry.
const PHANTOM: EntryFacts<'static> = EntryFacts {
    implementation: Digest::from_bytes([0; 32]),
    descriptor: Digest::from_bytes([0; 32]),
    provider: None,
    provider_live: false,
    shown: false,
    registration: Registration::LateBound,
    execution: None,
    trust: TrustStatus::Untrusted,
    validation: ValidationStatus::Candidate,
    declared: Declared {
        risk: None,
        read_only: None,
        side_effect: None,
    },
    approval: None,
    allowed_agents: Some(&[]),
    allowed_archetypes: Some(&[]),
    credentials: &[],
    needs: &[],
};

/// Why there is no scope, and what the operator has to know of it.
pub(super) type NoScope = (Reason, String);

pub(super) struct Case<'a> {
    pub(super) policy: &'a Policy,
    pub(super) ask: &'a Ask<'a>,
    pub(super) facts: &'a Facts<'a>,
    pub(super) who: &'a Who,
    pub(super) entry: &'a EntryFacts<'a>,
    /// Of a bind, what was asked for within what is granted; else the binding's own.
    pub(super) scope: Result<Cow<'a, Arc<Scope>>, NoScope>,
    pub(super) class: Classification,
    /// Rules that deny, whose conditions are not looked at yet.
    pub(super) denying: Matched,
    /// Rules that permit, whose conditions are not looked at yet.
    pub(super) permitting: Matched,
    /// Of a call, those of them whose conditions hold; else all of them.
    pub(super) satisfied: Matched,
}

impl<'a> Case<'a> {
    pub(super) fn of(policy: &'a Policy, ask: &'a Ask<'a>, facts: &'a Facts<'a>) -> Self {
        let mut case = Self {
            policy,
            ask,
            facts,
            who: &ask.session.who,
            entry: facts.entry.unwrap_or(&PHANTOM),
            scope: Err((Reason::NoEntry, String::new())),
            class: classify(Declared::default(), SideEffectClass::None, None),
            denying: Matched::default(),
            permitting: Matched::default(),
            satisfied: Matched::default(),
        };
        let mut concerned = Matched::default();
        for (number, _) in policy
            .rules_of(ask.capability)
            .filter(|(_, ready)| case.concerns(ready))
        {
            concerned.push(number);
        }
        case.scope = case.settle(&concerned);
        case.class = case.classify();
        case.sort(&concerned);
        case
    }

    /// Whether a rule speaks of this question, its risk and the arguments left aside.
    fn concerns(&self, ready: &Ready) -> bool {
        fn any<T: PartialEq>(list: Option<&Vec<T>>, item: &T) -> bool {
            list.is_none_or(|list| list.contains(item))
        }
        let rule = &ready.rule;
        any(rule.principals.as_ref(), &self.who.principal)
            && any(rule.agents.as_ref(), &self.who.agent)
            && any(rule.archetypes.as_ref(), &self.who.archetype)
            && any(rule.modes.as_ref(), &self.ask.session.mode)
    }

    fn settle(&self, concerned: &Matched) -> Result<Cow<'a, Arc<Scope>>, NoScope> {
        if self.ask.verb != Verb::Bind {
            let binding = self.facts.binding.ok_or((Reason::NoEntry, String::new()))?;
            return Ok(Cow::Borrowed(binding.scope));
        }
        let ceiling = self.ceiling(concerned);
        let settled = match self.ask.scope {
            Some(request) if request.grants.is_some() => ceiling
                .narrow(request)
                .map_err(|error| (Reason::ScopeUnavailable, error.to_string()))?,
            request => self
                .least(&ceiling)?
                .narrow(request.unwrap_or(&Default::default()))
                .map_err(|error| (Reason::ScopeUnavailable, error.to_string()))?,
        };
        let uncovered = self.entry.needs.iter().find(|need| {
            need.required && !settled.slices().any(|(_, slice)| slice.kind() == need.kind)
        });
        match uncovered {
            Some(need) => Err((
                Reason::ScopeInsufficient,
                format!("it needs a grant of kind `{}`", need.kind),
            )),
            None => Ok(Cow::Owned(Arc::new(settled))),
        }
    }

    /// Everything the rules let a scope be made of.
    fn ceiling(&self, concerned: &Matched) -> Scope {
        let permits = |ready: &&Ready| ready.rule.decision != Verdict::Deny;
        let rules = concerned
            .iter()
            .filter_map(|number| self.policy.rule(number))
            .filter(permits);
        let names = rules.flat_map(|ready| &ready.rule.grants);
        Scope::of(names.filter_map(|name| Some((name.clone(), self.granted(name)?.clone()))))
    }

    pub(super) fn granted(&self, name: &GrantName) -> Option<&'a Slice> {
        self.policy.grants.get(name).map(|grant| &grant.slice)
    }

    /// of each kind that is needed the one grant there is, no wider than needed; of
    /// capabilities to be called, those that are lent.
    fn least(&self, ceiling: &Scope) -> Result<Scope, NoScope> {
        let mut slices = Vec::new();
        for need in self.entry.needs {
            let mut fit = ceiling
                .slices()
                .filter(|(_, slice)| slice.kind() == need.kind);
            if need.kind == GrantKind::Binding {
                // Each names a capability of its own: several are not several ways to one.
                slices.extend(fit.map(|(name, slice)| (name.clone(), slice.clone())));
                continue;
            }
            match (fit.next(), fit.next()) {
                (None, _) => {}
                (Some((name, slice)), None) => {
                    let slice = if need.write {
                        slice.clone()
                    } else {
                        slice.clone().read_only()
                    };
                    slices.push((name.clone(), slice));
                }
                (Some((one, _)), Some((other, _))) => {
                    return Err((
                        Reason::ScopeAmbiguous,
                        format!("name `{one}` or `{other}`, for example"),
                    ));
                }
            }
        }
        Ok(Scope::of(slices))
    }

    fn classify(&self) -> Classification {
        let slices = self.scope.iter().flat_map(|scope| scope.slices());
        let granted = slices.map(|(name, slice)| {
            class_of(
                slice,
                self.policy.grants.get(name).and_then(|grant| grant.raised),
            )
        });
        let granted = granted.fold(SideEffectClass::None, graver);
        classify(
            self.entry.declared,
            granted,
            self.policy.raised_risk(self.ask.capability),
        )
    }

    fn sort(&mut self, concerned: &Matched) {
        for number in concerned.iter() {
            let Some(ready) = self.policy.rule(number) else {
                continue;
            };
            let rule = &ready.rule;
            if rule
                .risks
                .as_ref()
                .is_some_and(|risks| !risks.contains(&self.class.risk))
            {
                continue;
            }
            if rule.decision == Verdict::Deny {
                self.denying.push(number);
                continue;
            }
            self.permitting.push(number);
            if self.ask.verb != Verb::Call || self.conditions_hold(ready) {
                self.satisfied.push(number);
            }
        }
    }

    pub(super) fn conditions_hold(&self, ready: &Ready) -> bool {
        let arguments = self.ask.arguments.unwrap_or(&Value::Null);
        ready
            .rule
            .arguments
            .iter()
            .all(|condition| condition.holds(arguments))
    }

    pub(super) fn rules(&self, of: &'a Matched) -> impl Iterator<Item = &'a Ready> {
        of.iter().filter_map(|number| self.policy.rule(number))
    }

    /// What has to be approved: the strictest of contract, risk and rules.
    pub(super) fn requirement(&'a self) -> ApprovalRequirement {
        let by_risk = &self.policy.document().limits.approvals.by_risk;
        let risk = by_risk
            .get(&self.class.risk)
            .copied()
            .unwrap_or(ApprovalRequirement::Blocked);
        let contract = self.entry.approval.unwrap_or(ApprovalRequirement::Blocked);
        self.rules(&self.satisfied)
            .map(|ready| ready.approval)
            .fold(risk.max(contract), Ord::max)
    }

    /// C-18: a denial at bind time is `binding_denied`.
    pub(super) fn denied(&self) -> ErrorType {
        match self.ask.verb {
            Verb::Bind => ErrorType::BindingDenied,
            Verb::Call | Verb::Refresh => ErrorType::PermissionDenied,
        }
    }
}
