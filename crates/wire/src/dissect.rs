//! Parses a whole packet, header by header.

use crate::error::{HeaderError, split_header};
use crate::network::Extensions;
use crate::protocol::{ethertype, ip, link_type};
use crate::{
    Arp, CiscoHdlc, Ethernet, Icmpv4, Icmpv6, Ipv4, Ipv6, LinuxSll, LinuxSll2, MacAddress, Ppp,
    Tcp, Udp, Vlan,
};
use std::net::IpAddr;

/// Maximum number of VLAN tags that [`dissect`] parses; a further one stays as the `EtherType`.
pub const MAX_VLANS: usize = 4;

/// Parses the headers of `bytes`, a packet with this link-layer header type (`LINKTYPE_*`).
///
/// Parses as many headers as possible; [`Summary::error`] is the reason for an early end. Does not
/// look into tunnels or later fragments.
///
/// ```
/// use tapline_wire::{MacAddress, build::Frame, dissect, protocol::link_type};
///
/// let [a, b] = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
/// let [c, d] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
/// let frame = Frame::ethernet(a, b).vlan(7).ipv4(c, d).udp(1024, 53).payload(b"?");
/// let summary = dissect(link_type::ETHERNET, &frame);
/// assert_eq!(summary.vlans().next().unwrap().id(), 7);
/// assert_eq!(summary.ports(), Some((1024, 53)));
/// assert_eq!(summary.payload, b"?");
/// ```
pub fn dissect(link_type: u16, bytes: &[u8]) -> Summary<'_> {
    let mut summary = Summary::new(bytes);
    summary.error = summary.walk(link_type).err();
    summary
}

/// Parses the headers of `bytes`, a packet of this `EtherType`, for instance one inside a tunnel. Otherwise like
/// [`dissect`].
pub fn dissect_ethertype(ethertype: u16, bytes: &[u8]) -> Summary<'_> {
    let mut summary = Summary::new(bytes);
    summary.error = summary.walk_ethertype(ethertype).err();
    summary
}

/// The headers of one packet, as far as they could be parsed. Created by [`dissect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary<'frame> {
    /// The link-layer header.
    pub link: Link<'frame>,
    vlans: [Option<Vlan<'frame>>; MAX_VLANS],
    /// `EtherType` after any VLAN tags; below [`LEAST`](crate::protocol::ethertype::LEAST) an IEEE
    /// 802.3 length.
    pub ethertype: Option<u16>,
    /// The network-layer header.
    pub network: Network<'frame>,
    /// The extension headers of IPv6, as bytes; see [`Extensions`].
    pub extensions: &'frame [u8],
    /// The IP protocol, after any extension headers.
    pub protocol: Option<u8>,
    /// The position of a fragment in its packet, if this is one.
    pub fragment: Option<FragmentPlace>,
    /// The transport-layer header; unknown in later fragments.
    pub transport: Transport<'frame>,
    /// The options of a TCP header, as bytes; see [`TcpOptions`](crate::TcpOptions).
    pub transport_options: &'frame [u8],
    /// The bytes after the last parsed header.
    pub payload: &'frame [u8],
    /// Offset of `payload` in the packet, in bytes.
    pub at: usize,
    /// Why parsing ended early.
    pub error: Option<HeaderError>,
}

