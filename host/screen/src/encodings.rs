//! The forms in which a secret comes back: what one step of a common encoding makes of it.
//!
//! Rule (H50, case C9): base64 is searched at all three alignments, because a secret
//! rarely starts an encoded text; the characters at its ends that hold only some bits of
//! it are masked with it.

use std::fmt::Write as _;

use zeroize::Zeroizing;

/// A form is searched for only if it is at least this long.
const NEEDLE_BYTES_MIN: usize = 6;

/// One form of a secret.
#[derive(PartialEq, Eq)]
pub(crate) struct Needle {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    /// The base64 character before it holds bits of the secret too.
    pub(crate) lead: bool,
    /// The base64 character after it holds bits of the secret too.
    pub(crate) tail: bool,
}

impl Needle {
    fn order(&self) -> (&[u8], bool, bool) {
        (&self.bytes, self.lead, self.tail)
    }
}

/// Every form of `secret` that is searched for.
pub(crate) fn forms(secret: &str) -> Vec<Needle> {
    let mut forms = Vec::new();
    let plain = |text: String| Needle {
        bytes: Zeroizing::new(text.into_bytes()),
        lead: false,
        tail: false,
    };
    forms.push(plain(secret.to_owned()));
    forms.push(plain(secret.to_ascii_lowercase()));
    forms.push(plain(secret.to_ascii_uppercase()));
    forms.push(plain(secret.chars().rev().collect()));
    forms.push(plain(each_byte(secret, |out, byte| {
        write!(out, "{byte:02x}")
    })));
    forms.push(plain(each_byte(secret, |out, byte| {
        write!(out, "{byte:02X}")
    })));
    forms.extend(percent(secret).into_iter().map(plain));
    forms.extend(json(secret).into_iter().map(plain));
    forms.extend(html(secret).into_iter().map(plain));
    for before in 0..3 {
        forms.extend(base64(secret, before));
    }
    forms.retain(|form| form.bytes.len() >= NEEDLE_BYTES_MIN);
    forms.sort_by(|a, b| a.order().cmp(&b.order()));
    forms.dedup();
    forms
}

fn each_byte(text: &str, push: impl Fn(&mut String, u8) -> std::fmt::Result) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        // Writing to a string does not fail.
        let _ = push(&mut out, byte);
        out
    })
}

/// Percent-encoding by the sets that are in use, hexadecimal digits in either case.
fn percent(secret: &str) -> Vec<String> {
    let sets: [fn(u8) -> bool; 6] = [
        // RFC 3986, everything but the unreserved.
        |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
        // encodeURIComponent.
        |byte| byte.is_ascii_alphanumeric() || b"-._~!*'()".contains(&byte),
        // encodeURI.
        |byte| byte.is_ascii_alphanumeric() || b"-._~!*'();/?:@&=+$,#".contains(&byte),
        // The URL standard: a query.
        |byte| byte.is_ascii_graphic() && !b"\"#<>'".contains(&byte),
        // The URL standard: user name and password.
        |byte| byte.is_ascii_graphic() && !b"\"#<>?`{}/:;=@[\\]^|".contains(&byte),
        |_| false,
    ];
    let mut forms = Vec::new();
    for keeps in sets {
        forms.push(each_byte(secret, |out, byte| match keeps(byte) {
            true => out.write_char(char::from(byte)),
            false => write!(out, "%{byte:02X}"),
        }));
        forms.push(each_byte(secret, |out, byte| match keeps(byte) {
            true => out.write_char(char::from(byte)),
            false => write!(out, "%{byte:02x}"),
        }));
    }
    // Forms (RFC 1866): a space is a plus.
    let form = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    forms.push(each_byte(secret, |out, byte| match byte {
        b' ' => out.write_char('+'),
        _ if form(byte) => out.write_char(char::from(byte)),
        _ => write!(out, "%{byte:02X}"),
    }));
    forms
}

