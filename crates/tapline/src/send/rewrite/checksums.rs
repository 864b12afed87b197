//! Checksums computed anew.

use wire::checksum::{Sum, internet, udp_field};
use wire::protocol::ip;

use super::header_offsets::{HeaderOffsets, NetworkKind, TransportKind};

/// Computes the checksums of the outermost IP header of an Ethernet frame and of the TCP, UDP, ICMP or `ICMPv6` header
/// in it. A capture on the sending host has wrong ones where the device would have computed them.
///
/// A packet whose end is missing and a fragment get a new IPv4 header checksum only: their transport checksum covers
/// bytes that are not there. A UDP checksum of 0 over IPv4 stays, because it means that there is none. Headers inside
/// tunnels are left alone. The destination of a packet with an IPv6 routing header is taken for the final one.
///
/// # Source
/// RFC 1071; RFC 9293, 3.1; RFC 768; RFC 4443, 2.3.
pub fn fix_checksums(frame: &mut [u8]) {
    let Some(offsets) = HeaderOffsets::find(frame) else {
        return;
    };
    let at = offsets.network_at;
    if let NetworkKind::Ipv4 { header_len } = offsets.network {
        let Some(header) = frame.get_mut(at..at + header_len) else {
            return;
        };
        set(header, 10, 0);
        let checksum = internet(header);
        set(header, 10, checksum);
    }
    let (Some(transport), Some(end), false) = (offsets.transport, offsets.end, offsets.is_fragment)
    else {
        return;
    };
    let (protocol, end) = match transport.kind {
        TransportKind::Tcp => (ip::TCP, end),
        TransportKind::Udp { length } => (ip::UDP, end.min(transport.at + length)),
        TransportKind::Icmpv4 => (ip::ICMPV4, end),
        TransportKind::Icmpv6 { .. } => (ip::ICMPV6, end),
    };
    let is_udp = protocol == ip::UDP;
    let is_ipv4 = offsets.network != NetworkKind::Ipv6;
    let checksum_at = transport.checksum_at();
    if end < checksum_at + 2 || is_udp && is_ipv4 && frame[checksum_at..checksum_at + 2] == [0; 2] {
        return;
    }
    let addresses = if is_ipv4 {
        at + 12..at + 20
    } else {
        at + 8..at + 40
    };
    let mut sum = Sum::new();
    if protocol != ip::ICMPV4 {
        sum = sum
            .bytes(&frame[addresses])
            .number(protocol.into())
            .number((end - transport.at) as u32);
    }
    set(frame, checksum_at, 0);
    let mut checksum = sum.bytes(&frame[transport.at..end]).finish();
    if is_udp {
        checksum = udp_field(checksum);
    }
    set(frame, checksum_at, checksum);
}

fn set(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(field) = bytes.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}
