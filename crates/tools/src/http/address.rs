//! Which addresses a call may reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who can be behind an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Anybody, as far as the address tells.
    Public,
    /// Somebody near: reached where the declaration says so.
    Private(&'static str),
    /// Nobody that answers to a request: never reached.
    Reserved(&'static str),
}

const LOOPBACK: Reach = Reach::Private("a loopback address");
const PRIVATE: Reach = Reach::Private("an address of a private network");
const LINK_LOCAL: Reach = Reach::Private("a link-local address");
const SHARED: Reach = Reach::Private("an address of a carrier's network");
const UNSPECIFIED: Reach = Reach::Reserved("no host's address");
const DOCUMENTATION: Reach = Reach::Reserved("an address for examples");
const MULTICAST: Reach = Reach::Reserved("a multicast address");
const RESERVED: Reach = Reach::Reserved("a reserved address");

/// Blocks of IPv4; what is in none of them is public.
const BLOCKS_V4: &[(Ipv4Addr, u32, Reach)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, UNSPECIFIED),
    (Ipv4Addr::new(10, 0, 0, 0), 8, PRIVATE),
    (Ipv4Addr::new(100, 64, 0, 0), 10, SHARED),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    (Ipv4Addr::new(169, 254, 0, 0), 16, LINK_LOCAL),
    (Ipv4Addr::new(172, 16, 0, 0), 12, PRIVATE),
    (Ipv4Addr::new(192, 0, 0, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 0, 2, 0), 24, DOCUMENTATION),
    // Relays of 6to4, which are withdrawn.
    (Ipv4Addr::new(192, 88, 99, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 168, 0, 0), 16, PRIVATE),
    // For measurements of networks.
    (Ipv4Addr::new(198, 18, 0, 0), 15, RESERVED),
    (Ipv4Addr::new(198, 51, 100, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(203, 0, 113, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(224, 0, 0, 0), 4, MULTICAST),
    // The last one of these is the broadcast address.
    (Ipv4Addr::new(240, 0, 0, 0), 4, RESERVED),
];

/// Blocks of IPv6, the first that holds an address counts; outside of
/// [`GLOBAL_V6`], what is in none of them is reserved.
const BLOCKS_V6: &[(Ipv6Addr, u32, Reach)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, UNSPECIFIED),
    (Ipv6Addr::LOCALHOST, 128, LOOPBACK),
    // Translators to IPv4 within one network.
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, PRIVATE),
    // Protocols, Teredo among them, which hides an IPv4 address.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, RESERVED),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        DOCUMENTATION,
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        DOCUMENTATION,
    ),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, PRIVATE),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, LINK_LOCAL),
    // Site-local, which is withdrawn and still routed.
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, PRIVATE),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, MULTICAST),
];

/// Where all public addresses of IPv6 are.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Forms of IPv6 that hold an address of IPv4, and how many bits from the end.
const EMBEDDED: &[(Ipv6Addr, u32, u32)] = &[
    // Compatible: `::1.2.3.4`.
    (Ipv6Addr::UNSPECIFIED, 96, 0),
    // Mapped: `::ffff:1.2.3.4`.
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 0),
    // Translated: `::ffff:0:1.2.3.4`.
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, 0),
    // NAT64.
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, 0),
    // 6to4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 80),
];

/// Who can be behind `address`.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

/// What speaks against `address`, if anything does.
pub(super) fn objection(address: IpAddr, private: bool) -> Option<&'static str> {
    match reach(address) {
        Reach::Public => None,
        Reach::Private(_) if private => None,
        Reach::Private(what) | Reach::Reserved(what) => Some(what),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let mut blocks = BLOCKS_V4.iter();
    blocks
        .find(|(block, prefix, _)| {
            let differing = block.to_bits() ^ address.to_bits();
            differing.leading_zeros() >= *prefix
        })
        .map_or(Reach::Public, |(_, _, reach)| *reach)
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let mut blocks = BLOCKS_V6.iter();
    if let Some((_, _, reach)) = blocks.find(|(block, prefix, _)| within(address, *block, *prefix))
    {
        return *reach;
    }
    if let Some(inner) = embedded(address) {
        return reach_v4(inner);
    }
    let (global, prefix) = GLOBAL_V6;
    if within(address, global, prefix) {
        Reach::Public
    } else {
        RESERVED
    }
}

fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let mut forms = EMBEDDED.iter();
    let (_, _, shift) = forms.find(|(form, prefix, _)| within(address, *form, *prefix))?;
    let bits = u32::try_from((address.to_bits() >> shift) & u128::from(u32::MAX)).ok()?;
    Some(Ipv4Addr::from_bits(bits))
}

fn within(address: Ipv6Addr, block: Ipv6Addr, prefix: u32) -> bool {
    (block.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: Reach, addresses: &[&str]) {
        for text in addresses {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(reach(address), expected, "{text}");
        }
    }

    #[test]
    fn public_addresses_are_public_up_to_the_edges_of_their_blocks() {
        check(
            Reach::Public,
            &[
                "1.1.1.1",
                "8.8.8.8",
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
                "2606:4700:4700::1111",
                "2a00:1450:4001:800::200e",
                "::ffff:8.8.8.8",
                "64:ff9b::808:808",
                "2002:808:808::1",
            ],
        );
    }

    #[test]
    fn what_is_near_is_private() {
        check(
            LOOPBACK,
            &["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"],
        );
        check(
            PRIVATE,
            &[
                "10.0.0.0",
                "10.255.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.168.0.1",
                "192.168.255.255",
                "fc00::1",
                "fdff:ffff::1",
                "fec0::1",
                "64:ff9b:1::a00:1",
                "::10.0.0.1",
                "::ffff:10.0.0.1",
                "::ffff:0:10.0.0.1",
                "64:ff9b::a00:1",
                "2002:a00:1::1",
                "2002:c0a8:101::",
            ],
        );
        check(
            LINK_LOCAL,
            &[
                "169.254.0.0",
                "169.254.169.254",
                "fe80::1",
                "febf::1",
                "::ffff:169.254.169.254",
                "64:ff9b::a9fe:a9fe",
            ],
        );
        check(SHARED, &["100.64.0.0", "100.127.255.255"]);
    }

    #[test]
    fn what_answers_to_nobody_is_reserved() {
        check(
            UNSPECIFIED,
            &["0.0.0.0", "0.255.255.255", "::", "::ffff:0.0.0.0", "::2"],
        );
        check(
            DOCUMENTATION,
            &[
                "192.0.2.1",
                "198.51.100.1",
                "203.0.113.1",
                "2001:db8::1",
                "3fff::1",
            ],
        );
        check(MULTICAST, &["224.0.0.1", "239.255.255.255", "ff02::1"]);
        check(
            RESERVED,
            &[
                "192.0.0.1",
                "192.88.99.1",
                "198.18.0.0",
                "198.19.255.255",
                "240.0.0.1",
                "255.255.255.255",
                "2001::1",
                "2001:0:a00:1::",
                "2001:2::1",
                "2001:1ff::1",
                "100::1",
                "4000::1",
                "5f00::1",
                "::1:0:0:0",
            ],
        );
    }

    #[test]
    fn leave_for_private_addresses_is_none_for_reserved_ones() {
        let objects = |text: &str, private| objection(text.parse().unwrap(), private).is_some();
        for address in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "fd00::1"] {
            assert!(objects(address, false), "{address}");
            assert!(!objects(address, true), "{address}");
        }
        for address in [
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "2001:db8::1",
        ] {
            assert!(objects(address, true), "{address}");
        }
    }
}
