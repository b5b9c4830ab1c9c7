//! Numbers read from their decimal text, exactly.
//!
//! Rule (cases A1, A2): an integer never passes through a double, nothing wraps and
//! nothing is rounded to a neighbour; a float is refused exactly where the schema's bound
//! says, compared as decimals.

use std::cmp::Ordering;

use bindery_types::Ty;

/// The value of a number token as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// Exactly this.
    Integer(i128),
    /// Not an integer.
    Fraction,
    /// An integer, or near one, beyond 20 digits.
    TooLarge,
}

/// Least and greatest value of an integer type.
pub(crate) fn bounds(ty: &Ty) -> Option<(i128, i128)> {
    Some(match ty {
        Ty::U8 => (0, i128::from(u8::MAX)),
        Ty::U16 => (0, i128::from(u16::MAX)),
        Ty::U32 => (0, i128::from(u32::MAX)),
        Ty::U64 => (0, i128::from(u64::MAX)),
        Ty::S8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Ty::S16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Ty::S32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Ty::S64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => return None,
    })
}

/// Halfway from the greatest `f32` to the next power of two, 2^128 − 2^103: from here on
/// a number rounds to infinity.
pub(crate) const F32_OVERFLOW: f64 = 340_282_356_779_733_661_637_539_395_458_142_568_448.0;

/// The significant digits of [`F32_OVERFLOW`] and of `f64::MAX` as the schema prints them,
/// and the power of ten of the first one. The printed decimal is the bound: a validator
/// that keeps numbers exact and this reader then agree on every text.
const F32_BOUND: (&[u8], i64) = (b"34028235677973366", 38);
const F64_BOUND: (&[u8], i64) = (b"17976931348623157", 308);

/// A number token taken apart: `d.ddd × 10^order`, without leading or trailing zeros.
struct Decimal<'t> {
    negative: bool,
    /// Text before the exponent, from the first significant digit to the last; may hold
    /// the point.
    significant: &'t [u8],
    /// Power of ten of the first significant digit.
    order: i64,
}

impl<'t> Decimal<'t> {
    fn new(token: &'t str) -> Self {
        let (negative, magnitude) = match token.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, saturating(exponent)),
            None => (magnitude, 0),
        };
        let bytes = mantissa.as_bytes();
        let is_significant = |byte: &u8| matches!(byte, b'1'..=b'9');
        let first = bytes.iter().position(is_significant).unwrap_or(bytes.len());
        let end = bytes
            .iter()
            .rposition(is_significant)
            .map_or(first, |at| at + 1);
        let point = bytes
            .iter()
            .position(|byte| *byte == b'.')
            .unwrap_or(bytes.len());
        // Digits before the point count down to power zero; after it the point itself
        // takes one place.
        let distance = match first < point {
            true => signed(point - first) - 1,
            false => -signed(first - point),
        };
        Self {
            negative,
            significant: bytes.get(first..end).unwrap_or_default(),
            order: exponent.saturating_add(distance),
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.significant
            .iter()
            .copied()
            .filter(|byte| *byte != b'.')
    }

    fn whole(&self) -> Whole {
        let mut value: i128 = 0;
        let mut count: i64 = 0;
        for digit in self.digits() {
            count += 1;
            if count <= 20 {
                value = value * 10 + i128::from(digit - b'0');
            }
        }
        let zeros = self.order - count + 1;
        match (count, zeros) {
            (0, _) => Whole::Integer(0),
            (_, ..0) => Whole::Fraction,
            _ if self.order >= 20 => Whole::TooLarge,
            _ => {
                for _ in 0..zeros {
                    value *= 10;
                }
                Whole::Integer(if self.negative { -value } else { value })
            }
        }
    }

    /// The magnitude against a bound.
    fn compare(&self, (bound, order): (&[u8], i64)) -> Ordering {
        self.order
            .cmp(&order)
            .then_with(|| self.digits().cmp(bound.iter().copied()))
    }
}

fn signed(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX / 4)
}

/// An exponent, or a power so large that no text is long enough to make up for it.
fn saturating(exponent: &str) -> i64 {
    const FAR: i64 = i64::MAX / 2;
    match exponent.parse::<i64>() {
        Ok(exponent) => exponent.clamp(-FAR, FAR),
        Err(_) if exponent.starts_with('-') => -FAR,
        Err(_) => FAR,
    }
}

