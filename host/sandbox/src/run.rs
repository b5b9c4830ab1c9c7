//! One call: from a permit to an outcome with its receipt, in a straight line.
//!
//! Rule (H20, H21, H23): refused before anything is started whatever can be; then a fresh
//! store, one attempt, everything dropped, whatever happened. Arguments are checked before
//! any instance exists. Dropping the future at any await is safe.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bindery_grants::endpoint::Denial;
use bindery_grants::{CallGrants, Grants};
use bindery_json::tape::Tape;
use bindery_types::{
    Budget, ErrorType, Function, Limit, LimitHit, LimitName, LimitsInForce, Outcome, Receipt,
    Refusal, Run,
};
use tokio::time::Instant;
use tracing::Span;
use wasmtime::component::ComponentExportIndex;
use wasmtime::{Engine, Store};

use crate::abi::{self, Lifted};
use crate::cancel::Cancel;
use crate::checked::Checked;
use crate::faults::{Circumstances, Ended, explain, fault};
use crate::loaded::Prepared;
use crate::permits::{Permits, at, cancelled};
use crate::state::{CallState, charge_arguments};
use crate::ticker::Ticker;

/// How long a call that was stopped waits for writes of the host already under way.
const WRITES_END_WITHIN: Duration = Duration::from_secs(1);

/// What a sandbox lends to each call.
pub(crate) struct Host<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) permits: &'a Permits,
    pub(crate) started: &'a AtomicU64,
    pub(crate) ticker: &'a Ticker,
}

/// What is asked of a call.
pub(crate) struct Ask<'a> {
    pub(crate) checked: Checked,
    pub(crate) grants: Grants,
    pub(crate) budget: &'a Budget,
    pub(crate) cancel: &'a Cancel,
    /// Whether a call that runs waits for this one: it must not wait for that.
    pub(crate) nested: bool,
}

/// A call that may start: everything that can be looked at without it is.
struct Ready<'a> {
    function: &'a Function,
    tape: &'a Tape,
    arguments_bytes: u64,
    prepared: &'a Prepared,
    export: &'a ComponentExportIndex,
}

/// How a call that was started ended, with what remains of it.
struct End {
    outcome: Outcome,
    state: CallState,
    fuel_used: u64,
}

/// Runs one call.
pub(crate) async fn run(host: &Host<'_>, mut ask: Ask<'_>) -> Run {
    let patience = deadline(ask.budget);
    let permit = match ask.nested {
        true => host.permits.take_at_once(),
        false => host.permits.take(patience, ask.cancel).await,
    };
    let permit = match permit {
        Ok(permit) => permit,
        Err(refusal) => return Run::refused(refusal),
    };
    let grants = std::mem::take(&mut ask.grants);
    let ready = match ready(host, &ask, &grants) {
        Ok(ready) => ready,
        Err(refusal) => return Run::refused(refusal),
    };
    let _ticking = host.ticker.running();
    let run = started(host, &ask, grants, &ready).await;
    drop(permit);
    run
}

fn deadline(budget: &Budget) -> Option<Instant> {
    match budget.get(LimitName::Deadline) {
        Limit::Finite(ms) => Instant::now().checked_add(Duration::from_millis(ms)),
        Limit::Unlimited => None,
    }
}

/// Every check of the component that needs no instance, the cheapest first.
fn ready<'a>(host: &Host<'_>, ask: &'a Ask<'_>, grants: &Grants) -> Result<Ready<'a>, Refusal> {
    let component = ask.checked.component();
    if !component.belongs_to(host.engine) {
        let message = "the component was loaded by another sandbox";
        return Err(Refusal::new(ErrorType::Internal, message));
    }
    let covers = |import: &_| grants.covers(import);
    if let Some(refusal) = bindery_inspect::missing_imports(component.shape(), covers) {
        return Err(refusal);
    }
    component.check_demand(ask.budget)?;
    let prepared = component.prepared()?;
    let function = ask.checked.function()?;
    let export = prepared.export(ask.checked.place()).ok_or_else(|| {
        Refusal::new(
            ErrorType::Internal,
            format!("`{}` is not among the exports", function.name),
        )
    })?;
    Ok(Ready {
        function,
        tape: ask.checked.tape(),
        arguments_bytes: ask.checked.arguments_bytes(),
        prepared,
        export,
    })
}

