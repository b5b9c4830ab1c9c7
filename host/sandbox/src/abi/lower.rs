//! From tape to guest memory: one walk over the component's type with the tape beside it.
//!
//! Rule: the type says what comes next, the tape only says which value; a node that does
//! not fit is [`Unfit`](super::Unfit). Guest memory grows by the guest's own `realloc`,
//! whose answer the engine has checked; host memory by one bounded image per list being
//! filled ([`CHUNK_BYTES`] or one item), so neither a guest nor a text can inflate it.

use std::mem::MaybeUninit;

use bindery_json::tape::{ABSENT, Node, Span, Tape};
use wasmtime::ValRaw;
use wasmtime::component::__internal::wasmtime_environ::component::{
    TypeListIndex, TypeRecordIndex, TypeTupleIndex, VariantInfo,
};
use wasmtime::component::__internal::{ComponentTypes, InterfaceType, LowerContext};
use wasmtime::component::Lower;

use super::error::{allocation, unfit};
use super::flat::{Place, SLOTS, Slots};
use super::layout::{self, Fields, deeper};
use crate::leash::Leash;

/// Items are written into an image of about this size, which is then copied to the guest
/// at once: asking the context for the memory costs more than a small copy.
const CHUNK_BYTES: usize = 4096;
/// Values between two looks at the leash of the call; far less than a millisecond.
const LOOK_VALUES: u32 = 4096;

/// Lowers the tape's arguments for a function whose parameter types are the tuple `ty`.
pub(super) fn lower_parameters<T>(
    tape: &Tape,
    cx: &mut LowerContext<'_, T>,
    ty: InterfaceType,
) -> wasmtime::Result<Slots> {
    let InterfaceType::Tuple(parameters) = ty else {
        return Err(unfit("parameters are not a tuple"));
    };
    let Some(Node::Record { fields, .. }) = tape.node(0) else {
        return Err(unfit("the tape holds no arguments"));
    };
    let leash = Leash::of_this_call().ok_or_else(|| unfit("arguments without a call"))?;
    let types = cx.types;
    let abi = &types[parameters].abi;
    let mut slots = Slots::default();
    let mut walk = Walk {
        tape,
        types,
        cx,
        leash,
        values: 0,
    };
    if abi.flat_count(SLOTS).is_some() {
        walk.parameters(parameters, fields, &mut Place::Slots(&mut slots))?;
    } else {
        let pointer = walk.realloc(abi.align32, usize::try_from(abi.size32)?)?;
        // The image of the parameters: as large as the component's own type, which the
        // size of a component bounds.
        let mut image = vec![0; usize::try_from(abi.size32)?];
        walk.parameters(parameters, fields, &mut Place::Image(&mut image))?;
        walk.copy_in(pointer, &image)?;
        Place::Slots(&mut slots).scalar(pointer.into())?;
    }
    Ok(slots)
}

struct Walk<'w, 'c, T: 'static> {
    tape: &'w Tape,
    types: &'c ComponentTypes,
    cx: &'w mut LowerContext<'c, T>,
    leash: Leash,
    /// Values lowered so far.
    values: u32,
}

