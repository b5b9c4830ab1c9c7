//! `release`: a binding given back, and those that were made from it.
//!
//! Rule (R-496): it is not callable from this moment on, and what hangs on it ends with it.

use bindery_ledger::Rejection;
use bindery_ledger::event::BindingMoved;
use bindery_ledger::words::{Lifecycle, Operation, Trigger};
use bindery_types::{BindingHandle, Refusal};

use crate::bind::parsed;
use crate::session::Session;

impl Session {
    /// Gives a binding back: it is not callable from this moment on (R-496).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{BindRequest, CallOptions, Outcome};
    ///
    /// let (_, session, answer) = stand().await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// session.release(&handle, "the work is done").await?;
    /// let reply = session.call(&handle, "{}", &CallOptions::default()).await;
    /// assert!(matches!(reply.run.outcome, Outcome::Refused(_)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `handle_invalid` for a handle that this session was never given, `binding_stale` or
    /// `capability_revoked` for one that has ended.
    pub async fn release(&self, handle: &str, reason: &str) -> Result<(), Refusal> {
        let released = self.give_back(handle, reason).await;
        released.map_err(|refusal| self.offered(refusal, None))
    }

    async fn give_back(&self, handle: &str, reason: &str) -> Result<(), Refusal> {
        let opened = self.opened()?;
        let handle = parsed(handle)?;
        let now = self.governor.clock.now();
        let bound = self
            .governor
            .look(|state| state.bound(handle, self.id, now).map(|_| ()));
        bound
            .unwrap_or(Err(Rejection::Unknown { what: "binding" }))
            .map_err(|rejection| rejection.refusal())?;
        let told = self.told(&opened, Operation::Release, reason);
        let released = self.with_callees(handle);
        let moved = |binding: &BindingHandle| {
            let moved = BindingMoved {
                binding: *binding,
                to: Lifecycle::Released,
                trigger: Trigger::ReleaseRequested,
            };
            self.governor.entry(&told, moved)
        };
        self.governor
            .record(released.iter().map(moved).collect())
            .await
            .map_err(|error| error.refusal())?;
        self.governor
            .write()
            .bindings
            .retain(|binding, _| !released.contains(binding));
        // R-580: what was asked about it has no answer any more.
        let now = self.governor.clock.now();
        self.governor.questions_over(now).await
    }
}
