//! The screen: text in, the same text with its secrets masked out.
//!
//! Rule (R-174, R-517, R-585 … R-591): what leaves (results, logs, errors, traces) passes
//! here. Known secrets are found in every form; what looks like a secret is found by its
//! pattern, unless only the known ones are asked for.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::json::{Part, parts};
use crate::needles::Needles;
use crate::patterns::secret_like;
use crate::secret::{Secret, SecretFault};

/// What stands where a secret stood.
pub const MASK: &str = "[masked]";

/// Masks secrets in text.
///
/// ```
/// use bindery_screen::{Screen, Secret};
///
/// let secret = Secret::new("CANARY-1".to_owned())?;
/// let screen = Screen::new([&secret])?;
/// let screened = screen.screen("it said 43414e4152592d31");
/// assert_eq!((&*screened.text, screened.masked), ("it said [masked]", 1));
/// # Ok::<(), bindery_screen::SecretFault>(())
/// ```
#[derive(Debug)]
pub struct Screen {
    needles: Arc<Needles>,
    patterns: bool,
}

/// Text that was screened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screened<'a> {
    /// The text; the very one that was given when nothing was masked.
    pub text: Cow<'a, str>,
    /// How many parts of it were masked.
    pub masked: usize,
}

impl Screen {
    /// Masks `secrets` and whatever looks like a secret.
    ///
    /// # Errors
    ///
    /// [`SecretFault::TooMany`].
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Result<Self, SecretFault> {
        Ok(Self {
            needles: Arc::new(Needles::new(secrets)?),
            patterns: true,
        })
    }

    /// Masks the secrets that `needles` finds and nothing else.
    pub fn known(needles: Arc<Needles>) -> Self {
        Self {
            needles,
            patterns: false,
        }
    }

    /// Masks what is secret in `text`.
    pub fn screen<'a>(&self, text: &'a str) -> Screened<'a> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Screened {
                text: Cow::Borrowed(text),
                masked: 0,
            };
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for span in &spans {
            out.push_str(text.get(from..span.start).unwrap_or_default());
            out.push_str(MASK);
            from = span.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        Screened {
            text: Cow::Owned(out),
            masked: spans.len(),
        }
    }

    /// Masks what is secret in the strings, keys and numbers of JSON text, and leaves JSON
    /// text. What is not JSON is screened as text.
    pub fn screen_json<'a>(&self, json: &'a str) -> Screened<'a> {
        let Some(parts) = parts(json) else {
            return self.screen(json);
        };
        let mut out = String::new();
        let mut masked = 0;
        for part in parts {
            masked += match part {
                Part::String(literal) => self.push_string(&mut out, literal),
                Part::Scalar(scalar) if self.needles.finds_in(scalar.as_bytes()) => {
                    out.push('"');
                    out.push_str(MASK);
                    out.push('"');
                    1
                }
                Part::Scalar(text) | Part::Between(text) => {
                    out.push_str(text);
                    0
                }
            };
        }
        Screened {
            text: match masked {
                0 => Cow::Borrowed(json),
                _ => Cow::Owned(out),
            },
            masked,
        }
    }

    /// Writes a string literal, screened by what it means; says how much was masked.
    fn push_string(&self, out: &mut String, literal: &str) -> usize {
        let Ok(meant) = serde_json::from_str::<String>(literal) else {
            // No JSON string (a lone surrogate, a raw line break): screened as it stands.
            let screened = self.screen(literal);
            out.push_str(&screened.text);
            return screened.masked;
        };
        let screened = self.screen(&meant);
        match screened.masked {
            0 => out.push_str(literal),
            // Writing a string as JSON does not fail.
            _ => out.push_str(&serde_json::to_string(&*screened.text).unwrap_or_default()),
        }
        screened.masked
    }

    /// The parts to mask: in order, apart, on borders of characters.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.needles.spans(text.as_bytes());
        if self.patterns {
            found.extend(secret_like(text));
            found.sort_by_key(|span| span.start);
        }
        let mut spans: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for span in found {
            // A lower-cased or reversed form may end inside a character of the text.
            let start = text.floor_char_boundary(span.start);
            let end = text.ceil_char_boundary(span.end);
            match spans.last_mut() {
                Some(last) if start <= last.end => last.end = last.end.max(end),
                _ => spans.push(start..end),
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        let secrets = ["CANARY-1", "pass \"w\" ö/0", "12345678"];
        let secrets: Vec<Secret> = secrets
            .iter()
            .map(|secret| Secret::new((*secret).to_owned()).unwrap())
            .collect();
        Screen::new(&secrets).unwrap()
    }

    #[test]
    fn what_has_no_secret_is_the_very_text_that_was_given() {
        for text in ["", "nothing here", r#"{"a": [1, "é\n"]}"#] {
            let screen = screen();
            assert!(matches!(screen.screen(text).text, Cow::Borrowed(same) if same == text));
            assert!(matches!(screen.screen_json(text).text, Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn known_and_likely_secrets_are_masked_and_counted() {
        let screened = screen().screen("a CANARY-1 b Bearer abcdefgh1 c pass \"w\" ö/0");
        assert_eq!(
            screened.text, "a [masked] b Bearer [masked] c [masked]",
            "R-517"
        );
        assert_eq!(screened.masked, 3);
        let both = screen().screen("Bearer CANARY-1");
        assert_eq!((&*both.text, both.masked), ("Bearer [masked]", 1), "C9");
    }

    #[test]
    fn only_known_secrets_are_masked_when_only_they_are_asked_for() {
        let secret = Secret::new("CANARY-1".to_owned()).unwrap();
        let screen = Screen::known(Arc::new(Needles::new([&secret]).unwrap()));
        let screened = screen.screen("Bearer abcdefgh1 CANARY-1");
        assert_eq!(screened.text, "Bearer abcdefgh1 [masked]");
    }

    #[test]
    fn json_stays_json_whatever_is_masked_in_it() {
        let table = [
            (r#"{"a":"x CANARY-1\n"}"#, r#"{"a":"x [masked]\n"}"#),
            (r#"{"CANARY-1": 1}"#, r#"{"[masked]": 1}"#),
            (r#"["C\u0041NARY-1", 5]"#, r#"["[masked]", 5]"#),
            (r#"["pass \"w\" \u00f6/0"]"#, r#"["[masked]"]"#),
            (r#"["{\"t\":\"CANARY-1\"}"]"#, r#"["{\"t\":\"[masked]\"}"]"#),
            ("[12345678, 1]", r#"["[masked]", 1]"#),
            (
                r#"["https://u:p@h/?key=v"]"#,
                r#"["https://[masked]@h/?key=[masked]"]"#,
            ),
        ];
        for (json, masked) in table {
            let screened = screen().screen_json(json);
            assert_eq!(screened.text, masked, "C9");
            assert!(serde_json::from_str::<serde_json::Value>(&screened.text).is_ok());
        }
    }

    #[test]
    fn what_is_no_json_is_screened_as_text() {
        assert_eq!(
            screen().screen_json("\"open CANARY-1").text,
            "\"open [masked]"
        );
        assert_eq!(
            screen().screen_json(r#""\ud800 CANARY-1""#).text,
            r#""\ud800 [masked]""#
        );
    }
}
