//! Calls that a component makes: each is a whole call of its session, within what its caller
//! has left.
//!
//! Rule: resolve, check, decide, hooks, reserve, run, screen, settle, record:
//! nothing is left out because a component asks. When a caller ends, what it called ends
//! first, and is settled.

use std::sync::Arc;

use bindery_grants::{Nested, NestedAnswer, NestedCall, Signature};
use bindery_policy::Grant;
use bindery_sandbox::Cancel;
use bindery_types::{Budget, CallId, ErrorType, Limit, LimitName, Refusal, Run};
use tokio::sync::RwLock;

use crate::call::{CallOptions, Resolved};
use crate::held::Callees;
use crate::session::Session;

/// The call that makes a call, with what it has left.
pub(crate) struct Within {
    pub(crate) parent: CallId,
    pub(crate) left: Budget,
}

/// What a caller shares with those it calls.
const SHARED: [LimitName; 7] = [
    LimitName::NestedDepth,
    LimitName::Fuel,
    LimitName::Memory,
    LimitName::HostCalls,
    LimitName::Output,
    LimitName::EgressBytes,
    LimitName::Deadline,
];

impl Resolved {
    /// The limits of this call: what was granted, and no more than its caller has left.
    pub(crate) fn budget(&self, grant: &Grant) -> Arc<Budget> {
        let Some(within) = &self.within else {
            return Arc::clone(grant.budget());
        };
        let mut budget = Budget::clone(grant.budget());
        for name in SHARED {
            let least: Limit = budget.get(name).min(within.left.get(name));
            // What is less than a limit in force is within its ceiling.
            let _less = budget.set(name, least);
        }
        Arc::new(budget)
    }
}

/// What answers the imports of one running call.
#[derive(Clone)]
pub(crate) struct Calls {
    session: Session,
    parent: CallId,
    callees: Callees,
    /// Read by each call that runs; written by whoever waits for all of them.
    running: Arc<RwLock<()>>,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls")
            .field("callees", &self.callees.keys())
            .finish_non_exhaustive()
    }
}

/// Ends a call whose caller stopped waiting for it.
struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Session {
    /// What answers the imports of `resolved`; none when it imports nothing of others.
    pub(crate) fn nested(&self, resolved: &Resolved) -> Option<Calls> {
        let callees = &resolved.held.callees;
        (!callees.is_empty()).then(|| Calls {
            session: self.clone(),
            parent: resolved.call,
            callees: callees.clone(),
            running: Arc::default(),
        })
    }
}

impl Calls {
    pub(crate) fn as_grant(&self) -> Arc<dyn Nested> {
        Arc::new(self.clone())
    }

    /// Waits until none of them runs any more.
    pub(crate) async fn ended(&self) {
        let _all = self.running.write().await;
    }
}

impl Nested for Calls {
    fn signature(&self, interface: &str, function: &str) -> Option<Arc<Signature>> {
        let import = (interface.to_owned(), function.to_owned());
        let callee = self.callees.get(&import)?;
        Some(Arc::clone(&callee.signature))
    }

    fn call(&self, call: NestedCall) -> NestedAnswer {
        let NestedCall {
            interface,
            function,
            arguments,
            left,
        } = call;
        let callee = self.callees.get(&(interface, function));
        let runs = Arc::clone(&self.running).try_read_owned();
        let (Some(callee), Ok(runs)) = (callee, runs) else {
            let refusal = Refusal::new(ErrorType::Cancelled, "the calling call has ended");
            return Box::pin(std::future::ready(Run::refused(refusal)));
        };
        let cancel = Cancel::new();
        let ends = Ends(cancel.clone());
        let (session, handle) = (self.session.clone(), callee.handle.to_string());
        let within = Within {
            parent: self.parent,
            left,
        };
        // On a task of its own: it settles even where its caller is dropped.
        let task = tokio::spawn(async move {
            let _runs = runs;
            let options = CallOptions {
                cancel,
                ..CallOptions::default()
            };
            let reply = session.call_within(&handle, &arguments, &options, Some(within));
            reply.await.run
        });
        Box::pin(async move {
            let _ends = ends;
            task.await.unwrap_or_else(|_| {
                Run::refused(Refusal::new(
                    ErrorType::Internal,
                    "the host failed while one component called another",
                ))
            })
        })
    }
}
