//! The limiter: what one call may hold of memories, tables and instances.
//!
//! Rule (H16): memory is one sum over all memories of the call; what a guest is refused
//! is recorded, so that the trap that usually follows is named by its cause and not by
//! its symptom.

use bindery_types::{Budget, Limit, LimitHit, LimitName};
use wasmtime::ResourceLimiter;

use crate::engine::{MEMORY_SLOT_BYTES, TABLE_SLOT_ELEMENTS};

/// Counts and bounds the growth of one store.
#[derive(Debug)]
pub(crate) struct Limiter {
    /// Sum of all memories now, in bytes.
    memory_now: u64,
    /// Highest sum so far, in bytes.
    memory_peak: u64,
    /// Highest sum allowed, in bytes.
    memory_max: u64,
    /// Growth granted last, in bytes; taken back should the engine fail to do it.
    granted: u64,
    /// Sum before the growth granted last was added to the peak.
    peak_before: u64,
    table_elements_max: u64,
    instances_max: usize,
    memories_max: usize,
    tables_max: usize,
    refused: Option<LimitHit>,
}

impl Limiter {
    /// A limiter for one call under `budget`.
    pub(crate) fn new(budget: &Budget) -> Self {
        let slot = |name: LimitName, slot: usize| {
            let slot = u64::try_from(slot).unwrap_or(u64::MAX);
            budget.get(name).or_max().min(slot)
        };
        Self {
            memory_now: 0,
            memory_peak: 0,
            memory_max: slot(LimitName::Memory, MEMORY_SLOT_BYTES),
            granted: 0,
            peak_before: 0,
            table_elements_max: slot(LimitName::TableElements, TABLE_SLOT_ELEMENTS),
            instances_max: budget.get(LimitName::Instances).or_max_usize(),
            memories_max: budget.get(LimitName::Memories).or_max_usize(),
            tables_max: budget.get(LimitName::Tables).or_max_usize(),
            refused: None,
        }
    }

    /// Sum of all memories now, in bytes.
    pub(crate) fn memory_now(&self) -> u64 {
        self.memory_now
    }

    /// Highest sum of all memories, in bytes.
    pub(crate) fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    /// The growth that was refused last, if any was.
    pub(crate) fn refused(&self) -> Option<LimitHit> {
        self.refused
    }

    fn refuse(&mut self, name: LimitName, limit: u64, used: u64) -> bool {
        self.refused = Some(LimitHit {
            name,
            limit: Limit::Finite(limit),
            used,
        });
        false
    }
}

fn bytes(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let growth = bytes(desired.saturating_sub(current));
        let sum = self.memory_now.saturating_add(growth);
        if sum > self.memory_max {
            return Ok(self.refuse(LimitName::Memory, self.memory_max, sum));
        }
        self.granted = growth;
        self.peak_before = self.memory_peak;
        self.memory_now = sum;
        self.memory_peak = self.memory_peak.max(sum);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        // The engine (a module's own maximum, the pool's slot) said no after us: nothing
        // grew. It may call this without having asked us, hence the reset to 0.
        self.memory_now = self.memory_now.saturating_sub(self.granted);
        if self.granted > 0 {
            self.memory_peak = self.peak_before;
        }
        self.granted = 0;
        Ok(())
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let desired = bytes(desired);
        Ok(desired <= self.table_elements_max
            || self.refuse(LimitName::TableElements, self.table_elements_max, desired))
    }

    fn instances(&self) -> usize {
        self.instances_max
    }

    fn tables(&self) -> usize {
        self.tables_max
    }

    fn memories(&self) -> usize {
        self.memories_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 64 << 10;

    fn limiter(pages: u64) -> Limiter {
        Limiter::new(
            &Budget::default()
                .with(LimitName::Memory, pages << 16)
                .unwrap(),
        )
    }

    #[test]
    fn memory_is_one_sum_over_all_memories() {
        let mut limiter = limiter(4);
        assert!(limiter.memory_growing(0, 2 * PAGE, None).unwrap());
        assert!(
            limiter.memory_growing(0, 2 * PAGE, None).unwrap(),
            "exactly the limit"
        );
        assert!(
            !limiter.memory_growing(2 * PAGE, 3 * PAGE, None).unwrap(),
            "H16"
        );
        let hit = limiter.refused().unwrap();
        assert_eq!((hit.name, hit.used), (LimitName::Memory, 5 << 16));
        assert_eq!(limiter.memory_peak(), 4 << 16);
    }

    #[test]
    fn growth_that_the_engine_fails_to_do_is_taken_back_once() {
        let mut limiter = limiter(4);
        assert!(limiter.memory_growing(0, PAGE, None).unwrap());
        assert!(limiter.memory_growing(PAGE, 4 * PAGE, None).unwrap());
        limiter
            .memory_grow_failed(wasmtime::Error::msg("no"))
            .unwrap();
        limiter
            .memory_grow_failed(wasmtime::Error::msg("no"))
            .unwrap();
        assert_eq!(
            (limiter.memory_now, limiter.memory_peak()),
            (1 << 16, 1 << 16)
        );
        assert!(limiter.memory_growing(PAGE, 4 * PAGE, None).unwrap());
    }
}
