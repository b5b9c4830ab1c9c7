//! JSON text under construction, paid for before it is written.
//!
//! Rule (H17, B5): the hostcall fuel of the call stands for the bytes of output still
//! allowed. Strings, bytes and lists are charged by their exact or least length before
//! anything is written or decoded for them; a scalar right after its at most forty bytes.
//! So what is charged in the end is exactly the length of the text, and what is ever held
//! is the limit and one scalar.

use bindery_json::text;
use wasmtime::component::__internal::LiftContext;

use super::error::OutputOverflow;

/// The text so far, and how much of it (and of what is to come) is paid.
#[derive(Default)]
pub(super) struct Output {
    json: Vec<u8>,
    paid: usize,
}

impl Output {
    /// Pays for everything written and `more` bytes to come.
    pub(super) fn room(&mut self, cx: &mut LiftContext<'_>, more: usize) -> wasmtime::Result<()> {
        let asked = self.json.len().saturating_add(more);
        if asked > self.paid {
            let due = asked.saturating_sub(self.paid);
            // The engine's own error says less and has no type to find it by.
            cx.consume_fuel(due).map_err(|_| OutputOverflow { asked })?;
            self.paid = asked;
        }
        Ok(())
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

    /// Bytes as base64 with its quotes.
    pub(super) fn bytes(&mut self, cx: &mut LiftContext<'_>, bytes: &[u8]) -> wasmtime::Result<()> {
        self.room(cx, text::base64_text_len(bytes.len()))?;
        text::push_bytes(&mut self.json, bytes);
        self.room(cx, 0)
    }

    /// The finished text.
    pub(super) fn finish(self) -> Vec<u8> {
        self.json
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
