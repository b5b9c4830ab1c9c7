//! Regular expressions that admit exactly the strings the reader takes.

/// Base64 of the standard alphabet, padded, with zero bits where no byte needs them.
pub(super) const BASE64: &str =
    "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

/// Canonical decimals from `least` to `greatest`, which is positive.
pub(super) fn decimal(least: i128, greatest: i128) -> String {
    let positive = up_to(greatest.unsigned_abs());
    match least {
        0 => format!("^(?:0|{positive})$"),
        _ => format!("^(?:0|{positive}|-(?:{}))$", up_to(least.unsigned_abs())),
    }
}

/// Alternatives for 1 to `max` without leading zeros: fewer digits; for each position the
/// same digits before it, a lesser one there and any after it; and `max` itself.
fn up_to(max: u128) -> String {
    let text = max.to_string();
    let count = text.len();
    let mut alternatives = Vec::new();
    if count > 1 {
        alternatives.push(format!("[1-9][0-9]{{0,{}}}", count - 2));
    }
    for (position, digit) in text.char_indices() {
        let least = if position == 0 { '1' } else { '0' };
        let before = text.get(..position).unwrap_or_default();
        let below = match char::from_u32(u32::from(digit) - 1) {
            Some(below) if below > least => format!("[{least}-{below}]"),
            Some(below) if below == least => least.to_string(),
            _ => continue,
        };
        let after = match count - 1 - position {
            0 => String::new(),
            1 => "[0-9]".to_owned(),
            more => format!("[0-9]{{{more}}}"),
        };
        alternatives.push(format!("{before}{below}{after}"));
    }
    alternatives.push(text);
    alternatives.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_the_pattern_of_a_range_is_spelled_out() {
        assert_eq!(
            decimal(0, 255),
            "^(?:0|[1-9][0-9]{0,1}|1[0-9]{2}|2[0-4][0-9]|25[0-4]|255)$"
        );
        assert_eq!(decimal(-10, 9), "^(?:0|[1-8]|9|-(?:[1-9][0-9]{0,0}|10))$");
    }
}
