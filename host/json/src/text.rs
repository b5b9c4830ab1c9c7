//! Writes JSON text, one leaf at a time: what lifting and [`crate::render`] are made of.
//!
//! Rule (case A1): each value of a type has exactly one text, and the reader takes that
//! text back to the same value. Writers append to a byte buffer that stays valid UTF-8.

/// Largest integer that a double holds together with both its neighbours: 2^53 − 1. A
/// reader that stores numbers as doubles keeps everything up to it apart.
pub const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Number of bytes at the start of `bytes` that stand in a JSON string as they are: the
/// first `"`, `\` or control character ends the run.
///
/// Eight bytes are judged at once. A borrow between lanes may flag a byte above the first
/// special one, never below it, so the lowest flag is exact.
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let mut run = 0;
    for chunk in bytes.chunks_exact(8) {
        let Ok(eight) = <[u8; 8]>::try_from(chunk) else {
            break;
        };
        let word = u64::from_le_bytes(eight);
        let quote = word ^ (LOW * 0x22);
        let backslash = word ^ (LOW * 0x5c);
        let special = (word.wrapping_sub(LOW * 0x20) & !word)
            | (quote.wrapping_sub(LOW) & !quote)
            | (backslash.wrapping_sub(LOW) & !backslash);
        let special = special & HIGH;
        if special != 0 {
            return run + (special.trailing_zeros() / 8) as usize;
        }
        run += 8;
    }
    let rest = bytes.get(run..).unwrap_or_default();
    run + rest
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
        .unwrap_or(rest.len())
}

/// Writes a string with its quotes.
pub fn push_str(out: &mut Vec<u8>, s: &str) {
    out.reserve(s.len().saturating_add(2));
    out.push(b'"');
    push_escaped(out, s);
    out.push(b'"');
}

/// Writes a piece of a string, without quotes around it: quotes, backslashes and control
/// characters escaped, the rest copied in runs.
pub fn push_escaped(out: &mut Vec<u8>, s: &str) {
    let mut rest = s.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain_run(rest));
        out.extend_from_slice(plain);
        let Some((special, tail)) = tail.split_first() else {
            break;
        };
        push_escape(out, *special);
        rest = tail;
    }
}

fn push_escape(out: &mut Vec<u8>, special: u8) {
    let short = match special {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        other => {
            let hex = |nibble: u8| match nibble {
                0..=9 => b'0' + nibble,
                _ => b'a' + nibble - 10,
            };
            out.extend_from_slice(b"\\u00");
            out.push(hex(other >> 4));
            out.push(hex(other & 0x0f));
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Writes a `char`: a string of one Unicode scalar.
pub fn push_char(out: &mut Vec<u8>, c: char) {
    push_str(out, c.encode_utf8(&mut [0; 4]));
}

/// Writes a `bool`.
pub fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Writes an unsigned integer: a number up to 2^53 − 1, a decimal string above.
pub fn push_u64(out: &mut Vec<u8>, value: u64) {
    push_integer(out, false, value);
}

/// Writes a signed integer: a number within ±(2^53 − 1), a decimal string outside.
pub fn push_s64(out: &mut Vec<u8>, value: i64) {
    push_integer(out, value < 0, value.unsigned_abs());
}

fn push_integer(out: &mut Vec<u8>, negative: bool, magnitude: u64) {
    let as_string = magnitude > SAFE_INTEGER_MAX;
    if as_string {
        out.push(b'"');
    }
    if negative {
        out.push(b'-');
    }
    push_digits(out, magnitude);
    if as_string {
        out.push(b'"');
    }
}

fn push_digits(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut used = 0;
    for slot in digits.iter_mut().rev() {
        // A remainder of ten fits in a byte.
        *slot = b'0' + u8::try_from(value % 10).unwrap_or(0);
        used += 1;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(20 - used..).unwrap_or_default());
}

/// Writes an `f32`: the shortest decimal that reads back as the same `f32`, or one of the
/// strings `"nan"`, `"inf"`, `"-inf"`. Negative zero keeps its sign.
pub fn push_f32(out: &mut Vec<u8>, value: f32) {
    match value.is_finite() {
        true => out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes()),
        false => push_not_finite(out, f64::from(value)),
    }
}

/// Writes an `f64`: the shortest decimal that reads back as the same `f64`, or one of the
/// strings `"nan"`, `"inf"`, `"-inf"`. Negative zero keeps its sign.
pub fn push_f64(out: &mut Vec<u8>, value: f64) {
    match value.is_finite() {
        true => out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes()),
        false => push_not_finite(out, value),
    }
}

fn push_not_finite(out: &mut Vec<u8>, value: f64) {
    let text: &[u8] = match (value.is_nan(), value > 0.0) {
        (true, _) => b"\"nan\"",
        (false, true) => b"\"inf\"",
        (false, false) => b"\"-inf\"",
    };
    out.extend_from_slice(text);
}

/// Writes `list<u8>`: base64 of the standard alphabet, padded.
pub fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    push_base64(out, bytes);
    out.push(b'"');
}

