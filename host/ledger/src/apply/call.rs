//! Calls that start: everything is claimed in one record, or nothing is.

use bindery_types::ApprovalRequirement;

use super::At;
use crate::approval::Wanted;
use crate::event::{CallDecided, CallIntent};
use crate::key::EffectKey;
use crate::rejection::Rejection;
use crate::state::{Binding, Call, CallStanding, Session, State};
use crate::words::{RunStatus, Verdict};

impl State {
    /// a decision that starts nothing changes nothing (I42).
    pub(super) fn call_decided(&mut self, event: &CallDecided) -> Result<(), Rejection> {
        match event.decision.verdict {
            Verdict::Ask | Verdict::Deny => Ok(()),
            Verdict::Allow => Err(Rejection::Verdict {
                needed: "ask or deny",
            }),
        }
    }

    pub(super) fn call_intent(&mut self, at: &At<'_>, event: &CallIntent) -> Result<(), Rejection> {
        let session = self.live_session(at, event.session)?;
        let binding = self.check_intent(at, session, event)?;
        let key = effect_key(session, event);
        if let Some(key) = &key {
            self.check_key(key, event.arguments, at.now)?;
        }
        let pins = &binding.pins;
        match (event.decision.requirement, event.approval) {
            (ApprovalRequirement::NoApproval, None) => {}
            (
                ApprovalRequirement::ConfirmOnce | ApprovalRequirement::ConfirmEveryTime,
                Some(proposal),
            ) => {
                let wanted = Wanted {
                    session: event.session,
                    archetype: &session.archetype,
                    run: event.run,
                    binding: Some(event.binding),
                    arguments: Some(event.arguments),
                    pins,
                    requirement: event.decision.requirement,
                    now: at.now,
                };
                self.check_approval(proposal, &wanted)?;
            }
            (ApprovalRequirement::NoApproval, Some(_))
            | (ApprovalRequirement::Blocked, _)
            | (ApprovalRequirement::ConfirmOnce | ApprovalRequirement::ConfirmEveryTime, None) => {
                return Err(Rejection::Missing {
                    what: "an approval that fits the decision",
                });
            }
        }
        let call = self.call_of(at, session, key, event);
        self.check_budget(&call, at.now)?;
        self.start(at, event, call);
        Ok(())
    }

    /// Steps 1 to 3 of the call pipeline, once more, at the moment of the claim.
    fn check_intent<'a>(
        &'a self,
        at: &At<'_>,
        session: &Session,
        event: &CallIntent,
    ) -> Result<&'a Binding, Rejection> {
        let binding = self.bound(event.binding, event.session, at.now)?;
        if self.calls.contains_key(&event.call) {
            return Err(Rejection::Duplicate { what: "call" });
        }
        self.check_pins(session, &binding.pins, at.now)?;
        self.check_description(&binding.pins)?;
        if binding.pins.capability != event.capability {
            return Err(Rejection::Malformed {
                what: "what runs is what the binding pins (I9)",
            });
        }
        if let Some(target) = self.switched_off(binding) {
            let target = target.clone();
            return Err(Rejection::SwitchedOff { target });
        }
        self.check_allowed(&event.decision)?;
        if event.asked_at > event.decided_at || event.decided_at > at.now {
            return Err(Rejection::Malformed {
                what: "a call is asked for, then decided, then started (R-556)",
            });
        }
        self.check_run(event)?;
        if let Some(parent) = event.parent {
            self.check_caller(parent, event)?;
        }
        Ok(binding)
    }

    fn check_run(&self, event: &CallIntent) -> Result<(), Rejection> {
        let Some(id) = event.run else { return Ok(()) };
        let run = self.runs.get(&id);
        if let Some(provider) = run.and_then(|run| run.provider.as_ref())
            && self.known(&event.capability)?.provider != *provider
        {
            return Err(Rejection::ProviderOutside);
        }
        match run {
            Some(run) if run.session != event.session => Err(Rejection::Unknown { what: "run" }),
            // One action that waits for an operator does not hold up the others.
            Some(run)
                if !matches!(run.status, RunStatus::Running | RunStatus::AwaitingApproval) =>
            {
                Err(Rejection::RunTransition {
                    from: run.status,
                    to: RunStatus::Running,
                })
            }
            Some(run) if event.step != run.steps + 1 => Err(Rejection::Malformed {
                what: "the steps of a run are counted without gaps (R-566)",
            }),
            Some(_) => Ok(()),
            None => Err(Rejection::Unknown { what: "run" }),
        }
    }

    fn check_caller(
        &self,
        parent: bindery_types::CallId,
        event: &CallIntent,
    ) -> Result<(), Rejection> {
        match self.calls.get(&parent) {
            Some(call)
                if call.session == event.session && call.standing == CallStanding::Running =>
            {
                // I6: what a revoked call obtained is dead, too.
                match call.overtaken {
                    Some(trigger) => Err(super::binding::differs("calling binding", trigger)),
                    None => Ok(()),
                }
            }
            Some(_) | None => Err(Rejection::Unknown {
                what: "calling call",
            }),
        }
    }

    fn call_of(
        &self,
        at: &At<'_>,
        session: &Session,
        key: Option<EffectKey>,
        event: &CallIntent,
    ) -> Call {
        Call {
            session: event.session,
            tenant: session.tenant.clone(),
            principal: session.principal.clone(),
            binding: event.binding,
            parent: event.parent,
            run: event.run,
            capability: event.capability.clone(),
            effectful: event.effectful,
            key,
            standing: CallStanding::Running,
            reserve: event.reserve.clone(),
            children_reserve: Default::default(),
            children_spent: Default::default(),
            children_running: 0,
            overtaken: None,
            started_at: at.now,
            started_by: at.sequence,
        }
    }

    /// Everything was asked; nothing here fails.
    fn start(&mut self, at: &At<'_>, event: &CallIntent, call: Call) {
        self.forget(at.now);
        self.take_budget(&call, at.now);
        if let (Some(key), Some(wish)) = (&call.key, &event.idempotency) {
            self.hold_key(key.clone(), event.call, event.arguments, wish.expires_at);
        }
        if let Some(proposal) = event.approval {
            self.use_approval(proposal, event.binding, event.decision.requirement, at);
        }
        if let Some(run) = event.run.and_then(|id| self.runs.get_mut(&id)) {
            run.steps += 1;
        }
        self.calls.insert(event.call, call);
    }
}

fn effect_key(session: &Session, event: &CallIntent) -> Option<EffectKey> {
    event.idempotency.as_ref().map(|wish| EffectKey {
        tenant: session.tenant.clone(),
        principal: session.principal.clone(),
        capability: event.capability.clone(),
        key: wish.key.clone(),
    })
}
