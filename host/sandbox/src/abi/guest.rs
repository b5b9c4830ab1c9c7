//! Reading guest memory: every pointer, width and discriminant is checked here.
//!
//! Rule (A7, X21): what is outside memory, misaligned or without a case is a
//! [`GuestLie`]; nothing is clamped or mapped to a neighbour.

use wasmtime::component::__internal::wasmtime_environ::component::VariantInfo;

use super::error::{GuestLie, unfit};
use super::layout::{self, Extent};

/// The bytes of memory from `pointer` on, `bytes` long, if they are there and aligned.
pub(super) fn region<'m>(
    memory: &'m [u8],
    kind: &'static str,
    pointer: u32,
    bytes: u64,
    align: u32,
) -> wasmtime::Result<&'m [u8]> {
    if !pointer.is_multiple_of(align) {
        return Err(GuestLie::Misaligned {
            kind,
            pointer,
            align,
        }
        .into());
    }
    let start = usize::try_from(pointer)?;
    let found = usize::try_from(bytes)
        .ok()
        .and_then(|bytes| memory.get(start..)?.get(..bytes));
    found.ok_or_else(|| {
        let memory = memory.len();
        GuestLie::Pointer {
            kind,
            pointer,
            bytes,
            memory,
        }
        .into()
    })
}

/// A part of a value's bytes.
pub(super) fn part(bytes: &[u8], extent: Extent) -> wasmtime::Result<&[u8]> {
    bytes
        .get(extent.start..)
        .and_then(|rest| rest.get(..extent.size))
        .ok_or_else(|| unfit("a part lies outside its whole"))
}

/// The bytes of a scalar of N bytes.
pub(super) fn sized<const N: usize>(bytes: &[u8]) -> wasmtime::Result<[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| unfit("a scalar of another width"))
}

/// A little-endian number of 1, 2 or 4 bytes.
pub(super) fn unsigned(bytes: &[u8]) -> wasmtime::Result<u32> {
    match bytes {
        [byte] => Ok((*byte).into()),
        [low, high] => Ok(u16::from_le_bytes([*low, *high]).into()),
        _ => Ok(u32::from_le_bytes(sized(bytes)?)),
    }
}

/// The same with a sign.
pub(super) fn signed(bytes: &[u8]) -> wasmtime::Result<i32> {
    match bytes {
        [byte] => Ok(byte.cast_signed().into()),
        [low, high] => Ok(i16::from_le_bytes([*low, *high]).into()),
        _ => Ok(i32::from_le_bytes(sized(bytes)?)),
    }
}

/// The pointer and the length of a string or list.
pub(super) fn pointer_pair(bytes: &[u8]) -> wasmtime::Result<(u32, u32)> {
    let pair: [u8; 8] = sized(bytes)?;
    let pair = u64::from_le_bytes(pair);
    Ok((low_word(pair), low_word(pair >> 32)))
}

/// The low 32 bits: what a core i32 has in a slot.
pub(super) fn low_word(slot: u64) -> u32 {
    let [a, b, c, d, ..] = slot.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// The number of the case in memory, not yet checked.
pub(super) fn discriminant_bits(info: &VariantInfo, bytes: &[u8]) -> wasmtime::Result<u32> {
    unsigned(part(bytes, layout::discriminant(info)?)?)
}

/// The number of the case in memory, below `cases`.
pub(super) fn discriminant(
    kind: &'static str,
    info: &VariantInfo,
    bytes: &[u8],
    cases: usize,
) -> wasmtime::Result<u32> {
    in_range(kind, discriminant_bits(info, bytes)?, cases)
}

/// `found` if it is below `cases`; the number of cases is no case (A7).
pub(super) fn in_range(kind: &'static str, found: u32, cases: usize) -> wasmtime::Result<u32> {
    match usize::try_from(found)? < cases {
        true => Ok(found),
        false => Err(GuestLie::Discriminant { kind, found, cases }.into()),
    }
}
