//! Host names and addresses of endpoint grants and requests: parsed, never compared as text.
//!
//! Rule (case C2, X33): a host is a list of labels or one address, and an address has one
//! spelling. A grant's name becomes ASCII by the URL standard, which also tells what an odd
//! address means: the grant is refused with the plain one. A request's host must already be
//! plain, so that the bytes sent are the bytes that were checked.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use psl::Psl as _;

use super::address;

const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// The one host a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// A name other than `localhost`, lower case, without a dot at its end.
    Name(String),
    /// `localhost`: 127.0.0.1 and ::1, never asked of a resolver.
    Localhost,
    /// A literal address.
    Address(IpAddr),
}

/// The hosts a grant covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostRule {
    /// Exactly this host.
    One(Host),
    /// Every name below this one, itself not included.
    Below(String),
}

/// What is wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostFault {
    /// Nothing where a host is needed.
    #[error("the host is missing")]
    Missing,
    /// A dot at the end: the same host, spelled so that simple rules miss it.
    #[error("the host ends in a dot")]
    TrailingDot,
    /// Characters or labels that no host has.
    #[error("the host is no name and no address")]
    Malformed,
    /// An address spelled in an unusual way.
    #[error("the address is not in its plain form (four decimal numbers, or IPv6 in brackets)")]
    OddAddress,
    /// In a grant: an address or a name in one of many spellings; requests have only one.
    #[error(
        "`{given}` is not the plain spelling of this host, without a dot at its end and with an address in its usual numbers; write `{plain}`"
    )]
    Spelling {
        /// the host given
        given: String,
        /// the same in the one spelling
        plain: String,
    },
    /// `*` anywhere but as the first label.
    #[error("`*` can only be the whole first label of a name")]
    Wildcard,
    /// `*`, `*.com`, `*.co.uk`, `*.github.io`: below it live hosts of many owners.
    #[error(
        "the pattern covers too much: what follows `*.` must be a domain of one owner, not one that a registry or a hosting service gives names under"
    )]
    TooWide,
    /// An address that is not one host: unspecified, multicast, IPv4 inside IPv6.
    #[error("{0} is not the address of one host")]
    NotOneHost(IpAddr),
    /// A port that is no number from 1 to 65535.
    #[error("the port is no number from 1 to 65535")]
    Port,
    /// User name or password before the host.
    #[error("user name and password have no place before the host")]
    Userinfo,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Localhost => f.write_str("localhost"),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostRule::One(host) => host.fmt(f),
            HostRule::Below(parent) => write!(f, "*.{parent}"),
        }
    }
}

impl HostRule {
    /// Reads the host of a grant.
    pub(super) fn parse(text: &str) -> Result<Self, HostFault> {
        if text == "*" {
            return Err(HostFault::TooWide);
        }
        let Some(parent) = text.strip_prefix("*.") else {
            if text.contains('*') {
                return Err(HostFault::Wildcard);
            }
            return spelled_plainly(text).map(HostRule::One);
        };
        if parent.contains('*') {
            return Err(HostFault::Wildcard);
        }
        match normal_host(parent)? {
            Host::Name(parent) if has_one_owner(&parent) => Ok(HostRule::Below(parent)),
            Host::Name(_) | Host::Localhost => Err(HostFault::TooWide),
            Host::Address(_) => Err(HostFault::Wildcard),
        }
    }

    /// Whether `host` is one of the hosts.
    pub(super) fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (HostRule::One(Host::Localhost), Host::Address(address)) => [
                IpAddr::from(Ipv4Addr::LOCALHOST),
                Ipv6Addr::LOCALHOST.into(),
            ]
            .contains(address),
            (HostRule::One(one), host) => one == host,
            (HostRule::Below(parent), Host::Name(name)) => name
                .strip_suffix(parent.as_str())
                .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1),
            (HostRule::Below(_), Host::Localhost | Host::Address(_)) => false,
        }
    }
}