/// A store is made, used and dropped.
async fn started(host: &Host<'_>, ask: &Ask<'_>, grants: Grants, ready: &Ready<'_>) -> Run {
    let until = deadline(ask.budget);
    let grants = match opened(grants, ask, until).await {
        Ok(grants) => grants,
        Err(refusal) => return Run::refused(refusal),
    };
    let state = CallState::new(grants, ask.budget, until, ask.cancel.clone());
    host.started.fetch_add(1, Ordering::Relaxed);
    let mut store = match state.into_store(host.engine, ask.budget) {
        Ok(store) => store,
        Err(error) => return Run::refused(internal(format!("{error:#}"))),
    };
    let began = Instant::now();
    let attempt = race(&mut store, ready, until, ask.cancel).await;
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut end = settle(store, attempt, ask, ready.function, elapsed_ms);
    if let Outcome::Refused(refusal) = &end.outcome {
        let unfinished = end.state.grants.wait_for_writes(WRITES_END_WITHIN).await;
        if unfinished > 0 {
            end.outcome = Outcome::Refused(uncertain(unfinished, refusal));
        }
    }
    conclude(end, ask, ready.function)
}

/// The grants with their credentials, which may take a while to read: against the same
/// clock and caller as the call itself.
async fn opened(
    grants: Grants,
    ask: &Ask<'_>,
    until: Option<Instant>,
) -> Result<Box<CallGrants>, Refusal> {
    let began = Instant::now();
    tokio::select! {
        biased;
        () = ask.cancel.cancelled() => Err(cancelled()),
        opened = CallGrants::with_credentials(grants, ask.budget) => opened,
        () = at(until) => Err(LimitHit {
            name: LimitName::Deadline,
            limit: ask.budget.get(LimitName::Deadline),
            used: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
        .into()),
    }
}

/// H25: a write of the host cannot be called back; what became of it is not known.
fn uncertain(unfinished: usize, ended_by: &Refusal) -> Refusal {
    let message =
        format!("{unfinished} writes were under way when the call ended, and did not end with it");
    Refusal::new(ErrorType::UncertainSideEffect, message)
        .with("unfinished_writes", unfinished)
        .with("ended_by", ended_by.kind().as_str())
}

/// What stopped the attempt: its own end, the clock or somebody, a panic of the host.
enum Attempt {
    Ended(wasmtime::Result<Lifted>),
    Interrupted,
    Panicked,
}

/// The attempt against the clock and the caller. The loser is dropped here, so that
/// nothing of it runs on (B1).
async fn race(
    store: &mut Store<CallState>,
    ready: &Ready<'_>,
    until: Option<Instant>,
    cancel: &Cancel,
) -> Attempt {
    // Boxed: every future around it would be moved with it, several times before it starts.
    let attempt = contained(Box::pin(attempt(store, ready)));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Attempt::Interrupted,
        end = attempt => in_time(end, until, cancel),
        () = at(until) => Attempt::Interrupted,
    }
}

/// The walk over a result looks at clock and caller as it goes, its last stretch does not:
/// a value that was ready only after the deadline, or after somebody cancelled, is none.
fn in_time(end: Attempt, until: Option<Instant>, cancel: &Cancel) -> Attempt {
    let late = until.is_some_and(|until| until <= Instant::now());
    match end {
        Attempt::Ended(Ok(_)) if late || cancel.is_cancelled() => Attempt::Interrupted,
        end => end,
    }
}

async fn attempt(store: &mut Store<CallState>, ready: &Ready<'_>) -> wasmtime::Result<Lifted> {
    charge_arguments(store, ready.arguments_bytes)?;
    let instance = ready
        .prepared
        .instance
        .instantiate_async(&mut *store)
        .await?;
    let function = instance
        .get_func(&mut *store, ready.export)
        .ok_or_else(|| wasmtime::Error::msg("the export is gone"))?;
    let leash = store.data().leash.clone();
    abi::call(&function, store, ready.tape, &leash).await
}

/// H23: a panic in a host import ends this call and nothing else; its store is dropped.
async fn contained(attempt: impl Future<Output = wasmtime::Result<Lifted>>) -> Attempt {
    let mut attempt = pin!(attempt);
    std::future::poll_fn(|context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| attempt.as_mut().poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(end)) => Poll::Ready(Attempt::Ended(end)),
            Err(_) => Poll::Ready(Attempt::Panicked),
        }
    })
    .await
}

