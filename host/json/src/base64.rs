//! Base64 text to bytes in bulk, and what is wrong with a text that is none.
//!
//! Rule (case A6): the standard alphabet, padded, unused bits zero, so that bytes have one
//! text; a fault is reported with its position.

/// Appends the bytes that `text` means.
///
/// # Errors
///
/// One phrase that names the position (from 1) of what is wrong.
pub(crate) fn decode(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    base64_simd::STANDARD
        .decode_append(text, out)
        .map_err(|_| explain(text))
}

#[cold]
fn explain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let in_alphabet = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let count = text.chars().count();
    let bad = text.chars().enumerate().find(|(_, c)| !in_alphabet(c));
    match bad {
        Some((at, '=')) if count.is_multiple_of(4) && at + 1 == count && at % 4 == 3 => {
            unused_bits(at)
        }
        Some((at, '=')) if count.is_multiple_of(4) && at + 2 == count && text.ends_with("==") => {
            unused_bits(at)
        }
        Some((at, '=')) => format!("character {} is `=`, which is not padding there", at + 1),
        Some((at, c @ ('-' | '_'))) => format!(
            "character {} is `{c}`, of the URL alphabet; the standard one has `+` and `/`",
            at + 1
        ),
        Some((at, c)) => format!(
            "character {} is {c:?}, which is not of the base64 alphabet",
            at + 1
        ),
        None => format!("padding with `=` is missing after character {count}"),
    }
}

fn unused_bits(characters: usize) -> String {
    format!("the unused bits of character {characters} are not zero")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_what_is_not_canonical_base64_is_refused_with_its_position() {
        for (text, wanted) in [
            ("Zg", "missing after character 2"),
            ("Zg=", "character 3 is `=`"),
            ("Z===", "character 2 is `=`"),
            ("====", "character 1 is `=`"),
            ("Zh==", "unused bits of character 2"),
            ("Zm9=", "unused bits of character 3"),
            ("-_-_", "character 1 is `-`, of the URL alphabet"),
            ("Zm9v\n", "character 5 is '\\n'"),
            ("Zm 9", "character 3 is ' '"),
            ("Zg==Zg==", "character 3 is `=`"),
            ("Zm9vé", "character 5 is 'é'"),
        ] {
            let fault = decode(text.as_bytes(), &mut Vec::new()).unwrap_err();
            assert!(fault.contains(wanted), "{text}: {fault}");
        }
        let mut bytes = Vec::new();
        decode(b"+/8=", &mut bytes).unwrap();
        decode(b"", &mut bytes).unwrap();
        assert_eq!(bytes, [0xfb, 0xff]);
    }
}
