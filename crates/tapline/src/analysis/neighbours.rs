//! Addresses that several stations claim, by ARP and neighbour discovery.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use wire::dissect::{Network, Summary, Transport};
use wire::{ArpOperation, Icmpv6, MacAddress};

/// Addresses whose first owner is kept.
const ADDRESSES_MAX: usize = 1 << 16;

/// Conflicts that are kept, and owners of each.
const CONFLICTS_MAX: usize = 1000;
const OWNERS_MAX: usize = 8;

/// Options of neighbour discovery: link-layer address of the source and of the target, RFC 4861, 4.6.1.
const SOURCE_OPTION: u8 = 1;
const TARGET_OPTION: u8 = 2;

/// An address where it was announced. Another VLAN, and for a link-local address another link, may have another owner of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct AnnouncedAddress {
    /// The address.
    pub address: IpAddr,
    /// The VLAN, and the one inside of it. A priority tag is none.
    pub vlans: [Option<u16>; 2],
    /// Of a link-local address the interface: its place in [`LossAnalysis::interfaces`](super::LossAnalysis::interfaces).
    pub interface: Option<u16>,
}

/// An address with several owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressConflict {
    /// Who claimed it, with the number of messages since the conflict began: the first 8, the first owner first.
    pub owners: Vec<(MacAddress, u64)>,
    /// When the second one did, in nanoseconds since 1970 UTC.
    pub first_ns: Option<u64>,
}

/// The addresses that ARP and neighbour discovery announced, and the conflicts among them.
///
/// Routers that share an address (VRRP, HSRP) and hosts whose network card was replaced look like a conflict, too.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    owners: HashMap<AnnouncedAddress, MacAddress>,
    conflicts: BTreeMap<AnnouncedAddress, AddressConflict>,
    ignored: u64,
}

impl Neighbours {
    /// Takes a packet of the interface at this place.
    pub(super) fn add(
        &mut self,
        summary: &Summary<'_>,
        interface: Option<u16>,
        time_ns: Option<u64>,
    ) {
        let Some((address, owner)) = claim(summary) else {
            return;
        };
        if address.is_unspecified() || owner.is_group() || owner == MacAddress::ZERO {
            return;
        }
        let address = announced(address, summary, interface);
        let first = match self.owners.get(&address) {
            Some(&first) => first,
            None if self.owners.len() < ADDRESSES_MAX => {
                self.owners.insert(address, owner);
                return;
            }
            None => {
                self.ignored += 1;
                return;
            }
        };
        let is_known = self.conflicts.contains_key(&address);
        if !is_known && (first == owner || self.conflicts.len() >= CONFLICTS_MAX) {
            self.ignored += u64::from(first != owner);
            return;
        }
        let conflict = self.conflicts.entry(address).or_insert(AddressConflict {
            owners: vec![(first, 0)],
            first_ns: time_ns,
        });
        let owners = &mut conflict.owners;
        let is_full = owners.len() >= OWNERS_MAX;
        match owners.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, messages)) => *messages += 1,
            None if is_full => self.ignored += 1,
            None => owners.push((owner, 1)),
        }
    }

    /// Number of addresses that were announced: the first 65 536.
    pub fn addresses(&self) -> usize {
        self.owners.len()
    }

    /// The conflicts by address: the first 1000.
    pub fn conflicts(&self) -> &BTreeMap<AnnouncedAddress, AddressConflict> {
        &self.conflicts
    }

    /// Messages that were ignored because there were too many addresses, conflicts or owners.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}

fn announced(address: IpAddr, summary: &Summary<'_>, interface: Option<u16>) -> AnnouncedAddress {
    let mut tags = summary.vlans().map(|tag| tag.id()).filter(|&id| id != 0);
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    AnnouncedAddress {
        address,
        vlans: [tags.next(), tags.next()],
        interface: interface.filter(|_| is_link_local),
    }
}

/// The address that a message claims for a station.
fn claim(summary: &Summary<'_>) -> Option<(IpAddr, MacAddress)> {
    if let Network::Arp(arp) = summary.network {
        let is_claim = matches!(arp.operation(), ArpOperation::REQUEST | ArpOperation::REPLY);
        return is_claim.then(|| (arp.sender_ip().into(), arp.sender_mac()));
    }
    let (Transport::Icmpv6(header), Network::Ipv6(ip)) = (summary.transport, summary.network)
    else {
        return None;
    };
    let target = header.neighbour(summary.payload)?;
    let (address, option) = match header.kind() {
        Icmpv6::NEIGHBOUR_ADVERTISEMENT => (target, TARGET_OPTION),
        _ => (ip.source(), SOURCE_OPTION),
    };
    let owner = link_address(summary.payload.get(16..)?, option)?;
    Some((address.into(), owner))
}

/// The link-layer address in the first option of type `wanted`.
fn link_address(mut options: &[u8], wanted: u8) -> Option<MacAddress> {
    // Bound: each option takes 8 bytes at least.
    while let [kind, units, ..] = *options {
        let option = options.get(..usize::from(units) * 8)?;
        if option.is_empty() {
            return None;
        }
        if kind == wanted {
            let address = option.get(2..8)?;
            return Some(MacAddress(*address.first_chunk()?));
        }
        options = &options[option.len()..];
    }
    None
}
