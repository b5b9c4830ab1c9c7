//! Closed sets of words: an enum whose every value has one spelling on the wire.
//!
//! Rule (C-16): underscores only. A word that would be right with underscores is refused
//! with the right spelling named; nothing is guessed.

/// A text that is none of the words it could be.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} is one of {}; got {got:?}{}", allowed.join(", "), hint(allowed, got))]
pub struct UnknownWord {
    /// What the word would have been, for example `a permission mode`.
    pub what: &'static str,
    /// Every word of the set.
    pub allowed: &'static [&'static str],
    /// What was given, cut to 64 characters.
    pub got: String,
}

const GOT_CHARS_MAX: usize = 64;

impl UnknownWord {
    /// The error for `got`.
    pub fn new(what: &'static str, allowed: &'static [&'static str], got: &str) -> Self {
        Self {
            what,
            allowed,
            got: got.chars().take(GOT_CHARS_MAX).collect(),
        }
    }
}

fn hint(allowed: &[&str], got: &str) -> String {
    let right = got.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    match allowed.iter().find(|word| **word == right) {
        Some(word) => format!(", write `{word}`"),
        None => String::new(),
    }
}

/// Declares an enum of words: `as_str`, `ALL`, `Display`, `FromStr`, serde both ways. The
/// crate that uses it depends on `serde`.
#[macro_export]
macro_rules! words {
    ($(#[$attr:meta])* $name:ident, $what:literal { $( $(#[$doc:meta])* $variant:ident = $word:literal ),+ $(,)? }) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[$doc])* $variant, )+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [$name] = &[ $( $name::$variant, )+ ];
            const WORDS: &'static [&'static str] = &[ $( $word, )+ ];

            /// The word on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $word, )+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $( $word => Ok($name::$variant), )+
                    other => Err($crate::UnknownWord::new($what, Self::WORDS, other)),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use words;