/// The store ends here: what it used is read, what it held is dropped.
fn settle(
    store: Store<CallState>,
    attempt: Attempt,
    ask: &Ask<'_>,
    function: &Function,
    elapsed_ms: u64,
) -> End {
    let left = store.get_fuel().unwrap_or(0);
    let mut state = store.into_data();
    let pending = state.grants.meter().take_pending_fuel();
    let fuel = state.leash.fuel();
    let fuel_used = fuel
        .used(left)
        .saturating_add(pending)
        .saturating_add(state.leash.result_fuel());
    let call = Circumstances {
        budget: ask.budget,
        elapsed_ms,
        cancelled: ask.cancel.is_cancelled(),
        fuel_used,
        refused_growth: state.limiter.refused(),
    };
    let outcome = match attempt {
        Attempt::Ended(Ok(lifted)) => match fuel.check(fuel_used) {
            Ok(()) => returned(lifted),
            // The last stretch of guest code is not checked by the engine; the limit is
            // exact all the same.
            Err(hit) => Outcome::Refused(hit.into()),
        },
        Attempt::Ended(Err(error)) => match explain(&error, &call) {
            Ended::Exit(code) => exited(code, function),
            Ended::Refused(refusal) => Outcome::Refused(refusal),
        },
        Attempt::Interrupted => Outcome::Refused(call.interrupted()),
        Attempt::Panicked => Outcome::Refused(internal("a host import panicked".to_owned())),
    };
    End {
        outcome,
        state,
        fuel_used,
    }
}

fn returned(lifted: Lifted) -> Outcome {
    match lifted.is_error {
        true => Outcome::CapabilityError(lifted.json),
        false => Outcome::Value(lifted.json),
    }
}

/// C-47: exit ends a command with its code; anywhere else there is no result to give.
fn exited(code: u8, function: &Function) -> Outcome {
    match (is_command(function), code) {
        (true, 0) => Outcome::Value("null".to_owned()),
        (true, code) => Outcome::CapabilityError(format!("{{\"exit_code\":{code}}}")),
        (false, code) => Outcome::Refused(
            fault(
                "exited",
                format!("the component exited with code {code} instead of returning"),
            )
            .with("exit_code", code),
        ),
    }
}

fn is_command(function: &Function) -> bool {
    let interface = function.name.interface().map(|name| name.path());
    interface == Some("wasi:cli/run") && function.name.function() == "run"
}

fn internal(cause: String) -> Refusal {
    Refusal::new(
        ErrorType::Internal,
        "the host failed while running the component",
    )
    .for_operator(cause)
}

/// The receipt, every figure measured.
fn conclude(end: End, ask: &Ask<'_>, function: &Function) -> Run {
    let End {
        outcome,
        state,
        fuel_used,
    } = end;
    let CallState {
        mut grants,
        limiter,
        watch,
        ..
    } = state;
    let split = watch.stop(grants.meter().host_calls());
    let outcome = match outcome {
        Outcome::Value(json) => Outcome::Value(grants.screened(json)),
        Outcome::CapabilityError(json) => Outcome::CapabilityError(grants.screened(json)),
        Outcome::Refused(refusal) => Outcome::Refused(refusal),
    };
    let nested = grants.nested_use();
    let captures = grants.finish();
    let (effects, effects_dropped) = captures.trace.into_parts();
    let receipt = Receipt {
        component_digest: ask.checked.component().digest(),
        function: function.name.clone(),
        // R-014, I22: what went over the limit was asked for, not used; the error says how
        // much it was.
        fuel_used: fuel_used.min(ask.budget.get(LimitName::Fuel).or_max()),
        fuel_limit: ask.budget.get(LimitName::Fuel),
        wall_us: split.wall_us,
        guest_us: split.guest_us,
        host_us: split.host_us,
        memory_peak_bytes: limiter.memory_peak(),
        bytes_in: ask.checked.arguments_bytes(),
        bytes_out: match &outcome {
            Outcome::Value(json) | Outcome::CapabilityError(json) => length(json),
            Outcome::Refused(_) => 0,
        },
        host_calls: captures.host_calls,
        nested: (nested.calls > 0).then_some(nested),
        compiles: ask.checked.component().take_compiles(),
        stdout: captures.stdout,
        stderr: captures.stderr,
        log: captures.log,
        effects,
        effects_dropped,
        limits_hit: met(limiter.refused(), &captures.limit_hits),
        exit_code: exit_code(&outcome),
        limits: LimitsInForce::of(ask.budget),
    };
    record(&receipt, &outcome);
    Run {
        outcome,
        receipt: Some(receipt),
        denials: denials(&captures.denials, captures.denials_dropped),
    }
}

