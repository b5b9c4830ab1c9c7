//! What one store holds for its call, and what happens when the call crosses a border.
//!
//! Rule (H7, H17): fuel is one figure, guest and host together; what a guest copies out
//! is bounded at each crossing. The state moves into the store and dies with it.

use bindery_grants::{CallGrants, GrantView};
use bindery_types::{Budget, Limit, LimitHit, LimitName};
use tokio::time::Instant;
use wasmtime::{CallHook, Engine, Store, StoreContextMut, UpdateDeadline};

use crate::cancel::Cancel;
use crate::limiter::Limiter;
use crate::stopwatch::Stopwatch;

/// A loop without calls tells its fuel at least this often (about a millisecond).
const FUEL_SEEN_EVERY: u64 = 1_000_000;

/// The fuel of one call: what it may use, and what the store was given for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuel {
    max: Limit,
    given: u64,
}

impl Fuel {
    fn new(budget: &Budget) -> Self {
        let max = budget.get(LimitName::Fuel);
        // The engine stops a guest that has used all it was given; the limit is the last
        // amount that may be used, so the store gets one more.
        let given = max.or_max().saturating_add(1);
        Self { max, given }
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

/// The data of a store.
pub(crate) struct CallState {
    pub(crate) grants: Box<CallGrants>,
    pub(crate) limiter: Limiter,
    pub(crate) watch: Stopwatch,
    pub(crate) fuel: Fuel,
    /// Bytes a guest may copy out in one host call.
    lift_max: usize,
    /// Bytes of JSON its result may have.
    output_max: usize,
    deadline: Option<Instant>,
    cancel: Cancel,
}

impl GrantView for CallState {
    fn grants(&mut self) -> &mut CallGrants {
        &mut self.grants
    }
}

impl CallState {
    /// The state of a call that must end by `deadline` or when cancelled.
    pub(crate) fn new(
        grants: Box<CallGrants>,
        budget: &Budget,
        deadline: Option<Instant>,
        cancel: Cancel,
    ) -> Self {
        Self {
            grants,
            limiter: Limiter::new(budget),
            watch: Stopwatch::start(),
            fuel: Fuel::new(budget),
            lift_max: budget.get(LimitName::Lift).or_max_usize(),
            output_max: budget.get(LimitName::Output).or_max_usize(),
            deadline,
            cancel,
        }
    }

    /// A store around it, every limit set.
    ///
    /// # Errors
    ///
    /// The engine's, when it has no fuel to set (it always has).
    pub(crate) fn into_store(
        self,
        engine: &Engine,
        budget: &Budget,
    ) -> wasmtime::Result<Store<Self>> {
        let fuel = self.fuel.given;
        let mut store = Store::new(engine, self);
        store.limiter(|state| &mut state.limiter);
        store.set_max_component_handles(budget.get(LimitName::Handles).or_max_usize());
        store.set_fuel(fuel)?;
        // Generated code holds its fuel in a register between calls; this writes it back
        // often enough for the receipt of a loop that is interrupted.
        store.fuel_async_yield_interval(Some(FUEL_SEEN_EVERY))?;
        // H6: the callback decides at each tick; a deadline of 0 would trap at once.
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|store| Ok(store.data().next_epoch()));
        store.call_hook(cross);
        Ok(store)
    }

    /// H6: neither `Yield` nor a fixed number of ticks: the executor's timers must run
    /// between two ticks of a guest that never ends.
    fn next_epoch(&self) -> UpdateDeadline {
        let over = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if over || self.cancel.is_cancelled() {
            return UpdateDeadline::Interrupt;
        }
        UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))
    }
}

/// One crossing between guest and host.
fn cross(mut store: StoreContextMut<'_, CallState>, hook: CallHook) -> wasmtime::Result<()> {
    match hook {
        CallHook::CallingWasm => store.data_mut().watch.enter_guest(),
        CallHook::ReturningFromWasm => {
            let state = store.data_mut();
            state.watch.leave_guest();
            let output_max = state.output_max;
            // What may follow is the lifting of the result.
            store.set_hostcall_fuel(output_max);
        }
        CallHook::CallingHost => {
            let left = store.get_fuel()?;
            let state = store.data_mut();
            let calls = state.grants.meter().host_calls();
            if state.watch.enter_host(calls) == 1 {
                let used = state.fuel.used(left);
                state.grants.meter().set_fuel_used(used);
            }
            let lift_max = state.lift_max;
            store.set_hostcall_fuel(lift_max);
        }
        CallHook::ReturningFromHost => return charge_host_work(store),
    }
    Ok(())
}

/// Takes the fuel of the host's work out of the store. Only where the outermost crossing
/// returns: inside a library call of a nested guest function the generated code holds the
/// fuel in a register and would write it back over ours.
fn charge_host_work(mut store: StoreContextMut<'_, CallState>) -> wasmtime::Result<()> {
    let state = store.data_mut();
    let calls = state.grants.meter().host_calls();
    if state.watch.leave_host(calls) > 1 {
        return Ok(());
    }
    let fuel = state.fuel;
    let pending = state.grants.meter().take_pending_fuel();
    if pending == 0 {
        return Ok(());
    }
    let left = store.get_fuel()?;
    store.set_fuel(left.saturating_sub(pending))?;
    fuel.check(fuel.used(left).saturating_add(pending))?;
    Ok(())
}
