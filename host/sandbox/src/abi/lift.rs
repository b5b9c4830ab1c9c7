//! From guest memory to JSON text: one walk over the component's type, no value between.
//!
//! Rule (A7, X5, X21): a pointer is checked for alignment and bounds before it is
//! followed, a discriminant against its cases, a scalar against its range; the answer to
//! each lie is [`GuestLie`]. Work is paid for by output before it is done, item by item,
//! so a list of 2³¹ items or 200,000 views of one string end at the limit.

use wasmtime::component::__internal::wasmtime_environ::component::{
    TypeEnum, TypeListIndex, TypeOptionIndex, TypeRecordIndex, TypeResultIndex, TypeTupleIndex,
    TypeVariantIndex, VariantInfo,
};
use wasmtime::component::__internal::{ComponentTypes, InterfaceType, LiftContext};

use super::Lifted;
use super::error::unfit;
use super::guest;
use super::layout::{self, Extent, Fields, deeper};
use super::output::Output;
use crate::leash::Leash;

/// Lifts the result of a function whose result types are the tuple `ty` and whose core
/// function returned `slot`.
pub(super) fn lift_result(
    cx: &mut LiftContext<'_>,
    ty: InterfaceType,
    slot: u64,
) -> wasmtime::Result<Lifted> {
    let InterfaceType::Tuple(results) = ty else {
        return Err(unfit("results are not a tuple"));
    };
    let leash = Leash::of_this_call().ok_or_else(|| unfit("a result without a call"))?;
    let types = cx.types;
    let result = match &*types[results].types {
        [] => None,
        [only] => Some(*only),
        _ => return Err(unfit("a function has several results")),
    };
    let mut walk = Walk {
        types,
        cx,
        out: Output::new(leash),
    };
    let is_error = match result {
        None => walk.null().map(|()| false)?,
        Some(ty) if types[results].abi.flat_count(1).is_some() => walk.whole_slot(ty, slot)?,
        Some(ty) => walk.whole_memory(ty, guest::low_word(slot))?,
    };
    let json = String::from_utf8(walk.out.finish()?);
    let json = json.map_err(|_| unfit("the json text is not utf-8"))?;
    Ok(Lifted { json, is_error })
}

/// The walk: the types it follows, the memory it reads, the text it writes.
pub(super) struct Walk<'w, 'c> {
    pub(super) types: &'c ComponentTypes,
    pub(super) cx: &'w mut LiftContext<'c>,
    pub(super) out: Output,
}

