//! Where a lowered value goes: the slots of a core call, or the image of its memory.
//!
//! Rule: both take whole scalars at checked places; an overrun is an error. Slots hold
//! 64 bits: a narrower scalar is zero-extended, which is what the joined slots of a
//! variant (i32, i64, f32 and f64 sharing one) want, and a core function reads as many
//! of the low bits as its type has.

use wasmtime::ValRaw;

use super::error::unfit;
use super::layout::Extent;

/// Most core parameters of a lifted function; beyond it they go through memory.
pub(super) const SLOTS: usize = 16;

/// Core parameters, in order.
#[derive(Debug, Default)]
pub(super) struct Slots {
    bits: [u64; SLOTS],
    used: usize,
}

impl Slots {
    fn push(&mut self, bits: u64) -> wasmtime::Result<()> {
        let slot = self.bits.get_mut(self.used);
        *slot.ok_or_else(|| unfit("more than 16 core parameters"))? = bits;
        self.used = self.used.saturating_add(1);
        Ok(())
    }

    /// All slots, used or not: the rest is zero.
    pub(super) fn raw(self) -> [ValRaw; SLOTS] {
        self.bits.map(ValRaw::u64)
    }
}

/// Where a value goes.
pub(super) enum Place<'p> {
    /// To the next free slots.
    Slots(&'p mut Slots),
    /// To these bytes, as many as the type's size.
    Image(&'p mut [u8]),
}

impl Place<'_> {
    /// The place of a part of the value.
    pub(super) fn part(&mut self, extent: Extent) -> wasmtime::Result<Place<'_>> {
        match self {
            Place::Slots(slots) => Ok(Place::Slots(slots)),
            Place::Image(image) => image
                .get_mut(extent.start..)
                .and_then(|rest| rest.get_mut(..extent.size))
                .map(Place::Image)
                .ok_or_else(|| unfit("a part lies outside its whole")),
        }
    }

    /// Writes a scalar: the low bytes of `bits`, as many as the place has.
    pub(super) fn scalar(&mut self, bits: u64) -> wasmtime::Result<()> {
        match self {
            Place::Slots(slots) => slots.push(bits),
            Place::Image(image) => {
                let bytes = bits.to_le_bytes();
                let low = bytes.get(..image.len());
                image.copy_from_slice(low.ok_or_else(|| unfit("a scalar wider than 8 bytes"))?);
                Ok(())
            }
        }
    }

    /// Writes a pointer and a length.
    pub(super) fn pair(&mut self, pointer: u32, len: u32) -> wasmtime::Result<()> {
        for (start, word) in [(0, pointer), (4, len)] {
            self.part(Extent { start, size: 4 })?.scalar(word.into())?;
        }
        Ok(())
    }

    /// Number of slots used so far; 0 for an image.
    pub(super) fn slots_used(&self) -> usize {
        match self {
            Place::Slots(slots) => slots.used,
            Place::Image(_) => 0,
        }
    }

    /// Fills the slots up to `count` with zeros: what a case leaves free of its variant.
    /// An image starts as zeros.
    pub(super) fn pad_slots(&mut self, count: usize) -> wasmtime::Result<()> {
        if let Place::Slots(slots) = self {
            while slots.used < count {
                slots.push(0)?;
            }
        }
        Ok(())
    }
}
