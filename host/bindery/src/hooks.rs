//! Hooks: what an embedder wants to look at before and after, with the right to say no.
//!
//! Rule (R-170, R-516, I42): every call passes them, however it came about, a call that a
//! component makes included; binding passes the first half. A hook that panics, errs or
//! takes too long has said no. No hook can turn a no into a yes: policy decided before it.
//! Giving a binding back passes none, because nobody may hold authority against its owner.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bindery_ledger::words::Phase;
use bindery_types::{CallId, CapabilityId, Outcome, Principal, SessionId};
use serde_json::Value;

/// How long a hook may take, unless the builder says otherwise.
pub(crate) const HOOK_WITHIN: Duration = Duration::from_secs(2);

/// What a hook is asked about.
#[derive(Clone, Copy, Debug)]
pub struct HookCall<'a> {
    /// Which way it came.
    pub route: HookRoute,
    /// In which session.
    pub session: SessionId,
    /// Whose session that is.
    pub principal: &'a Principal,
    /// Of what.
    pub capability: &'a CapabilityId,
    /// The call; none for a binding.
    pub call: Option<CallId>,
    /// The call that made it, when a component did.
    pub parent: Option<CallId>,
    /// The arguments of a call, as they are: a hook is code of the host.
    pub arguments: Option<&'a Value>,
    /// How a call ended, as its caller would see it.
    pub outcome: Option<&'a Outcome>,
}

/// A way through the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRoute {
    /// A binding is about to be opened.
    Bind,
    /// A session calls.
    Call,
    /// A component calls another one.
    Nested,
}

/// Why a hook says no; for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Veto(pub String);

/// What a hook answers with.
pub type HookAnswer<'a> = Pin<Box<dyn Future<Output = Result<(), Veto>> + Send + 'a>>;

/// Looks at what goes through the host. Both halves say yes unless they are written.
///
/// A hook that blocks its thread cannot be ended by the clock; it must wait with `await`.
pub trait Hook: Send + Sync + 'static {
    /// The name that records know it by.
    fn name(&self) -> &str;

    /// Before anything is claimed or started. No ends it.
    fn before<'a>(&'a self, about: HookCall<'a>) -> HookAnswer<'a> {
        let _ = about;
        Box::pin(std::future::ready(Ok(())))
    }

    /// After a call that was started, before its caller sees the result. No withholds it;
    /// what the call did stays done, and is on record.
    fn after<'a>(&'a self, about: HookCall<'a>) -> HookAnswer<'a> {
        let _ = about;
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The hooks of a host, in the order in which they were given.
#[derive(Clone)]
pub(crate) struct Hooks {
    pub(crate) all: Vec<Arc<dyn Hook>>,
    pub(crate) within: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            within: HOOK_WITHIN,
        }
    }
}

/// A no, and whose.
#[derive(Clone, Debug)]
pub(crate) struct Vetoed {
    pub(crate) hook: String,
    pub(crate) why: String,
    pub(crate) phase: Phase,
}

impl Hooks {
    /// The first no; after a call the hooks are asked in the reverse order.
    pub(crate) async fn ask(&self, phase: Phase, about: HookCall<'_>) -> Option<Vetoed> {
        let count = self.all.len();
        for place in 0..count {
            let place = match phase {
                Phase::Pre => place,
                Phase::Post => count.saturating_sub(place).saturating_sub(1),
            };
            let hook = self.all.get(place)?;
            if let Err(Veto(why)) = self.one(&**hook, phase, about).await {
                let name = std::panic::catch_unwind(AssertUnwindSafe(|| hook.name().to_owned()));
                let hook = name.unwrap_or_else(|_| "(its name panicked)".to_owned());
                return Some(Vetoed { hook, why, phase });
            }
        }
        None
    }

    async fn one(&self, hook: &dyn Hook, phase: Phase, about: HookCall<'_>) -> Result<(), Veto> {
        let panicked = || Veto("it panicked".to_owned());
        let answer = std::panic::catch_unwind(AssertUnwindSafe(|| match phase {
            Phase::Pre => hook.before(about),
            Phase::Post => hook.after(about),
        }));
        let mut answer = answer.map_err(|_| panicked())?;
        let contained = std::future::poll_fn(|context| {
            let polled =
                std::panic::catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
            polled.unwrap_or_else(|_| Poll::Ready(Err(panicked())))
        });
        let late = |_| {
            let within = self.within.as_millis();
            Err(Veto(format!("it did not answer within {within} ms")))
        };
        tokio::time::timeout(self.within, contained)
            .await
            .unwrap_or_else(late)
    }
}
