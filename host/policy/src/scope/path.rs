//! A folder below a granted one, named from there.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A relative path without dots; the empty one is the granted folder itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubPath(Box<str>);

/// A text that is no such path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a path inside a grant is relative, without `.`, `..`, empty parts and backslashes")]
pub struct SubPathError;

impl SubPath {
    /// The path as text, empty for the granted folder.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `other` is this folder or below it.
    pub fn contains(&self, other: &Self) -> bool {
        self.0.is_empty()
            || other
                .0
                .strip_prefix(&*self.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The one of both that is below the other.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        if self.contains(other) {
            Some(other.clone())
        } else {
            other.contains(self).then(|| self.clone())
        }
    }
}

impl FromStr for SubPath {
    type Err = SubPathError;

    fn from_str(text: &str) -> Result<Self, SubPathError> {
        let part = |part: &str| !["", ".", ".."].contains(&part) && !part.contains(['\\', '\0']);
        if text.is_empty() || text.split('/').all(part) {
            Ok(Self(text.into()))
        } else {
            Err(SubPathError)
        }
    }
}

impl fmt::Display for SubPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SubPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SubPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
