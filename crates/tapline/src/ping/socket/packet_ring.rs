//! A packet ring that receives replies.

use std::time::Duration;

use probe::{IcmpMessage, parse_ipv4, parse_ipv6};
use ring::{DeliveryMode, DirectionFilter, PacketRing, RingFilter, RingOpenError, TpacketVersion};
use wire::metadata::Checksum;
use wire::protocol::{ethertype, link_type};
use wire::{Ethernet, Vlan};

use super::filter;
use crate::ping::options::PingOptions;

/// Block size of the ring: some hundred replies.
const BLOCK_BYTES: usize = 1 << 16;
/// Time after which the kernel hands over a partly filled block. Replies are stamped earlier.
const BLOCK_TIME: Duration = Duration::from_millis(1);
/// Maximum length of headers before the payload: Ethernet with tags, IP with options, ICMP, and a quoted packet.
const HEADERS_BYTES: usize = 256;
/// Maximum VLAN tags.
const MAX_TAGS: usize = 2;

/// Opens a ring on `interface` for replies with `identifier` of at most `most_bytes`.
pub(in crate::ping) fn open_packet_ring(
    interface: &str,
    identifier: u16,
    most_bytes: u32,
    options: &PingOptions,
) -> Result<PacketRing, RingOpenError> {
    let options = ring::RingOptions {
        version: Some(TpacketVersion::V3),
        promiscuous: false,
        direction: DirectionFilter::In,
        snaplen: (options.payload_bytes + HEADERS_BYTES) as u32,
        buffer_bytes: options.buffer_bytes,
        delivery: DeliveryMode::Batch {
            min_bytes: BLOCK_BYTES,
            timeout: BLOCK_TIME,
        },
        filter: RingFilter::Classic(filter::ring(identifier, most_bytes).to_vec()),
        ..ring::RingOptions::default()
    };
    PacketRing::open(interface, &options)
}

/// Parses a packet of the ring.
pub(in crate::ping) fn parse_packet<'a>(
    packet: &ring::RingPacket<'a>,
    device_type: u16,
) -> Option<IcmpMessage<'a>> {
    let (protocol, bytes) = match device_type {
        link_type::ETHERNET => skip_ethernet(packet.bytes)?,
        _ => (0, packet.bytes),
    };
    let version = bytes.first()? >> 4;
    let message = match (protocol, version) {
        (ethertype::IPV4 | 0, 4) => parse_ipv4(bytes),
        (ethertype::IPV6 | 0, 6) => parse_ipv6(bytes),
        _ => None,
    }?;
    Some(match (packet.checksum, message) {
        // A checksum that this host has not computed yet is not wrong.
        (Checksum::NotReady, IcmpMessage::Reply(reply)) => IcmpMessage::Reply(probe::EchoReply {
            intact: true,
            ..reply
        }),
        (Checksum::NotReady, IcmpMessage::Error(error)) => IcmpMessage::Error(probe::IcmpError {
            intact: true,
            ..error
        }),
        (_, message) => message,
    })
}

/// EtherType and bytes after the Ethernet header and its VLAN tags.
fn skip_ethernet(frame: &[u8]) -> Option<(u16, &[u8])> {
    let (header, mut rest) = Ethernet::split(frame, 0).ok()?;
    let mut protocol = header.ethertype();
    for _ in 0..MAX_TAGS {
        if protocol != ethertype::VLAN && protocol != ethertype::SERVICE_VLAN {
            break;
        }
        let (tag, behind) = Vlan::split(rest, 0).ok()?;
        (protocol, rest) = (tag.ethertype(), behind);
    }
    Some((protocol, rest))
}
