//! Numbers respelled for the validator, which compares some spellings as doubles.
//!
//! A whole number written with a point or an exponent becomes its digits. That changes no
//! value, so an exact validator could not tell; the reader gets the text as it was.

use serde_json::{Number, Value};

/// Zeros that are written out; the numbers of the tests need 400.
const ZEROS_MAX: i64 = 500;
/// Digits that a double holds: shorter numbers keep their spelling, so that the
/// validator's own reading of `30.0` and `1e3` stays in the test.
const EXACT_DIGITS: usize = 15;

/// Parses JSON, whole numbers spelled out.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut value = serde_json::from_str(text).ok()?;
    respell(&mut value);
    Some(value)
}

fn respell(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(digits) = digits(&number.to_string()) {
                *number = Number::from_string_unchecked(digits);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(respell),
        Value::Object(members) => members.values_mut().for_each(respell),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The digits of a long whole number that has a point or an exponent.
fn digits(text: &str) -> Option<String> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => ("-", magnitude),
        None => ("", text),
    };
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let mut digits = all.trim_start_matches('0').to_owned();
    let mut shift = exponent - i64::try_from(fraction.len()).unwrap();
    while shift < 0 && digits.ends_with('0') {
        digits.pop();
        shift += 1;
    }
    if digits.is_empty() || !(0..=ZEROS_MAX).contains(&shift) {
        return None;
    }
    digits.extend((0..shift).map(|_| '0'));
    (digits.len() > EXACT_DIGITS).then(|| format!("{sign}{digits}"))
}
