//! Cancelling a call: a switch that turns once, shared by whoever may turn it.
//!
//! Rule (H21): a cancelled call ends at its next epoch or await; what it did stays in its
//! receipt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The switch of one call (or of several that end together). Clones are the same switch.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    waiting: Notify,
}

impl Cancel {
    /// A switch that nobody has turned yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns it; calls that use it end with `cancelled`.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
        self.shared.waiting.notify_waiters();
    }

    /// Whether it was turned.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire)
    }

    /// Waits until it is turned.
    pub async fn cancelled(&self) {
        // Registered before looking, so a turn in between is not missed.
        let mut turned = std::pin::pin!(self.shared.waiting.notified());
        turned.as_mut().enable();
        if !self.is_cancelled() {
            turned.await;
        }
    }
}
