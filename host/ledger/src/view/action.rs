//! Action records: what was asked, decided, done, and how it ended (R-565 … R-576).
//!
//! Rule: a denied action is `blocked`, never `failed`; what nobody knows is `uncertain`;
//! nothing here was not said by a record.

use std::collections::{BTreeMap, BTreeSet};

use bindery_types::{BindingHandle, CallId, ErrorType, Moment, ProposalId, Risk, RunId, SessionId};
use serde::Serialize;

use crate::event::{CallOutcome, Decision, Event, OutputRef};
use crate::key::CapabilityKey;
use crate::record::Record;
use crate::text::{Line, Summary};
use crate::words::{ActionStatus, CallEnd, Effectful, Finding, Trigger, Verdict};

/// One action, as a reviewer sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// Which call.
    pub call: CallId,
    /// Whose.
    pub session: Option<SessionId>,
    /// In which run.
    pub run: Option<RunId>,
    /// Its place in the run; 0 when it never started.
    pub step: u64,
    /// Of what; `None` when the handle said nothing.
    pub capability: Option<CapabilityKey>,
    /// Its risk.
    pub risk: Option<Risk>,
    /// Where it stands.
    pub status: ActionStatus,
    /// The question that was asked about it, or the approval it used.
    pub proposal: Option<ProposalId>,
    /// What a reviewer sees of the arguments.
    pub input: Option<Summary>,
    /// Its result, by reference.
    pub output: Option<OutputRef>,
    /// When.
    pub times: Times,
    /// What policy said, and which axis decided.
    pub decision: Option<Decision>,
    /// How it was refused or failed.
    pub error: Option<ErrorType>,
    /// What an operator may read of that.
    pub message: Option<Line>,
    /// It says it succeeded and shows no effect, though it can have some.
    pub effects_missing: bool,
    /// What ended its binding while it ran.
    pub overtaken: Option<Trigger>,
}

/// When an action went through its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Asked for.
    pub created: Moment,
    /// Decided.
    pub decided: Option<Moment>,
    /// Started.
    pub started: Option<Moment>,
    /// Ended.
    pub ended: Option<Moment>,
}

struct Open {
    action: Action,
    effectful: Effectful,
    binding: BindingHandle,
}

/// The actions that these records speak of, in the order in which they were asked for.
pub fn actions<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Action> {
    let mut order = Vec::new();
    let mut open: BTreeMap<CallId, Open> = BTreeMap::new();
    // Calls that run, by the binding that may end under them.
    let mut running: BTreeMap<BindingHandle, BTreeSet<CallId>> = BTreeMap::new();
    for record in records {
        let entry = &record.entry;
        if let Some((id, begun)) = begin(record) {
            if !open.contains_key(&id) {
                order.push(id);
            }
            if begun.action.status == ActionStatus::Running {
                running.entry(begun.binding).or_default().insert(id);
            }
            open.insert(id, begun);
            continue;
        }
        match &entry.event {
            Event::CallOutcome(outcome) => {
                if let Some(open) = open.get_mut(&outcome.call) {
                    if let Some(calls) = running.get_mut(&open.binding) {
                        calls.remove(&outcome.call);
                    }
                    end(open, outcome, entry.moment);
                }
            }
            Event::CallUncertain(event) => {
                if let Some(open) = open.get_mut(&event.call) {
                    open.action.status = ActionStatus::Uncertain;
                    open.action.error = Some(ErrorType::UncertainSideEffect);
                    open.action.times.ended = Some(entry.moment);
                }
            }
            Event::CallReconciled(event) => {
                if let Some(open) = open.get_mut(&event.call) {
                    open.action.status = match event.finding {
                        Finding::Done => ActionStatus::Succeeded,
                        Finding::Failed => ActionStatus::Failed,
                    };
                    open.action.message = Some(event.evidence.clone());
                }
            }
            Event::ProposalMade(event) => {
                if let Some(open) = event.call.and_then(|call| open.get_mut(&call)) {
                    open.action.proposal = Some(event.proposal);
                }
            }
            Event::BindingMoved(event) => {
                for call in running.remove(&event.binding).unwrap_or_default() {
                    let still = open.get_mut(&call);
                    let still = still.filter(|open| open.action.status == ActionStatus::Running);
                    if let Some(open) = still {
                        open.action.overtaken.get_or_insert(event.trigger);
                    }
                }
            }
            _ => {}
        }
    }
    order
        .into_iter()
        .filter_map(|id| open.remove(&id).map(|open| open.action))
        .collect()
}

