//! What the host's own walks over a call's values look at between two stretches of work:
//! somebody's cancel, the clock, the fuel.
//!
//! Rule (H7, H21): no work of the host for a call is out of reach of what ends the call,
//! and none is free. Epochs and the engine's fuel do not see lowering and lifting, so they
//! ask here, at a bounded interval of bytes or values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_grants::fuel_of;
use bindery_types::Budget;
use tokio::time::Instant;
use wasmtime::Trap;

use crate::cancel::Cancel;
use crate::fuel::Fuel;

tokio::task_local! {
    // The engine lifts without a way to the store's data. This belongs to the future of
    // one call, is there while that future is polled and at no other time, and lifting is
    // one stretch inside one poll.
    static LEASH: Leash;
}

/// What may end one call. Clones are the same leash.
#[derive(Clone, Debug)]
pub(crate) struct Leash(Arc<Held>);

#[derive(Debug)]
struct Held {
    cancel: Cancel,
    deadline: Option<Instant>,
    fuel: Fuel,
    /// Fuel used when guest code last returned.
    used: AtomicU64,
    /// Fuel of the host for the result so far, which the store was not charged for.
    result: AtomicU64,
}

impl Leash {
    /// Of a call that must end by `deadline` or when cancelled.
    pub(crate) fn new(budget: &Budget, deadline: Option<Instant>, cancel: Cancel) -> Self {
        Self(Arc::new(Held {
            cancel,
            deadline,
            fuel: Fuel::new(budget),
            used: AtomicU64::new(0),
            result: AtomicU64::new(0),
        }))
    }

    /// Lends it to all that `call` does.
    pub(crate) async fn during<F: Future>(&self, call: F) -> F::Output {
        LEASH.scope(self.clone(), call).await
    }

    /// The leash of the call in which this is asked.
    // The thread may change where guest code gives way, never inside this function.
    #[inline(never)]
    pub(crate) fn of_this_call() -> Option<Self> {
        LEASH.try_with(Self::clone).ok()
    }

    /// The fuel of the call.
    pub(crate) fn fuel(&self) -> Fuel {
        self.0.fuel
    }

    /// When the call has to end.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    /// Whether the call is out of time or was cancelled.
    pub(crate) fn is_over(&self) -> bool {
        let deadline = self.0.deadline;
        deadline.is_some_and(|deadline| Instant::now() >= deadline) || self.0.cancel.is_cancelled()
    }

    /// Notes the fuel used by the time guest code returns.
    pub(crate) fn set_fuel_used(&self, used: u64) {
        self.0.used.store(used, Ordering::Relaxed);
    }

    /// The fuel of the host's work for the result.
    pub(crate) fn result_fuel(&self) -> u64 {
        self.0.result.load(Ordering::Relaxed)
    }

    /// Whether the work may go on.
    ///
    /// # Errors
    ///
    /// The engine's own interrupt when the call is over: it is told apart where those of
    /// guest code are.
    pub(crate) fn look(&self) -> wasmtime::Result<()> {
        match self.is_over() {
            true => Err(Trap::Interrupt.into()),
            false => Ok(()),
        }
    }

    /// Whether the work on the result may go on when it comes to `bytes` in all.
    ///
    /// # Errors
    ///
    /// As [`Leash::look`]; a `LimitHit` of the fuel when it does not reach so far.
    pub(crate) fn charge_result(&self, bytes: usize) -> wasmtime::Result<()> {
        let due = fuel_of(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.0.result.store(due, Ordering::Relaxed);
        let used = self.0.used.load(Ordering::Relaxed);
        self.0.fuel.check(used.saturating_add(due))?;
        self.look()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bindery_types::{LimitHit, LimitName};

    use super::*;

    fn leash(fuel: u64, deadline: Option<Instant>) -> (Leash, Cancel) {
        let budget = Budget::default().with(LimitName::Fuel, fuel).unwrap();
        let cancel = Cancel::new();
        (Leash::new(&budget, deadline, cancel.clone()), cancel)
    }

    #[test]
    fn a_walk_ends_when_its_call_is_cancelled_or_out_of_time_and_goes_on_before() {
        let (held, cancel) = leash(5_000, None);
        assert!(held.look().is_ok());
        cancel.cancel();
        let error = held.look().unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Trap::Interrupt), "H21");
        let now = Instant::now();
        let later = now.checked_add(Duration::from_secs(60));
        assert!(leash(0, Some(now)).0.look().is_err(), "H6");
        assert!(leash(0, later).0.look().is_ok(), "H6");
    }

    #[test]
    fn the_last_kib_that_the_fuel_pays_passes_and_the_next_names_it() {
        let (held, _cancel) = leash(5_000, None);
        held.set_fuel_used(3_000);
        assert!(held.charge_result(2_048).is_ok(), "H7");
        assert_eq!(held.result_fuel(), 2_000);
        let error = held.charge_result(2_049).unwrap_err();
        let hit: &LimitHit = error.downcast_ref().unwrap();
        assert_eq!((hit.name, hit.used), (LimitName::Fuel, 6_000), "H7");
    }

    #[tokio::test]
    async fn a_leash_is_there_during_its_call_and_at_no_other_time() {
        let (held, cancel) = leash(0, None);
        assert!(Leash::of_this_call().is_none());
        let inside = held.during(async {
            let found = Leash::of_this_call();
            tokio::task::yield_now().await;
            found.zip(Leash::of_this_call())
        });
        let (before, after) = inside.await.unwrap();
        cancel.cancel();
        assert!(before.is_over() && after.is_over());
        assert!(Leash::of_this_call().is_none());
    }
}
