//! Terms about addresses and networks.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::{Values, Width};
use crate::language::tree::{Direction, Protocol};
use crate::link_type::LinkType;
use crate::lower::frame::mac_offsets;
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::lowering::{FieldBase, Lowered, Lowering};
use crate::lower::protocol_numbers::{ARP, DECNET, IPV4, IPV6, RARP};

/// IPv4 networks: address and mask.
pub(super) type Networks = [(u32, u32)];
/// IPv6 networks: address and mask.
pub(super) type Networks6 = [(u128, u128)];

impl Lowering<'_> {
    /// The packet has an address in one of `networks`; with `is_negated`, in none.
    pub(super) fn hosts(
        &mut self,
        networks: &Networks,
        protocol: Option<Protocol>,
        direction: Option<Direction>,
        is_negated: bool,
    ) -> Lowered {
        no_wlan_direction(direction)?;
        if self.searches.is_some() {
            return match protocol {
                None | Some(Protocol::Ip | Protocol::Arp | Protocol::Rarp) => {
                    Ok(self.search_for(SearchTerm::Hosts(networks.to_vec(), protocol, direction)))
                }
                Some(protocol) => Err(wrong(protocol, "host <IPv4 address>")),
            };
        }
        let (number, source, destination) = match protocol {
            None => {
                let mut protocols = vec![Protocol::Ip];
                if self.frame.labels == 0 {
                    protocols.extend([Protocol::Arp, Protocol::Rarp]);
                }
                let parts: Result<Vec<_>, _> = protocols
                    .into_iter()
                    .map(|protocol| self.hosts(networks, Some(protocol), direction, is_negated))
                    .collect();
                return Ok(Condition::any(parts?));
            }
            Some(Protocol::Ip) => (IPV4, 12, 16),
            Some(Protocol::Arp) => (ARP, 14, 24),
            Some(Protocol::Rarp) => (RARP, 14, 24),
            Some(protocol) => return Err(wrong(protocol, "host <IPv4 address>")),
        };
        let is_protocol = self.link_protocol(number)?;
        if is_protocol == Condition::Constant(false) {
            return Ok(is_protocol);
        }
        let any = self.addresses_in(
            networks,
            direction,
            FieldBase::Network,
            [source, destination],
        )?;
        let any = if is_negated { any.negate() } else { any };
        Ok(Condition::all([is_protocol, any]))
    }

    /// The header at `base` has an address in one of `networks`, at the offsets of source and destination.
    pub(super) fn addresses_in(
        &mut self,
        networks: &Networks,
        direction: Option<Direction>,
        base: FieldBase,
        [source, destination]: [u32; 2],
    ) -> Lowered {
        // For "src and dst", both addresses must be in the same network.
        let lists = match direction {
            Some(Direction::Both) => networks.chunks(1),
            _ => networks.chunks(networks.len().max(1)),
        };
        let mut parts = Vec::new();
        for networks in lists {
            parts.push(self.ends(direction, |lowering, is_source| {
                let offset = if is_source { source } else { destination };
                let field = lowering.load(base, offset, Width::Word)?;
                Ok(lowering.values.one_of(field, networks))
            })?);
        }
        Ok(Condition::any(parts))
    }

    /// The same as [`Self::hosts`], for IPv6.
    pub(super) fn hosts6(
        &mut self,
        networks: &Networks6,
        protocol: Option<Protocol>,
        direction: Option<Direction>,
    ) -> Lowered {
        no_wlan_direction(direction)?;
        if let Some(protocol) = protocol.filter(|protocol| *protocol != Protocol::Ip6) {
            return Err(wrong(protocol, "host <IPv6 address>"));
        }
        if self.searches.is_some() {
            return Ok(self.search_for(SearchTerm::Hosts6(networks.to_vec(), direction)));
        }
        let is_ip6 = self.link_protocol(IPV6)?;
        let mut parts = Vec::new();
        let is_many = networks.len() > 1 && direction != Some(Direction::Both);
        let is_whole = |network: &&(u128, u128)| is_many && network.1 == u128::MAX;
        let mut keys: Vec<u128> = networks.iter().filter(is_whole).map(|net| net.0).collect();
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            parts.push(self.ends(direction, |lowering, is_source| {
                let start = if is_source { 8 } else { 24 };
                let words = [0, 4, 8, 12]
                    .map(|word| lowering.load(FieldBase::Network, start + word, Width::Word));
                let words: Result<Vec<_>, _> = words.into_iter().collect();
                Ok(Values::one_of_keys(&words?, &keys))
            })?);
        }
        for (address, mask) in networks.iter().filter(|network| !is_whole(network)) {
            parts.push(self.ends(direction, |lowering, is_source| {
                let start = if is_source { 8 } else { 24 };
                let words = (0..4u32).map(|word| {
                    let shift = 96 - 32 * word;
                    let (address, mask) = ((address >> shift) as u32, (mask >> shift) as u32);
                    let offset = start + 4 * word;
                    lowering.masked(FieldBase::Network, offset, Width::Word, mask, address)
                });
                let words: Result<Vec<_>, _> = words.collect();
                Ok(Condition::all(words?))
            })?);
        }
        Ok(Condition::all([is_ip6, Condition::any(parts)]))
    }

    /// Applies `test` to the source, the destination, or both, as `direction` says.
    pub(super) fn ends(
        &mut self,
        direction: Option<Direction>,
        mut test: impl FnMut(&mut Self, bool) -> Lowered,
    ) -> Lowered {
        match direction {
            Some(Direction::Source) => test(self, true),
            Some(Direction::Destination) => test(self, false),
            Some(Direction::Both) => {
                let source = test(self, true)?;
                Ok(Condition::all([source, test(self, false)?]))
            }
            _ => {
                let source = test(self, true)?;
                Ok(Condition::any([source, test(self, false)?]))
            }
        }
    }

    pub(super) fn mac(
        &mut self,
        mac: [u8; 6],
        direction: Option<Direction>,
        what: &'static str,
    ) -> Lowered {
        let link = self.frame.link;
        if link.is_wlan() {
            return self.wlan_host(mac, direction.unwrap_or(Direction::Either));
        }
        let Some((source, destination)) = mac_offsets(link) else {
            return Err(self.unsupported(what));
        };
        no_wlan_direction(direction)?;
        let has_header = self.has_inner_header();
        let ends = self.ends(direction, |lowering, is_source| {
            let offset = if is_source { source } else { destination };
            lowering.bytes(FieldBase::Header, offset, &mac)
        })?;
        Ok(Condition::all([has_header, ends]))
    }

    pub(super) fn short_mac(
        &mut self,
        mac: u8,
        direction: Option<Direction>,
        what: &'static str,
    ) -> Lowered {
        let link = self.frame.link;
        let (source, destination) = match link {
            LinkType::Arcnet | LinkType::ArcnetLinux => (0, 1),
            LinkType::BacnetMsTp => (4, 3),
            _ => return Err(self.unsupported(what)),
        };
        no_wlan_direction(direction)?;
        self.ends(direction, |lowering, is_source| {
            let offset = if is_source { source } else { destination };
            lowering.equal(FieldBase::Header, offset, Width::Byte, u32::from(mac))
        })
    }

    /// DECnet addresses are little-endian. Headers are long or short, with or without padding.
    pub(super) fn decnet(&mut self, address: u16, direction: Option<Direction>) -> Lowered {
        no_wlan_direction(direction)?;
        let is_decnet = self.link_protocol(DECNET)?;
        let address = u32::from(address.swap_bytes());
        let ends = self.ends(direction, |lowering, is_source| {
            let (short, long) = if is_source { (3, 15) } else { (1, 7) };
            let mut form = |padding: u32, flags: u32, at: u32| {
                let flags = if padding == 1 {
                    lowering.masked(FieldBase::Network, 2, Width::Half, 0xff07, 0x8100 | flags)?
                } else {
                    lowering.masked(FieldBase::Network, 2, Width::Byte, 0x07, flags)?
                };
                let field =
                    lowering.equal(FieldBase::Network, 2 + padding + at, Width::Half, address)?;
                Ok(Condition::all([flags, field]))
            };
            let forms = [
                form(0, 0x02, short)?,
                form(1, 0x02, short)?,
                form(0, 0x06, long)?,
                form(1, 0x06, long)?,
            ];
            Ok(Condition::any(forms))
        })?;
        Ok(Condition::all([is_decnet, ends]))
    }
}

