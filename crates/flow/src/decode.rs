//! What the table needs of a packet's headers.

use std::net::Ipv6Addr;

use wire::dissect::{Network, Transport};
use wire::protocol::{ethertype, ip, link_type};
use wire::{Ethernet, HeaderError, Icmpv4, Icmpv6, Ipv4, Ipv6, Summary, Tcp, Udp, dissect};

use crate::key::FlowKey;

/// A packet to be added to a flow.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FlowPacket<'a> {
    /// `LINKTYPE_*`.
    pub link_type: u16,
    /// Captured bytes, from the link-layer header on.
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub len: u64,
    /// Nanoseconds since 1970; `None` if unknown: the time of the packet before it counts.
    pub time_ns: Option<u64>,
    /// Number of its interface.
    pub interface: u32,
}

impl<'a> FlowPacket<'a> {
    /// A packet that was captured as a whole, on the first interface.
    pub fn new(link_type: u16, bytes: &'a [u8], time_ns: Option<u64>) -> Self {
        Self {
            link_type,
            bytes,
            len: bytes.len() as u64,
            time_ns,
            interface: 0,
        }
    }
}

/// When and where a packet arrived, and its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// `None` if unknown.
    pub time_ns: Option<u64>,
    pub len: u64,
    pub interface: u32,
}

impl Arrival {
    #[inline]
    pub(crate) fn of(packet: &FlowPacket<'_>) -> Self {
        Self {
            time_ns: packet.time_ns,
            len: packet.len,
            interface: packet.interface,
        }
    }
}

/// Why a packet belongs to no flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFlow {
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// A fragment without ports.
    Fragment,
    /// A truncated or invalid header.
    Malformed,
}

/// Protocols that begin with a source and a destination port: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [ip::TCP, ip::UDP, 33, 132, 136];

/// A packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub key: FlowKey,
    /// Whether the source is the higher end of the key.
    pub is_swapped: bool,
    pub ip_bytes: u64,
    /// `None` if it is not TCP, or if its header is truncated behind the ports.
    pub tcp: Option<TcpSegment>,
}

/// What the analysis of a TCP connection needs of a segment (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSegment {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgement: u32,
    /// Window, as the header has it.
    pub window: u16,
    /// Flags: CWR is 0x80, FIN is 1.
    pub flags: u8,
    /// Bytes of data, as the headers state, also of those that were not captured.
    pub data_bytes: u32,
}

impl Segment {
    #[inline]
    pub(crate) fn of(packet: &FlowPacket<'_>) -> Result<Self, NoFlow> {
        match plain(packet) {
            Some(segment) => Ok(segment),
            None => Self::dissected(packet),
        }
    }

    /// Of any packet.
    pub(crate) fn dissected(packet: &FlowPacket<'_>) -> Result<Self, NoFlow> {
        let summary = dissect(packet.link_type, packet.bytes);
        let Some(ip) = IpHeader::of(&summary, packet) else {
            let is_other = summary
                .ethertype
                .is_some_and(|kind| ![ethertype::IPV4, ethertype::IPV6].contains(&kind));
            return Err(if is_other || summary.error.is_none() {
                NoFlow::NotIp
            } else {
                NoFlow::Malformed
            });
        };
        if summary
            .error
            .is_some_and(|error| layer(error).starts_with("IP"))
        {
            return Err(NoFlow::Malformed);
        }
        let protocol = summary.protocol.unwrap_or_default();
        let has_ports = WITH_PORTS.contains(&protocol);
        if has_ports && summary.fragment.is_some_and(|place| place.offset != 0) {
            return Err(NoFlow::Fragment);
        }
        let ports = match summary.transport {
            Transport::Tcp(_) | Transport::Udp(_) => summary.ports().map(<[u16; 2]>::from),
            _ if !has_ports => Some([0, 0]),
            // A protocol that is not dissected, or a header that is truncated behind its ports.
            _ => ports(summary.payload),
        };
        let ports = ports.ok_or(NoFlow::Malformed)?;
        let (key, is_swapped) = FlowKey::new(ip.version, ip.ends, ports, protocol);
        let tcp = match summary.transport {
            Transport::Tcp(header) if header.header_len() >= Tcp::LEN => {
                let data_at = (ip.payload_at + header.header_len()) as u64;
                Some(TcpSegment {
                    sequence: header.sequence(),
                    acknowledgement: header.acknowledgment(),
                    window: header.window(),
                    flags: header.flags().0 as u8,
                    data_bytes: (ip.at as u64 + ip.bytes).saturating_sub(data_at) as u32,
                })
            }
            _ => None,
        };
        Ok(Self {
            key,
            is_swapped,
            ip_bytes: ip.bytes,
            tcp,
        })
    }
}

/// An IP header in a dissected packet.
struct IpHeader {
    version: u8,
    ends: [u128; 2],
    /// Offset in the packet.
    at: usize,
    /// Offset of what is behind it and its extension headers.
    payload_at: usize,
    /// Length with its payload.
    bytes: u64,
}

