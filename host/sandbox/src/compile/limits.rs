//! What compiling one component may use, and the refusals when it wants more.

use std::time::Duration;

use bindery_types::{Budget, ErrorType, Limit, LimitHit, LimitName, Refusal};

/// The limits `compile_time` and `compile_memory`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompileLimits {
    /// Wall time in milliseconds.
    pub(super) time: Limit,
    /// Address space of the worker, in bytes.
    pub(super) memory: Limit,
}

impl CompileLimits {
    /// Those of `budget`.
    pub(crate) fn of(budget: &Budget) -> Self {
        Self {
            time: budget.get(LimitName::CompileTime),
            memory: budget.get(LimitName::CompileMemory),
        }
    }

    /// The wall time; a year for the word `unlimited`.
    pub(super) fn wall(self) -> Duration {
        const YEAR_MS: u64 = 365 * 24 * 3_600_000;
        Duration::from_millis(self.time.or_max().min(YEAR_MS))
    }

    /// Processor time of a worker with `threads` busy threads: what they can use within
    /// the wall time, so it ends only a worker whose parent was stopped and can't.
    pub(super) fn cpu_seconds(self, threads: usize) -> u64 {
        let threads = u64::try_from(threads).unwrap_or(u64::MAX);
        let wall = self.wall().as_secs().saturating_add(1);
        wall.saturating_mul(threads)
    }

    /// Wall or processor time ran out.
    pub(super) fn time_hit(self, elapsed: Duration) -> LimitHit {
        LimitHit {
            name: LimitName::CompileTime,
            limit: self.time,
            used: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// An allocation beyond the bound was refused: all of it counts as used.
    pub(super) fn memory_hit(self) -> LimitHit {
        LimitHit {
            name: LimitName::CompileMemory,
            limit: self.memory,
            used: self.memory.or_max(),
        }
    }
}

/// The component is the reason.
pub(super) fn invalid(why: &str) -> Refusal {
    Refusal::new(
        ErrorType::ComponentInvalid,
        format!("the component cannot be compiled: {why}"),
    )
}