/// A link-layer header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link<'frame> {
    /// Not parsed, or none.
    Unknown,
    /// Ethernet.
    Ethernet(Ethernet<'frame>),
    /// Linux "cooked" capture, version 1.
    LinuxSll(LinuxSll<'frame>),
    /// Linux "cooked" capture, version 2.
    LinuxSll2(LinuxSll2<'frame>),
    /// PPP.
    Ppp(Ppp),
    /// Cisco HDLC.
    CiscoHdlc(CiscoHdlc<'frame>),
}

/// A network-layer header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network<'frame> {
    /// Another protocol, or not parsed.
    Unknown,
    /// ARP.
    Arp(Arp<'frame>),
    /// IPv4.
    Ipv4(Ipv4<'frame>),
    /// IPv6.
    Ipv6(Ipv6<'frame>),
}

/// A transport-layer header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport<'frame> {
    /// Another protocol, or not parsed.
    Unknown,
    /// TCP.
    Tcp(Tcp<'frame>),
    /// UDP.
    Udp(Udp<'frame>),
    /// ICMP.
    Icmpv4(Icmpv4<'frame>),
    /// `ICMPv6`.
    Icmpv6(Icmpv6<'frame>),
}

/// The position of a fragment in its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentPlace {
    /// Identification of the fragmented packet.
    pub identification: u32,
    /// Fragment offset in bytes.
    pub offset: u16,
    /// Whether fragments follow this one.
    pub more: bool,
}

impl<'frame> Summary<'frame> {
    fn new(bytes: &'frame [u8]) -> Self {
        Self {
            link: Link::Unknown,
            vlans: [None; MAX_VLANS],
            ethertype: None,
            network: Network::Unknown,
            extensions: &[],
            protocol: None,
            fragment: None,
            transport: Transport::Unknown,
            transport_options: &[],
            payload: bytes,
            at: 0,
            error: None,
        }
    }

    /// The types of the IPv6 extension headers, in their order.
    pub fn extension_types(&self) -> impl Iterator<Item = u8> {
        let mut next = match self.network {
            Network::Ipv6(header) => header.next_header(),
            _ => ip::NO_NEXT_HEADER,
        };
        let mut rest = self.extensions;
        std::iter::from_fn(move || {
            let (&[following, len, ..], _) = rest.split_first_chunk::<8>()?;
            let kind = std::mem::replace(&mut next, following);
            let len = match kind {
                ip::FRAGMENT => 8,
                _ => (usize::from(len) + 1) * 8,
            };
            rest = rest.get(len..).unwrap_or_default();
            Some(kind)
        })
    }

    /// The VLAN tags, outermost first.
    pub fn vlans(&self) -> impl Iterator<Item = Vlan<'frame>> {
        self.vlans.into_iter().flatten()
    }

    /// The link-layer source, if it is an Ethernet address.
    pub fn source_mac(&self) -> Option<MacAddress> {
        match self.link {
            Link::Ethernet(header) => Some(header.source()),
            Link::LinuxSll(header) => header.source(),
            Link::LinuxSll2(header) => header.source(),
            Link::Unknown | Link::Ppp(_) | Link::CiscoHdlc(_) => None,
        }
    }

    /// The link-layer destination, if the capture has it.
    pub fn destination_mac(&self) -> Option<MacAddress> {
        match self.link {
            Link::Ethernet(header) => Some(header.destination()),
            _ => None,
        }
    }

    /// IP source and destination; for ARP, the sender's and the target's IPv4 address.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        match self.network {
            Network::Arp(arp) => Some((arp.sender_ip().into(), arp.target_ip().into())),
            Network::Ipv4(header) => Some((header.source().into(), header.destination().into())),
            Network::Ipv6(header) => Some((header.source().into(), header.destination().into())),
            Network::Unknown => None,
        }
    }

    /// Source and destination port.
    pub fn ports(&self) -> Option<(u16, u16)> {
        match self.transport {
            Transport::Tcp(header) => Some((header.source_port(), header.destination_port())),
            Transport::Udp(header) => Some((header.source_port(), header.destination_port())),
            _ => None,
        }
    }

    /// Offset of the network header, if there is one behind an Ethernet header and its tags.
    pub fn network_at(&self) -> Option<usize> {
        let is_known = self.network != Network::Unknown;
        match self.link {
            Link::Ethernet(_) if is_known => Some(Ethernet::LEN + Vlan::LEN * self.vlans().count()),
            _ => None,
        }
    }

    /// Offset of the transport header, if there is one behind an Ethernet header.
    pub fn transport_at(&self) -> Option<usize> {
        if self.transport == Transport::Unknown {
            return None;
        }
        let network_len = match self.network {
            Network::Ipv4(header) => header.header_len(),
            Network::Ipv6(_) => Ipv6::LEN + self.extensions.len(),
            _ => return None,
        };
        Some(self.network_at()? + network_len)
    }

    /// Advances past a header of `len` bytes and sets the next protocol.
    fn advance(&mut self, len: usize, payload: &'frame [u8]) {
        self.at += len;
        self.payload = payload;
    }

    fn walk(&mut self, link_type: u16) -> Result<(), HeaderError> {
        match link_type {
            link_type::ETHERNET => {
                let (header, payload) = Ethernet::split(self.payload, self.at)?;
                self.link = Link::Ethernet(header);
                self.advance(Ethernet::LEN, payload);
                self.walk_ethertype(header.ethertype())
            }
            link_type::LINUX_SLL => {
                let (header, payload) = LinuxSll::split(self.payload, self.at)?;
                self.link = Link::LinuxSll(header);
                self.advance(LinuxSll::LEN, payload);
                self.walk_ethertype(header.protocol())
            }
            link_type::LINUX_SLL2 => {
                let (header, payload) = LinuxSll2::split(self.payload, self.at)?;
                self.link = Link::LinuxSll2(header);
                self.advance(LinuxSll2::LEN, payload);
                self.walk_ethertype(header.protocol())
            }
            link_type::PPP | link_type::PPP_HDLC | link_type::CISCO_HDLC => {
                self.walk_hdlc(link_type)
            }
            link_type::PPP_WITH_DIRECTION => {
                let (header, payload) = Ppp::split_with_direction(self.payload, self.at)?;
                self.walk_ppp(header, payload)
            }
            link_type::NULL | link_type::LOOP => self.walk_loopback(link_type),
            link_type::RAW => match self.payload.first() {
                Some(first) if first >> 4 == 6 => self.walk_ipv6(),
                _ => self.walk_ipv4(),
            },
            link_type::IPV4 => self.walk_ipv4(),
            link_type::IPV6 => self.walk_ipv6(),
            _ => Ok(()),
        }
    }

    /// A serial line: the first byte tells PPP and Cisco HDLC apart, where the link type permits both.
    fn walk_hdlc(&mut self, link_type: u16) -> Result<(), HeaderError> {
        let first = self.payload.first().copied().unwrap_or_default();
        let is_cisco = match link_type {
            link_type::PPP => false,
            link_type::PPP_HDLC => CiscoHdlc::is_address(first),
            _ => first != 0xff,
        };
        if is_cisco {
            let (header, payload) = CiscoHdlc::split(self.payload, self.at)?;
            self.link = Link::CiscoHdlc(header);
            self.advance(CiscoHdlc::LEN, payload);
            return self.walk_ethertype(header.protocol());
        }
        let (header, payload) = Ppp::split(self.payload, self.at)?;
        self.walk_ppp(header, payload)
    }

    fn walk_ppp(&mut self, header: Ppp, payload: &'frame [u8]) -> Result<(), HeaderError> {
        self.link = Link::Ppp(header);
        self.advance(header.len(), payload);
        match header.protocol() {
            Ppp::IPV4 => self.walk_ipv4(),
            Ppp::IPV6 => self.walk_ipv6(),
            Ppp::MPLS => self.walk_ethertype(ethertype::MPLS),
            Ppp::MPLS_MULTICAST => self.walk_ethertype(ethertype::MPLS_MULTICAST),
            _ => Ok(()),
        }
    }

    /// BSD loopback: an address family whose number for IPv6 and byte order depend on the system.
    fn walk_loopback(&mut self, link_type: u16) -> Result<(), HeaderError> {
        let (family, payload) = split_header::<4>("loopback", self.payload, self.at)?;
        self.advance(family.len(), payload);
        let big = u32::from_be_bytes(*family);
        // Families are small numbers: in the wrong byte order they exceed 16 bits.
        let is_swapped = big > 0xffff && link_type == link_type::NULL;
        let family = if is_swapped { big.swap_bytes() } else { big };
        match family {
            2 => self.walk_ipv4(),
            // Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
            10 | 24 | 28 | 30 => self.walk_ipv6(),
            _ => Ok(()),
        }
    }

    fn walk_ethertype(&mut self, mut ethertype: u16) -> Result<(), HeaderError> {
        self.ethertype = Some(ethertype);
        for index in 0..MAX_VLANS {
            if !ethertype::is_vlan(ethertype) {
                break;
            }
            let (tag, payload) = Vlan::split(self.payload, self.at)?;
            self.vlans[index] = Some(tag);
            self.advance(Vlan::LEN, payload);
            ethertype = tag.ethertype();
            self.ethertype = Some(ethertype);
        }
        match ethertype {
            ethertype::ARP => {
                let (arp, payload) = Arp::split(self.payload, self.at)?;
                self.network = Network::Arp(arp);
                self.advance(Arp::LEN, payload);
                Ok(())
            }
            ethertype::IPV4 => self.walk_ipv4(),
            ethertype::IPV6 => self.walk_ipv6(),
            _ => Ok(()),
        }
    }

    fn walk_ipv4(&mut self) -> Result<(), HeaderError> {
        let at = self.at;
        let (header, rest) = Ipv4::split(self.payload, at)?;
        self.network = Network::Ipv4(header);
        self.protocol = Some(header.protocol());
        self.advance(Ipv4::LEN, rest);
        if header.fragment_offset() != 0 || header.more_fragments() {
            self.fragment = Some(FragmentPlace {
                identification: header.identification().into(),
                offset: header.fragment_offset(),
                more: header.more_fragments(),
            });
        }
        let (options, payload) = header.split_options(rest, at)?;
        self.advance(options.len(), payload);
        self.walk_transport(header.protocol(), ip::ICMPV4)
    }

    fn walk_ipv6(&mut self) -> Result<(), HeaderError> {
        let (header, payload) = Ipv6::split(self.payload, self.at)?;
        self.network = Network::Ipv6(header);
        self.advance(Ipv6::LEN, payload);
        let (extensions, error) = match Extensions::walk(header.next_header(), payload, self.at) {
            Ok(extensions) => (extensions, None),
            Err((extensions, error)) => (extensions, Some(error)),
        };
        self.protocol = Some(extensions.protocol);
        self.extensions = &payload[..extensions.at - self.at];
        self.at = extensions.at;
        self.payload = extensions.payload;
        // An atomic fragment has offset 0 and no more fragments (RFC 6946).
        self.fragment = extensions
            .fragment
            .map(|fragment| FragmentPlace {
                identification: fragment.identification(),
                offset: fragment.offset(),
                more: fragment.more(),
            })
            .filter(|place| place.offset != 0 || place.more);
        match error {
            Some(error) => Err(error),
            None => self.walk_transport(extensions.protocol, ip::ICMPV6),
        }
    }

    /// `icmp` is the protocol that carries ICMP in this version of IP.
    fn walk_transport(&mut self, protocol: u8, icmp: u8) -> Result<(), HeaderError> {
        if self.fragment.is_some_and(|place| place.offset != 0) {
            return Ok(());
        }
        let at = self.at;
        match protocol {
            ip::TCP => {
                let (header, rest) = Tcp::split(self.payload, at)?;
                self.transport = Transport::Tcp(header);
                self.advance(Tcp::LEN, rest);
                let (options, payload) = header.split_options(rest, at)?;
                self.transport_options = options;
                self.advance(options.len(), payload);
            }
            ip::UDP => {
                let (header, payload) = Udp::split(self.payload, at)?;
                self.transport = Transport::Udp(header);
                self.advance(Udp::LEN, payload);
            }
            ip::ICMPV4 if protocol == icmp => {
                let (header, payload) = Icmpv4::split(self.payload, at)?;
                self.transport = Transport::Icmpv4(header);
                self.advance(Icmpv4::LEN, payload);
            }
            ip::ICMPV6 if protocol == icmp => {
                let (header, payload) = Icmpv6::split(self.payload, at)?;
                self.transport = Transport::Icmpv6(header);
                self.advance(Icmpv6::LEN, payload);
            }
            _ => {}
        }
        Ok(())
    }
}
