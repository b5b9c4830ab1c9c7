//! What one store holds for its call, and what happens when the call crosses a border.
//!
//! Rule (H7, H17): fuel is one figure, guest and host together; what a guest copies out
//! is bounded at each crossing. The state moves into the store and dies with it.

use bindery_grants::{CallGrants, GrantView, fuel_of};
use bindery_types::{Budget, LimitName};
use tokio::time::Instant;
use wasmtime::{CallHook, Engine, Store, StoreContextMut, UpdateDeadline};

use crate::cancel::Cancel;
use crate::leash::Leash;
use crate::limiter::Limiter;
use crate::stopwatch::Stopwatch;

/// A loop without calls tells its fuel at least this often (about a millisecond).
const FUEL_SEEN_EVERY: u64 = 1_000_000;

/// The data of a store.
pub(crate) struct CallState {
    pub(crate) grants: Box<CallGrants>,
    pub(crate) limiter: Limiter,
    pub(crate) watch: Stopwatch,
    pub(crate) leash: Leash,
    /// Everything that the call may use, for what it gives to others.
    pub(crate) limits: Budget,
    /// Bytes a guest may copy out in one host call.
    lift_max: usize,
    /// Bytes of JSON its result may have.
    output_max: usize,
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
            leash: Leash::new(budget, deadline, cancel),
            limits: budget.clone(),
            lift_max: budget.get(LimitName::Lift).or_max_usize(),
            output_max: budget.get(LimitName::Output).or_max_usize(),
        }
    }

    /// When it has to end.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.leash.deadline()
    }

    /// Bytes a guest may copy out in one host call.
    pub(crate) fn lift_max(&self) -> u64 {
        u64::try_from(self.lift_max).unwrap_or(u64::MAX)
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
        let fuel = self.leash.fuel().given();
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
        match self.leash.is_over() {
            true => UpdateDeadline::Interrupt,
            false => UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())),
        }
    }
}

/// Takes the fuel of the host's work on `bytes` of arguments out of the store, before
/// anything of the guest's runs.
///
/// # Errors
///
/// A `LimitHit` when that is more than the call may use.
pub(crate) fn charge_arguments(store: &mut Store<CallState>, bytes: u64) -> wasmtime::Result<()> {
    let (left, due) = (store.get_fuel()?, fuel_of(bytes));
    store.set_fuel(left.saturating_sub(due))?;
    let fuel = store.data().leash.fuel();
    fuel.check(fuel.used(left).saturating_add(due))?;
    Ok(())
}

/// One crossing between guest and host.
fn cross(mut store: StoreContextMut<'_, CallState>, hook: CallHook) -> wasmtime::Result<()> {
    match hook {
        CallHook::CallingWasm => store.data_mut().watch.enter_guest(),
        CallHook::ReturningFromWasm => {
            let left = store.get_fuel()?;
            let state = store.data_mut();
            state.watch.leave_guest();
            let used = state.leash.fuel().used(left);
            state.leash.set_fuel_used(used);
            let output_max = state.output_max;
            // What may follow is the lifting of the result.
            store.set_hostcall_fuel(output_max);
        }
        CallHook::CallingHost => {
            let left = store.get_fuel()?;
            let state = store.data_mut();
            let calls = state.grants.meter().host_calls();
            if state.watch.enter_host(calls) == 1 {
                let used = state.leash.fuel().used(left);
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
    let fuel = state.leash.fuel();
    let pending = state.grants.meter().take_pending_fuel();
    if pending == 0 {
        return Ok(());
    }
    let left = store.get_fuel()?;
    store.set_fuel(left.saturating_sub(pending))?;
    fuel.check(fuel.used(left).saturating_add(pending))?;
    Ok(())
}
