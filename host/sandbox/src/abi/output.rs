//! JSON text under construction, paid for before it is written.
//!
//! Rule (H17, B5): the hostcall fuel of the call stands for the bytes of output still
//! allowed. Strings, bytes and lists are charged by their exact or least length before
//! anything is written or decoded for them; a scalar right after its at most forty bytes.
//! So what is charged in the end is exactly the length of the text, and what is ever held
//! is the limit and one scalar. Every [`LOOK_BYTES`] of text the leash of the call is
//! asked (H7, H21); no text or bytes longer than [`PIECE_BYTES`] are written in one go.

use bindery_json::text;
use wasmtime::component::__internal::LiftContext;

use super::error::OutputOverflow;
use crate::leash::Leash;

/// Bytes of text between two looks at the leash: about a millisecond of the smallest items.
const LOOK_BYTES: usize = 64 << 10;
/// Bytes of a text or of a list of bytes that are written in one go; a multiple of three,
/// so that pieces of base64 join without padding.
pub(super) const PIECE_BYTES: usize = 48 << 10;

/// The text so far, and how much of it (and of what is to come) is paid.
pub(super) struct Output {
    json: Vec<u8>,
    paid: usize,
    leash: Leash,
    /// The length at which the leash is asked next.
    look_at: usize,
}

impl Output {
    /// No text yet, of the call that `leash` may end.
    pub(super) fn new(leash: Leash) -> Self {
        Self {
            json: Vec::new(),
            paid: 0,
            leash,
            look_at: LOOK_BYTES,
        }
    }

    /// Pays for everything written and `more` bytes to come.
    pub(super) fn room(&mut self, cx: &mut LiftContext<'_>, more: usize) -> wasmtime::Result<()> {
        let asked = self.json.len().saturating_add(more);
        if asked > self.paid {
            let due = asked.saturating_sub(self.paid);
            // The engine's own error says less and has no type to find it by.
            cx.consume_fuel(due).map_err(|_| OutputOverflow { asked })?;
            self.paid = asked;
        }
        match self.json.len() < self.look_at {
            true => Ok(()),
            false => self.look(),
        }
    }

    #[cold]
    fn look(&mut self) -> wasmtime::Result<()> {
        self.look_at = self.json.len().saturating_add(LOOK_BYTES);
        // What is paid for is what will be done; there is no use in starting it when the
        // fuel does not reach to its end.
        self.leash.charge_result(self.paid)
    }

    /// A scalar: `write` adds a few bytes.
    pub(super) fn scalar(
        &mut self,
        cx: &mut LiftContext<'_>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> wasmtime::Result<()> {
        write(&mut self.json);
        self.room(cx, 0)
    }

    /// Punctuation and words of JSON.
    pub(super) fn raw(&mut self, cx: &mut LiftContext<'_>, text: &[u8]) -> wasmtime::Result<()> {
        self.room(cx, text.len())?;
        self.json.extend_from_slice(text);
        Ok(())
    }

    /// A string with its quotes.
    pub(super) fn string(&mut self, cx: &mut LiftContext<'_>, text: &str) -> wasmtime::Result<()> {
        let plain = text.len().saturating_add(2);
        self.room(cx, plain)?;
        self.room(cx, plain.saturating_add(escapes(text.as_bytes())))?;
        text::push_str(&mut self.json, text);
        self.room(cx, 0)
    }

    /// Opens a string that comes in pieces, of at least `least` bytes.
    pub(super) fn open(&mut self, cx: &mut LiftContext<'_>, least: usize) -> wasmtime::Result<()> {
        self.room(cx, least.saturating_add(2))?;
        self.json.push(b'"');
        Ok(())
    }

    /// A piece of the string that is open.
    pub(super) fn piece(&mut self, cx: &mut LiftContext<'_>, piece: &str) -> wasmtime::Result<()> {
        let bytes = piece.len().saturating_add(escapes(piece.as_bytes()));
        self.room(cx, bytes)?;
        text::push_escaped(&mut self.json, piece);
        Ok(())
    }

    /// Closes the string that is open.
    pub(super) fn close(&mut self, cx: &mut LiftContext<'_>) -> wasmtime::Result<()> {
        self.raw(cx, b"\"")
    }

    /// Bytes as base64 with its quotes.
    pub(super) fn bytes(&mut self, cx: &mut LiftContext<'_>, bytes: &[u8]) -> wasmtime::Result<()> {
        self.room(cx, text::base64_text_len(bytes.len()))?;
        self.json.push(b'"');
        for piece in bytes.chunks(PIECE_BYTES) {
            text::push_base64(&mut self.json, piece);
            self.room(cx, 0)?;
        }
        self.raw(cx, b"\"")
    }

    /// The finished text, its fuel charged.
    pub(super) fn finish(self) -> wasmtime::Result<Vec<u8>> {
        self.leash.charge_result(self.paid)?;
        Ok(self.json)
    }
}

/// How many bytes more than its own a text needs as JSON: one for a backslash before a
/// quote, a backslash and the five controls with a letter, five for any other control.
fn escapes(text: &[u8]) -> usize {
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let cost = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    };
    // Most chunks have none: that question is answered many bytes at a time.
    text.chunks(64)
        .filter(|chunk| chunk.iter().fold(false, |any, byte| any | special(*byte)))
        .flatten()
        .map(|byte| cost(*byte))
        .sum()
}