/// Whether all names below `parent` belong to whoever owns it: neither it nor what is one
/// label below it is a suffix that names of different owners end in (case C2).
fn has_one_owner(parent: &str) -> bool {
    let is_shared = |name: &str| {
        let suffix = psl::List.suffix(name.as_bytes());
        suffix.is_none_or(|suffix| suffix.as_bytes().len() == name.len())
    };
    parent.contains('.') && !is_shared(parent) && !is_shared(&format!("x.{parent}"))
}

/// The host of a grant, unless it is one that requests have to spell in another way.
fn spelled_plainly(given: &str) -> Result<Host, HostFault> {
    let (text, dotted) = match given.strip_suffix('.') {
        Some(text) => (text, true),
        None => (given, false),
    };
    let host = normal_host(text)?;
    let plain = host.to_string();
    match (&host, dotted) {
        (Host::Name(_) | Host::Localhost, false) => Ok(host),
        (Host::Address(_), false) if plain == given => Ok(host),
        _ => Err(HostFault::Spelling {
            given: given.to_owned(),
            plain,
        }),
    }
}

/// A host as the URL standard reads it: IDNA, numbers of every form.
fn normal_host(text: &str) -> Result<Host, HostFault> {
    if text.is_empty() {
        return Err(HostFault::Missing);
    }
    if text.ends_with('.') {
        return Err(HostFault::TrailingDot);
    }
    // Percent escapes are decoded by the URL standard; a grant needs none.
    if text.contains('%') {
        return Err(HostFault::Malformed);
    }
    match url::Host::parse(text).map_err(|_| HostFault::Malformed)? {
        url::Host::Domain(name) => plain_name(&name),
        url::Host::Ipv4(address) => one_address(address.into()),
        url::Host::Ipv6(address) => one_address(address.into()),
    }
}

fn one_address(address: IpAddr) -> Result<Host, HostFault> {
    match address::names_one_host(address) {
        true => Ok(Host::Address(address)),
        false => Err(HostFault::NotOneHost(address)),
    }
}

/// A name of letters, digits, `-`, `_` in labels; lower case already.
fn plain_name(name: &str) -> Result<Host, HostFault> {
    if name.ends_with('.') {
        return Err(HostFault::TrailingDot);
    }
    let character = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_".contains(&c);
    let label =
        |label: &str| (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.bytes().all(character);
    if name.len() > NAME_BYTES_MAX || !name.split('.').all(label) {
        return Err(HostFault::Malformed);
    }
    match name {
        "localhost" => Ok(Host::Localhost),
        _ => Ok(Host::Name(name.to_owned())),
    }
}

impl Host {
    /// Reads the host of a request. No spelling is repaired but letter case (X33).
    pub(super) fn parse(text: &str) -> Result<Self, HostFault> {
        if text.is_empty() {
            return Err(HostFault::Missing);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostFault::Malformed)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostFault::OddAddress)?;
            return one_address(address.into());
        }
        let name = text.to_ascii_lowercase();
        if name.ends_with('.') {
            return Err(HostFault::TrailingDot);
        }
        if ends_in_a_number(&name) {
            let address: Ipv4Addr = name.parse().map_err(|_| HostFault::OddAddress)?;
            return one_address(address.into());
        }
        plain_name(&name)
    }
}

