//! Leaves: strings in three encodings, numbers, chars, flags.
//!
//! Rule (A7, X6): text that is not valid in the component's encoding is never repaired;
//! any non-zero bool is true and flag bits without a label are dropped, as the canonical
//! ABI says.

use bindery_json::text;
use wasmtime::component::__internal::InterfaceType;
use wasmtime::component::__internal::wasmtime_environ::component::{
    StringEncoding, TypeFlagsIndex,
};

use super::error::{GuestLie, unfit};
use super::guest;
use super::lift::Walk;
use super::output::PIECE_BYTES;

/// In the length of a latin1+utf16 string: the text is UTF-16.
const UTF16_TAG: u32 = 1 << 31;

impl Walk<'_, '_> {
    /// Our own decoding, not the engine's: that copies first, and charges a second time.
    pub(super) fn text(&mut self, pair: &[u8]) -> wasmtime::Result<()> {
        let (pointer, len) = guest::pointer_pair(pair)?;
        match self.cx.options().string_encoding {
            StringEncoding::Utf8 => {
                let bytes = self.region("string", pointer, len.into(), 1)?;
                // Validating costs time, too: the least length is paid before it.
                match bytes.len() <= PIECE_BYTES {
                    true => self.short(bytes),
                    false => self.long(bytes),
                }
            }
            StringEncoding::CompactUtf16 if len & UTF16_TAG == 0 => {
                let bytes = self.region("string", pointer, len.into(), 2)?;
                self.decoded(bytes.len(), bytes.iter().map(|byte| Ok(char::from(*byte))))
            }
            StringEncoding::CompactUtf16 => self.utf16(pointer, len ^ UTF16_TAG),
            StringEncoding::Utf16 => self.utf16(pointer, len),
        }
    }

    fn utf16(&mut self, pointer: u32, units: u32) -> wasmtime::Result<()> {
        let total = u64::from(units).saturating_mul(2);
        let bytes = self.region("string", pointer, total, 2)?;
        let (units, _) = bytes.as_chunks::<2>();
        let decoded = char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)));
        let lie = GuestLie::Text { encoding: "utf-16" };
        self.decoded(
            units.len(),
            decoded.map(|char| char.map_err(|_| lie.clone())),
        )
    }

    /// UTF-8 in one go. Validating costs time, too: the least length is paid before it.
    fn short(&mut self, bytes: &[u8]) -> wasmtime::Result<()> {
        self.out.room(self.cx, bytes.len().saturating_add(2))?;
        let text = str::from_utf8(bytes);
        let text = text.map_err(|_| GuestLie::Text { encoding: "utf-8" })?;
        self.out.string(self.cx, text)
    }

    /// UTF-8 in pieces, each cut before what is no whole character in it; a piece that begins
    /// with none ends the walk.
    fn long(&mut self, mut rest: &[u8]) -> wasmtime::Result<()> {
        self.out.open(self.cx, rest.len())?;
        while !rest.is_empty() {
            let (piece, _) = rest.split_at(PIECE_BYTES.min(rest.len()));
            let sound = piece.utf8_chunks().next().map_or("", |first| first.valid());
            if sound.is_empty() {
                return Err(GuestLie::Text { encoding: "utf-8" }.into());
            }
            self.out.piece(self.cx, sound)?;
            (_, rest) = rest.split_at(sound.len());
        }
        self.out.close(self.cx)
    }

    /// Characters that are decoded as they come, at least `least` of them bytes of text.
    fn decoded(
        &mut self,
        least: usize,
        mut chars: impl Iterator<Item = Result<char, GuestLie>>,
    ) -> wasmtime::Result<()> {
        self.out.open(self.cx, least)?;
        loop {
            let piece = chars.by_ref().take(PIECE_BYTES);
            let piece: String = piece.collect::<Result<_, _>>()?;
            match piece.is_empty() {
                true => return self.out.close(self.cx),
                false => self.out.piece(self.cx, &piece)?,
            }
        }
    }

    pub(super) fn scalar(&mut self, ty: InterfaceType, bytes: &[u8]) -> wasmtime::Result<()> {
        let cx = &mut *self.cx;
        match ty {
            InterfaceType::Bool => {
                let [byte] = guest::sized(bytes)?;
                self.truth(byte != 0)
            }
            InterfaceType::U8 | InterfaceType::U16 | InterfaceType::U32 => {
                let value = guest::unsigned(bytes)?.into();
                self.out.scalar(cx, |json| text::push_u64(json, value))
            }
            InterfaceType::U64 => {
                let value = u64::from_le_bytes(guest::sized(bytes)?);
                self.out.scalar(cx, |json| text::push_u64(json, value))
            }
            InterfaceType::S8 | InterfaceType::S16 | InterfaceType::S32 => {
                let value = guest::signed(bytes)?.into();
                self.out.scalar(cx, |json| text::push_s64(json, value))
            }
            InterfaceType::S64 => {
                let value = i64::from_le_bytes(guest::sized(bytes)?);
                self.out.scalar(cx, |json| text::push_s64(json, value))
            }
            InterfaceType::Float32 => {
                let value = f32::from_le_bytes(guest::sized(bytes)?);
                self.out.scalar(cx, |json| text::push_f32(json, value))
            }
            InterfaceType::Float64 => {
                let value = f64::from_le_bytes(guest::sized(bytes)?);
                self.out.scalar(cx, |json| text::push_f64(json, value))
            }
            InterfaceType::Char => {
                let found = u32::from_le_bytes(guest::sized(bytes)?);
                let value = char::from_u32(found).ok_or(GuestLie::Char { found })?;
                self.out.scalar(cx, |json| text::push_char(json, value))
            }
            InterfaceType::Flags(index) => self.flags(index, bytes),
            _ => Err(unfit("a type without a json form")),
        }
    }

    pub(super) fn truth(&mut self, value: bool) -> wasmtime::Result<()> {
        self.out
            .scalar(self.cx, |json| text::push_bool(json, value))
    }

    /// Labels in declaration order; bits without a label are dropped (A9).
    fn flags(&mut self, index: TypeFlagsIndex, bytes: &[u8]) -> wasmtime::Result<()> {
        let types = self.types;
        let names = &types[index].names;
        if names.len() > 32 {
            return Err(unfit("flags with more than 32 labels"));
        }
        let bits = guest::unsigned(bytes)?;
        let mut before: &[u8] = b"[";
        for (bit, name) in (0..32u32).zip(names) {
            if bits >> bit & 1 == 1 {
                self.out.raw(self.cx, before)?;
                self.out.string(self.cx, name)?;
                before = b",";
            }
        }
        let end: &[u8] = if before == b"[" { b"[]" } else { b"]" };
        self.out.raw(self.cx, end)
    }
}
