//! Addresses that a generator takes from the interface.

use std::net::IpAddr;

use netlink::{Addr, IfIndex, Link, Namespace, Neigh, Netlink, NetlinkError, RouteQuery};
use wire::MacAddress;

use super::error::GeneratorError;
use super::generator::Generator;
use super::kind::PacketKind;
use super::values::Addresses;

impl Generator {
    /// Takes what is not given from `interface`: the source MAC address; the source address that the kernel would use
    /// towards the first destination; and the MAC address of the next hop to it, from the neighbour table. In a tunnel
    /// the next hop is that to its end, and the inner source has to be given.
    ///
    /// Multicast and broadcast destinations need no neighbour, and neither do interfaces without ARP, such as a
    /// loopback, where the address is 0. Nothing is resolved on the network.
    ///
    /// # Errors
    /// [`GeneratorError::NoNeighbour`] if the next hop is not in the neighbour table;
    /// [`GeneratorError::Link`] with ENODEV if there is no such interface.
    /// # Privileges
    /// None; `CAP_SYS_ADMIN` to enter a network namespace.
    pub fn for_interface(
        self,
        interface: &str,
        namespace: Option<&Namespace>,
    ) -> Result<Self, GeneratorError> {
        match namespace {
            Some(namespace) => namespace.run(|| self.completed(interface))?,
            None => self.completed(interface),
        }
    }

    fn completed(mut self, interface: &str) -> Result<Self, GeneratorError> {
        if let PacketKind::Raw(_) = self.kind {
            return Ok(self);
        }
        let mut netlink = Netlink::open()?;
        let link = netlink.link_named(interface)?;
        let address = |link: &Link| link.address.and_then(|address| address.ethernet());
        if self.source_mac.is_none() {
            self.source_mac = address(&link).map(|mac| MacAddress(mac.0));
        }
        let first = self.destinations.as_ref().map(Addresses::first);
        if self.sources.is_none() && self.vxlan.is_none() {
            let source = first.and_then(|first| source(&mut netlink, link.ifindex(), first));
            self.sources = source.map(Addresses::from);
        }
        let outer = self.vxlan.map(|tunnel| tunnel.destination).or(first);
        let needs_neighbour = self.kind != PacketKind::Arp || self.vxlan.is_some();
        if let (None, true, Some(to)) = (self.destination_mac, needs_neighbour, outer) {
            self.destination_mac = Some(next_hop(&mut netlink, &link, interface, to)?);
        }
        Ok(self)
    }
}

/// The source address of packets to `to` on interface `dev`: the one that its route names, else the interface's first
/// one of that family.
fn source(netlink: &mut Netlink, dev: IfIndex, to: IpAddr) -> Option<IpAddr> {
    let route = netlink.lookup(&RouteQuery::address(to).oif(dev)).ok();
    let mut listed = || netlink.list(&Addr::new().dev(dev)).ok();
    let own = |address: &Addr| {
        let local = address.local?;
        (local.is_ipv4() == to.is_ipv4()).then_some(local)
    };
    // A host without addresses answers with 0.0.0.0.
    let named = route.and_then(|route| route.prefsrc);
    let named = named.filter(|address| !address.is_unspecified());
    named.or_else(|| listed()?.items.iter().find_map(own))
}

/// The link-layer address to which packets to `to` are sent.
fn next_hop(
    netlink: &mut Netlink,
    link: &Link,
    interface: &str,
    to: IpAddr,
) -> Result<MacAddress, GeneratorError> {
    if link.arp == Some(false) || link.is_loopback() {
        return Ok(MacAddress::ZERO);
    }
    if let Some(group) = group_address(to) {
        return Ok(group);
    }
    let route = netlink.lookup(&RouteQuery::address(to).oif(link.ifindex()));
    let gateway = route.ok().and_then(|route| route.gateway);
    let next_hop = gateway.unwrap_or(to);
    if is_subnet_broadcast(netlink, link.ifindex(), next_hop)? {
        return Ok(MacAddress::BROADCAST);
    }
    let neighbours = netlink.list(&Neigh::new().dev(link.ifindex()))?;
    let neighbour = neighbours
        .items
        .iter()
        .find(|neighbour| neighbour.dst == Some(next_hop));
    let address = neighbour.and_then(|neighbour| neighbour.lladdr?.ethernet());
    let missing = || GeneratorError::NoNeighbour {
        link: interface.to_owned(),
        next_hop,
    };
    address.map(|mac| MacAddress(mac.0)).ok_or_else(missing)
}

/// The Ethernet address of a multicast group, or of all hosts.
///
/// # Source
/// RFC 1112, 6.4; RFC 2464, 7.
fn group_address(to: IpAddr) -> Option<MacAddress> {
    match to {
        IpAddr::V4(address) if address.is_broadcast() => Some(MacAddress::BROADCAST),
        IpAddr::V4(address) if address.is_multicast() => {
            let [_, b, c, d] = address.octets();
            Some(MacAddress([0x01, 0x00, 0x5e, b & 0x7f, c, d]))
        }
        IpAddr::V6(address) if address.is_multicast() => {
            let [.., a, b, c, d] = address.octets();
            Some(MacAddress([0x33, 0x33, a, b, c, d]))
        }
        _ => None,
    }
}

/// Whether `to` is the broadcast address of a network of the interface.
fn is_subnet_broadcast(
    netlink: &mut Netlink,
    dev: IfIndex,
    to: IpAddr,
) -> Result<bool, NetlinkError> {
    let addresses = netlink.list(&Addr::new().dev(dev))?;
    let is_it = |address: &Addr| match (address.local, address.prefixlen, to) {
        (Some(IpAddr::V4(local)), Some(length @ 1..=30), IpAddr::V4(to)) => {
            to.to_bits() == local.to_bits() | u32::MAX >> length
        }
        _ => false,
    };
    Ok(addresses.items.iter().any(is_it))
}