/// Whether resolvers may take the name for an IPv4 address: its last label is a number,
/// decimal or hexadecimal.
fn ends_in_a_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let digits = last.strip_prefix("0x").map_or(last, |_| "0");
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Splits `host[:port]`.
pub(super) fn split_authority(authority: &str) -> Result<(&str, Option<u16>), HostFault> {
    if authority.contains('@') {
        return Err(HostFault::Userinfo);
    }
    let (host, port) = match authority.split_once(']') {
        Some((inner, rest)) => (authority.get(..=inner.len()).unwrap_or_default(), rest),
        None => {
            let host = authority
                .split_once(':')
                .map_or(authority, |(host, _)| host);
            (host, authority.strip_prefix(host).unwrap_or_default())
        }
    };
    if port.is_empty() {
        return Ok((host, None));
    }
    let digits = port.strip_prefix(':').ok_or(HostFault::Malformed)?;
    match digits.bytes().all(|c| c.is_ascii_digit()) {
        true => match digits.parse::<u16>() {
            Ok(port) if port > 0 => Ok((host, Some(port))),
            _ => Err(HostFault::Port),
        },
        false => Err(HostFault::Port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Host {
        Host::Address(text.parse().unwrap())
    }

    #[test]
    fn x33_a_grant_of_an_oddly_spelled_host_is_refused_with_the_plain_spelling() {
        let odd = [
            ("2130706433", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0x7F000001", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("127。0。0。1", "127.0.0.1"),
            ("[0:0::1]", "[::1]"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("localhost.", "localhost"),
            ("a.test.", "a.test"),
        ];
        for (given, plain) in odd {
            let fault = HostFault::Spelling {
                given: given.to_owned(),
                plain: plain.to_owned(),
            };
            assert!(fault.to_string().contains(&format!("write `{plain}`")));
            assert_eq!(HostRule::parse(given), Err(fault), "X33");
            assert!(HostRule::parse(plain).is_ok(), "X33 {plain}");
        }
        for text in ["127.0.0.1", "[::1]", "[2001:db8::1]"] {
            let inner = text.trim_matches(['[', ']']);
            assert_eq!(HostRule::parse(text), Ok(HostRule::One(address(inner))));
        }
    }

    #[test]
    fn a_request_must_spell_an_address_plainly() {
        for text in [
            "2130706433",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "1.2.3.0x4",
            "[::1",
            "[1]",
        ] {
            assert!(Host::parse(text).is_err(), "X33 {text}");
        }
        assert_eq!(Host::parse("127.0.0.1"), Ok(address("127.0.0.1")));
        assert_eq!(Host::parse("[0:0::1]"), Ok(address("::1")));
    }

    #[test]
    fn odd_names_are_refused_in_requests() {
        let table = [
            ("localhost.", HostFault::TrailingDot),
            ("a.example.com.", HostFault::TrailingDot),
            ("a..b", HostFault::Malformed),
            ("127。0。0。1", HostFault::Malformed),
            ("a%2eb", HostFault::Malformed),
            ("", HostFault::Missing),
        ];
        for (text, fault) in table {
            assert_eq!(Host::parse(text), Err(fault), "X33 {text}");
        }
        assert_eq!(
            Host::parse("A.Example.COM"),
            Ok(Host::Name("a.example.com".into()))
        );
    }

    #[test]
    fn addresses_that_are_no_one_host_are_never_granted() {
        for text in [
            "0.0.0.0",
            "[::]",
            "224.0.0.1",
            "255.255.255.255",
            "[::ffff:127.0.0.1]",
            "[ff02::1]",
        ] {
            assert!(
                matches!(HostRule::parse(text), Err(HostFault::NotOneHost(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_wildcard_below_a_name_of_many_owners_is_refused() {
        for text in ["*.com", "*.co.uk", "*.github.io", "*.kawasaki.jp", "*.test"] {
            assert_eq!(HostRule::parse(text), Err(HostFault::TooWide), "C2 {text}");
        }
        for text in [
            "*.example.com",
            "*.example.co.uk",
            "*.me.github.io",
            "*.in.test",
        ] {
            assert!(
                matches!(HostRule::parse(text), Ok(HostRule::Below(_))),
                "C2 {text}"
            );
        }
    }

    #[test]
    fn an_authority_splits_into_host_and_port_or_is_refused() {
        assert_eq!(split_authority("a.test"), Ok(("a.test", None)));
        assert_eq!(split_authority("a.test:8443"), Ok(("a.test", Some(8_443))));
        assert_eq!(split_authority("[::1]:80"), Ok(("[::1]", Some(80))));
        assert_eq!(split_authority("[::1]"), Ok(("[::1]", None)));
        for text in [
            "a.test:",
            "a.test:0",
            "a.test:65536",
            "a.test:+5",
            "a:1:2",
            "[::1]x",
        ] {
            assert!(split_authority(text).is_err(), "{text}");
        }
        assert_eq!(
            split_authority("allowed@evil"),
            Err(HostFault::Userinfo),
            "X33"
        );
    }
}
