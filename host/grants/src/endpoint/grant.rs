//! One endpoint grant: methods, scheme, host, port, path prefix; read from one line.
//!
//! Rule (cases C2, C3): every part is stated or has a stated default (methods `GET,HEAD`,
//! port 443 or 80), and a grant that is wider than one name's children cannot be written.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bindery_types::CredentialName;
use http::HeaderName;

use super::host::{Host, HostFault, HostRule, split_authority};
use super::network::Network;
use super::path::{PathFault, PathPrefix};
use super::target::Target;
use crate::credential::{Armed, Credential, CredentialFault};

const TEXT_BYTES_MAX: usize = 2_048;
const METHOD_BYTES_MAX: usize = 32;

/// `http` or `https`; nothing else is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// Reads a scheme, in any letter case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            _ => None,
        }
    }

    /// The name on the wire.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port when none is written.
    pub(super) fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// A grant to ask one endpoint: methods, scheme, host, port and path prefix, all of which
/// must fit.
///
/// ```
/// let grant = bindery_grants::EndpointGrant::parse("GET,POST https://api.example.com/v1/")?;
/// assert_eq!(grant.to_string(), "GET,POST https://api.example.com/v1/");
/// # Ok::<(), bindery_grants::EndpointGrantError>(())
/// ```
#[derive(Clone)]
pub struct EndpointGrant {
    methods: Vec<String>,
    scheme: Scheme,
    host: HostRule,
    port: u16,
    path: PathPrefix,
    network: Option<Arc<dyn Network>>,
    credential: Option<Credential>,
    /// The credential with its value, in the copy of the grant that a call holds.
    armed: Option<Arc<Armed>>,
}

/// A text that is no endpoint grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no endpoint: {fault}; write it like `GET,POST https://api.example.com/v1/`")]
pub struct EndpointGrantError {
    /// The text given.
    pub text: String,
    /// What is wrong with it.
    pub fault: EndpointFault,
}

/// What is wrong with an endpoint grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointFault {
    /// Not one or two words.
    #[error("it is not `[METHODS ]URL-PREFIX`")]
    Shape,
    /// Longer than any grant needs to be.
    #[error("it is longer than {TEXT_BYTES_MAX} bytes")]
    TooLong,
    /// A method that is no upper-case word, or one that turns a server into a tunnel.
    #[error("`{0}` is no method that can be granted (upper-case names, no CONNECT, no TRACE)")]
    Method(String),
    /// No `http://` or `https://`.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// The host or port.
    #[error(transparent)]
    Host(#[from] HostFault),
    /// The path.
    #[error(transparent)]
    Path(#[from] PathFault),
}

impl EndpointGrant {
    /// Reads `[METHODS ]URL-PREFIX`, such as `https://api.example.com` (which grants `GET`
    /// and `HEAD` of every path) or `GET,POST http://127.0.0.1:8080/v1/`.
    ///
    /// `*.example.com` covers every name below `example.com`, not `example.com` itself. A
    /// literal private or loopback address, or `localhost`, is a grant for exactly that
    /// address; a name that resolves to one stays refused when it is asked.
    ///
    /// # Errors
    ///
    /// [`EndpointGrantError`] says what is wrong and shows a grant that is right.
    pub fn parse(text: &str) -> Result<Self, EndpointGrantError> {
        read(text).map_err(|fault| EndpointGrantError {
            text: text.chars().take(200).collect(),
            fault,
        })
    }

    /// The same grant, reached through `network` instead of the host's resolver and
    /// sockets. Policy and address rules stay as they are.
    #[must_use]
    pub fn with_network(mut self, network: Arc<dyn Network>) -> Self {
        self.network = Some(network);
        self
    }

    /// The same grant, whose requests carry `credential`: the host puts it in when the
    /// request leaves for the grant's own origin, after every check. A guest neither sees
    /// it nor sets its field, and what comes back is searched for it.
    ///
    /// # Errors
    ///
    /// [`CredentialFault`] when the grant is for many hosts, or the credential would cross
    /// a network in the clear and nobody said that it may.
    pub fn with_credential(mut self, credential: Credential) -> Result<Self, CredentialFault> {
        let host = match &self.host {
            HostRule::One(host) => host,
            HostRule::Below(_) => return Err(CredentialFault::ManyOrigins(self.to_string())),
        };
        let here = match host {
            Host::Localhost => true,
            Host::Address(address) => address.is_loopback(),
            Host::Name(_) => false,
        };
        if self.scheme == Scheme::Http && !here && !credential.may_go_in_the_clear() {
            return Err(CredentialFault::InTheClear(self.to_string()));
        }
        self.credential = Some(credential);
        Ok(self)
    }

    /// The name of the credential that requests carry.
    pub fn credential(&self) -> Option<&CredentialName> {
        self.credential.as_ref().map(Credential::name)
    }

    pub(crate) fn credential_to_read(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// Puts the value in, for one call.
    pub(crate) fn arm(&mut self, armed: Arc<Armed>) {
        self.armed = Some(armed);
    }

    pub(super) fn armed(&self) -> Option<&Arc<Armed>> {
        self.armed.as_ref()
    }

    /// The field that the credential goes into.
    pub(super) fn credential_field(&self) -> Option<&HeaderName> {
        self.credential.as_ref().map(Credential::field)
    }

    /// Whether `target` is on the very origin that the grant spells, by which its
    /// credential was given.
    pub(super) fn is_origin_of(&self, target: &Target) -> bool {
        self.scheme == target.scheme
            && self.port == target.port
            && matches!(&self.host, HostRule::One(host) if *host == target.host)
    }

    /// What reaches this endpoint, when it is not the host's own network.
    pub(super) fn network(&self) -> Option<&Arc<dyn Network>> {
        self.network.as_ref()
    }

    /// The first part of the grant that does not fit `target`; `None` when all do.
    pub(super) fn misfit(&self, target: &Target) -> Option<Misfit> {
        if !self.host.covers(&target.host) {
            Some(Misfit::Host)
        } else if self.scheme != target.scheme {
            Some(Misfit::Scheme)
        } else if self.port != target.port {
            Some(Misfit::Port)
        } else if !self.path.covers(&target.path) {
            Some(Misfit::Path)
        } else if !self.methods.contains(&target.method) {
            Some(Misfit::Method)
        } else {
            None
        }
    }
}

/// The part of a grant that a request does not fit; later parts are nearer misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misfit {
    Host,
    Scheme,
    Port,
    Path,
    Method,
}

impl FromStr for EndpointGrant {
    type Err = EndpointGrantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for EndpointGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme;
        write!(
            f,
            "{} {}://{}",
            self.methods.join(","),
            scheme.as_str(),
            self.host
        )?;
        if self.port != scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        self.path.fmt(f)
    }
}

