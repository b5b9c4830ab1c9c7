//! Imports that are other components' interfaces: linked as functions that ask the host.
//!
//! Rule: types are compared here, before a binding exists, because the engine
//! neither checks dynamic functions nor insists on a version. At a call the arguments become
//! JSON text, whoever governs calls answers, and the answer becomes values of the same types.
//! Nothing that a caller has left is exceeded by what it calls.

mod fit;
mod left;
mod values;

use std::sync::Arc;

use bindery_grants::{GrantView, Nested, NestedCall, Signature};
use bindery_types::{
    ErrorType, Import, Limit, LimitHit, LimitName, Outcome, Refusal, Run, Satisfier, Ty,
};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Val};

use crate::state::CallState;

pub use fit::Misfit;
pub(crate) use fit::{fits, has_resource};

/// What the engine's dynamic values cost of the limit `lift`, for one byte of a list.
pub(crate) const LIFT_PER_VALUE: u64 = 40;

/// A call of another component was refused; its caller ends with the same word.
#[derive(Debug, thiserror::Error)]
#[error("a nested call was refused: {0}")]
pub(crate) struct NestedRefused(pub(crate) Box<Refusal>);

/// Links every imported interface that no host function has. Whether anything answers is
/// asked at each call: what answers is data of the store, like all grants.
pub(crate) fn link(linker: &mut Linker<CallState>, imports: &[Import]) -> wasmtime::Result<()> {
    let foreign = imports.iter().filter(|import| {
        matches!(import.satisfier, Satisfier::Unknown { .. }) && import.name.path().contains('/')
    });
    for import in foreign {
        let mut instance = linker.instance(import.name.as_str())?;
        for function in &import.functions {
            let target: Arc<(String, String)> =
                Arc::new((import.name.as_str().to_owned(), function.clone()));
            instance.func_new_async(function, move |store, _, arguments, results| {
                let target = Arc::clone(&target);
                Box::new(answer(store, target, arguments, results))
            })?;
        }
    }
    Ok(())
}

async fn answer<'a>(
    mut store: StoreContextMut<'a, CallState>,
    target: Arc<(String, String)>,
    arguments: &'a [Val],
    results: &'a mut [Val],
) -> wasmtime::Result<()> {
    let (interface, function) = &*target;
    let (nested, signature) = answering(&mut store, interface, function)?;
    let arguments = values::arguments(arguments, &signature)
        .ok_or_else(|| broken("the arguments do not fit the function that answers"))?;
    let name = format!("{interface}#{function}");
    let state = store.data_mut();
    let place = state.grants().begin_nested(&name, arguments.len())?;
    let fuel_left = store.get_fuel()?;
    let left = store.data_mut().left(fuel_left)?;
    let run = nested
        .call(NestedCall {
            interface: interface.clone(),
            function: function.clone(),
            arguments,
            left,
        })
        .await;
    if let Some(receipt) = &run.receipt {
        store.data_mut().grants().end_nested(place, receipt)?;
    }
    let value = returned(run, &name, &signature, store.data())?;
    if let (Some(value), Some(place)) = (value, results.first_mut()) {
        *place = value;
    }
    Ok(())
}

fn answering(
    store: &mut StoreContextMut<'_, CallState>,
    interface: &str,
    function: &str,
) -> wasmtime::Result<(Arc<dyn Nested>, Arc<Signature>)> {
    let nested = store.data_mut().grants().nested();
    let found = nested.and_then(|nested| {
        let signature = nested.signature(interface, function)?;
        Some((nested, signature))
    });
    found.ok_or_else(|| broken("nothing answers an import that was said to be covered"))
}

/// The value that the caller gets, or the end of its call.
fn returned(
    run: Run,
    name: &str,
    signature: &Signature,
    state: &CallState,
) -> wasmtime::Result<Option<Val>> {
    let (text, is_error) = match run.outcome {
        Outcome::Value(text) => (text, false),
        Outcome::CapabilityError(text) => (text, true),
        Outcome::Refused(refusal) => return Err(refused(refusal, name).into()),
    };
    let Some(result) = signature.function.result else {
        return Ok(None);
    };
    let most = state.lift_max() / LIFT_PER_VALUE;
    let made = match signature.types.get(result) {
        Ty::Result { ok, err } => {
            let payload = if is_error { *err } else { *ok };
            let payload = payload
                .map(|ty| values::value(&text, ty, signature, most))
                .transpose();
            payload.map(|payload| {
                let payload = payload.map(Box::new);
                Val::Result(if is_error { Err(payload) } else { Ok(payload) })
            })
        }
        _ => values::value(&text, result, signature, most),
    };
    match made {
        Ok(value) => Ok(Some(value)),
        Err(values::Unmade::Large(used)) => Err(large(name, most, used).into()),
        Err(values::Unmade::Unfit) => Err(unfit(name).into()),
    }
}

/// The refusal of a callee, as its caller's.
fn refused(refusal: Refusal, name: &str) -> NestedRefused {
    let message = format!("the call of `{name}` was refused: {}", refusal.message());
    let operator = refusal.operator().map(str::to_owned);
    let mut own = Refusal::new(refusal.kind(), message);
    for (key, value) in refusal.details() {
        own = own.with(key, value.clone());
    }
    let own = own.with("nested", name);
    NestedRefused(Box::new(match operator {
        Some(text) => own.for_operator(text),
        None => own,
    }))
}

/// What passes between components goes through the engine's dynamic values, which cost more.
fn large(name: &str, most: u64, used: u64) -> NestedRefused {
    let hit = LimitHit {
        name: LimitName::Lift,
        limit: Limit::Finite(most.saturating_mul(LIFT_PER_VALUE)),
        used: used.saturating_mul(LIFT_PER_VALUE),
    };
    let refusal = Refusal::from(hit).with(
        "reason",
        format!(
            "values that pass between components cost {LIFT_PER_VALUE} of `lift` each, \
             a byte of a list included: at most {most} may pass, there are {used}"
        ),
    );
    refused(refusal, name)
}

/// A mask in a number or in bytes is no value of their type any more.
fn unfit(name: &str) -> NestedRefused {
    let text = "what it gave back was screened and does not fit its type any more";
    refused(Refusal::new(ErrorType::ResultSchemaMismatch, text), name)
}

fn broken(what: &str) -> wasmtime::Error {
    let refusal = Refusal::new(
        ErrorType::Internal,
        "the host failed while one component called another",
    );
    NestedRefused(Box::new(refusal.for_operator(what))).into()
}
