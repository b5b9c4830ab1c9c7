//! Calls that run now, so that a revocation reaches them (I6).
//!
//! Rule: a call is here from its intent to its end; what is ended from outside ends at its
//! next host call or epoch, like any cancelled call, and whoever ended it is answered when
//! it is gone: until then an effect could still begin.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bindery_grants::Grants;
use bindery_ledger::words::Trigger;
use bindery_sandbox::{Cancel, Checked};
use bindery_types::{Budget, CallId, ErrorType, Outcome, Refusal, Run, SessionId};
use tokio::sync::Notify;

use crate::call::{CallOptions, Resolved};
use crate::governor::Governor;
use crate::session::Session;

/// How long calls that were ended are waited for. A write that was under way when its call
/// ended is waited for by the call itself, for less than that.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// The calls that run, each with what ends it.
#[derive(Default)]
pub(crate) struct Running {
    /// Guards the map only; never held while anything else is done.
    calls: Mutex<HashMap<CallId, Cancel>>,
    /// Told when one is gone.
    left: Notify,
}

/// A call that runs; it is taken off the list however it ends.
pub(crate) struct Listed<'a> {
    running: &'a Running,
    call: CallId,
}

impl Running {
    /// Lists a call until what is returned is dropped.
    pub(crate) fn list(&self, call: CallId, cancel: Cancel) -> Listed<'_> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(call, cancel);
        Listed {
            running: self,
            call,
        }
    }

    /// Ends these, and waits until none of them can begin anything any more.
    async fn end(&self, ended: Vec<(CallId, Cancel)>) {
        for (_, cancel) in &ended {
            cancel.cancel();
        }
        let gone = async {
            loop {
                // Registered before looking, so that none is missed that leaves in between.
                let mut left = std::pin::pin!(self.left.notified());
                left.as_mut().enable();
                if !self.lists_any(&ended) {
                    return;
                }
                left.await;
            }
        };
        tokio::time::timeout(GONE_WITHIN, gone).await.ok();
    }

    fn lists_any(&self, of: &[(CallId, Cancel)]) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        of.iter().any(|(call, _)| calls.contains_key(call))
    }

    fn all(&self) -> Vec<(CallId, Cancel)> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls
            .iter()
            .map(|(call, cancel)| (*call, cancel.clone()))
            .collect()
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        let mut calls = self
            .running
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls.remove(&self.call);
        drop(calls);
        self.running.left.notify_waiters();
    }
}

impl Governor {
    /// Ends the calls of one session.
    pub(crate) async fn stop_session(&self, session: SessionId) {
        self.stop(|call| call.session == session).await;
    }

    /// Ends the calls whose binding, or session, has ended under them.
    pub(crate) async fn stop_overtaken(&self) {
        self.stop(|call| call.overtaken.is_some()).await;
    }

    async fn stop(&self, which: impl Fn(&bindery_ledger::Call) -> bool) {
        let mut running = self.running.all();
        let found = self.look(|state| {
            running.retain(|(call, _)| state.call(*call).is_some_and(&which));
            running
        });
        self.running.end(found.unwrap_or_default()).await;
    }
}

impl Session {
    /// Step 5: the component runs, listed so that it can be ended; what it calls ends first.
    pub(crate) async fn run(
        &self,
        resolved: &Resolved,
        (checked, mut grants): (Checked, Grants),
        budget: &Budget,
        options: &CallOptions,
    ) -> Run {
        let callees = self.nested(resolved);
        grants.nested = callees.as_ref().map(|calls| calls.as_grant());
        let cancel = Cancel::new();
        let _listed = self.governor.running.list(resolved.call, cancel.clone());
        // What was revoked between the intent and the listing is ended here.
        if self.overtaken(resolved.call).is_some() {
            cancel.cancel();
        }
        let sandbox = &self.governor.sandbox;
        let run = async {
            match resolved.within {
                None => sandbox.run_checked(checked, grants, budget, &cancel).await,
                Some(_) => sandbox.run_nested(checked, grants, budget, &cancel).await,
            }
        };
        let mut run = std::pin::pin!(run);
        let run = tokio::select! {
            run = &mut run => run,
            () = options.cancel.cancelled() => {
                cancel.cancel();
                run.await
            }
        };
        // A call ends after those that it made, whose ends are on record by then.
        if let Some(callees) = callees {
            callees.ended().await;
        }
        match self.overtaken(resolved.call) {
            Some(trigger) => ended_by(run, trigger),
            None => run,
        }
    }

    /// What ended the binding or the session under a call that runs.
    fn overtaken(&self, call: CallId) -> Option<Trigger> {
        let found = self
            .governor
            .look(|state| state.call(call).and_then(|call| call.overtaken));
        found.flatten()
    }
}

/// The same, with what ended it when its caller did not.
fn ended_by(mut run: Run, trigger: Trigger) -> Run {
    if let Outcome::Refused(refusal) = &run.outcome
        && refusal.kind() == ErrorType::Cancelled
    {
        let text = format!("the call was ended while it ran: {}", trigger.as_str());
        let ended = Refusal::new(ErrorType::Cancelled, text).with("ended_by", trigger.as_str());
        run.outcome = Outcome::Refused(ended);
    }
    run
}
