//! Calls that end: known, unknown, or found out later.

use bindery_types::{CallId, ErrorType};

use super::At;
use crate::event::{Amounts, CallOutcome, CallReconciled, CallUncertain};
use crate::rejection::Rejection;
use crate::state::{Call, CallStanding, EffectStanding, State};
use crate::words::{CallEnd, Effectful, Finding, Meter};

impl State {
    pub(super) fn call_outcome(
        &mut self,
        at: &At<'_>,
        event: &CallOutcome,
    ) -> Result<(), Rejection> {
        let call = self.ending(at, event.call, CallStanding::Running)?;
        let failed = event.end != CallEnd::Succeeded && event.end != CallEnd::CapabilityError;
        if failed != event.error.is_some() {
            return Err(Rejection::Malformed {
                what: "a failure has a type, and nothing else has one",
            });
        }
        if call.effectful == Effectful::Effects && unknown(event) {
            return Err(Rejection::MustBeUncertain);
        }
        let Some(call) = self.calls.remove(&event.call) else {
            return Err(Rejection::Unknown { what: "call" });
        };
        let spent = inclusive(&call, &event.spent);
        self.settle_budget(&call, &spent, at.now);
        if event.end == CallEnd::Succeeded {
            self.count_done(&call);
        }
        if let Some(key) = &call.key {
            let standing = match event.end {
                CallEnd::FailedBeforeEffect | CallEnd::Interrupted => {
                    EffectStanding::FailedBeforeEffect
                }
                CallEnd::Succeeded
                | CallEnd::CapabilityError
                | CallEnd::Failed
                | CallEnd::Cancelled => EffectStanding::Ended {
                    end: event.end,
                    output: event.output.clone(),
                    by: at.sequence,
                },
            };
            self.settle_key(key, standing);
        }
        Ok(())
    }

    /// Losing a call charges all that it held: a restart neither refunds nor loses (G4).
    pub(super) fn call_uncertain(
        &mut self,
        at: &At<'_>,
        event: &CallUncertain,
    ) -> Result<(), Rejection> {
        let call = self.ending(at, event.call, CallStanding::Running)?;
        if call.effectful == Effectful::ReadOnly {
            return Err(Rejection::Malformed {
                what: "a call without effects is never uncertain",
            });
        }
        let call = call.clone();
        self.settle_budget(&call, &inclusive(&call, &call.reserve), at.now);
        if let Some(key) = &call.key {
            self.settle_key(key, EffectStanding::Unknown);
        }
        if let Some(call) = self.calls.get_mut(&event.call) {
            call.standing = CallStanding::Uncertain;
        }
        Ok(())
    }

    /// I17: from unknown to known by evidence, and never by a second try.
    pub(super) fn call_reconciled(
        &mut self,
        at: &At<'_>,
        event: &CallReconciled,
    ) -> Result<(), Rejection> {
        match self.calls.get(&event.call) {
            Some(call) if call.standing == CallStanding::Uncertain => {}
            Some(_) | None => {
                return Err(Rejection::Unknown {
                    what: "uncertain call",
                });
            }
        }
        let Some(call) = self.calls.remove(&event.call) else {
            return Err(Rejection::Unknown {
                what: "uncertain call",
            });
        };
        if event.finding == Finding::Done {
            self.count_done(&call);
        }
        if let Some(key) = &call.key {
            let standing = match event.finding {
                Finding::Done => EffectStanding::Ended {
                    end: CallEnd::Succeeded,
                    output: None,
                    by: at.sequence,
                },
                Finding::Failed => EffectStanding::FailedBeforeEffect,
            };
            self.settle_key(key, standing);
        }
        Ok(())
    }

    /// what a run has to show for itself.
    fn count_done(&mut self, call: &Call) {
        if let Some(run) = call.run.and_then(|id| self.runs.get_mut(&id)) {
            run.done = run.done.saturating_add(1);
        }
    }

    /// The call that is to end: of the record's session, in the right standing, alone.
    fn ending(&self, at: &At<'_>, id: CallId, standing: CallStanding) -> Result<&Call, Rejection> {
        match self.calls.get(&id) {
            Some(call) if at.entry.session != Some(call.session) => {
                Err(Rejection::Unknown { what: "call" })
            }
            Some(call) if call.principal != at.entry.actor.principal && !at.is_operator() => {
                Err(Rejection::ForeignSession)
            }
            Some(call) if call.standing != standing => Err(Rejection::Unknown { what: "call" }),
            Some(call) if call.children_running > 0 => Err(Rejection::ChildrenRunning),
            Some(call) => Ok(call),
            None => Err(Rejection::Unknown { what: "call" }),
        }
    }
}

/// C-39: what a stopped call with effects did is not known, whatever stopped it.
fn unknown(event: &CallOutcome) -> bool {
    match event.end {
        CallEnd::Cancelled | CallEnd::Interrupted => true,
        CallEnd::Failed => matches!(
            event.error,
            Some(ErrorType::Timeout | ErrorType::Cancelled | ErrorType::UncertainSideEffect)
        ),
        CallEnd::Succeeded | CallEnd::CapabilityError | CallEnd::FailedBeforeEffect => false,
    }
}

/// What a call spent with its children: never less than they did, and a call that was
/// started was started.
fn inclusive(call: &Call, own: &Amounts) -> Amounts {
    let mut spent = own.clone();
    let started = call.reserve.get_key_value(&Meter::Calls);
    // What each child drew for itself is counted where it was started.
    let children = call.children_spent.iter();
    let children = children.filter(|(meter, _)| !meter.is_each());
    for (meter, amount) in children.chain(started) {
        let entry = spent.entry(*meter).or_default();
        *entry = (*entry).max(*amount);
    }
    spent
}
