//! String tokens: escapes, and the strings they stand for.
//!
//! Rule (case X45): an escape gives exactly one Unicode scalar; half a surrogate pair is
//! refused, not replaced.

use std::borrow::Cow;

use crate::text::plain_run;

/// A checked string token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'t> {
    /// What stands between the quotes.
    pub(crate) inner: &'t str,
    /// Whether there is any escape in it.
    pub(crate) escaped: bool,
}

impl<'t> Raw<'t> {
    /// The string that the token means.
    pub(crate) fn text(self) -> Cow<'t, str> {
        if !self.escaped {
            return Cow::Borrowed(self.inner);
        }
        let mut bytes = Vec::with_capacity(self.inner.len());
        self.unescape(&mut bytes);
        // Runs are cut at ASCII characters and escapes give whole scalars: this is UTF-8.
        Cow::Owned(String::from_utf8(bytes).unwrap_or_default())
    }

    /// Appends the string that the token means.
    pub(crate) fn unescape(self, out: &mut Vec<u8>) {
        let mut rest = self.inner.as_bytes();
        loop {
            // A checked token holds no raw quote or control character: a run ends at a
            // backslash or at the end.
            let (plain, escape) = rest.split_at(plain_run(rest));
            out.extend_from_slice(plain);
            let Some((scalar, len)) = escape_at(escape) else {
                return;
            };
            out.extend_from_slice(scalar.encode_utf8(&mut [0; 4]).as_bytes());
            rest = escape.get(len..).unwrap_or_default();
        }
    }
}

/// The scalar of the escape at the start of `bytes` and the number of bytes it takes;
/// `None` when it is none or half of a surrogate pair.
pub(crate) fn escape_at(bytes: &[u8]) -> Option<(char, usize)> {
    let short = match bytes.get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        plain @ (b'"' | b'\\' | b'/') => char::from(*plain),
        b'u' => {
            let first = hex4(bytes.get(2..6)?)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first)?, 6));
            }
            if bytes.get(6..8)? != b"\\u" {
                return None;
            }
            let second = hex4(bytes.get(8..12)?)?;
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            return Some((
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)?,
                12,
            ));
        }
        _ => return None,
    };
    Some((short, 2))
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value << 4 | char::from(*digit).to_digit(16)?)
    })
}

/// What JSON wants instead of the bad escape at the start of `bytes`.
pub(crate) fn expected_escape(bytes: &[u8]) -> &'static str {
    match (bytes.get(1), bytes.get(2..6).and_then(hex4)) {
        (Some(b'u'), Some(0xdc00..)) => "no low surrogate without a high one before it",
        (Some(b'u'), Some(_)) => "a low surrogate right after the high one",
        (Some(b'u'), None) => "four hexadecimal digits after `\\u`",
        _ => "one of the escapes `\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u`",
    }
}
