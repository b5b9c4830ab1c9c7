//! A URL split into what `wasi:http` asks for; nothing is decoded or resolved.

use wasip2::http::types::Scheme;

use crate::bindings::exports::bindery::http_json::http::Failure;

/// The parts of a URL, as they were written.
pub(crate) struct Url<'a> {
    pub(crate) scheme: Scheme,
    pub(crate) authority: &'a str,
    /// Path with query; never empty.
    pub(crate) path: &'a str,
}

impl<'a> Url<'a> {
    /// Splits `http[s]://authority[path][?query]`.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Failure> {
        let bad =
            |what: &str| Failure::BadUrl(format!("{what}, as in `https://api.example.com/v1`"));
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| bad("a URL begins with its scheme"))?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(bad("the scheme is `http` or `https`")),
        };
        if rest.contains('#') {
            return Err(bad("a fragment is never sent, so it has no place here"));
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.is_empty() {
            return Err(bad("the host is missing"));
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self {
            scheme,
            authority,
            path,
        })
    }
}
