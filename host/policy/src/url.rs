//! The prefix of URLs that an endpoint grant covers, as a place in a tree of prefixes.
//!
//! Rule (cases C2, C3): what two readers could read differently is no prefix. The provider
//! of endpoints checks each request again; here only prefixes are compared, and a prefix
//! that is accepted here never covers more than the provider lets it.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// `scheme://host[:port]/path`: every URL that begins so, segment by segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UrlPrefix {
    https: bool,
    host: Box<str>,
    /// `*.host`: every name below it, itself not included.
    below: bool,
    port: u16,
    path: Box<str>,
}

/// A text that is no prefix of URLs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no URL prefix: {why}; write it like `https://api.example.com/v1/`")]
pub struct UrlError {
    text: String,
    why: &'static str,
}

const URL_BYTES_MAX: usize = 2_048;
const ESCAPES_REFUSED: [&str; 3] = ["%2e", "%2f", "%5c"];

impl UrlPrefix {
    /// Whether everything below `other` is below this one.
    pub fn covers(&self, other: &Self) -> bool {
        let host = match (self.below, other.below) {
            (false, false) => self.host == other.host,
            (false, true) => false,
            (true, true) if self.host == other.host => true,
            (true, _) => other
                .host
                .strip_suffix(&*self.host)
                .is_some_and(|rest| rest.ends_with('.')),
        };
        let path = other.path.strip_prefix(&*self.path).is_some_and(|rest| {
            rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/')
        });
        host && path && self.https == other.https && self.port == other.port
    }

    /// What is below both.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let (host, path) = (self.host_of(other)?, self.path_of(other)?);
        let same = self.https == other.https && self.port == other.port;
        same.then(|| Self {
            path: path.into(),
            ..host.clone()
        })
    }

    /// The one of both whose host is below the other's.
    fn host_of<'a>(&'a self, other: &'a Self) -> Option<&'a Self> {
        let bare = |of: &Self| Self {
            path: "/".into(),
            ..of.clone()
        };
        let (mine, theirs) = (bare(self), bare(other));
        if mine.covers(&theirs) {
            Some(other)
        } else {
            theirs.covers(&mine).then_some(self)
        }
    }

    fn path_of<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let at = |path: &str| Self {
            path: path.into(),
            ..self.clone()
        };
        if at(&self.path).covers(&at(&other.path)) {
            Some(&other.path)
        } else {
            at(&other.path)
                .covers(&at(&self.path))
                .then_some(&self.path)
        }
    }
}

impl FromStr for UrlPrefix {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        read(text).map_err(|why| UrlError {
            text: text.chars().take(200).collect(),
            why,
        })
    }
}

fn read(text: &str) -> Result<UrlPrefix, &'static str> {
    if text.len() > URL_BYTES_MAX {
        return Err("it is longer than 2048 bytes");
    }
    let (https, rest) = match text.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        _ => return Err("the scheme is neither http nor https"),
    };
    let slash = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(slash).ok_or("it cannot be split")?;
    let path = if path.is_empty() { "/" } else { path };
    check_path(path)?;
    let (host, port) = authority_of(authority, https)?;
    let (host, below) = match host.strip_prefix("*.") {
        Some(parent) => (parent, true),
        None => (host.as_str(), false),
    };
    check_host(host, below)?;
    Ok(UrlPrefix {
        https,
        host: host.into(),
        below,
        port,
        path: path.into(),
    })
}

fn authority_of(authority: &str, https: bool) -> Result<(String, u16), &'static str> {
    if authority.contains('@') {
        return Err("user name and password have no place before the host");
    }
    let ends_host = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let colon = authority.get(ends_host..).and_then(|rest| rest.find(':'));
    let (host, port) = match colon.and_then(|colon| authority.split_at_checked(ends_host + colon)) {
        Some((host, port)) => (host, port.get(1..).unwrap_or_default()),
        None => (authority, if https { "443" } else { "80" }),
    };
    let digits = !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit());
    let port = port.parse().ok().filter(|port| digits && *port > 0);
    Ok((
        host.to_ascii_lowercase(),
        port.ok_or("the port is no number from 1 to 65535")?,
    ))
}

fn check_host(host: &str, below: bool) -> Result<(), &'static str> {
    let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let address = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let well_made = match bracketed {
        Some(inner) => !inner.is_empty() && inner.chars().all(address) && !below,
        None => host.chars().all(name) && host.split('.').all(|label| !label.is_empty()),
    };
    if !well_made {
        return Err("the host is no name and no address");
    }
    if below && host.split('.').count() < 2 {
        return Err("at least two labels must follow `*.`");
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), &'static str> {
    if path.starts_with("//") || path.contains(['\\', '*', '?', '#']) {
        return Err("the path is a plain prefix without `//`, `\\`, `*`, query and fragment");
    }
    if !path.bytes().all(|c| c.is_ascii_graphic()) {
        return Err("the path has a character outside visible ASCII");
    }
    let lower = path.to_ascii_lowercase();
    let dots = |segment: &str| {
        let name = segment.split(';').next().unwrap_or_default();
        name == "." || name == ".."
    };
    if ESCAPES_REFUSED.iter().any(|escape| lower.contains(escape)) || path.split('/').any(dots) {
        return Err("the path has a segment of dots, or encodes a dot or a separator");
    }
    Ok(())
}

impl fmt::Display for UrlPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        let star = if self.below { "*." } else { "" };
        write!(f, "{scheme}://{star}{}", self.host)?;
        if self.port != if self.https { 443 } else { 80 } {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

impl Serialize for UrlPrefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> UrlPrefix {
        text.parse().unwrap()
    }

    #[test]
    fn a_prefix_covers_whole_segments_of_its_own_host_only() {
        let api = url("https://api.test/v1");
        assert!(api.covers(&url("https://API.test:443/v1/users")));
        assert!(!api.covers(&url("https://api.test/v10")), "case C3");
        assert!(!api.covers(&url("http://api.test/v1")));
        assert!(
            !api.covers(&url("https://api.test.evil.test/v1")),
            "case C2"
        );
        let below = url("https://*.example.com/");
        assert!(below.covers(&url("https://a.example.com/x")));
        assert!(!below.covers(&url("https://example.com/")));
        assert!(!below.covers(&url("https://badexample.com/")));
        assert!(!url("https://a.example.com/").covers(&below));
    }

    #[test]
    fn the_meet_is_the_narrower_host_and_the_longer_path() {
        let met = url("https://*.example.com/v1/")
            .meet(&url("https://a.example.com/"))
            .unwrap();
        assert_eq!(met.to_string(), "https://a.example.com/v1/");
        assert_eq!(url("https://a.test/x").meet(&url("https://a.test/y")), None);
    }

    #[test]
    fn what_could_be_read_twice_is_no_prefix() {
        for text in [
            "",
            "api.test",
            "ftp://api.test/",
            "https://",
            "https://u:p@api.test/",
            "https://a.test:0/",
            "https://a.test:+1/",
            "https://a.test/../x",
            "https://a.test/%2E%2e/",
            "https://a.test/a\\b",
            "https://a.test//x",
            "https://a.test/*",
            "https://*/",
            "https://*.com/",
            "https://a..test/",
            "https://a.test/x?y",
            "https://ä.test/",
            "https://a.test/..;x/",
        ] {
            assert!(text.parse::<UrlPrefix>().is_err(), "{text}");
        }
    }
}
