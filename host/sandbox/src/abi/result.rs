//! The result of any function, as the engine's typed calls take it: JSON text.
//!
//! Rule: a core function of a lifted export returns one slot or none; everything else is
//! read from memory through checked slices.
#![allow(
    unsafe_code,
    reason = "the engine's value traits are unsafe to implement; the proofs stand at each"
)]

use wasmtime::ValRaw;
use wasmtime::component::__internal::{CanonicalAbiInfo, InstanceType, InterfaceType, LiftContext};
use wasmtime::component::{ComponentNamedList, ComponentType, Lift};

use super::Lifted;
use super::error::unfit;
use super::lift::lift_result;

/// The lifted result of one call.
pub(super) struct Json(pub(super) Lifted);

// SAFETY: `Lower` is one `ValRaw`. A core function behind a lifted export has at most one
// result, so the slot is either that result or, for none, the first parameter slot of the
// same union, which `Arguments` has initialised; it is only ever read as an integer, for
// which every bit pattern is valid. The number and types of results are read from the
// component's own types at lifting, so `typecheck` may accept every list.
unsafe impl ComponentType for Json {
    type Lower = ValRaw;

    // Never loaded from a memory as one value: see `linear_lift_from_memory`.
    const ABI: CanonicalAbiInfo = CanonicalAbiInfo::ZERO;

    fn typecheck(ty: &InterfaceType, _types: &InstanceType<'_>) -> wasmtime::Result<()> {
        match ty {
            InterfaceType::Tuple(_) => Ok(()),
            _ => Err(unfit("results are not a tuple")),
        }
    }
}

// SAFETY: as for `ComponentType` above.
unsafe impl ComponentNamedList for Json {}

// SAFETY: `src` is read as an integer; guest memory is read through checked slices of the
// context only, and what is returned borrows nothing of it.
unsafe impl Lift for Json {
    fn linear_lift_from_flat(
        cx: &mut LiftContext<'_>,
        ty: InterfaceType,
        src: &Self::Lower,
    ) -> wasmtime::Result<Self> {
        lift_result(cx, ty, src.get_u64()).map(Json)
    }

    fn linear_lift_from_memory(
        _cx: &mut LiftContext<'_>,
        _ty: InterfaceType,
        _bytes: &[u8],
    ) -> wasmtime::Result<Self> {
        // The engine does this for more than one slot; ours is exactly one.
        Err(unfit("results loaded from memory by the engine"))
    }
}
