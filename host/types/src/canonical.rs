//! Canonical JSON (RFC 8785): one text for one value, so that a digest means the value.
//!
//! Rule: members in the order of their UTF-16 code units, numbers as ECMAScript prints
//! them, no spaces. One step beyond the RFC: an integer that a double cannot hold is
//! written exactly, since two different arguments must not become one (C-56).

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use crate::Digest;

/// The canonical text of `value`. Depth is bounded by whoever parsed it.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

/// The digest of the canonical text of `value`.
pub fn canonical_digest(value: &Value) -> Digest {
    Digest::of(canonical(value).as_bytes())
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => push_number(out, number),
        Value::String(text) => push_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                comma(out, index);
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            if in_order(members) {
                write_members(out, members.iter());
            } else {
                let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
                sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                write_members(out, sorted.into_iter());
            }
            out.push('}');
        }
    }
}

/// Whether the members stand in their order already: of names in ASCII, bytes tell.
fn in_order(members: &Map<String, Value>) -> bool {
    members.keys().all(|name| name.is_ascii()) && members.keys().is_sorted()
}

fn write_members<'a>(out: &mut String, members: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (index, (name, member)) in members.enumerate() {
        comma(out, index);
        push_text(out, name);
        out.push(':');
        write(out, member);
    }
}

fn comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

/// The escapes of `serde_json` are those of the RFC: short forms, else `\u00xx`. Most texts
/// need none.
fn push_text(out: &mut String, text: &str) {
    let escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    if text.bytes().any(escaped) {
        return out.push_str(&Value::from(text).to_string());
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

fn push_number(out: &mut String, number: &Number) {
    if number.is_u64() || number.is_i64() {
        // A string takes whatever is written to it.
        let _written = write!(out, "{number}");
    } else {
        push_double(out, number.as_f64().unwrap_or_default());
    }
}

/// `Number.prototype.toString` of ECMAScript over the shortest digits that read back.
fn push_double(out: &mut String, double: f64) {
    if double == 0.0 {
        return out.push('0');
    }
    let text = format!("{double:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if let Some(rest) = mantissa.strip_prefix('-') {
        out.push('-');
        return push_digits(out, rest, exponent);
    }
    push_digits(out, mantissa, exponent);
}

fn push_digits(out: &mut String, mantissa: &str, exponent: i32) {
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or_default());
    match exponent + 1 {
        point @ 1..=21 if count <= point => {
            out.push_str(&digits);
            out.push_str(&zeros(point - count));
        }
        point @ 1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
            out.push_str(&format!("{whole}.{fraction}"));
        }
        point @ -5..=0 => out.push_str(&format!("0.{}{digits}", zeros(-point))),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            out.push_str(&format!("{first}{dot}{rest}e{sign}{}", exponent.abs()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        canonical(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_examples_of_the_rfc_come_out_as_printed() {
        let numbers = "[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]";
        assert_eq!(of(numbers), "[333333333.3333333,1e+30,4.5,0.002,1e-27]");
        let members = "{\"€\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"😀\":5,\"\u{80}\":6,\"ö\":7}";
        let order = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}";
        assert_eq!(of(members), order);
        assert_eq!(
            of(r#"{"b":"\u000f\n\u0041\"\\\/","a":[true,null]}"#),
            r#"{"a":[true,null],"b":"\u000f\nA\"\\/"}"#
        );
    }

    #[test]
    fn doubles_print_as_ecmascript_does() {
        for (text, wanted) in [
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("-0.0", "0"),
            ("1e-6", "0.000001"),
            ("1e-7", "1e-7"),
            ("-1.5", "-1.5"),
            ("5e-324", "5e-324"),
            ("123456789012345680000.0", "123456789012345680000"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ] {
            assert_eq!(of(text), wanted, "{text}");
        }
    }

    #[test]
    fn two_integers_that_one_double_would_swallow_stay_two() {
        assert_ne!(of("9007199254740993"), of("9007199254740992"), "C-56");
    }
}
