//! A number that a packet keeps on its way through a host, so that it can be found again at another interface.

use crate::dissect::{Network, Transport, dissect};

/// Bytes of the payload that count.
const PAYLOAD_BYTES: usize = 64;

/// The identifier of `bytes`, an IP packet with this link-layer header type (`LINKTYPE_*`); `None` for other packets.
///
/// It is the 64-bit FNV-1a hash of these fields, numbers in network byte order:
///
/// | of | fields |
/// |---|---|
/// | IPv4 | source, destination, identification, fragment offset in bytes, whether fragments follow (one byte) |
/// | IPv6 | source, destination, flow label (4 bytes), fragment identification (4), offset (2) and whether others follow (1), or zeros |
/// | both | protocol, after any extension headers |
/// | TCP | ports, sequence and acknowledgment number, flags (2 bytes) |
/// | UDP | ports, length |
/// | ICMP | type, code, and the word after the checksum |
/// | payload | its first 64 bytes, without what pads the frame |
///
/// Routers, bridges and tunnels keep all of that: they change link-layer headers and VLAN tags, TTL, DSCP and ECN. Checksums
/// do not count, because a packet may still be without them. Address translation changes the identifier, and so does
/// segmentation between two interfaces. Two packets that are alike have the same identifier, e.g. retransmissions with the
/// same identification.
///
/// Both interfaces must capture at least the headers and 64 bytes, or the same number of bytes.
///
/// ```
/// use tapline_wire::{MacAddress, build::Frame, packet_id, protocol::link_type};
///
/// let [a, b] = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
/// let [c, d] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
/// let plain = Frame::ethernet(a, b).ipv4(c, d).udp(1024, 53).payload(b"?");
/// let tagged = Frame::ethernet(b, a).vlan(7).ipv4(c, d).udp(1024, 53).payload(b"?");
/// let id = packet_id(link_type::ETHERNET, &plain);
/// assert!(id.is_some());
/// assert_eq!(packet_id(link_type::ETHERNET, &tagged), id);
/// ```
#[doc(alias = "epb_packetid")]
pub fn packet_id(link_type: u16, bytes: &[u8]) -> Option<u64> {
    let summary = dissect(link_type, bytes);
    let mut hash = Fnv::default();
    // Length of the network layer's payload; 0 in a packet that is too long for the field.
    let (length, headers) = match summary.network {
        Network::Ipv4(header) => {
            hash.add(&header.source().octets());
            hash.add(&header.destination().octets());
            hash.add(&header.identification().to_be_bytes());
            hash.add(&header.fragment_offset().to_be_bytes());
            hash.add(&[header.more_fragments().into()]);
            (header.total_length(), header.header_len())
        }
        Network::Ipv6(header) => {
            hash.add(&header.source().octets());
            hash.add(&header.destination().octets());
            hash.add(&header.flow_label().to_be_bytes());
            let place = summary.fragment;
            let identification = place.map_or(0, |place| place.identification);
            hash.add(&identification.to_be_bytes());
            hash.add(&place.map_or(0, |place| place.offset).to_be_bytes());
            hash.add(&[place.is_some_and(|place| place.more).into()]);
            (header.payload_length(), summary.extensions.len())
        }
        _ => return None,
    };
    hash.add(&[summary.protocol.unwrap_or_default()]);
    let transport = match summary.transport {
        Transport::Tcp(header) => {
            hash.add(&header.source_port().to_be_bytes());
            hash.add(&header.destination_port().to_be_bytes());
            hash.add(&header.sequence().to_be_bytes());
            hash.add(&header.acknowledgment().to_be_bytes());
            hash.add(&header.flags().0.to_be_bytes());
            header.header_len()
        }
        Transport::Udp(header) => {
            hash.add(&header.source_port().to_be_bytes());
            hash.add(&header.destination_port().to_be_bytes());
            hash.add(&header.length().to_be_bytes());
            8
        }
        Transport::Icmpv4(header) => {
            hash.add(&[header.kind(), header.code()]);
            hash.add(&header.parameter());
            8
        }
        Transport::Icmpv6(header) => {
            hash.add(&[header.kind(), header.code()]);
            hash.add(&header.parameter());
            8
        }
        Transport::Unknown => 0,
    };
    let most = match usize::from(length) {
        0 => usize::MAX,
        length => length.saturating_sub(headers + transport),
    };
    let kept = summary.payload.len().min(most).min(PAYLOAD_BYTES);
    hash.add(&summary.payload[..kept]);
    Some(hash.0)
}

/// The FNV-1a hash.
///
/// # Source
/// draft-eastlake-fnv, sections 2 and 5.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MacAddress;
    use crate::build::Frame;
    use crate::protocol::link_type::ETHERNET;

    /// The test vectors of the draft, section 6.
    #[test]
    fn the_hash_is_fnv_1a() {
        for (text, expected) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            let mut hash = Fnv::default();
            hash.add(text.as_bytes());
            assert_eq!(hash.0, expected);
        }
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        let [a, b] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
        let [c, d] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        Frame::ethernet(a, b)
            .ipv4(c, d)
            .udp(1024, 53)
            .payload(payload)
    }

    #[test]
    fn what_a_router_changes_does_not_count() {
        let sent = frame(b"?");
        let id = packet_id(ETHERNET, &sent);
        let mut routed = sent.clone();
        routed[..12].fill(9);
        // DSCP, TTL, both checksums.
        for at in [15, 22, 24, 25, 40, 41] {
            routed[at] ^= 0x55;
        }
        routed.resize(60, 0);
        assert_eq!(packet_id(ETHERNET, &routed), id);
        // Addresses, ports, identification, payload.
        for at in [29, 33, 35, 37, 19, 42] {
            let mut other = sent.clone();
            other[at] ^= 1;
            assert_ne!(packet_id(ETHERNET, &other), id, "byte {at}");
        }
    }

    #[test]
    fn packets_without_ip_have_none_and_short_ones_do_no_harm() {
        assert_eq!(packet_id(ETHERNET, &[0xff; 60]), None);
        let sent = frame(&[7; 100]);
        for end in 0..sent.len() {
            let _ = packet_id(ETHERNET, &sent[..end]);
        }
        // The payload counts up to its 64th byte.
        assert_eq!(
            packet_id(ETHERNET, &sent[..42 + 64]),
            packet_id(ETHERNET, &sent)
        );
        assert_ne!(
            packet_id(ETHERNET, &sent[..42 + 63]),
            packet_id(ETHERNET, &sent)
        );
    }
}
