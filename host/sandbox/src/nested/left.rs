//! What a call has left to give to a call that it makes (R-662, architecture § 6).
//!
//! Rule: nothing here is more than what the caller could still use by itself, so work that
//! is split over nested calls gains nothing.

use bindery_types::{Budget, Limit, LimitHit, LimitName};
use tokio::time::Instant;

use crate::state::CallState;

impl CallState {
    /// The budget of a nested call, when `fuel_left` is in the store.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when calls may not be nested deeper.
    pub(crate) fn left(&mut self, fuel_left: u64) -> Result<Budget, LimitHit> {
        let depth = self.limits.get(LimitName::NestedDepth);
        if !depth.allows(1) {
            return Err(LimitHit {
                name: LimitName::NestedDepth,
                limit: depth,
                used: 1,
            });
        }
        let used = self.grants.nested_use();
        let pending = self.grants.meter().pending_fuel();
        let fuel = self.leash.fuel().used(fuel_left).saturating_add(pending);
        let waited = self.deadline().map_or(Limit::Unlimited, |until| {
            let left = until.saturating_duration_since(Instant::now());
            Limit::Finite(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
        });
        let rows = [
            (LimitName::NestedDepth, 1),
            (LimitName::Fuel, fuel),
            (LimitName::Memory, self.limiter.memory_now()),
            (LimitName::HostCalls, self.grants.meter().host_calls()),
            (LimitName::Output, used.bytes_out),
            (LimitName::EgressBytes, used.egress_bytes),
        ];
        let mut left = Budget::default();
        for (name, used) in rows {
            set(&mut left, name, less(self.limits.get(name), used));
        }
        set(&mut left, LimitName::Deadline, waited);
        Ok(left)
    }
}

fn less(limit: Limit, used: u64) -> Limit {
    match limit {
        Limit::Finite(max) => Limit::Finite(max.saturating_sub(used)),
        Limit::Unlimited => Limit::Unlimited,
    }
}

/// What is left of a limit is within its ceiling, as the limit was.
fn set(budget: &mut Budget, name: LimitName, limit: Limit) {
    if budget.set(name, limit).is_err() {
        let ceiling = name.ceiling().unwrap_or(0);
        let _within = budget.set(name, Limit::Finite(ceiling));
    }
}
