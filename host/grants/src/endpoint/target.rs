//! What one request asks for, read from exactly the bytes that would be sent.
//!
//! Rule (case C3): method, scheme, host, port and path are taken from the request once;
//! whatever two readers could read differently is a fault, and a fault is a refusal.

use super::grant::Scheme;
use super::host::{Host, HostFault, split_authority};
use super::path::{self, PathFault};

/// A request as policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Method, letter case kept: `get` is not `GET`.
    pub(super) method: String,
    pub(super) scheme: Scheme,
    pub(super) host: Host,
    pub(super) port: u16,
    /// Path without query, checked.
    pub(super) path: String,
}

/// Why a request cannot be judged, and so is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TargetFault {
    #[error("the scheme is neither http nor https")]
    Scheme,
    #[error(transparent)]
    Host(#[from] HostFault),
    #[error(transparent)]
    Path(#[from] PathFault),
}

impl Target {
    /// Reads the target of `method` on `uri`.
    pub(super) fn read(method: &str, uri: &http::Uri) -> Result<Self, TargetFault> {
        let scheme = uri.scheme_str().and_then(Scheme::parse);
        let scheme = scheme.ok_or(TargetFault::Scheme)?;
        let authority = uri.authority().map_or("", http::uri::Authority::as_str);
        let (host, port) = split_authority(authority)?;
        let host = Host::parse(host)?;
        let sent = uri.path_and_query().map_or("/", |both| both.as_str());
        if !sent.bytes().all(|c| c.is_ascii_graphic()) {
            return Err(PathFault::Character.into());
        }
        let path = sent.split('?').next().unwrap_or_default();
        // `?x` alone is sent as `/?x`.
        let path = if path.is_empty() { "/" } else { path };
        path::check(path)?;
        Ok(Self {
            method: method.to_owned(),
            scheme,
            host,
            port: port.unwrap_or(scheme.default_port()),
            path: path.to_owned(),
        })
    }

    /// `host[:port]`, the port only when it is not the scheme's own.
    pub(super) fn authority(&self) -> String {
        match self.port == self.scheme.default_port() {
            true => self.host.to_string(),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// `scheme://host[:port]`.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", self.scheme.as_str(), self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_target_is_canonical() {
        let uri: http::Uri = "https://API.test:443/v1/x?q=1".parse().unwrap();
        let target = Target::read("GET", &uri).unwrap();
        assert_eq!(target.origin(), "https://api.test");
        assert_eq!(target.path, "/v1/x");
        let uri: http::Uri = "http://[0:0::1]:8080".parse().unwrap();
        assert_eq!(
            Target::read("GET", &uri).unwrap().origin(),
            "http://[::1]:8080"
        );
    }
}
