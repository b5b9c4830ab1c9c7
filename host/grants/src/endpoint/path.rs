//! Paths of endpoint grants and requests: what could be read twice is refused, then
//! prefixes are compared segment by segment.
//!
//! Rule (case C3): the bytes sent are the bytes checked. Nothing is resolved or decoded
//! here; a path that a server might resolve or decode into another one never matches.

use std::fmt;

/// What is wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// Does not begin with `/`, or begins with two.
    #[error("the path does not begin with exactly one `/`")]
    Start,
    /// `.` or `..` as a segment, with or without parameters behind `;`.
    #[error("the path has a segment of dots")]
    Dots,
    /// `\`, which some servers take for `/`.
    #[error("the path has a backslash")]
    Backslash,
    /// `%2e`, `%2f`, `%5c` or an encoded control character.
    #[error("the path encodes a dot, a separator or a control character")]
    Encoded,
    /// `%` without two hexadecimal digits.
    #[error("the path has a `%` without two hexadecimal digits behind it")]
    Escape,
    /// A character outside visible ASCII.
    #[error("the path has a character outside visible ASCII")]
    Character,
    /// `*`, `?` or `#` in the prefix of a grant.
    #[error("a grant's path is a plain prefix: no `*`, no query, no fragment")]
    Pattern,
}

/// The paths a grant covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathPrefix(String);

impl PathPrefix {
    /// Reads the path of a grant; nothing means `/`.
    pub(super) fn parse(text: &str) -> Result<Self, PathFault> {
        if text.contains(['*', '?', '#']) {
            return Err(PathFault::Pattern);
        }
        let text = if text.is_empty() { "/" } else { text };
        check(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Whether `path`, checked before, is below the prefix: `/v1` covers `/v1` and
    /// `/v1/x`, `/v1/` covers `/v1/` and `/v1/x`, neither covers `/v10`.
    pub(super) fn covers(&self, path: &str) -> bool {
        path.strip_prefix(self.0.as_str())
            .is_some_and(|rest| rest.is_empty() || self.0.ends_with('/') || rest.starts_with('/'))
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Refuses a path that two readers could read differently.
pub(super) fn check(path: &str) -> Result<(), PathFault> {
    if !path.starts_with('/') || path.starts_with("//") {
        return Err(PathFault::Start);
    }
    if path.contains('\\') {
        return Err(PathFault::Backslash);
    }
    if !path.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(PathFault::Character);
    }
    check_escapes(path)?;
    match path.split('/').any(is_dots) {
        true => Err(PathFault::Dots),
        false => Ok(()),
    }
}

fn check_escapes(path: &str) -> Result<(), PathFault> {
    for escape in path.split('%').skip(1) {
        let byte = escape
            .get(..2)
            .filter(|digits| digits.bytes().all(|c| c.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .ok_or(PathFault::Escape)?;
        if b"./\\".contains(&byte) || byte.is_ascii_control() {
            return Err(PathFault::Encoded);
        }
    }
    Ok(())
}

/// `.`, `..`, and the same with parameters: `..;x` is `..` to some servers.
fn is_dots(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    name == "." || name == ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_server_could_resolve_is_refused_before_matching() {
        let table = [
            ("/v1/../admin", PathFault::Dots),
            ("/v1/%2e%2e/admin", PathFault::Encoded),
            ("/v1/%2E./admin", PathFault::Encoded),
            ("/v1//../../admin", PathFault::Dots),
            ("/v1\\..\\admin", PathFault::Backslash),
            ("/v1/%2f..%2fadmin", PathFault::Encoded),
            ("/v1/%5c..%5cadmin", PathFault::Encoded),
            ("/v1/..;/admin", PathFault::Dots),
            ("/v1/..", PathFault::Dots),
            ("/v1/.", PathFault::Dots),
            ("/v1/%0d%0a", PathFault::Encoded),
            ("/v1/%zz", PathFault::Escape),
            ("/v1/%2", PathFault::Escape),
            ("//evil.test/v1/", PathFault::Start),
            ("v1/", PathFault::Start),
            ("/v1/é", PathFault::Character),
        ];
        for (path, fault) in table {
            assert_eq!(check(path), Err(fault), "C3 {path}");
        }
    }

    #[test]
    fn ordinary_paths_pass() {
        for path in [
            "/",
            "/v1/x",
            "/v1/a%20b",
            "/v1/...",
            "/v1/.well-known",
            "/v1/a;b=c",
            "/v1//x",
        ] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_prefix_ends_at_a_segment() {
        let table = [
            ("/v1", "/v1", true),
            ("/v1", "/v1/x", true),
            ("/v1", "/v10/x", false),
            ("/v1/", "/v1/x", true),
            ("/v1/", "/v1/", true),
            ("/v1/", "/v1", false),
            ("/v1/", "/V1/x", false),
            ("/v1/", "/v10/x", false),
            ("", "/anything", true),
        ];
        for (prefix, path, covered) in table {
            let prefix = PathPrefix::parse(prefix).unwrap();
            assert_eq!(prefix.covers(path), covered, "C3 `{prefix}` on `{path}`");
        }
    }
}