impl<'w, T> Walk<'w, '_, T> {
    fn parameters(
        &mut self,
        parameters: TypeTupleIndex,
        entries: u32,
        place: &mut Place<'_>,
    ) -> wasmtime::Result<()> {
        let types = &self.types[parameters].types;
        self.fields(types.iter(), entries, place, 0)
    }

    /// Lowers the value whose first node is at `at`; returns the node after it.
    fn value(
        &mut self,
        ty: InterfaceType,
        at: u32,
        place: &mut Place<'_>,
        depth: u32,
    ) -> wasmtime::Result<u32> {
        let depth = deeper(depth)?;
        self.step()?;
        let types = self.types;
        let next = after(at)?;
        let node = self.tape.node(at);
        let node = node.ok_or_else(|| unfit("the tape ends inside a value"))?;
        match (ty, node) {
            (InterfaceType::Record(index), Node::Record { fields, end }) => {
                self.record(index, fields, place, depth)?;
                Ok(end)
            }
            (InterfaceType::Tuple(index), Node::Tuple) => self.tuple(index, next, place, depth),
            (InterfaceType::List(index), Node::List { len }) => {
                self.list(index, len, next, place, depth)
            }
            (InterfaceType::List(index), Node::Bytes(span))
                if types[index].element == InterfaceType::U8 =>
            {
                self.bytes(span, place)?;
                Ok(next)
            }
            (InterfaceType::String, Node::Text(span)) => {
                self.text(span, place)?;
                Ok(next)
            }
            (_, Node::Case { index }) => self.case(ty, index, (next, depth), place),
            _ => {
                place.scalar(scalar(types, ty, node)?)?;
                Ok(next)
            }
        }
    }

    /// H21: one more value; the leash is asked now and then.
    fn step(&mut self) -> wasmtime::Result<()> {
        self.values = self.values.wrapping_add(1);
        match self.values.is_multiple_of(LOOK_VALUES) {
            true => self.leash.look(),
            false => Ok(()),
        }
    }

    fn record(
        &mut self,
        record: TypeRecordIndex,
        entries: u32,
        place: &mut Place<'_>,
        depth: u32,
    ) -> wasmtime::Result<()> {
        let fields = &self.types[record].fields;
        self.fields(fields.iter().map(|field| &field.ty), entries, place, depth)
    }

    /// Lowers fields in declaration order, each from where the text had it.
    fn fields<'t>(
        &mut self,
        fields: impl Iterator<Item = &'t InterfaceType>,
        entries: u32,
        place: &mut Place<'_>,
        depth: u32,
    ) -> wasmtime::Result<()> {
        let mut extents = Fields::default();
        for (number, ty) in fields.enumerate() {
            let mut part = place.part(extents.next(self.types, ty)?)?;
            match self.tape.field(entries, number) {
                Some(ABSENT) => self.absent(*ty, &mut part)?,
                Some(at) => {
                    self.value(*ty, at, &mut part, depth)?;
                }
                None => return Err(unfit("the tape knows fewer fields than the type")),
            }
        }
        Ok(())
    }

    /// A field that was left out is `none`; only an option may be.
    fn absent(&mut self, ty: InterfaceType, place: &mut Place<'_>) -> wasmtime::Result<()> {
        let InterfaceType::Option(_) = ty else {
            return Err(unfit("a field was left out that is no option"));
        };
        // `none` has no payload, so nothing is read from the tape at any position.
        self.case(ty, 0, (0, 0), place)?;
        Ok(())
    }

    fn tuple(
        &mut self,
        tuple: TypeTupleIndex,
        first: u32,
        place: &mut Place<'_>,
        depth: u32,
    ) -> wasmtime::Result<u32> {
        let types = self.types;
        let mut extents = Fields::default();
        let mut at = first;
        for ty in &types[tuple].types {
            let mut part = place.part(extents.next(types, ty)?)?;
            at = self.value(*ty, at, &mut part, depth)?;
        }
        Ok(at)
    }

    /// A case of a variant, enum, option or result: discriminant, payload, and zeros in
    /// the slots that only larger cases use.
    fn case(
        &mut self,
        ty: InterfaceType,
        case: u32,
        (at, depth): (u32, u32),
        place: &mut Place<'_>,
    ) -> wasmtime::Result<u32> {
        let types = self.types;
        let (info, payload) = payload_of(types, ty, case)?;
        let before = place.slots_used();
        place
            .part(layout::discriminant(info)?)?
            .scalar(case.into())?;
        let next = match payload {
            Some(payload) => {
                let mut part = place.part(layout::payload(info, types, &payload)?)?;
                self.value(payload, at, &mut part, depth)?
            }
            None => at,
        };
        let count = types.canonical_abi(&ty).flat_count(SLOTS).unwrap_or(0);
        place.pad_slots(before.saturating_add(count))?;
        Ok(next)
    }

    fn list(
        &mut self,
        list: TypeListIndex,
        len: u32,
        first: u32,
        place: &mut Place<'_>,
        depth: u32,
    ) -> wasmtime::Result<u32> {
        let element = self.types[list].element;
        let abi = self.types.canonical_abi(&element);
        let (size, align) = (usize::try_from(abi.size32)?, abi.align32);
        let count = usize::try_from(len)?;
        let total = count.checked_mul(size);
        let total = total.ok_or_else(|| unfit("a list is larger than a memory"))?;
        let pointer = self.realloc(align, total)?;
        let per_chunk = CHUNK_BYTES
            .checked_div(size)
            .unwrap_or(0)
            .clamp(1, count.max(1));
        let mut image = vec![0; per_chunk.saturating_mul(size)];
        let (mut at, mut left, mut target) = (first, count, pointer);
        while left > 0 {
            let items = left.min(per_chunk);
            image.fill(0);
            for item in image.chunks_exact_mut(size.max(1)).take(items) {
                at = self.value(element, at, &mut Place::Image(item), depth)?;
            }
            let filled = image.get(..items.saturating_mul(size)).unwrap_or_default();
            self.copy_in(target, filled)?;
            target = target.saturating_add(u32::try_from(filled.len())?);
            left = left.saturating_sub(items);
        }
        place.pair(pointer, len)?;
        Ok(at)
    }

    fn bytes(&mut self, span: Span, place: &mut Place<'_>) -> wasmtime::Result<()> {
        let bytes = self.span(span)?;
        let pointer = self.realloc(1, bytes.len())?;
        self.copy_in(pointer, bytes)?;
        place.pair(pointer, u32::try_from(bytes.len())?)
    }

    /// The engine's own lowering of strings: it knows all three encodings (X6).
    fn text(&mut self, span: Span, place: &mut Place<'_>) -> wasmtime::Result<()> {
        let text = str::from_utf8(self.span(span)?);
        let text = text.map_err(|_| unfit("text of the tape is not utf-8"))?;
        let mut pair = MaybeUninit::new([ValRaw::u64(0); 2]);
        text.linear_lower_to_flat(self.cx, InterfaceType::String, &mut pair)
            .map_err(allocation)?;
        #[allow(
            unsafe_code,
            reason = "the engine's interface writes through MaybeUninit"
        )]
        // SAFETY: initialised by `new`; a write can only put another `ValRaw` there.
        let [pointer, len] = unsafe { pair.assume_init() };
        place.pair(pointer.get_u32(), len.get_u32())
    }

    fn span(&self, span: Span) -> wasmtime::Result<&'w [u8]> {
        let bytes = self.tape.bytes(span);
        bytes.ok_or_else(|| unfit("a span lies beyond the tape"))
    }

    /// The guest's own allocator; the engine checks its answer's alignment and bounds.
    fn realloc(&mut self, align: u32, size: usize) -> wasmtime::Result<u32> {
        let pointer = self.cx.realloc(0, 0, align, size).map_err(allocation)?;
        Ok(u32::try_from(pointer)?)
    }

    fn copy_in(&mut self, target: u32, bytes: &[u8]) -> wasmtime::Result<()> {
        let memory = self.cx.as_slice_mut();
        memory
            .get_mut(usize::try_from(target)?..)
            .and_then(|rest| rest.get_mut(..bytes.len()))
            .ok_or_else(|| unfit("memory ends inside what was allocated"))?
            .copy_from_slice(bytes);
        Ok(())
    }
}

