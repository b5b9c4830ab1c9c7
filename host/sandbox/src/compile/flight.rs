//! One load per digest at a time: whoever asks for what is being loaded waits for it.
//!
//! Rule (D4): twenty loads of one component compile once; two components do not wait for
//! each other. The load lives as long as somebody waits for it: when the last one is
//! cancelled it is aborted, its worker killed. A failure is told to all who waited and
//! remembered by nobody.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bindery_types::{ErrorType, Refusal};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing::Instrument as _;

type Outcome<V> = Result<V, Refusal>;

/// The loads in progress.
pub(super) struct Flights<K, V> {
    /// Guards the list of flights; held for map operations only, never over an await.
    in_progress: Mutex<HashMap<K, Weak<Flight<V>>>>,
}

struct Flight<V> {
    task: AbortHandle,
    outcome: watch::Receiver<Option<Outcome<V>>>,
}

impl<V> Drop for Flight<V> {
    /// Nobody waits any more; a load that is done is not touched by this.
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<K, V> Flights<K, V>
where
    K: Copy + Eq + Hash,
    V: Clone + Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        Self {
            in_progress: Mutex::new(HashMap::new()),
        }
    }

    /// The outcome of the load of `key` that is in progress, else of the one `start` makes.
    pub(super) async fn join<F>(&self, key: K, start: impl FnOnce() -> F) -> Outcome<V>
    where
        F: Future<Output = Outcome<V>> + Send + 'static,
    {
        let flight = self.board(key, start);
        let mut outcome = flight.outcome.clone();
        match outcome.wait_for(Option::is_some).await {
            Ok(landed) => landed.clone().unwrap_or_else(|| Err(lost())),
            // The task ended without an outcome: it panicked, or the runtime shuts down.
            Err(_) => Err(lost()),
        }
    }

    fn board<F>(&self, key: K, start: impl FnOnce() -> F) -> Arc<Flight<V>>
    where
        F: Future<Output = Outcome<V>> + Send + 'static,
    {
        let mut flights = self
            .in_progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        flights.retain(|_, flight| flight.upgrade().is_some_and(|flight| flight.is_open()));
        if let Some(flight) = flights.get(&key).and_then(Weak::upgrade) {
            return flight;
        }
        let (land, outcome) = watch::channel(None);
        let load = start();
        let task = async move {
            let landed = load.await;
            // Whoever waited may be gone.
            let _unwanted = land.send(Some(landed));
        };
        let task = tokio::spawn(task.in_current_span()).abort_handle();
        let flight = Arc::new(Flight { task, outcome });
        flights.insert(key, Arc::downgrade(&flight));
        flight
    }
}

impl<V> Flight<V> {
    /// Whether it can still be joined: neither landed nor lost.
    fn is_open(&self) -> bool {
        self.outcome.borrow().is_none() && !self.task.is_finished()
    }
}

fn lost() -> Refusal {
    Refusal::new(ErrorType::Internal, "loading the component was interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[tokio::test]
    async fn d4_many_joins_share_one_load_and_its_failure_is_forgotten() {
        let flights = Flights::<u8, u32>::new();
        let count = Arc::new(AtomicU32::new(0));
        let load = || {
            let count = count.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let now = count.fetch_add(1, Ordering::SeqCst) + 1;
                if now == 1 {
                    Err(Refusal::new(ErrorType::Busy, "first"))
                } else {
                    Ok(now)
                }
            }
        };
        let (a, b, c) = tokio::join!(
            flights.join(1, load),
            flights.join(1, load),
            flights.join(1, load)
        );
        assert!(a.is_err() && b.is_err() && c.is_err());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(flights.join(1, load).await, Ok(2));
        let (a, b) = tokio::join!(flights.join(2, load), flights.join(3, load));
        assert!(a.is_ok() && b.is_ok());
        assert_eq!(count.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn a_load_ends_with_the_last_who_waits_and_not_before() {
        struct Gone(Arc<AtomicU32>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let flights = Arc::new(Flights::<u8, u32>::new());
        let gone = Arc::new(AtomicU32::new(0));
        let join = || {
            let (flights, guard) = (flights.clone(), Gone(gone.clone()));
            tokio::spawn(async move {
                let load = || async move {
                    let _guard = guard;
                    std::future::pending::<Outcome<u32>>().await
                };
                flights.join(1, load).await
            })
        };
        let (first, second) = (join(), join());
        tokio::time::sleep(Duration::from_millis(20)).await;
        first.abort();
        tokio::time::sleep(Duration::from_millis(20)).await;
        // The second join's own guard was never used: only that one is gone.
        assert_eq!(gone.load(Ordering::SeqCst), 1);
        second.abort();
        while gone.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
