//! Leases: a binding found callable for one call, and what is owed for it.
//!
//! Rule (I3, I10, style 25): a lease is made from the state alone, cannot be copied, and
//! is given back by ending its call. One that is lost on any path is remembered, and its
//! call becomes uncertain or interrupted: what it held is charged in full.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bindery_types::{BindingHandle, CallId, Moment, SessionId};

use crate::event::{CallIntent, CallOutcome, CallUncertain, Event, Pins};
use crate::rejection::Rejection;
use crate::state::{Binding, CallStanding, State};
use crate::words::{CallEnd, Doubt, Effectful};

impl State {
    /// The binding, if this session holds it and may use it now.
    ///
    /// # Errors
    ///
    /// A handle that this session was never given is unknown, whatever else it may be
    /// (C-48); its own says truthfully what it is: ended, or over.
    pub fn bound(
        &self,
        handle: BindingHandle,
        session: SessionId,
        now: Moment,
    ) -> Result<&Binding, Rejection> {
        let binding = match self.bindings.get(&handle) {
            Some(binding) if binding.session == session => binding,
            Some(_) | None => return Err(Rejection::Unknown { what: "binding" }),
        };
        if let Some(ended) = binding.ended {
            return Err(Rejection::NotBound {
                status: ended.to,
                trigger: ended.trigger,
                since: ended.by,
            });
        }
        // I10: the state has seen more time than the caller's clock may say.
        let until = binding.pins.lease_until;
        if self.now.max(now) >= until {
            return Err(Rejection::LeaseOver { until });
        }
        Ok(binding)
    }

    /// The lease of a call whose intent was accepted.
    ///
    /// # Errors
    ///
    /// When no such call runs, or somebody holds its lease already.
    pub fn lease(&self, call: CallId, lost: &Arc<Lost>) -> Result<Lease, Rejection> {
        let running = match self.calls.get(&call) {
            Some(running) if running.standing == CallStanding::Running => running,
            Some(_) | None => return Err(Rejection::Unknown { what: "call" }),
        };
        let Some(binding) = self.bindings.get(&running.binding) else {
            return Err(Rejection::Unknown { what: "binding" });
        };
        Ok(Lease {
            call,
            effectful: running.effectful,
            pins: binding.pins.clone(),
            lost: Arc::clone(lost),
            settled: false,
        })
    }

    /// Whether effects of a call may go on: its binding stands and its lease has a rest
    /// (I6, case G4). Asked before each of them.
    pub fn may_go_on(&self, call: CallId, now: Moment) -> Result<(), Rejection> {
        let Some(running) = self.calls.get(&call) else {
            return Err(Rejection::Unknown { what: "call" });
        };
        self.bound(running.binding, running.session, now)?;
        Ok(())
    }
}

/// A binding in use by one call. Neither `Clone` nor made anywhere else:
///
/// ```compile_fail
/// fn twice(lease: bindery_ledger::Lease) {
///     let first = lease;
///     let second = lease;
/// }
/// ```
///
/// ```compile_fail
/// fn copied(lease: &bindery_ledger::Lease) -> bindery_ledger::Lease {
///     lease.clone()
/// }
/// ```
///
/// ```compile_fail
/// fn forged(call: bindery_types::CallId, pins: bindery_ledger::event::Pins) -> bindery_ledger::Lease {
///     bindery_ledger::Lease { call, pins }
/// }
/// ```
#[must_use = "a lease that is dropped charges all that its call held"]
#[derive(Debug)]
pub struct Lease {
    call: CallId,
    effectful: Effectful,
    pins: Pins,
    /// Where a lease that was not given back is remembered.
    lost: Arc<Lost>,
    settled: bool,
}

impl Lease {
    /// The call it is for.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// What the call may use, and nothing else.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Gives the lease back with a known end; `outcome` is the event that says so.
    ///
    /// # Errors
    ///
    /// When the outcome is another call's; the lease is then lost.
    pub fn settle(mut self, outcome: CallOutcome) -> Result<Event, Rejection> {
        if outcome.call != self.call {
            return Err(Rejection::Unknown { what: "call" });
        }
        self.settled = true;
        Ok(outcome.into())
    }

    /// Gives the lease back with an unknown end.
    ///
    /// # Errors
    ///
    /// When the doubt is about another call; the lease is then lost.
    pub fn doubt(mut self, uncertain: CallUncertain) -> Result<Event, Rejection> {
        if uncertain.call != self.call {
            return Err(Rejection::Unknown { what: "call" });
        }
        self.settled = true;
        Ok(uncertain.into())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.settled {
            self.lost.add(self.call, self.effectful);
        }
    }
}

/// Leases that were dropped without an end.
#[derive(Debug, Default)]
pub struct Lost {
    /// Guards the list only; never held while anything else is done.
    calls: Mutex<Vec<(CallId, Effectful)>>,
}

impl Lost {
    fn add(&self, call: CallId, effectful: Effectful) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((call, effectful));
    }

    /// The events that end the calls of lost leases, each given once. Children were
    /// started later and are ended first.
    pub fn sweep(&self, state: &State) -> Vec<(SessionId, Event)> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = std::mem::take(&mut *calls);
        drop(calls);
        let mut running: Vec<_> = lost
            .into_iter()
            .filter_map(|(call, _)| state.call(call).map(|found| (call, found)))
            .filter(|(_, found)| found.standing == CallStanding::Running)
            .collect();
        running.sort_by_key(|(_, found)| std::cmp::Reverse(found.started_by));
        let events = running.into_iter();
        events
            .map(|(call, found)| (found.session, ended(call, found, Doubt::Abandoned)))
            .collect()
    }
}

/// The event that ends a call nobody can end properly.
pub(crate) fn ended(call: CallId, found: &crate::state::Call, doubt: Doubt) -> Event {
    match found.effectful {
        Effectful::Effects => CallUncertain {
            call,
            doubt,
            effects: Vec::new(),
            effects_dropped: 0,
        }
        .into(),
        Effectful::ReadOnly => CallOutcome {
            call,
            end: CallEnd::Interrupted,
            error: Some(bindery_types::ErrorType::Cancelled),
            message: None,
            spent: found.reserve.clone(),
            output: None,
            receipt: None,
            effects: Vec::new(),
            effects_dropped: 0,
        }
        .into(),
    }
}

/// The latest time that was seen, for all who ask: a clock that jumps back is not
/// believed (I10).
#[derive(Debug, Default)]
pub struct HighWater(AtomicU64);

impl HighWater {
    /// Starts from a moment that is known to have been, such as [`State::now`].
    pub fn from(moment: Moment) -> Self {
        Self(AtomicU64::new(moment.unix_ms()))
    }

    /// The moment to act by when the clock says `clock`.
    pub fn see(&self, clock: Moment) -> Moment {
        let before = self.0.fetch_max(clock.unix_ms(), Ordering::Relaxed);
        Moment::from_unix_ms(before.max(clock.unix_ms()))
    }
}

/// An intent, with the lease that its acceptance gives.
impl CallIntent {
    /// Whether a durable record has to come before the start (I18).
    pub fn must_be_durable(&self) -> bool {
        self.effectful == Effectful::Effects
    }
}
