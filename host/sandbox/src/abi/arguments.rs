//! The parameter list of any function, as the engine's typed calls take it.
//!
//! Rule: whatever tape and type say, sixteen initialised slots are handed over, or an
//! error; that is all the unsafe promise below rests on.
#![allow(
    unsafe_code,
    reason = "the engine's value traits are unsafe to implement; the proofs stand at each"
)]

use std::mem::MaybeUninit;

use bindery_json::tape::Tape;
use wasmtime::ValRaw;
use wasmtime::component::__internal::{
    CanonicalAbiInfo, InstanceType, InterfaceType, LowerContext,
};
use wasmtime::component::{ComponentNamedList, ComponentType, Lower};

use super::error::unfit;
use super::flat::SLOTS;
use super::lower::lower_parameters;

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    pub(super) tape: &'a Tape,
}

// SAFETY: `Lower` is a literal array of `ValRaw`, `Copy` and without invalid bit patterns
// (a slot is an integer to us). It is as long as the longest core parameter list there is,
// so the space the engine makes of it holds every function's parameters and, being a union
// with one slot, its at most one result. Core parameters of a lifted function are i32, i64,
// f32 and f64 only, never references, so no content of a slot can break memory safety:
// `typecheck` may accept every parameter list.
unsafe impl ComponentType for Arguments<'_> {
    type Lower = [ValRaw; SLOTS];

    // Never stored in a memory as one value: see `linear_lower_to_memory`.
    const ABI: CanonicalAbiInfo = CanonicalAbiInfo::ZERO;

    fn typecheck(ty: &InterfaceType, _types: &InstanceType<'_>) -> wasmtime::Result<()> {
        match ty {
            InterfaceType::Tuple(_) => Ok(()),
            _ => Err(unfit("parameters are not a tuple")),
        }
    }
}

// SAFETY: the promise of the marker is that of `ComponentType` above: any list of
// parameters is walked by the component's own types, and what has no JSON form is refused.
unsafe impl ComponentNamedList for Arguments<'_> {}

// SAFETY: on `Ok` the whole of `dst` has been written at once, from an initialised array.
// Guest memory is reached through checked slices of the context only.
unsafe impl Lower for Arguments<'_> {
    fn linear_lower_to_flat<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        dst: &mut MaybeUninit<Self::Lower>,
    ) -> wasmtime::Result<()> {
        dst.write(lower_parameters(self.tape, cx, ty)?.raw());
        Ok(())
    }

    fn linear_lower_to_memory<T>(
        &self,
        _cx: &mut LowerContext<'_, T>,
        _ty: InterfaceType,
        _offset: usize,
    ) -> wasmtime::Result<()> {
        // The engine does this for more than sixteen slots; ours are exactly sixteen.
        Err(unfit("parameters stored in memory by the engine"))
    }
}
