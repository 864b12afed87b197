//! Destination prefixes for which the kernel may select different IPv6 source addresses on one route.

use std::net::{IpAddr, Ipv6Addr};

use netlink::{Addr, IfIndex, Prefix};

/// Addresses that are considered. With more, a target may get the source that one beside it has.
const MAX_SOURCES: usize = 64;
const ADDRESS_BITS: u8 = 128;
/// The kernel's default policy table: a source with the label of the destination is preferred. What `ip addrlabel` has changed is
/// not considered.
///
/// # Source
/// `ip6addrlbl_init_table`, net/ipv6/addrlabel.c; RFC 6724, 2.1.
const LABELS: [(Ipv6Addr, u8); 8] = [
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0), 28),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    (Ipv6Addr::UNSPECIFIED, 96),
    (Ipv6Addr::LOCALHOST, 128),
];

/// Prefixes at whose ends the source address for destinations on one route of `link` may change. `own` are this host's addresses.
/// Empty if there is only one source. IPv4 selects the source by the route alone.
///
/// The source depends on the label of the destination, and on how many bits it shares with each source.
///
/// # Source
/// `ipv6_get_saddr_eval`, net/ipv6/addrconf.c; RFC 6724, 5.
pub(super) fn source_prefixes(own: &[Addr], link: IfIndex) -> Vec<Prefix> {
    let sources = |is_candidate: &dyn Fn(&Addr) -> bool| -> Vec<Ipv6Addr> {
        let candidates = own.iter().filter(|own| is_candidate(own));
        let sources = candidates.filter_map(|own| match own.local {
            Some(IpAddr::V6(source)) if !source.is_unicast_link_local() => Some(source),
            _ => None,
        });
        sources.take(MAX_SOURCES).collect()
    };
    let mut found = sources(&|own| own.dev == Some(link));
    if found.is_empty() {
        // The kernel then uses addresses of other interfaces.
        found = sources(&|_| true);
    }
    if found.len() < 2 {
        return Vec::new();
    }
    let labels = LABELS.map(|(first, len)| Prefix::new(first, len));
    let around = found.into_iter().flat_map(|source| {
        let lengths = 1..=ADDRESS_BITS;
        lengths.map(move |len| {
            let rest = u128::MAX.checked_shr(len.into()).unwrap_or(0);
            Prefix::new(Ipv6Addr::from_bits(source.to_bits() & !rest), len)
        })
    });
    labels.into_iter().chain(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_source_addresses_divide_destinations_by_label_and_common_prefix() {
        let link = IfIndex(2);
        let own = |link: u32, text: &str| {
            let address: IpAddr = text.parse().expect("an address");
            Addr::on(IfIndex(link), Prefix::host(address))
        };
        let only = [
            own(2, "10.0.0.1"),
            own(2, "10.0.0.2"),
            own(2, "fe80::1"),
            own(2, "2001:db8::1"),
            own(3, "fd00::1"),
        ];
        assert_eq!(source_prefixes(&only, link), []);
        // Interface 4 has no address, so the kernel uses those of interface 2.
        let two = [own(2, "2001:db8::1"), own(2, "fd00::1")];
        for link in [IfIndex(2), IfIndex(4)] {
            let prefixes = source_prefixes(&two, link);
            assert_eq!(prefixes.len(), LABELS.len() + 2 * 128);
            for expected in ["fc00::/7", "2001::/32", "2001:d00::/24", "fd00::1"] {
                let expected: Prefix = expected.parse().expect("a prefix");
                assert!(prefixes.contains(&expected), "{expected}");
            }
        }
    }
}