/// The integer that a number token means: `30.0`, `1e3` and `-0.0` are 30, 1000 and 0.
pub(crate) fn whole(token: &str) -> Whole {
    let bytes = token.as_bytes();
    if bytes.len() <= 18 {
        let plain = bytes.iter().try_fold(0_u64, |value, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit < 10).then(|| value * 10 + u64::from(digit))
        });
        if let Some(value) = plain {
            return Whole::Integer(i128::from(value));
        }
    }
    Decimal::new(token).whole()
}

/// The `f64` nearest to a number token; `None` beyond `f64::MAX`.
pub(crate) fn float64(token: &str) -> Option<f64> {
    let value: f64 = token.parse().ok()?;
    let within = value.abs() < f64::MAX || Decimal::new(token).compare(F64_BOUND).is_le();
    within.then_some(value)
}

/// The `f32` nearest to a number token, rounded once; `None` where that is infinity.
pub(crate) fn float32(token: &str) -> Option<f32> {
    let value: f32 = token.parse().ok()?;
    let within = value.abs() < f32::MAX || Decimal::new(token).compare(F32_BOUND).is_lt();
    within.then_some(value)
}

/// A canonical decimal string: no plus, no leading zeros, no sign for zero.
pub(crate) fn canonical(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let made_well = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 20 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    made_well.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2_a_number_is_the_integer_it_equals_and_nothing_else() {
        for (token, wanted) in [
            ("30.0", Whole::Integer(30)),
            ("1e3", Whole::Integer(1000)),
            ("-0.0", Whole::Integer(0)),
            ("0e999999999999999999999", Whole::Integer(0)),
            ("12.50e1", Whole::Integer(125)),
            ("0.0012e4", Whole::Integer(12)),
            ("1000e-3", Whole::Integer(1)),
            ("18446744073709551616", Whole::Integer(1 << 64)),
            ("1.8446744073709551615e19", Whole::Integer(u64::MAX.into())),
            (
                "-9223372036854775809",
                Whole::Integer(i128::from(i64::MIN) - 1),
            ),
            ("1.5", Whole::Fraction),
            ("1e-1", Whole::Fraction),
            ("1e-999999999999999999999", Whole::Fraction),
            ("9007199254740993.5", Whole::Fraction),
            ("123456789012345678901234.5", Whole::Fraction),
            ("1e20", Whole::TooLarge),
            ("1e999999999999999999999", Whole::TooLarge),
        ] {
            assert_eq!(whole(token), wanted, "{token}");
        }
    }

    #[test]
    fn a_float_is_refused_from_the_printed_bound_on() {
        assert_eq!(F32_OVERFLOW, 2_f64.powi(128) - 2_f64.powi(103));
        assert_eq!(
            serde_json::json!(F32_OVERFLOW).to_string(),
            "3.4028235677973366e+38"
        );
        assert_eq!(
            serde_json::json!(f64::MAX).to_string(),
            "1.7976931348623157e+308"
        );
        for (token, fits) in [
            ("1.7976931348623157e308", true),
            ("-17976931348623157e292", true),
            ("1.79769313486231570001e308", false),
            ("1.7976931348623156999e308", true),
            ("1e309", false),
            ("1e400", false),
            ("1e-400", true),
        ] {
            assert_eq!(float64(token).is_some(), fits, "{token}");
        }
        for (token, fits) in [
            ("3.4028235677973366e38", false),
            ("-340282356779733660000000000000000000000", false),
            ("3.40282356779733659999e38", true),
            ("3.5e38", false),
        ] {
            assert_eq!(float32(token).is_some(), fits, "{token}");
        }
        assert_eq!(float32("3.40282356779733659999e38"), Some(f32::MAX));
        assert!(float64("-0").is_some_and(|zero| zero.is_sign_negative()));
    }

    #[test]
    fn a1_a_decimal_string_has_one_spelling() {
        for (text, wanted) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("18446744073709551615", Some(i128::from(u64::MAX))),
            ("-0", None),
            ("+1", None),
            ("01", None),
            ("", None),
            ("-", None),
            ("1.0", None),
            ("1e3", None),
            (" 1", None),
            ("١", None),
        ] {
            assert_eq!(canonical(text), wanted, "{text}");
        }
    }
}
