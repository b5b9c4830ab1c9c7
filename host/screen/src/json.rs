//! JSON text with its strings told from the rest.
//!
//! Rule: a mask put into JSON leaves JSON. Strings are read as what they mean, so that no
//! spelling of a character hides one, and written again only when something was masked.

/// A part of JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A string with its quotes.
    String(&'a str),
    /// A number or a word.
    Scalar(&'a str),
    /// Everything between.
    Between(&'a str),
}

/// Splits JSON text; none when a string in it does not end, which no JSON text has.
pub(crate) fn parts<'a>(text: &'a str) -> Option<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let (len, part): (usize, fn(&'a str) -> Part<'a>) = match first {
            b'"' => (string_end(rest)?, Part::String),
            _ if is_between(first) => (run(rest, is_between), Part::Between),
            _ => (
                run(rest, |byte| byte != b'"' && !is_between(byte)),
                Part::Scalar,
            ),
        };
        let (taken, left) = rest.split_at_checked(len)?;
        parts.push(part(taken));
        rest = left;
    }
    Some(parts)
}

fn is_between(byte: u8) -> bool {
    b"{}[]:, \t\r\n".contains(&byte)
}

fn run(text: &str, of: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| of(*byte)).count()
}

/// The length of the string that `text` begins with.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map(|inside| inside + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_where_their_quotes_are_not_escaped() {
        let text = r#"{"a\"": [1.5, "\\", null]}"#;
        assert_eq!(
            parts(text).unwrap(),
            [
                Part::Between("{"),
                Part::String(r#""a\"""#),
                Part::Between(": ["),
                Part::Scalar("1.5"),
                Part::Between(", "),
                Part::String(r#""\\""#),
                Part::Between(", "),
                Part::Scalar("null"),
                Part::Between("]}"),
            ]
        );
        assert_eq!(parts(r#""open"#), None);
        assert_eq!(parts(""), Some(Vec::new()));
    }
}
