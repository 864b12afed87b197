//! Answers by a packet ring.

use std::time::Duration;

use probe::{Message, read_ipv4, read_ipv6};
use ring::{Backend, Delivery, DirectionFilter, Filter, OpenError, PacketRing};
use wire::metadata::Checksum;
use wire::protocol::{ethertype, link_type};
use wire::{Ethernet, Vlan};

use super::filter;
use super::options::Options;

/// A block of the ring: some hundred answers.
const BLOCK_BYTES: usize = 1 << 16;
/// After which a block is handed over that is not full. Answers are stamped before.
const BLOCK_TIME: Duration = Duration::from_millis(1);
/// Headers before the payload of an answer, at most: those of Ethernet with tags, IP with options,
/// ICMP, and what an error quotes of them.
const HEADERS_BYTES: usize = 256;
/// VLAN tags followed.
const MAX_TAGS: usize = 2;

/// Opens a ring on interface `link` that takes answers of at most `most_bytes` to the run with `identifier`.
pub(super) fn open(
    link: &str,
    identifier: u16,
    most_bytes: u32,
    options: &Options,
) -> Result<PacketRing, OpenError> {
    let options = ring::Options {
        backend: Some(Backend::PacketV3),
        promiscuous: false,
        direction: DirectionFilter::In,
        snaplen: (options.payload_bytes + HEADERS_BYTES) as u32,
        buffer_bytes: options.buffer_bytes,
        delivery: Delivery::Batch {
            min_bytes: BLOCK_BYTES,
            timeout: BLOCK_TIME,
        },
        filter: Filter::Classic(filter::ring(identifier, most_bytes).to_vec()),
        ..ring::Options::default()
    };
    PacketRing::open(link, &options)
}

/// Reads a packet of the ring.
pub(super) fn read<'a>(packet: &ring::Packet<'a>, type_of_link: u16) -> Option<Message<'a>> {
    let (protocol, bytes) = match type_of_link {
        link_type::ETHERNET => behind_ethernet(packet.bytes)?,
        _ => (0, packet.bytes),
    };
    let version = bytes.first()? >> 4;
    let message = match (protocol, version) {
        (ethertype::IPV4 | 0, 4) => read_ipv4(bytes),
        (ethertype::IPV6 | 0, 6) => read_ipv6(bytes),
        _ => None,
    }?;
    Some(match (packet.checksum, message) {
        // One that this host has not computed yet is not wrong.
        (Checksum::NotReady, Message::Reply(reply)) => Message::Reply(probe::Reply {
            intact: true,
            ..reply
        }),
        (Checksum::NotReady, Message::Error(error)) => Message::Error(probe::ErrorMessage {
            intact: true,
            ..error
        }),
        (_, message) => message,
    })
}

/// EtherType and bytes behind the Ethernet header and its VLAN tags.
fn behind_ethernet(frame: &[u8]) -> Option<(u16, &[u8])> {
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
