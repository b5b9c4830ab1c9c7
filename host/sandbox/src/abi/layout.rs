//! Offsets inside records, tuples and variants, with checked arithmetic.
//!
//! Rule: sizes and alignments are the component's own ([`CanonicalAbiInfo`]); positions
//! computed from them never wrap, and no type is followed deeper than [`DEPTH_MAX`].

use wasmtime::component::__internal::wasmtime_environ::component::VariantInfo;
use wasmtime::component::__internal::{CanonicalAbiInfo, ComponentTypes, InterfaceType};

use super::error::unfit;

/// Inspect refuses types nested deeper than 64 (B7); parameter list and result add two.
/// The walks here recurse on types only, so this bounds their stack whoever calls.
pub(super) const DEPTH_MAX: u32 = 66;

/// The next deeper level.
pub(super) fn deeper(depth: u32) -> wasmtime::Result<u32> {
    match depth {
        DEPTH_MAX.. => Err(unfit("a type is nested deeper than 64")),
        _ => Ok(depth.saturating_add(1)),
    }
}

/// A run of bytes inside the whole value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) start: usize,
    pub(super) size: usize,
}

/// Hands out the extents of fields in order.
#[derive(Debug, Default)]
pub(super) struct Fields {
    end: u32,
}

impl Fields {
    /// The extent of the next field, of type `ty`.
    pub(super) fn next(
        &mut self,
        types: &ComponentTypes,
        ty: &InterfaceType,
    ) -> wasmtime::Result<Extent> {
        let abi = types.canonical_abi(ty);
        let start = self.end.checked_next_multiple_of(abi.align32);
        let end = start.and_then(|start| start.checked_add(abi.size32));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(unfit("a type is larger than a memory"));
        };
        self.end = end;
        extent(start, abi)
    }
}

/// The extent of a variant's discriminant.
pub(super) fn discriminant(info: &VariantInfo) -> wasmtime::Result<Extent> {
    Ok(Extent {
        start: 0,
        size: usize::try_from(u32::from(info.size))?,
    })
}

/// The extent of a variant's payload of type `ty`.
pub(super) fn payload(
    info: &VariantInfo,
    types: &ComponentTypes,
    ty: &InterfaceType,
) -> wasmtime::Result<Extent> {
    extent(info.payload_offset32, types.canonical_abi(ty))
}

fn extent(start: u32, abi: &CanonicalAbiInfo) -> wasmtime::Result<Extent> {
    Ok(Extent {
        start: usize::try_from(start)?,
        size: usize::try_from(abi.size32)?,
    })
}
