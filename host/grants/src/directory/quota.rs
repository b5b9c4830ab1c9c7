//! What one directory grant may still be changed by, in bytes and entries.
//!
//! Rule (H25, X11): charged before the change, on the thread that makes it; what a change
//! did not use is given back. A guest that meets the limit gets the error `quota` and may
//! go on; the limit is remembered for the receipt.

use std::sync::Mutex;
use std::sync::PoisonError;

use bindery_types::{Budget, Limit, LimitHit, LimitName};

/// A counter with a bound.
#[derive(Debug)]
pub(super) struct Quota {
    name: LimitName,
    limit: Limit,
    /// Guards the figures: streams of one grant write on several threads.
    figures: Mutex<Figures>,
}

#[derive(Debug, Default)]
struct Figures {
    used: u64,
    /// The first use that was too much, if any was.
    refused: Option<u64>,
}

/// Nothing is left of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the limit `{}` of this directory is reached", .0.name.as_str())]
pub(crate) struct Spent(pub(crate) LimitHit);

impl Quota {
    pub(super) fn new(name: LimitName, budget: &Budget) -> Self {
        Self {
            name,
            limit: budget.get(name),
            figures: Mutex::default(),
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Figures) -> R) -> R {
        // Every change is complete when the lock is released, so a poisoned one is sound.
        act(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn left(&self) -> u64 {
        self.with(|figures| self.limit.or_max().saturating_sub(figures.used))
    }

    /// Takes `amount`, or nothing and remembers what was asked.
    pub(super) fn take(&self, amount: u64) -> Result<(), Spent> {
        self.with(|figures| {
            let used = figures.used.saturating_add(amount);
            if self.limit.allows(used) {
                figures.used = used;
                return Ok(());
            }
            let used = *figures.refused.get_or_insert(used);
            Err(Spent(self.hit(used)))
        })
    }

    /// Takes `amount` or, of that, what is left; nothing left is an error, unless nothing
    /// was asked.
    pub(super) fn take_some(&self, amount: u64) -> Result<u64, Spent> {
        let some = amount.min(self.left());
        match some {
            0 if amount > 0 => self.take(amount).map(|()| amount),
            _ => self.take(some).map(|()| some),
        }
    }

    /// What was taken and not used.
    pub(super) fn give_back(&self, amount: u64) {
        self.with(|figures| figures.used = figures.used.saturating_sub(amount));
    }

    /// The limit, if the guest met it.
    pub(super) fn met(&self) -> Option<LimitHit> {
        self.with(|figures| figures.refused.map(|used| self.hit(used)))
    }

    fn hit(&self, used: u64) -> LimitHit {
        LimitHit {
            name: self.name,
            limit: self.limit,
            used,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(limit: u64) -> Quota {
        let budget = Budget::default()
            .with(LimitName::WrittenBytes, limit)
            .unwrap();
        Quota::new(LimitName::WrittenBytes, &budget)
    }

    #[test]
    fn the_last_byte_of_a_quota_passes_and_the_next_is_remembered() {
        let quota = quota(10);
        assert_eq!(quota.take(10), Ok(()));
        assert_eq!(quota.met(), None, "reaching a limit is not meeting it");
        let Spent(hit) = quota.take(1).unwrap_err();
        assert_eq!((hit.name, hit.used), (LimitName::WrittenBytes, 11), "U5");
        assert_eq!(quota.met(), Some(hit));
    }

    #[test]
    fn a_short_write_takes_what_is_left_and_then_there_is_nothing() {
        let quota = quota(10);
        assert_eq!(quota.take_some(7), Ok(7));
        assert_eq!(quota.take_some(7), Ok(3));
        assert!(quota.take_some(7).is_err());
        assert_eq!(quota.take_some(0), Ok(0), "nothing can always be written");
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let quota = quota(10);
        assert_eq!(quota.take(10), Ok(()));
        quota.give_back(4);
        assert_eq!((quota.left(), quota.take(4)), (4, Ok(())));
    }
}
