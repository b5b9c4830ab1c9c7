//! Calls that run now, so that a revocation reaches them (I6).
//!
//! Rule: a call is here from its intent to its end; what is ended from outside ends at its
//! next host call or epoch, like any cancelled call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bindery_sandbox::Cancel;
use bindery_types::{CallId, SessionId};

use crate::governor::Governor;

/// The calls that run, each with what ends it.
#[derive(Default)]
pub(crate) struct Running {
    /// Guards the map only; never held while anything else is done.
    calls: Mutex<HashMap<CallId, Cancel>>,
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
    }
}

impl Governor {
    /// Ends the calls of one session.
    pub(crate) fn stop_session(&self, session: SessionId) {
        let running = self.running.all();
        let its = self.look(|state| {
            let its = |call: &CallId| state.call(*call).is_some_and(|c| c.session == session);
            let calls = running.iter().filter(|(call, _)| its(call));
            calls.map(|(_, cancel)| cancel.clone()).collect::<Vec<_>>()
        });
        for cancel in its.unwrap_or_default() {
            cancel.cancel();
        }
    }

    /// Ends the calls whose binding has ended under them.
    pub(crate) fn stop_overtaken(&self) {
        let running = self.running.all();
        let overtaken = self.look(|state| {
            let over = |call: &CallId| state.call(*call).is_some_and(|c| c.overtaken.is_some());
            running
                .iter()
                .filter(|(call, _)| over(call))
                .map(|(call, _)| *call)
                .collect::<Vec<_>>()
        });
        for call in overtaken.unwrap_or_default() {
            for (_, cancel) in running.iter().filter(|(listed, _)| *listed == call) {
                cancel.cancel();
            }
        }
    }
}