/// As the inside of a JSON string, by the habits of common writers.
fn json(secret: &str) -> Vec<String> {
    let escape = |more: &dyn Fn(char) -> Option<String>| {
        secret.chars().fold(String::new(), |mut out, c| {
            match more(c) {
                Some(escaped) => out.push_str(&escaped),
                None if c == '"' || c == '\\' => out.extend(['\\', c]),
                None => out.push(c),
            }
            out
        })
    };
    let units = |c: char, upper: bool| {
        let mut buffer = [0; 2];
        let mut out = String::new();
        for unit in c.encode_utf16(&mut buffer) {
            let _ = match upper {
                true => write!(out, "\\u{unit:04X}"),
                false => write!(out, "\\u{unit:04x}"),
            };
        }
        out
    };
    let slash = |c: char| (c == '/').then(|| "\\/".to_owned());
    let web = |c: char, upper| "<>&'".contains(c).then(|| units(c, upper));
    let foreign = |c: char, upper| (!c.is_ascii()).then(|| units(c, upper));
    vec![
        escape(&|_| None),
        escape(&slash),
        escape(&|c| foreign(c, false)),
        escape(&|c| foreign(c, true)),
        escape(&|c| slash(c).or_else(|| foreign(c, false))),
        escape(&|c| web(c, false)),
        escape(&|c| web(c, true)),
        escape(&|c| web(c, true).or_else(|| foreign(c, true))),
    ]
}

/// As text of a page.
fn html(secret: &str) -> Vec<String> {
    let escape = |quote: &str, apostrophe: &str| {
        secret.chars().fold(String::new(), |mut out, c| {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str(quote),
                '\'' => out.push_str(apostrophe),
                _ => out.push(c),
            }
            out
        })
    };
    vec![
        escape("&quot;", "'"),
        escape("&quot;", "&#39;"),
        escape("&#34;", "&#39;"),
        escape("&quot;", "&#x27;"),
    ]
}

/// The base64 characters that depend on the secret alone when `before` bytes of something
/// else stand before it in its group; with or without padding they are the same.
fn base64(secret: &str, before: usize) -> Vec<Needle> {
    let mut bytes = Zeroizing::new(vec![0; before]);
    bytes.extend_from_slice(secret.as_bytes());
    // A character holds six bits: the first whole one, and how many are whole at the end.
    let first = (before * 8).div_ceil(6);
    let whole = bytes.len() * 8 / 6;
    let (lead, tail) = (before > 0, !bytes.len().is_multiple_of(3));
    let mut needles = Vec::new();
    for alphabet in [base64_simd::STANDARD_NO_PAD, base64_simd::URL_SAFE_NO_PAD] {
        let text = alphabet.encode_to_string(bytes.as_slice());
        let core = text.get(first..whole).unwrap_or_default();
        let forms = [
            core.to_owned(),
            core.replace('/', "\\/"),
            core.replace('+', "%2B").replace('/', "%2F"),
            core.replace('+', "%2b").replace('/', "%2f"),
        ];
        needles.extend(forms.map(|form| Needle {
            bytes: Zeroizing::new(form.into_bytes()),
            lead,
            tail,
        }));
    }
    needles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(secret: &str, form: &str) -> bool {
        forms(secret)
            .iter()
            .any(|n| n.bytes.as_slice() == form.as_bytes())
    }

    #[test]
    fn the_forms_of_a_secret_are_those_that_writers_give_it() {
        let secret = "a/b\"c<é d+";
        for form in [
            secret,
            "+d é<c\"b/a",
            "612f6222633cc3a920642b",
            "612F6222633CC3A920642B",
            "a%2Fb%22c%3C%C3%A9%20d%2B",
            "a%2fb%22c%3c%c3%a9%20d%2b",
            "a/b%22c%3C%C3%A9%20d+",
            "a%2Fb%22c%3C%C3%A9+d%2B",
            "%61%2F%62%22%63%3C%C3%A9%20%64%2B",
            "a/b\\\"c<é d+",
            "a\\/b\\\"c<é d+",
            "a/b\\\"c<\\u00e9 d+",
            "a/b\\\"c\\u003cé d+",
            "a/b&quot;c&lt;é d+",
        ] {
            assert!(has(secret, form), "{form}");
        }
    }

    #[test]
    fn every_alignment_of_base64_is_known_by_its_whole_characters() {
        for secret in ["CANARY-1", "CANARY-12", "CANARY-123", "\u{ff}\u{fe}>>>???"] {
            for before in ["", "x", "xy", "xyz", "Bearer "] {
                for after in ["", "z", "zz"] {
                    let text = format!("{before}{secret}{after}");
                    let encoded = [
                        base64_simd::STANDARD.encode_to_string(&text),
                        base64_simd::URL_SAFE.encode_to_string(&text),
                    ];
                    for encoded in encoded {
                        let found = forms(secret)
                            .iter()
                            .any(|n| contains(encoded.as_bytes(), &n.bytes));
                        assert!(found, "C9: {encoded}");
                    }
                }
            }
        }
    }

    fn contains(text: &[u8], part: &[u8]) -> bool {
        text.windows(part.len()).any(|window| window == part)
    }
}