/// The action that a record begins, if it begins one.
fn begin(record: &Record) -> Option<(CallId, Open)> {
    let entry = &record.entry;
    let blank = |call, created| Action {
        call,
        session: entry.session,
        run: None,
        step: 0,
        capability: None,
        risk: None,
        status: ActionStatus::Blocked,
        proposal: None,
        input: None,
        output: None,
        times: Times {
            created,
            decided: None,
            started: None,
            ended: None,
        },
        decision: None,
        error: None,
        message: None,
        effects_missing: false,
        overtaken: None,
    };
    let none = BindingHandle::from_random([0; 16]);
    match &entry.event {
        Event::CallRefused(event) => {
            let mut action = blank(event.call, entry.moment);
            action.run = event.run;
            action.capability = event.capability.clone();
            action.status = refused(event.error);
            action.error = Some(event.error);
            action.times.ended = Some(entry.moment);
            Some((
                event.call,
                Open {
                    action,
                    effectful: Effectful::ReadOnly,
                    binding: event.binding.unwrap_or(none),
                },
            ))
        }
        Event::CallDecided(event) => {
            let mut action = blank(event.call, entry.moment);
            action.run = event.run;
            action.capability = Some(event.capability.clone());
            action.risk = Some(event.decision.risk);
            action.input = Some(event.input.clone());
            action.times.decided = Some(entry.moment);
            action.error = Some(event.error);
            action.status = match event.decision.verdict {
                Verdict::Ask => ActionStatus::AwaitingApproval,
                Verdict::Allow | Verdict::Deny => refused(event.error),
            };
            action.decision = Some(event.decision.clone());
            Some((
                event.call,
                Open {
                    action,
                    effectful: Effectful::ReadOnly,
                    binding: event.binding,
                },
            ))
        }
        Event::CallIntent(event) => {
            let mut action = blank(event.call, event.asked_at);
            action.run = event.run;
            action.step = event.step;
            action.capability = Some(event.capability.clone());
            action.risk = Some(event.decision.risk);
            action.status = ActionStatus::Running;
            action.proposal = event.approval;
            action.input = Some(event.input.clone());
            action.times.decided = Some(event.decided_at);
            action.times.started = Some(entry.moment);
            action.decision = Some(event.decision.clone());
            Some((
                event.call,
                Open {
                    action,
                    effectful: event.effectful,
                    binding: event.binding,
                },
            ))
        }
        _ => None,
    }
}

fn end(open: &mut Open, outcome: &CallOutcome, moment: Moment) {
    let action = &mut open.action;
    action.status = match outcome.end {
        CallEnd::Succeeded => ActionStatus::Succeeded,
        CallEnd::CapabilityError | CallEnd::FailedBeforeEffect | CallEnd::Failed => {
            ActionStatus::Failed
        }
        CallEnd::Cancelled | CallEnd::Interrupted => ActionStatus::Cancelled,
    };
    action.error = match outcome.end {
        CallEnd::CapabilityError => Some(ErrorType::CapabilityError),
        CallEnd::Succeeded
        | CallEnd::FailedBeforeEffect
        | CallEnd::Failed
        | CallEnd::Cancelled
        | CallEnd::Interrupted => outcome.error,
    };
    action.message = outcome.message.clone();
    action.output = outcome.output.clone();
    action.times.ended = Some(moment);
    let shows_nothing = outcome.effects.is_empty() && outcome.effects_dropped == 0;
    action.effects_missing =
        open.effectful == Effectful::Effects && outcome.end == CallEnd::Succeeded && shows_nothing;
}

/// what policy stopped is blocked, what was not there is unavailable, and
/// what could not even be asked properly failed.
fn refused(error: ErrorType) -> ActionStatus {
    use bindery_types::Category;
    match error.category() {
        Category::BlockedPolicy
        | Category::InvalidScope
        | Category::InvalidRunTransition
        | Category::Limit => ActionStatus::Blocked,
        Category::MissingApproval => ActionStatus::AwaitingApproval,
        Category::UnavailableImplementation
        | Category::MissingCredential
        | Category::Environment => ActionStatus::Unavailable,
        Category::Cancelled => ActionStatus::Cancelled,
        Category::AdapterError | Category::RequestInvalid => ActionStatus::Failed,
    }
}