/// Discriminant and payload of case number `case`.
fn payload_of(
    types: &ComponentTypes,
    ty: InterfaceType,
    case: u32,
) -> wasmtime::Result<(&VariantInfo, Option<InterfaceType>)> {
    let found = match (ty, case) {
        (InterfaceType::Variant(index), _) => {
            let cases = &types[index].cases;
            let payload = cases.get_index(usize::try_from(case)?);
            payload.map(|(_, payload)| (&types[index].info, *payload))
        }
        (InterfaceType::Enum(index), _) => {
            let known = usize::try_from(case)? < types[index].names.len();
            known.then_some((&types[index].info, None))
        }
        (InterfaceType::Option(index), 0) => Some((&types[index].info, None)),
        (InterfaceType::Option(index), 1) => Some((&types[index].info, Some(types[index].ty))),
        (InterfaceType::Result(index), 0) => Some((&types[index].info, types[index].ok)),
        (InterfaceType::Result(index), 1) => Some((&types[index].info, types[index].err)),
        _ => None,
    };
    found.ok_or_else(|| unfit("the type has no such case"))
}

/// The bits of a scalar: an integer narrower than 32 bits is extended to them with its
/// sign, as a core parameter wants it; a memory takes the low bytes.
fn scalar(types: &ComponentTypes, ty: InterfaceType, node: Node) -> wasmtime::Result<u64> {
    let in_range = |value: u64, max: u64| (value <= max).then_some(value);
    let narrow = |value: i64, min: i64, max: i64| {
        let bits = i32::try_from(value).ok().map(i32::cast_unsigned);
        bits.filter(|_| (min..=max).contains(&value)).map(u64::from)
    };
    let bits = match (ty, node) {
        (InterfaceType::Bool, Node::Bool(value)) => Some(value.into()),
        (InterfaceType::U8, Node::Unsigned(value)) => in_range(value, u8::MAX.into()),
        (InterfaceType::U16, Node::Unsigned(value)) => in_range(value, u16::MAX.into()),
        (InterfaceType::U32, Node::Unsigned(value)) => in_range(value, u32::MAX.into()),
        (InterfaceType::U64, Node::Unsigned(value)) => Some(value),
        (InterfaceType::S8, Node::Signed(value)) => narrow(value, i8::MIN.into(), i8::MAX.into()),
        (InterfaceType::S16, Node::Signed(value)) => {
            narrow(value, i16::MIN.into(), i16::MAX.into())
        }
        (InterfaceType::S32, Node::Signed(value)) => {
            narrow(value, i32::MIN.into(), i32::MAX.into())
        }
        (InterfaceType::S64, Node::Signed(value)) => Some(value.cast_unsigned()),
        (InterfaceType::Float32, Node::F32(value)) => Some(value.to_bits().into()),
        (InterfaceType::Float64, Node::F64(value)) => Some(value.to_bits()),
        (InterfaceType::Char, Node::Char(value)) => Some(u32::from(value).into()),
        (InterfaceType::Flags(index), Node::Flags(bits)) => {
            let known = u32::try_from(types[index].names.len()).ok();
            // All labels known, and no more of them than bits.
            known
                .and_then(|labels| u32::MAX.checked_shr(32u32.checked_sub(labels)?))
                .filter(|mask| bits & !mask == 0)
                .map(|_| bits.into())
        }
        _ => None,
    };
    bits.ok_or_else(|| unfit("a node of the tape is no value of its type"))
}

fn after(at: u32) -> wasmtime::Result<u32> {
    at.checked_add(1)
        .ok_or_else(|| unfit("the tape is too long"))
}
