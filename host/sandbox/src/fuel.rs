//! The fuel of one call: one figure for guest and host, exact to the unit.
//!
//! Rule (H7, R-014): the limit is the last amount that may be used.

use bindery_types::{Budget, Limit, LimitHit, LimitName};

/// The fuel of one call: what it may use, and what the store was given for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuel {
    max: Limit,
    given: u64,
}

impl Fuel {
    /// All that `budget` allows.
    pub(crate) fn new(budget: &Budget) -> Self {
        let max = budget.get(LimitName::Fuel);
        // The engine stops a guest that has used all it was given; the limit is the last
        // amount that may be used, so the store gets one more.
        let given = max.or_max().saturating_add(1);
        Self { max, given }
    }

    /// What the store is given.
    pub(crate) fn given(self) -> u64 {
        self.given
    }

    /// The fuel used when `left` is left in the store.
    pub(crate) fn used(self, left: u64) -> u64 {
        self.given.saturating_sub(left)
    }

    /// Whether `used` is within the limit.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when it is not.
    pub(crate) fn check(self, used: u64) -> Result<(), LimitHit> {
        match self.max.allows(used) {
            true => Ok(()),
            false => Err(self.exhausted(used)),
        }
    }

    /// The limit as it is named when `used` was too much.
    pub(crate) fn exhausted(self, used: u64) -> LimitHit {
        LimitHit {
            name: LimitName::Fuel,
            limit: self.max,
            used,
        }
    }
}