impl IpHeader {
    /// `None` if there is none. Of a broken header, only the presence counts.
    fn of(summary: &Summary<'_>, packet: &FlowPacket<'_>) -> Option<Self> {
        let transport = match summary.transport {
            Transport::Tcp(_) => Tcp::LEN + summary.transport_options.len(),
            Transport::Udp(_) => Udp::LEN,
            Transport::Icmpv4(_) => Icmpv4::LEN,
            Transport::Icmpv6(_) => Icmpv6::LEN,
            _ => 0,
        };
        let payload_at = summary.at.saturating_sub(transport);
        let (version, ends, header, stated) = match summary.network {
            Network::Ipv4(header) => (
                4,
                [header.source(), header.destination()].map(|end| u128::from(end.to_bits())),
                header.header_len(),
                u64::from(header.total_length()),
            ),
            Network::Ipv6(header) => (
                6,
                [header.source(), header.destination()].map(Ipv6Addr::to_bits),
                Ipv6::LEN + summary.extensions.len(),
                match header.payload_length() {
                    0 => 0,
                    bytes => Ipv6::LEN as u64 + u64::from(bytes),
                },
            ),
            _ => return None,
        };
        let at = payload_at.saturating_sub(header);
        Some(Self {
            version,
            ends,
            at,
            payload_at,
            bytes: ip_bytes(stated, packet.len, at),
        })
    }
}

/// Length of an IP packet at `at`. A super-packet that is longer than the field can say has 0 there.
#[inline]
fn ip_bytes(stated: u64, len: u64, at: usize) -> u64 {
    match stated {
        0 => len.saturating_sub(at as u64),
        stated => stated,
    }
}

fn layer(error: HeaderError) -> &'static str {
    match error {
        HeaderError::Truncated(error) => error.layer,
        HeaderError::Inconsistent(error) => error.layer,
        _ => "",
    }
}

fn ports(bytes: &[u8]) -> Option<[u16; 2]> {
    let &[a, b, c, d] = bytes.first_chunk()?;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

/// Of the usual packet, without a detour: TCP or UDP without fragments, IPv4 without options or IPv6 without extension headers,
/// behind an Ethernet header without tags. `None` for any other.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "what it returns stays in registers only then"
)]
pub(crate) fn plain(packet: &FlowPacket<'_>) -> Option<Segment> {
    if packet.link_type != link_type::ETHERNET {
        return None;
    }
    let (ethernet, network) = packet.bytes.split_first_chunk::<{ Ethernet::LEN }>()?;
    let (version, ends, protocol, stated, header, transport) = match ethernet[12..] {
        [0x08, 0x00] => {
            let (header, transport) = network.split_first_chunk::<{ Ipv4::LEN }>()?;
            // Neither more fragments nor an offset.
            let is_whole = matches!(header[6..8], [0 | 0x40 | 0x80 | 0xc0, 0]);
            if header[0] != 0x45 || !is_whole {
                return None;
            }
            let word = |at: usize| {
                u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
            };
            let ends = [word(12), word(16)].map(u128::from);
            let stated = u64::from(u16::from_be_bytes([header[2], header[3]]));
            (4, ends, header[9], stated, Ipv4::LEN, transport)
        }
        [0x86, 0xdd] => {
            let (header, transport) = network.split_first_chunk::<{ Ipv6::LEN }>()?;
            let (_, addresses) = header.split_first_chunk::<8>()?;
            let (source, destination) = addresses.split_first_chunk::<16>()?;
            let ends = [
                u128::from_be_bytes(*source),
                u128::from_be_bytes(*destination.first_chunk()?),
            ];
            let stated = match u16::from_be_bytes([header[4], header[5]]) {
                0 => 0,
                bytes => Ipv6::LEN as u64 + u64::from(bytes),
            };
            if header[0] >> 4 != 6 {
                return None;
            }
            (6, ends, header[6], stated, Ipv6::LEN, transport)
        }
        _ => return None,
    };
    let bytes = ip_bytes(stated, packet.len, Ethernet::LEN);
    let tcp = match protocol {
        // Not if the IP packet ends within its transport header: Ethernet pads it.
        ip::TCP if bytes >= (header + Tcp::LEN) as u64 => {
            let tcp = transport.first_chunk::<{ Tcp::LEN }>()?;
            let header_len = usize::from(tcp[12] >> 4) * 4;
            if header_len < Tcp::LEN {
                return None;
            }
            let word =
                |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
            Some(TcpSegment {
                sequence: word(4),
                acknowledgement: word(8),
                window: u16::from_be_bytes([tcp[14], tcp[15]]),
                flags: tcp[13],
                data_bytes: bytes.saturating_sub((header + header_len) as u64) as u32,
            })
        }
        ip::UDP if bytes >= (header + Udp::LEN) as u64 => None,
        _ => return None,
    };
    let (key, is_swapped) = FlowKey::new(version, ends, ports(transport)?, protocol);
    Some(Segment {
        key,
        is_swapped,
        ip_bytes: bytes,
        tcp,
    })
}

#[cfg(test)]
mod tests;
