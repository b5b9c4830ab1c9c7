//! SHA-256 of bytes, as the identity of a component, a descriptor or a schema.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; written as 64 lower-case hexadecimal digits (R-021: what
/// `sha256sum` prints).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not a digest.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "a digest is 64 lower-case hexadecimal digits, optionally after `sha256:`; got {got_chars} characters"
)]
pub struct DigestError {
    got_chars: usize,
}

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest computed elsewhere, by a streaming hash for example.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        let error = || DigestError {
            got_chars: hex.chars().count(),
        };
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = nibble(*high)
                .zip(nibble(*low))
                .map(|(h, l)| h << 4 | l)
                .ok_or_else(error)?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// anybody can compute it.
    #[test]
    fn a_digest_is_what_sha256sum_prints_and_reads_back() {
        let digest = Digest::of(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(format!("sha256:{text}").parse(), Ok(digest));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "e3b0",
            &"g".repeat(64),
            &"E".repeat(64),
            &"0".repeat(65),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