pub(super) fn no_wlan_direction(direction: Option<Direction>) -> Result<(), FilterErrorReason> {
    let qualifier = match direction {
        Some(Direction::Address1) => "addr1",
        Some(Direction::Address2) => "addr2",
        Some(Direction::Address3) => "addr3",
        Some(Direction::Address4) => "addr4",
        Some(Direction::Receiver) => "ra",
        Some(Direction::Transmitter) => "ta",
        _ => return Ok(()),
    };
    Err(FilterErrorReason::Qualifier {
        qualifier,
        subject: "frames other than 802.11".into(),
    })
}

fn wrong(protocol: Protocol, subject: &str) -> FilterErrorReason {
    FilterErrorReason::Qualifier {
        qualifier: protocol.word(),
        subject: subject.into(),
    }
}

/// Parses an address of one to four parts: the left-aligned address, and the number of bits given.
pub(super) fn dotted(text: &str) -> Result<(u32, u32), FilterErrorReason> {
    let mut address = 0;
    let mut bits = 0;
    for part in text.split('.') {
        let part: u8 = part
            .parse()
            .map_err(|_| FilterErrorReason::InvalidIpv4(text.into()))?;
        address = address << 8 | u32::from(part);
        bits += 8;
    }
    if bits > 32 {
        return Err(FilterErrorReason::InvalidIpv4(text.into()));
    }
    Ok((address << (32 - bits), bits))
}

/// The mask of the first `bits` bits.
pub(super) fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

/// The mask of the first `bits` of 128 bits.
pub(super) fn mask6(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

/// A network given as a number: `10` is 10.0.0.0/8. Returns address and mask.
pub(super) fn network(number: u32) -> (u32, u32) {
    let (mut address, mut mask) = (number, u32::MAX);
    while address != 0 && address & 0xff00_0000 == 0 {
        address <<= 8;
        mask <<= 8;
    }
    (address, mask)
}

/// A DECnet address: `area.node`.
pub(super) fn decnet(text: &str) -> Result<u16, FilterErrorReason> {
    let invalid = || FilterErrorReason::InvalidDecnet(text.into());
    let (area, node) = text.split_once('.').ok_or_else(invalid)?;
    let area: u16 = area.parse().map_err(|_| invalid())?;
    let node: u16 = node.parse().map_err(|_| invalid())?;
    if area > 63 || node > 1023 {
        return Err(invalid());
    }
    Ok(area << 10 | node)
}
