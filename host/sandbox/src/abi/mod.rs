//! Values between JSON and guest memory, without `Val`: the tape is lowered, the result
//! is lifted straight into JSON text.
//!
//! Rule: the shape that is walked is always the component's own type information, never
//! the tape's; every offset, count, discriminant, scalar and pointer is checked, so any
//! tape against any type and any memory ends in a value or in a typed error. The one
//! unsafe promise is the layout of four traits ([`arguments`], [`result`]): sixteen
//! initialised slots in, one slot out.
//!
//! Written against exactly the pinned engine release: `__internal` is no stable
//! interface, and the differential and hostile tests are run first at every bump.

mod arguments;
mod error;
mod flat;
mod guest;
mod layout;
mod lift;
mod lower;
mod output;
mod result;
mod scalar;

#[cfg(test)]
mod tests;

use bindery_json::tape::Tape;
use wasmtime::AsContextMut;
use wasmtime::component::Func;

use self::arguments::Arguments;
pub(crate) use self::error::{GuestLie, OutputOverflow, Unfit};
use self::result::Json;
use crate::leash::Leash;

/// What a function returned, as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lifted {
    /// The value: of the ok side, of the err side, or `null` when there is none.
    pub(crate) json: String,
    /// Whether it is the err side of the function's own `result`.
    pub(crate) is_error: bool,
}

/// Calls `func` with the arguments on `tape`.
///
/// The tape should have been read against the types that inspect built from the same
/// component; if it was not, the answer is [`Unfit`], never a wrong value in a wrong
/// place. Every byte of JSON is charged to the store's hostcall fuel as it stands when
/// the core function returns, so the caller sets that to the output limit there. Both
/// walks ask `leash` whether they may go on.
///
/// # Errors
///
/// [`OutputOverflow`], [`GuestLie`], [`Unfit`] or what the leash says, which downcast;
/// otherwise what the engine or a host function reports: a trap, an exit, a limit.
pub(crate) async fn call<T: Send + 'static>(
    func: &Func,
    mut store: impl AsContextMut<Data = T>,
    tape: &Tape,
    leash: &Leash,
) -> wasmtime::Result<Lifted> {
    let typed = func.typed::<Arguments<'_>, Json>(&store)?;
    let call = typed.call_async(&mut store, Arguments { tape });
    let Json(lifted) = leash.during(call).await?;
    Ok(lifted)
}
