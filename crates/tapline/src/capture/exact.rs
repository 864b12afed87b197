//! The part of a filter that the kernel cannot hold.

use filter::classic::Ancillary;
use filter::{Filter, native};
use ring::Packet;
use wire::metadata::{Direction, Reception};

const MAC_ADDRESSES_BYTES: usize = 12;
const VLAN_TAG_BYTES: usize = 4;

// include/uapi/linux/if_packet.h
const PACKET_HOST: u8 = 0;
const PACKET_BROADCAST: u8 = 1;
const PACKET_MULTICAST: u8 = 2;
const PACKET_OTHERHOST: u8 = 3;
const PACKET_OUTGOING: u8 = 4;

/// Gives in the reader the verdict that the whole filter would have given in the kernel.
pub(super) struct Exact {
    verdict: Verdict,
    snaplen: usize,
    /// A packet without the VLAN tag that the ring put back.
    untagged: Vec<u8>,
}

impl Exact {
    /// `filter` is made for [`filter::At::Socket`]; `snaplen` bytes are kept of what it accepts.
    pub fn new(filter: Filter, snaplen: u32) -> Self {
        Self {
            verdict: Verdict::of(filter),
            snaplen: snaplen as usize,
            untagged: Vec::new(),
        }
    }

    /// What is to be kept of `packet`, which must be whole; `None` if the filter refuses it.
    ///
    /// Packets whose VLAN tag was beside the bytes are copied, into memory that is kept.
    pub fn kept<'p>(&mut self, packet: &Packet<'p>) -> Option<&'p [u8]> {
        let ancillary = Ancillary {
            packet_type: Some(packet_type(packet)),
            interface_index: Some(packet.link),
            queue: None,
            vlan_tag: packet.vlan_tag,
        };
        let (mut bytes, mut original_len) = (packet.bytes, packet.original_len);
        if packet.vlan_tag.is_some() {
            original_len = original_len.saturating_sub(VLAN_TAG_BYTES as u32);
            // A frame that ends before its tag's place is lent without it.
            if let Some(rest) = bytes.get(MAC_ADDRESSES_BYTES + VLAN_TAG_BYTES..) {
                self.untagged.clear();
                self.untagged
                    .extend_from_slice(&bytes[..MAC_ADDRESSES_BYTES]);
                self.untagged.extend_from_slice(rest);
                bytes = &self.untagged;
            }
        }
        let is_wanted = self.verdict.accepts(bytes, original_len, &ancillary);
        is_wanted.then(|| &packet.bytes[..packet.bytes.len().min(self.snaplen)])
    }
}

/// The fastest form of a filter that this machine has.
enum Verdict {
    Native(native::Program),
    Walked(Box<Filter>),
}

impl Verdict {
    fn of(filter: Filter) -> Self {
        match filter.native() {
            Ok(program) => Self::Native(program),
            Err(_) => Self::Walked(Box::new(filter)),
        }
    }

    #[inline]
    fn accepts(&self, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> bool {
        let kept = match self {
            Self::Native(program) => program.run_with(packet, original_len, ancillary),
            Self::Walked(filter) => filter.run(packet, original_len, ancillary),
        };
        kept > 0
    }
}

fn packet_type(packet: &Packet<'_>) -> u8 {
    match (packet.direction, packet.reception) {
        (Direction::Out, _) => PACKET_OUTGOING,
        (Direction::In, Some(Reception::Broadcast)) => PACKET_BROADCAST,
        (Direction::In, Some(Reception::Multicast)) => PACKET_MULTICAST,
        (Direction::In, Some(Reception::Promiscuous)) => PACKET_OTHERHOST,
        (Direction::In, Some(Reception::Unicast) | None) => PACKET_HOST,
    }
}
