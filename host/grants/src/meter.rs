//! The meter of one call: host calls, the host's work in fuel, effects.
//!
//! Rule (H7): nothing the host does for a guest is free. Every import wrapper calls
//! [`Meter::enter`] first and [`Meter::work`] for the bytes it moves; the sandbox's call
//! hook sets [`Meter::fuel_used`] on the way in and takes [`Meter::take_pending_fuel`] out
//! of the store's fuel on the way out, so the receipt's fuel is one figure.

use bindery_types::{Budget, Effect, EffectKind, EffectTrace, Limit, LimitHit, LimitName};

/// Fuel for one host call, whatever it does.
pub const CALL_FUEL: u64 = 1_000;
/// Fuel for each KiB that the host copies, reads or writes for the guest.
pub const KIB_FUEL: u64 = 1_000;

/// Fuel for the host's work on `bytes`.
pub fn fuel_of(bytes: u64) -> u64 {
    bytes.div_ceil(1_024).saturating_mul(KIB_FUEL)
}

/// Counts and bounds what the host does for one call.
#[derive(Debug)]
pub struct Meter {
    host_calls: u64,
    host_calls_max: Limit,
    fuel_max: Limit,
    fuel_used: u64,
    fuel_pending: u64,
    trace: EffectTrace,
}

impl Meter {
    /// A meter for one call under `budget`.
    pub fn new(budget: &Budget) -> Self {
        Self {
            host_calls: 0,
            host_calls_max: budget.get(LimitName::HostCalls),
            fuel_max: budget.get(LimitName::Fuel),
            fuel_used: 0,
            fuel_pending: 0,
            trace: EffectTrace::default(),
        }
    }

    /// One host call begins.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when it is one too many, or its fuel is more than is left.
    pub fn enter(&mut self) -> Result<(), LimitHit> {
        self.host_calls = self.host_calls.saturating_add(1);
        if !self.host_calls_max.allows(self.host_calls) {
            return Err(LimitHit {
                name: LimitName::HostCalls,
                limit: self.host_calls_max,
                used: self.host_calls,
            });
        }
        self.charge(CALL_FUEL)
    }

    /// The host moves `bytes` for the guest.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when the fuel for it is more than is left.
    pub fn work(&mut self, bytes: u64) -> Result<(), LimitHit> {
        self.charge(fuel_of(bytes))
    }

    /// A nested call used so much: fuel and host calls are one figure for the tree.
    ///
    /// # Errors
    ///
    /// [`LimitHit`] when it is more than is left.
    pub fn nested(&mut self, fuel: u64, host_calls: u64) -> Result<(), LimitHit> {
        self.host_calls = self.host_calls.saturating_add(host_calls);
        self.charge(fuel)
    }

    fn charge(&mut self, fuel: u64) -> Result<(), LimitHit> {
        self.fuel_pending = self.fuel_pending.saturating_add(fuel);
        let used = self.fuel_used.saturating_add(self.fuel_pending);
        match self.fuel_max.allows(used) {
            true => Ok(()),
            false => Err(LimitHit {
                name: LimitName::Fuel,
                limit: self.fuel_max,
                used,
            }),
        }
    }

    /// Reports one effect, at the fuel used so far; its place in the trace, if it is kept.
    pub fn note(
        &mut self,
        kind: EffectKind,
        resource: impl Into<String>,
        bytes: u64,
    ) -> Option<usize> {
        let at_fuel = self.fuel_used.saturating_add(self.fuel_pending);
        self.trace.push(Effect {
            kind,
            resource: resource.into(),
            bytes,
            at_fuel,
        })
    }

    /// The effect noted at `place`, for what is known of it only later.
    pub fn noted(&mut self, place: usize) -> Option<&mut Effect> {
        self.trace.get_mut(place)
    }

    /// Notes an effect unless the last one is the same: looking at a file and opening it
    /// is one thing done to it.
    pub(crate) fn note_again(&mut self, kind: EffectKind, resource: String) -> Option<usize> {
        let last = self.trace.effects().last();
        match last.is_some_and(|last| last.kind == kind && last.resource == resource) {
            true => self.trace.effects().len().checked_sub(1),
            false => self.note(kind, resource, 0),
        }
    }

    /// Takes back the effect just noted: what it announced did not happen.
    pub(crate) fn retract(&mut self, place: Option<usize>) {
        if let Some(place) = place {
            self.trace.retract(place);
        }
    }

    /// More bytes of an effect already noted, if it was kept.
    pub fn moved(&mut self, place: Option<usize>, bytes: u64) {
        if let Some(effect) = place.and_then(|place| self.noted(place)) {
            effect.bytes = effect.bytes.saturating_add(bytes);
        }
    }

    /// Host calls so far.
    pub fn host_calls(&self) -> u64 {
        self.host_calls
    }

    /// Sets the fuel the store has used, as read when the guest entered the host.
    pub fn set_fuel_used(&mut self, fuel: u64) {
        self.fuel_used = fuel;
    }

    /// The host's fuel that the store has not been charged for yet; it is now.
    pub fn take_pending_fuel(&mut self) -> u64 {
        std::mem::take(&mut self.fuel_pending)
    }

    /// The host's fuel that the store has not been charged for yet.
    pub fn pending_fuel(&self) -> u64 {
        self.fuel_pending
    }

    /// The effects so far, taken out at the end of the call.
    pub fn take_trace(&mut self) -> EffectTrace {
        std::mem::take(&mut self.trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_host_calls_cost_more_fuel_than_ten() {
        let cost = |calls: u64| {
            let mut meter = Meter::new(&Budget::default());
            (0..calls).for_each(|_| meter.enter().unwrap());
            meter.take_pending_fuel()
        };
        assert_eq!(cost(10), 10 * CALL_FUEL, "H7");
        assert_eq!(cost(10_000), 10_000 * CALL_FUEL, "H7");
    }

    #[test]
    fn the_last_host_call_of_the_limit_passes_and_the_next_names_it() {
        let budget = Budget::default().with(LimitName::HostCalls, 2).unwrap();
        let mut meter = Meter::new(&budget);
        assert!(meter.enter().is_ok() && meter.enter().is_ok());
        let hit = meter.enter().unwrap_err();
        assert_eq!((hit.name, hit.used), (LimitName::HostCalls, 3));
    }
}
