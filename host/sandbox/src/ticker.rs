//! The ticker: an OS thread that moves the engine's epoch once a millisecond.
//!
//! Rule (H6, B2): no guest can keep it from ticking, so it lives outside every executor;
//! it holds the engine weakly and ends with it, and it sleeps while nothing runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use bindery_types::{ErrorType, Refusal};
use wasmtime::{Engine, EngineWeak};

/// Time between two ticks; the granularity of every deadline inside guest code.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// How often an idle ticker looks whether its engine is gone, should nobody wake it.
const IDLE_LOOK: Duration = Duration::from_secs(1);

/// The ticker of one engine. Dropping it wakes the thread, which ends when the engine is
/// gone.
#[derive(Debug)]
pub(crate) struct Ticker {
    /// Calls in progress; the epoch stands still at 0.
    running: Arc<AtomicUsize>,
    thread: Thread,
}

impl Ticker {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// [`Refusal`] when the host gives no thread.
    pub(crate) fn start(engine: &Engine) -> Result<Self, Refusal> {
        let running = Arc::new(AtomicUsize::new(0));
        let (seen, weak) = (Arc::clone(&running), engine.weak());
        let handle = std::thread::Builder::new()
            .name("bindery-ticker".to_owned())
            .spawn(move || tick(&weak, &seen))
            .map_err(|error| {
                Refusal::new(
                    ErrorType::EnvironmentUnavailable,
                    "the host gives no thread for the ticker",
                )
                .for_operator(error.to_string())
            })?;
        Ok(Self {
            running,
            thread: handle.thread().clone(),
        })
    }

    /// Keeps the epoch moving while the guard lives.
    pub(crate) fn running(&self) -> Ticking {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Ticking(Arc::clone(&self.running))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.thread.unpark();
    }
}

/// One call in progress.
#[derive(Debug)]
pub(crate) struct Ticking(Arc<AtomicUsize>);

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tick(engine: &EngineWeak, running: &AtomicUsize) {
    loop {
        match running.load(Ordering::Acquire) {
            0 => std::thread::park_timeout(IDLE_LOOK),
            _ => std::thread::sleep(TICK),
        }
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_ends_when_the_engine_is_dropped() {
        let engine = Engine::default();
        let (weak, ticker) = (engine.weak(), Ticker::start(&engine).unwrap());
        let running = Arc::downgrade(&ticker.running);
        let guard = ticker.running();
        drop((engine, guard, ticker));
        for _ in 0..1_000 {
            if running.upgrade().is_none() {
                assert!(weak.upgrade().is_none(), "B2: no engine is kept alive");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("B2: the ticker outlived its engine by 10 s");
    }
}
