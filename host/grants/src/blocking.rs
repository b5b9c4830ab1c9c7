//! Operations that block a thread: bounded for the whole process, and accounted for when
//! their call is gone.
//!
//! Rule (H25, H34, H44): at most [`THREADS_MAX`] threads block for guests at once; who
//! waits for one waits inside its call's deadline. An operation that began runs to its
//! end even when the call is cancelled: a write that does is counted until it has ended,
//! so that the outcome of the call can say what is not known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::shared::Shared;

/// Threads of the process that block for guests at once.
const THREADS_MAX: usize = 64;

/// The permits; a process has one set, since its threads are one set.
fn permits() -> Arc<Semaphore> {
    static PERMITS: std::sync::OnceLock<Arc<Semaphore>> = std::sync::OnceLock::new();
    Arc::clone(PERMITS.get_or_init(|| Arc::new(Semaphore::new(THREADS_MAX))))
}

/// One thread that may block.
#[derive(Debug)]
pub(crate) struct Permit {
    _held: OwnedSemaphorePermit,
}

impl Permit {
    /// One that is free now.
    pub(crate) fn now() -> Option<Self> {
        let held = permits().try_acquire_owned().ok()?;
        Some(Self { _held: held })
    }

    /// The next that is free.
    pub(crate) async fn next() -> Result<Self, Lost> {
        let held = permits().acquire_owned().await.map_err(|_| Lost)?;
        Ok(Self { _held: held })
    }
}

/// What an operation does to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Read,
    Write,
}

/// The writes of one call that have begun and not ended.
#[derive(Debug)]
pub(crate) struct InFlight(Shared<Writes>);

#[derive(Debug, Default)]
struct Writes {
    running: AtomicUsize,
    ended: Notify,
}

/// Held by a write while it runs; dropped with it, however it ends.
struct Running(Arc<Writes>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.ended.notify_waiters();
    }
}

impl Default for InFlight {
    fn default() -> Self {
        Self(Shared::new())
    }
}

impl Clone for InFlight {
    /// Both count the same writes, those of before included.
    fn clone(&self) -> Self {
        Self(Shared::of(Arc::clone(self.0.get(Writes::default))))
    }
}

impl InFlight {
    pub(crate) fn writes(&self) -> usize {
        let made = self.0.made();
        made.map_or(0, |writes| writes.running.load(Ordering::Acquire))
    }

    pub(crate) async fn wait(&self, bound: Duration) -> usize {
        let writes = self.0.get(Writes::default);
        let all_ended = async {
            loop {
                let ended = writes.ended.notified();
                if self.writes() == 0 {
                    return;
                }
                ended.await;
            }
        };
        // Nothing is lost when the bound comes first: the count is what is asked for.
        tokio::time::timeout(bound, all_ended).await.ok();
        self.writes()
    }

    fn begin(&self, act: Act) -> Option<Running> {
        (act == Act::Write).then(|| {
            let writes = self.0.get(Writes::default);
            writes.running.fetch_add(1, Ordering::AcqRel);
            Running(Arc::clone(writes))
        })
    }

    /// Runs `body` on a thread of its own as soon as one is free, and waits for it.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        act: Act,
        body: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Lost> {
        let permit = Permit::next().await?;
        self.spawn(act, permit, body).end().await
    }

    /// Starts `body` on the thread that `permit` stands for.
    pub(crate) fn spawn<R: Send + 'static>(
        &self,
        act: Act,
        permit: Permit,
        body: impl FnOnce() -> R + Send + 'static,
    ) -> Task<R> {
        let running = self.begin(act);
        Task(tokio::task::spawn_blocking(move || {
            let result = body();
            drop((running, permit));
            result
        }))
    }
}

/// An operation that was started. Dropped before it began, it never begins; dropped
/// after, it runs to its end unobserved.
#[derive(Debug)]
pub(crate) struct Task<R>(JoinHandle<R>);

impl<R> Task<R> {
    /// Its result; may be asked again when the waiting was given up.
    pub(crate) async fn end(&mut self) -> Result<R, Lost> {
        (&mut self.0).await.map_err(|_| Lost)
    }
}

impl<R> Drop for Task<R> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The thread is gone: the runtime is shutting down, or the operation panicked (H23).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host could not finish a file operation")]
pub(crate) struct Lost;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_whose_call_is_gone_is_counted_until_it_ends() {
        let in_flight = InFlight::default();
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = std::sync::mpsc::channel::<()>();
        let permit = Permit::next().await.unwrap();
        let task = in_flight.spawn(Act::Write, permit, move || {
            begun.send(()).unwrap();
            gate.recv().ok();
        });
        begins.recv().unwrap();
        drop(task);
        assert_eq!(in_flight.wait(Duration::from_millis(1)).await, 1, "H25");
        open.send(()).unwrap();
        assert_eq!(in_flight.wait(Duration::from_secs(10)).await, 0, "H25");
    }

    #[tokio::test]
    async fn a_read_leaves_nothing_uncertain() {
        let in_flight = InFlight::default();
        assert_eq!(in_flight.run(Act::Read, || 7).await, Ok(7));
        assert_eq!(in_flight.writes(), 0);
    }

    #[tokio::test]
    async fn an_operation_that_panics_is_an_error_of_its_call_only() {
        let in_flight = InFlight::default();
        let lost = in_flight.run(Act::Write, || panic!("on purpose")).await;
        assert_eq!(lost, Err::<(), _>(Lost), "H23");
        assert_eq!(in_flight.writes(), 0, "H23");
        assert_eq!(in_flight.run(Act::Read, || 1).await, Ok(1));
    }
}