impl fmt::Debug for EndpointGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EndpointGrant")
            .field(&self.to_string())
            .finish()
    }
}

fn read(text: &str) -> Result<EndpointGrant, EndpointFault> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(EndpointFault::TooLong);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (methods, url) = match words.as_slice() {
        [url] => ("GET,HEAD", *url),
        [methods, url] => (*methods, *url),
        _ => return Err(EndpointFault::Shape),
    };
    let methods = read_methods(methods)?;
    let (scheme, rest) = url.split_once("://").ok_or(EndpointFault::Scheme)?;
    let scheme = Scheme::parse(scheme).ok_or(EndpointFault::Scheme)?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let (host, port) = split_authority(authority)?;
    Ok(EndpointGrant {
        methods,
        scheme,
        host: HostRule::parse(host)?,
        port: port.unwrap_or(scheme.default_port()),
        path: PathPrefix::parse(rest.strip_prefix(authority).unwrap_or_default())?,
        network: None,
        credential: None,
        armed: None,
    })
}

fn read_methods(text: &str) -> Result<Vec<String>, EndpointFault> {
    let mut methods: Vec<String> = Vec::new();
    for method in text.split(',') {
        let spelled = (1..=METHOD_BYTES_MAX).contains(&method.len())
            && method.bytes().all(|c| c.is_ascii_uppercase() || c == b'-');
        // CONNECT would turn the server into a way to anywhere, TRACE shows what the
        // host adds to a request.
        if !spelled || ["CONNECT", "TRACE"].contains(&method) {
            return Err(EndpointFault::Method(
                method.chars().take(METHOD_BYTES_MAX).collect(),
            ));
        }
        if !methods.iter().any(|known| known == method) {
            methods.push(method.to_owned());
        }
    }
    Ok(methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_prints_as_it_is_understood() {
        let table = [
            ("https://api.test", "GET,HEAD https://api.test/"),
            (
                "GET,POST,GET HTTPS://API.Test:443/v1/",
                "GET,POST https://api.test/v1/",
            ),
            (
                "http://127.0.0.1:8080/x",
                "GET,HEAD http://127.0.0.1:8080/x",
            ),
            ("http://[::1]:80", "GET,HEAD http://[::1]/"),
            ("https://*.example.com/", "GET,HEAD https://*.example.com/"),
            (
                "https://bücher.example/",
                "GET,HEAD https://xn--bcher-kva.example/",
            ),
            ("PURGE http://localhost", "PURGE http://localhost/"),
        ];
        for (text, meant) in table {
            assert_eq!(EndpointGrant::parse(text).unwrap().to_string(), meant);
        }
    }

    #[test]
    fn what_is_wrong_with_a_grant_is_named_with_an_example() {
        let table = [
            ("", "METHODS"),
            ("GET POST https://a.test", "METHODS"),
            ("get https://a.test", "`get`"),
            ("GET, https://a.test", "``"),
            ("CONNECT https://a.test", "CONNECT"),
            ("TRACE https://a.test", "TRACE"),
            ("a.test", "scheme"),
            ("ftp://a.test", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("https://", "missing"),
            ("https://user@a.test", "user name"),
            ("https://a.test?x=1", "query"),
            ("https://a.test/#x", "fragment"),
            ("https://a.test/v1/*", "`*`"),
            ("https://a.test/v1/../x", "dots"),
            ("https://a.test\\@evil.test/", "begin"),
            ("https://a.test:0", "port"),
            ("https://a.test:x", "port"),
            ("https://a.test.", "write `a.test`"),
            ("http://127.1/", "write `127.0.0.1`"),
            ("http://0x7f000001:8080/", "write `127.0.0.1`"),
            ("http://[0::1]/", "write `[::1]`"),
            ("https://*", "too much"),
            ("https://*.com", "too much"),
            ("https://*.localhost", "too much"),
            ("https://a.*.com", "first label"),
            ("https://*a.example.com", "first label"),
            ("https://*.127.0.0.1", "first label"),
            ("http://0.0.0.0/", "one host"),
            ("http://[::ffff:127.0.0.1]/", "one host"),
        ];
        for (text, part) in table {
            let message = EndpointGrant::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "C2 `{text}`: {message}");
            assert!(
                message.ends_with("`GET,POST https://api.example.com/v1/`"),
                "{message}"
            );
        }
    }
}
