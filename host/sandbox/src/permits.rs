//! Permits: how many calls run at once, how many may wait, and that both come back.
//!
//! Rule (H44, B9): a queue without a bound is a memory leak with a delay; beyond its
//! bound a call is told `busy` at once, and a permit returns by being dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bindery_types::{Budget, ErrorType, Limit, LimitName, Refusal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::cancel::Cancel;

/// The right to run calls, a limited number of times at once.
#[derive(Debug)]
pub(crate) struct Permits {
    free: Arc<Semaphore>,
    concurrent: Limit,
    concurrent_max: usize,
    waiting: AtomicUsize,
    waiting_max: Limit,
}

/// One call waiting; counted while it lives.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Permits {
    /// The permits of a host under `budget`.
    pub(crate) fn new(budget: &Budget) -> Self {
        let concurrent = budget.get(LimitName::Concurrent);
        let concurrent_max = concurrent.or_max_usize().min(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(concurrent_max)),
            concurrent,
            concurrent_max,
            waiting: AtomicUsize::new(0),
            waiting_max: budget.get(LimitName::Waiting),
        }
    }

    /// Calls running now.
    pub(crate) fn running(&self) -> usize {
        self.concurrent_max
            .saturating_sub(self.free.available_permits())
    }

    /// Calls waiting now.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// A permit, at once or after waiting until `until`.
    ///
    /// # Errors
    ///
    /// `busy` when the queue is full or the time is over, `cancelled` when cancelled.
    pub(crate) async fn take(
        &self,
        until: Option<Instant>,
        cancel: &Cancel,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(permit);
        }
        let place = self
            .waiting
            .fetch_add(1, Ordering::AcqRel)
            .saturating_add(1);
        let _place = Place(&self.waiting);
        if self.concurrent_max == 0 {
            return Err(self.busy(LimitName::Concurrent, self.concurrent, 1));
        }
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        if !self.waiting_max.allows(place) {
            return Err(self.busy(LimitName::Waiting, self.waiting_max, place));
        }
        let acquire = Arc::clone(&self.free).acquire_owned();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            permit = acquire => permit.map_err(|_| {
                Refusal::new(ErrorType::EnvironmentUnavailable, "the sandbox is shutting down")
            }),
            () = at(until) => Err(self.busy(LimitName::Concurrent, self.concurrent, place)),
        }
    }

    /// A permit, if there is one now. For whoever is waited for by a call that holds one:
    /// waiting for that call to end would never end.
    ///
    /// # Errors
    ///
    /// `busy` when there is none.
    pub(crate) fn take_at_once(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let permit = Arc::clone(&self.free).try_acquire_owned();
        permit.map_err(|_| self.busy(LimitName::Concurrent, self.concurrent, 1))
    }

    /// Lets nobody in any more; waiting calls are refused.
    pub(crate) fn close(&self) {
        self.free.close();
    }

    fn busy(&self, name: LimitName, limit: Limit, used: u64) -> Refusal {
        let message = match name {
            LimitName::Waiting => format!(
                "too many calls at once: {} are running and {limit} are waiting",
                self.concurrent
            ),
            _ => format!(
                "too many calls at once: {limit} are running, and this one could not wait longer"
            ),
        };
        Refusal::new(ErrorType::Busy, message)
            .with("limit", name.as_str())
            .with("value", serde_json::json!(limit))
            .with("used", used)
            .with("setting", name.as_str())
            .for_operator(format!(
                "raise `{}`, or send fewer calls at once",
                name.as_str()
            ))
    }
}

/// The refusal of a call that was cancelled.
pub(crate) fn cancelled() -> Refusal {
    Refusal::new(ErrorType::Cancelled, "the call was cancelled")
}

/// Waits until `instant`, for ever when there is none.
pub(crate) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