/// One line for each refusal of a grant, for the operator.
fn denials(kept: &[Denial], dropped: u64) -> Vec<String> {
    let line = |denial: &Denial| match &denial.allow {
        Some(grant) => format!(
            "{}: {}; `{grant}` would allow it",
            denial.asked, denial.rule
        ),
        None => format!("{}: {}", denial.asked, denial.rule),
    };
    let more = (dropped > 0).then(|| format!("and {dropped} more"));
    kept.iter().map(line).chain(more).collect()
}

/// The names of the limits that were met, each once.
fn met(growth: Option<LimitHit>, others: &[LimitHit]) -> Vec<&'static str> {
    let names = growth.iter().chain(others).map(|hit| hit.name);
    let names: BTreeSet<LimitName> = names.collect();
    names.into_iter().map(LimitName::as_str).collect()
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn exit_code(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Value(_) => 0,
        Outcome::CapabilityError(_) => ErrorType::CapabilityError.exit_code(),
        Outcome::Refused(refusal) => refusal.kind().exit_code(),
    }
}

/// R-024: ids and figures, never arguments, outputs or messages.
fn record(receipt: &Receipt, outcome: &Outcome) {
    let span = Span::current();
    span.record("fuel", receipt.fuel_used);
    span.record("wall_us", receipt.wall_us);
    span.record("host_calls", receipt.host_calls);
    span.record("exit_code", receipt.exit_code);
    span.record(
        "outcome",
        match outcome {
            Outcome::Value(_) => "value",
            Outcome::CapabilityError(_) => ErrorType::CapabilityError.as_str(),
            Outcome::Refused(refusal) => refusal.kind().as_str(),
        },
    );
}

#[cfg(test)]
mod tests {
    use wasmtime::component::{Component, Linker};

    use super::*;
    use crate::pool;

    const CALLER: &str = r#"(component
        (import "boom" (func $boom))
        (core func $boom (canon lower (func $boom)))
        (core module $m (import "" "boom" (func $boom)) (func (export "go") (call $boom)))
        (core instance $i (instantiate $m (with "" (instance (export "boom" (func $boom))))))
        (func (export "go") (canon lift (core func $i "go"))))"#;

    /// Calls `go`, whose import panics or does not, in a store of its own.
    async fn call(engine: &Engine, component: &Component, panics: bool) -> Attempt {
        let mut linker = Linker::<CallState>::new(engine);
        let boom = move |_: wasmtime::StoreContextMut<'_, CallState>, (): ()| {
            assert!(!panics, "a host import breaks its promise");
            Ok(())
        };
        linker.root().func_wrap("boom", boom).unwrap();
        let budget = Budget::default();
        let grants = CallGrants::new(Grants::default(), &budget).unwrap();
        let state = CallState::new(Box::new(grants), &budget, None, Cancel::new());
        let mut store = state.into_store(engine, &budget).unwrap();
        contained(async {
            let instance = linker.instantiate_async(&mut store, component).await?;
            let go = instance.get_typed_func::<(), ()>(&mut store, "go")?;
            go.call_async(&mut store, ()).await?;
            Ok(Lifted {
                json: "null".to_owned(),
                is_error: false,
            })
        })
        .await
    }

    #[tokio::test]
    async fn a_panic_in_a_host_import_ends_one_call_and_nothing_else() {
        let (engine, _report) = pool::build(&Budget::default(), None).unwrap();
        let component = Component::from_binary(&engine, &wat::parse_str(CALLER).unwrap()).unwrap();
        for panics in [true, false, true, false] {
            let attempt = call(&engine, &component, panics).await;
            assert_eq!(matches!(attempt, Attempt::Panicked), panics, "H23");
            assert_eq!(matches!(attempt, Attempt::Ended(Ok(_))), !panics, "H23");
        }
    }
}
