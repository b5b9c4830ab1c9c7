//! Which addresses a name may resolve to: the public ones, and nothing that reaches the
//! host, its network or its cloud by another spelling.
//!
//! Rule (H27, case C1): a grant for a name is a grant for the public internet behind it.
//! Special ranges are a table; IPv6 is closed but for 2000::/3, less what is special there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges no name may resolve to: network, prefix length, what it is.
const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "cloud metadata"),
    (
        Ipv4Addr::new(169, 254, 0, 0),
        16,
        "link-local, cloud metadata",
    ),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmark"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// IPv6 ranges no name may resolve to. The first that fits gives the reason.
const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (v6(0, 0, 0, 0, 0, 0xffff), 96, "IPv4-mapped"),
    (v6(0, 0, 0, 0, 0, 0), 96, "IPv4-compatible"),
    (v6(0x64, 0xff9b, 0, 0, 0, 0), 96, "NAT64"),
    (v6(0x64, 0xff9b, 1, 0, 0, 0), 48, "NAT64 of a local network"),
    (v6(0x100, 0, 0, 0, 0, 0), 64, "discarded"),
    (v6(0x2001, 0, 0, 0, 0, 0), 32, "Teredo"),
    (v6(0x2001, 2, 0, 0, 0, 0), 48, "benchmark"),
    (v6(0x2001, 0, 0, 0, 0, 0), 23, "protocol assignments"),
    (v6(0x2001, 0xdb8, 0, 0, 0, 0), 32, "documentation"),
    (v6(0x2002, 0, 0, 0, 0, 0), 16, "6to4"),
    (v6(0x3fff, 0, 0, 0, 0, 0), 20, "documentation"),
    (v6(0xfc00, 0, 0, 0, 0, 0), 7, "unique-local"),
    (v6(0xfe80, 0, 0, 0, 0, 0), 10, "link-local"),
    (v6(0xfec0, 0, 0, 0, 0, 0), 10, "site-local"),
    (v6(0xff00, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// An IPv6 network by its first six groups.
const fn v6(a: u16, b: u16, c: u16, d: u16, e: u16, f: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, d, e, f, 0, 0)
}

/// Why no name may resolve to `address`; `None` when one may.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let inside =
        |network: Ipv4Addr, prefix: u32| (bits ^ u32::from(network)).leading_zeros() >= prefix;
    let mut rows = SPECIAL_V4.iter();
    rows.find(|(network, prefix, _)| inside(*network, *prefix))
        .map(|(_, _, what)| *what)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let inside =
        |network: Ipv6Addr, prefix: u32| (bits ^ u128::from(network)).leading_zeros() >= prefix;
    let mut rows = SPECIAL_V6.iter();
    rows.find(|(network, prefix, _)| inside(*network, *prefix))
        .map(|(_, _, what)| *what)
        .or_else(|| (!inside(v6(0x2000, 0, 0, 0, 0, 0), 3)).then_some("not a public range"))
}

/// Whether a literal `address` can be granted at all: it must name one host, once.
pub(super) fn names_one_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && u32::from(v4) >> 24 != 0,
        IpAddr::V6(v6) => {
            let bits = u128::from(v6);
            // ::/96 and ::ffff:0:0/96 spell IPv4 addresses a second time; ::1 alone does not.
            let spells_v4 = bits >> 32 == 0 && v6 != Ipv6Addr::LOCALHOST || bits >> 32 == 0xffff;
            !v6.is_multicast() && !spells_v4
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_special_address_can_stand_behind_a_name() {
        let table = [
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "0.0.0.1",
            "10.0.0.5",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "192.88.99.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::a00:1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
            "4000::1",
        ];
        for address in table {
            assert!(
                special(address.parse().unwrap()).is_some(),
                "C1 H27 {address}"
            );
        }
    }

    #[test]
    fn neighbours_of_the_special_ranges_are_public() {
        let table = [
            "8.8.8.8",
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700::1111",
            "2003::1",
            "2a00:1450::1",
            "3ffe::1",
        ];
        for address in table {
            assert_eq!(special(address.parse().unwrap()), None, "{address}");
        }
    }
}
