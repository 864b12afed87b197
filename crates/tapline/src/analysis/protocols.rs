//! The tree of protocols.

use std::collections::BTreeMap;
use std::fmt;

use wire::Application;
use wire::dissect::{Link, Network, Summary, Transport};
use wire::protocol::{ethertype, ip, link_type};

/// Kinds of protocols below one of them; further ones count as [`Protocol::Other`].
const CHILDREN_MAX: usize = 64;

/// A protocol in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// A known one.
    Named(&'static str),
    /// A link-layer header type that is not parsed (`LINKTYPE_*`).
    LinkType(u16),
    /// An `EtherType` without a name here.
    EtherType(u16),
    /// An IP protocol without a name here.
    Ip(u8),
    /// One of many.
    Other,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::LinkType(number) => write!(f, "link type {number}"),
            Self::EtherType(number) => write!(f, "EtherType 0x{number:04x}"),
            Self::Ip(number) => write!(f, "IP protocol {number}"),
            Self::Other => f.write_str("others"),
        }
    }
}

/// Packets and bytes on the wire by protocol. A packet counts at each of its headers.
#[derive(Clone, Debug, Default)]
pub struct ProtocolTree {
    /// Packets with this header.
    pub packets: u64,
    /// Their bytes, whole packets.
    pub bytes: u64,
    /// By the next header.
    pub next: BTreeMap<Protocol, ProtocolTree>,
}

impl ProtocolTree {
    /// Adds a packet of `bytes` with these protocols, from the outermost on.
    pub(super) fn add(&mut self, protocols: impl IntoIterator<Item = Protocol>, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
        let mut at = self;
        for protocol in protocols {
            let is_new = !at.next.contains_key(&protocol);
            let is_full = is_new && at.next.len() >= CHILDREN_MAX;
            let protocol = if is_full { Protocol::Other } else { protocol };
            at = at.next.entry(protocol).or_default();
            at.packets += 1;
            at.bytes += bytes;
        }
    }

    /// Each protocol behind the protocols before it, with how many these are.
    pub fn each(&self, take: &mut impl FnMut(usize, Protocol, &Self)) {
        self.each_below(0, take);
    }

    fn each_below(&self, depth: usize, take: &mut impl FnMut(usize, Protocol, &Self)) {
        for (&protocol, tree) in &self.next {
            take(depth, protocol, tree);
            tree.each_below(depth + 1, take);
        }
    }
}

/// The protocols of a packet, from the outermost on.
pub(super) fn protocols(
    link: u16,
    summary: &Summary<'_>,
    application: Option<&Application<'_>>,
) -> impl Iterator<Item = Protocol> {
    let named = Protocol::Named;
    let vlans = summary.vlans().map(move |_| named("VLAN"));
    let later = summary.fragment.is_some_and(|place| place.offset != 0);
    let carried = match summary.transport {
        _ if later => Some(named("later fragment")),
        Transport::Unknown if summary.error.is_some() => Some(named("damaged")),
        _ => summary.protocol.map(of_ip),
    };
    let application = application.map(|application| named(application.name()));
    let outer = std::iter::once(of_link(link, summary)).chain(vlans);
    let network = of_network(summary);
    outer.chain(network).chain(carried).chain(application)
}

fn of_link(link: u16, summary: &Summary<'_>) -> Protocol {
    match (summary.link, link) {
        (Link::Ethernet(_), _) | (_, link_type::ETHERNET) => Protocol::Named("Ethernet"),
        (Link::LinuxSll(_) | Link::LinuxSll2(_), _) => Protocol::Named("Linux cooked capture"),
        (Link::Ppp(_), _) => Protocol::Named("PPP"),
        (Link::CiscoHdlc(_), _) => Protocol::Named("Cisco HDLC"),
        (_, link_type::RAW | link_type::IPV4 | link_type::IPV6) => Protocol::Named("raw IP"),
        (_, link_type::NULL | link_type::LOOP) => Protocol::Named("BSD loopback"),
        _ => Protocol::LinkType(link),
    }
}

fn of_network(summary: &Summary<'_>) -> Option<Protocol> {
    match (summary.network, summary.ethertype) {
        (Network::Arp(_), _) => Some(Protocol::Named("ARP")),
        (Network::Ipv4(_), _) => Some(Protocol::Named("IPv4")),
        (Network::Ipv6(_), _) => Some(Protocol::Named("IPv6")),
        (_, Some(..ethertype::LEAST)) => Some(Protocol::Named("LLC")),
        (_, Some(number)) => Some(match ethertype::name(number) {
            "" => Protocol::EtherType(number),
            name => Protocol::Named(name),
        }),
        _ => None,
    }
}

fn of_ip(number: u8) -> Protocol {
    match ip::name(number) {
        "" => Protocol::Ip(number),
        name => Protocol::Named(name),
    }
}
