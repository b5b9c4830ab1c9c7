//! What compiling one component may use, and the refusals when it wants more.
//!
//! Rule (B8): `compile_time` is processor time, all threads together, so that a machine
//! with other work to do refuses nothing that an idle one compiles. The wall clock only
//! ends what makes no progress: it is [`WALL_PER_PROCESSOR`] times as much.

use std::time::Duration;

use bindery_types::{Budget, ErrorType, Limit, LimitHit, LimitName, Refusal};

/// Wall time allowed for each unit of processor time.
const WALL_PER_PROCESSOR: u64 = 5;

/// Which of the two clocks ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Processor time: the component is too much work.
    Processor,
    /// Wall time: the machine was too busy, or the compiler stood still.
    Wall,
}

/// The limits `compile_time` and `compile_memory`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompileLimits {
    /// Processor time in milliseconds.
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

    /// The wall time, which follows from the processor time; none at all for a limit of 0.
    pub(super) fn wall(self) -> Duration {
        match self.processor_ms() {
            0 => Duration::ZERO,
            _ => Duration::from_secs(self.processor_seconds().saturating_mul(WALL_PER_PROCESSOR)),
        }
    }

    /// The processor time of a worker; the system counts whole seconds.
    pub(super) fn processor_seconds(self) -> u64 {
        self.processor_ms().div_ceil(1_000).max(1)
    }

    /// A year for the word `unlimited`.
    fn processor_ms(self) -> u64 {
        const YEAR_MS: u64 = 365 * 24 * 3_600_000;
        self.time.or_max().min(YEAR_MS)
    }

    /// `clock` ran out, `elapsed` after the start.
    pub(super) fn time_hit(self, clock: Clock, elapsed: Duration) -> Refusal {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (name, used) = match clock {
            Clock::Processor => ("processor", self.processor_seconds().saturating_mul(1_000)),
            Clock::Wall => ("wall", ms(elapsed)),
        };
        let hit = LimitHit {
            name: LimitName::CompileTime,
            limit: self.time,
            used,
        };
        let refusal = Refusal::from(hit).with("clock", name);
        match clock {
            Clock::Processor => refusal,
            Clock::Wall => refusal
                .with("wall_limit", ms(self.wall()))
                .for_operator(format!(
                    "the compile did not end within {WALL_PER_PROCESSOR} times its processor time: \
                 try again when the machine has less to do, or raise `--limit compile_time=VALUE`"
                )),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(ms: u64) -> CompileLimits {
        let budget = Budget::default().with(LimitName::CompileTime, ms);
        CompileLimits::of(&budget.unwrap())
    }

    #[test]
    fn the_wall_clock_follows_from_the_processor_time_and_each_refusal_names_its_clock() {
        let limits = limits(1_500);
        assert_eq!(limits.processor_seconds(), 2);
        assert_eq!(limits.wall(), Duration::from_secs(10));
        let elapsed = Duration::from_millis(10_001);
        for (clock, name, used) in [
            (Clock::Processor, "processor", 2_000),
            (Clock::Wall, "wall", 10_001),
        ] {
            let refusal = limits.time_hit(clock, elapsed);
            assert_eq!(refusal.kind(), ErrorType::BudgetExhausted);
            let details = refusal.details();
            assert_eq!(details["limit"], "compile_time");
            assert_eq!(
                (&details["clock"], &details["used"]),
                (&name.into(), &used.into())
            );
            assert_eq!(details.contains_key("wall_limit"), clock == Clock::Wall);
        }
    }

    #[test]
    fn no_time_is_the_least_the_system_counts_and_unlimited_is_a_year() {
        assert_eq!(limits(0).processor_seconds(), 1);
        assert_eq!(limits(0).wall(), Duration::ZERO);
        let mut budget = Budget::default();
        budget
            .set(LimitName::CompileTime, Limit::Unlimited)
            .unwrap();
        assert_eq!(CompileLimits::of(&budget).processor_seconds(), 31_536_000);
    }
}