impl<'c> Walk<'_, 'c> {
    /// The function's own result in one slot: its `result` is unwrapped.
    fn whole_slot(&mut self, ty: InterfaceType, slot: u64) -> wasmtime::Result<bool> {
        let InterfaceType::Result(_) = ty else {
            return self.slot(ty, slot, 0).map(|()| false);
        };
        // One slot is the discriminant alone: neither side has a payload.
        let case = guest::in_range("result", guest::low_word(slot), 2)?;
        self.null()?;
        Ok(case == 1)
    }

    /// The function's own result in memory: its `result` is unwrapped.
    fn whole_memory(&mut self, ty: InterfaceType, pointer: u32) -> wasmtime::Result<bool> {
        let abi = self.types.canonical_abi(&ty);
        let bytes = self.region("result", pointer, abi.size32.into(), abi.align32)?;
        let InterfaceType::Result(index) = ty else {
            return self.value(ty, bytes, 0).map(|()| false);
        };
        let result = &self.types[index];
        let case = guest::discriminant("result", &result.info, bytes, 2)?;
        let payload = if case == 0 { result.ok } else { result.err };
        match payload {
            Some(payload) => {
                let extent = layout::payload(&result.info, self.types, &payload)?;
                self.value(payload, guest::part(bytes, extent)?, 0)?;
            }
            None => self.null()?,
        }
        Ok(case == 1)
    }

    /// A value that is one slot: a scalar, a record or tuple of one such value, or cases
    /// without payload. A slot has more bits than the scalar in memory, and they count
    /// for bool and discriminants.
    fn slot(&mut self, ty: InterfaceType, slot: u64, depth: u32) -> wasmtime::Result<()> {
        let depth = deeper(depth)?;
        let types = self.types;
        let word = guest::low_word(slot);
        match ty {
            InterfaceType::Bool => self.truth(word != 0),
            InterfaceType::Record(index) => {
                self.out.raw(self.cx, b"{")?;
                for field in &types[index].fields {
                    self.name(&field.name)?;
                    self.slot(field.ty, slot, depth)?;
                }
                self.out.raw(self.cx, b"}")
            }
            InterfaceType::Tuple(index) => {
                self.out.raw(self.cx, b"[")?;
                for item in &types[index].types {
                    self.slot(*item, slot, depth)?;
                }
                self.out.raw(self.cx, b"]")
            }
            InterfaceType::Enum(index) => self.enumerated(&types[index], word),
            InterfaceType::Variant(index) => {
                let cases = &types[index].cases;
                let case = guest::in_range("variant", word, cases.len())?;
                match cases.get_index(usize::try_from(case)?) {
                    Some((name, None)) => self.out.string(self.cx, name),
                    _ => Err(unfit("a variant in one slot has no payloads")),
                }
            }
            InterfaceType::Result(_) => {
                let case = guest::in_range("result", word, 2)?;
                self.side(case)?;
                self.null()?;
                self.out.raw(self.cx, b"}")
            }
            scalar => {
                let abi = types.canonical_abi(&scalar);
                let bytes = slot.to_le_bytes();
                let size = usize::try_from(abi.size32)?;
                self.scalar(scalar, guest::part(&bytes, Extent { start: 0, size })?)
            }
        }
    }

    /// A value in memory: `bytes` is as long as its type.
    fn value(&mut self, ty: InterfaceType, bytes: &'c [u8], depth: u32) -> wasmtime::Result<()> {
        let depth = deeper(depth)?;
        let types = self.types;
        match ty {
            InterfaceType::String => self.text(bytes),
            InterfaceType::List(index) => self.list(index, bytes, depth),
            InterfaceType::Record(index) => self.record(index, bytes, depth),
            InterfaceType::Tuple(index) => self.tuple(index, bytes, depth),
            InterfaceType::Enum(index) => {
                let case = guest::discriminant_bits(&types[index].info, bytes)?;
                self.enumerated(&types[index], case)
            }
            InterfaceType::Variant(index) => self.variant(index, bytes, depth),
            InterfaceType::Option(index) => self.option(index, bytes, depth),
            InterfaceType::Result(index) => self.result(index, bytes, depth),
            scalar => self.scalar(scalar, bytes),
        }
    }

    fn variant(
        &mut self,
        index: TypeVariantIndex,
        bytes: &'c [u8],
        depth: u32,
    ) -> wasmtime::Result<()> {
        let variant = &self.types[index];
        let case = guest::discriminant("variant", &variant.info, bytes, variant.cases.len())?;
        match variant.cases.get_index(usize::try_from(case)?) {
            None => Err(unfit("the type has no such case")),
            Some((name, None)) => self.out.string(self.cx, name),
            Some((name, Some(payload))) => {
                self.out.raw(self.cx, b"{")?;
                self.name(name)?;
                self.payload(*payload, &variant.info, bytes, depth)?;
                self.out.raw(self.cx, b"}")
            }
        }
    }

    fn option(
        &mut self,
        index: TypeOptionIndex,
        bytes: &'c [u8],
        depth: u32,
    ) -> wasmtime::Result<()> {
        let option = &self.types[index];
        match guest::discriminant("option", &option.info, bytes, 2)? {
            0 => self.null(),
            // A3: `null` inside would be the same text as `null` outside.
            _ if matches!(option.ty, InterfaceType::Option(_)) => {
                self.out.raw(self.cx, b"{\"some\":")?;
                self.payload(option.ty, &option.info, bytes, depth)?;
                self.out.raw(self.cx, b"}")
            }
            _ => self.payload(option.ty, &option.info, bytes, depth),
        }
    }

    fn result(
        &mut self,
        index: TypeResultIndex,
        bytes: &'c [u8],
        depth: u32,
    ) -> wasmtime::Result<()> {
        let result = &self.types[index];
        let case = guest::discriminant("result", &result.info, bytes, 2)?;
        self.side(case)?;
        match if case == 0 { result.ok } else { result.err } {
            Some(payload) => self.payload(payload, &result.info, bytes, depth)?,
            None => self.null()?,
        }
        self.out.raw(self.cx, b"}")
    }

    fn payload(
        &mut self,
        ty: InterfaceType,
        info: &VariantInfo,
        bytes: &'c [u8],
        depth: u32,
    ) -> wasmtime::Result<()> {
        let extent = layout::payload(info, self.types, &ty)?;
        self.value(ty, guest::part(bytes, extent)?, depth)
    }

    fn record(
        &mut self,
        record: TypeRecordIndex,
        bytes: &'c [u8],
        depth: u32,
    ) -> wasmtime::Result<()> {
        let types = self.types;
        let mut extents = Fields::default();
        self.out.raw(self.cx, b"{")?;
        for (number, field) in types[record].fields.iter().enumerate() {
            if number > 0 {
                self.out.raw(self.cx, b",")?;
            }
            self.name(&field.name)?;
            let extent = extents.next(types, &field.ty)?;
            self.value(field.ty, guest::part(bytes, extent)?, depth)?;
        }
        self.out.raw(self.cx, b"}")
    }

    fn tuple(
        &mut self,
        tuple: TypeTupleIndex,
        bytes: &'c [u8],
        depth: u32,
    ) -> wasmtime::Result<()> {
        let types = self.types;
        let mut extents = Fields::default();
        self.out.raw(self.cx, b"[")?;
        for (number, ty) in types[tuple].types.iter().enumerate() {
            if number > 0 {
                self.out.raw(self.cx, b",")?;
            }
            let extent = extents.next(types, ty)?;
            self.value(*ty, guest::part(bytes, extent)?, depth)?;
        }
        self.out.raw(self.cx, b"]")
    }

    fn list(&mut self, list: TypeListIndex, pair: &[u8], depth: u32) -> wasmtime::Result<()> {
        let element = self.types[list].element;
        let abi = self.types.canonical_abi(&element);
        let (pointer, len) = guest::pointer_pair(pair)?;
        let total = u64::from(len).saturating_mul(abi.size32.into());
        let bytes = self.region("list", pointer, total, abi.align32)?;
        if element == InterfaceType::U8 {
            return self.out.bytes(self.cx, bytes);
        }
        let size = usize::try_from(abi.size32)?;
        if size == 0 {
            return Err(unfit("a list of items without size"));
        }
        // An item is at least one byte of JSON, and a comma or bracket comes before it.
        let least = usize::try_from(len)?.saturating_mul(2).saturating_add(1);
        self.out.room(self.cx, least.max(2))?;
        self.out.raw(self.cx, b"[")?;
        for (number, item) in bytes.chunks_exact(size).enumerate() {
            if number > 0 {
                self.out.raw(self.cx, b",")?;
            }
            self.value(element, item, depth)?;
        }
        self.out.raw(self.cx, b"]")
    }

    /// Guest memory from `pointer` on, `bytes` long.
    pub(super) fn region(
        &self,
        kind: &'static str,
        pointer: u32,
        bytes: u64,
        align: u32,
    ) -> wasmtime::Result<&'c [u8]> {
        guest::region(self.cx.memory(), kind, pointer, bytes, align)
    }

    fn enumerated(&mut self, ty: &TypeEnum, case: u32) -> wasmtime::Result<()> {
        let case = guest::in_range("enum", case, ty.names.len())?;
        #[allow(
            clippy::indexing_slicing,
            reason = "in range as just checked; walking the set would cost its length for every item"
        )]
        let name = &ty.names[usize::try_from(case)?];
        self.out.string(self.cx, name)
    }

    fn name(&mut self, name: &str) -> wasmtime::Result<()> {
        self.out.string(self.cx, name)?;
        self.out.raw(self.cx, b":")
    }

    /// Opens a `result` inside a value.
    fn side(&mut self, case: u32) -> wasmtime::Result<()> {
        let opening: &[u8] = if case == 0 { b"{\"ok\":" } else { b"{\"err\":" };
        self.out.raw(self.cx, opening)
    }

    fn null(&mut self) -> wasmtime::Result<()> {
        self.out.raw(self.cx, b"null")
    }
}