/// Writes a piece of a `list<u8>`, without quotes around it. Pieces join to one text when
/// all but the last are multiples of three bytes long.
pub fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    base64_simd::STANDARD.encode_append(bytes, out);
}

/// Number of bytes that [`push_bytes`] writes for `len` bytes: what an output limit is
/// asked before the text is built (case A6).
pub fn base64_text_len(len: usize) -> usize {
    len.div_ceil(3).saturating_mul(4).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a1_an_integer_is_a_number_inside_the_safe_range_and_a_string_outside() {
        for (value, wanted) in [
            (0, "0"),
            (10, "10"),
            (9_007_199_254_740_991, "9007199254740991"),
            (9_007_199_254_740_992, "\"9007199254740992\""),
            (u64::MAX, "\"18446744073709551615\""),
        ] {
            assert_eq!(text(|out| push_u64(out, value)), wanted);
        }
        for (value, wanted) in [
            (-1, "-1"),
            (-9_007_199_254_740_991, "-9007199254740991"),
            (-9_007_199_254_740_992, "\"-9007199254740992\""),
            (i64::MIN, "\"-9223372036854775808\""),
            (i64::MAX, "\"9223372036854775807\""),
        ] {
            assert_eq!(text(|out| push_s64(out, value)), wanted);
        }
    }

    #[test]
    fn a_float_keeps_its_sign_its_shortest_digits_and_its_own_width() {
        for (value, wanted) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "\"nan\""),
            (-f64::NAN, "\"nan\""),
            (f64::INFINITY, "\"inf\""),
            (f64::NEG_INFINITY, "\"-inf\""),
        ] {
            assert_eq!(text(|out| push_f64(out, value)), wanted);
        }
        assert_eq!(text(|out| push_f32(out, 0.1)), "0.1");
        assert_eq!(text(|out| push_f32(out, -0.0)), "-0.0");
        assert_eq!(text(|out| push_f32(out, f32::NEG_INFINITY)), "\"-inf\"");
    }

    #[test]
    fn a_string_escapes_what_json_demands_wherever_it_stands() {
        assert_eq!(
            text(|out| push_str(out, "a\"b\\c\n\u{1}\u{7f}ü\0")),
            "\"a\\\"b\\\\c\\n\\u0001\u{7f}ü\\u0000\""
        );
        for position in 0..40 {
            for special in ['"', '\\', '\u{1f}', '\t'] {
                let s: String = (0..40)
                    .map(|at| if at == position { special } else { 'é' })
                    .collect();
                let read: String = serde_json::from_str(&text(|out| push_str(out, &s))).unwrap();
                assert_eq!(read, s);
            }
        }
    }

    #[test]
    fn bytes_are_padded_base64_and_their_length_is_known_before() {
        for (bytes, wanted) in [
            (&b""[..], "\"\""),
            (b"f", "\"Zg==\""),
            (b"fo", "\"Zm8=\""),
            (b"foo", "\"Zm9v\""),
            (&[0xfb, 0xff], "\"+/8=\""),
        ] {
            assert_eq!(text(|out| push_bytes(out, bytes)), wanted);
            assert_eq!(base64_text_len(bytes.len()), wanted.len());
        }
    }
}
