//! Bounded text in records: one line of words, or a summary that somebody has redacted.
//!
//! Rule (case G6, X49): nothing in a record can forge a second record or hide a part of
//! itself: no character that hides or turns text ([`hides`]), and no length without an end.

use std::fmt;
use std::sync::Arc;

use bindery_types::{canonical, hides};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What a text must be to stand in a record.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TextError {
    /// A line needs at least one visible character.
    #[error("a line of a record is not empty")]
    Empty,
    /// More characters than a line may have.
    #[error("a line of a record has at most {max} characters, this one has {got}")]
    TooLong {
        /// characters given
        got: usize,
        /// characters allowed
        max: usize,
    },
    /// A character that could break or turn the line.
    #[error(
        "a line of a record has no control, direction or invisible character; character {position} is one"
    )]
    Control {
        /// position in characters, from 1
        position: usize,
    },
    /// More bytes of canonical JSON than a summary may have.
    #[error("a summary has at most {max} bytes of canonical JSON, this one has {got}")]
    SummaryTooLarge {
        /// bytes given
        got: usize,
        /// bytes allowed
        max: usize,
    },
}

/// One line of host-written text: a reason, a name, a statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(Box<str>);

impl Line {
    /// Characters a line may have.
    pub const CHARS_MAX: usize = 512;

    /// The line `text`.
    ///
    /// # Errors
    ///
    /// When it is empty, too long, or holds a character that hides or turns text.
    pub fn new(text: &str) -> Result<Self, TextError> {
        if text.trim().is_empty() {
            return Err(TextError::Empty);
        }
        if let Some(index) = text.chars().position(hides) {
            return Err(TextError::Control {
                position: index + 1,
            });
        }
        let got = text.chars().count();
        let max = Self::CHARS_MAX;
        if got > max {
            return Err(TextError::TooLong { got, max });
        }
        Ok(Self(text.into()))
    }

    /// The line that is closest to `text`: what would break it is shown as U+FFFD, what is
    /// too much is cut, and an empty text becomes `-`.
    pub fn cut(text: &str) -> Self {
        let whole = |c: char| if hides(c) { '\u{fffd}' } else { c };
        let line: String = text.chars().take(Self::CHARS_MAX).map(whole).collect();
        if line.trim().is_empty() {
            return Self("-".into());
        }
        Self(line.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character ends a line somewhere, or changes what a reader sees of it.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// A small JSON value that its writer has redacted: of arguments for a reviewer, of a
/// decision for the trace, of a scope. It is held as its canonical text reads, so that what
/// is read back is equal to what was written. Clones share it: most decisions read alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary(Arc<Value>);

impl Summary {
    /// Bytes of canonical JSON a summary may have.
    pub const BYTES_MAX: usize = 16 * 1024;

    /// The summary `value`.
    ///
    /// # Errors
    ///
    /// When its canonical text is longer than [`Summary::BYTES_MAX`].
    pub fn new(value: Value) -> Result<Self, TextError> {
        // The usual summaries are far too small, and too plain, to be worth their text.
        if weight(&value) <= Self::BYTES_MAX / 8 {
            return Ok(Self(Arc::new(value)));
        }
        let text = canonical(&value);
        let (got, max) = (text.len(), Self::BYTES_MAX);
        if got > max {
            return Err(TextError::SummaryTooLarge { got, max });
        }
        Ok(Self(Arc::new(serde_json::from_str(&text).unwrap_or(value))))
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.0
    }
}

/// At least an eighth of the bytes that `value` takes as text (one character escapes to six
/// bytes at most), and more than any summary may weigh where a number has two spellings.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(number) if number.is_f64() => Summary::BYTES_MAX,
        Value::Number(_) => 4,
        Value::String(text) => text.len() + 1,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => {
            1 + members
                .iter()
                .map(|(name, member)| name.len() + 1 + weight(member))
                .sum::<usize>()
        }
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Summary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::new(value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_would_forge_another_is_refused_and_its_cut_is_one_line() {
        for text in [
            "ok\n{\"event\":1}",
            "a\u{2028}b",
            "a\u{1b}[2Jb",
            "a\u{202e}b",
            "",
            " ",
        ] {
            assert!(Line::new(text).is_err(), "case G6: {text:?}");
            assert!(
                Line::new(Line::cut(text).as_str()).is_ok(),
                "case G6: {text:?}"
            );
        }
        assert!(Line::new(&"x".repeat(513)).is_err());
        assert_eq!(Line::cut(&"x".repeat(9_999)).as_str().len(), 512);
        assert_eq!(
            Line::new("revoked by the operator").unwrap().as_str(),
            "revoked by the operator"
        );
    }

    #[test]
    fn a_summary_has_an_end_however_it_is_escaped() {
        assert!(Summary::new(Value::from("x".repeat(16_000))).is_ok());
        assert!(Summary::new(Value::from("x".repeat(17_000))).is_err());
        assert!(Summary::new(Value::from("\u{1}".repeat(3_000))).is_err());
        assert_eq!(
            Summary::new(serde_json::json!([1.0, -0.0, 0.5])).unwrap(),
            Summary::new(serde_json::json!([1, 0, 0.5])).unwrap(),
            "C-56"
        );
        let text = serde_json::to_string(&"\u{1}".repeat(3_000)).unwrap();
        assert!(serde_json::from_str::<Summary>(&text).is_err());
    }
}
