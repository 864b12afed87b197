//! The exact filter, run by the reader where the kernel can only hold a coarse one, and on the packets that were in the
//! ring when the kernel got another filter.

use filter::Filter;
use filter::classic::{Ancillary, ClassicProgram};
use ring::RingPacket;

use crate::compiled_filter::{CompiledFilter, packet_type};

const MAC_ADDRESSES_BYTES: usize = 12;
const VLAN_TAG_BYTES: usize = 4;

/// Decides for each packet as the whole filter would have decided in the kernel.
pub struct ExactFilter {
    filter: CompiledFilter,
    snaplen: usize,
    /// Packets that it applies to, from the next one on.
    remaining: u64,
    /// A packet without the VLAN tag that the ring restored.
    untagged: Vec<u8>,
}

impl ExactFilter {
    /// `filter` is compiled for [`filter::FilterTarget::Socket`]; accepted packets are truncated to `snaplen` bytes.
    pub fn new(filter: Filter, snaplen: u32) -> Self {
        Self::with(CompiledFilter::new(filter), snaplen, u64::MAX)
    }

    /// A program for the next `packets` packets, whose bytes the ring has truncated.
    pub fn program(program: ClassicProgram, packets: u64) -> Self {
        Self::with(CompiledFilter::Classic(program), u32::MAX, packets)
    }

    fn with(filter: CompiledFilter, snaplen: u32, remaining: u64) -> Self {
        Self {
            filter,
            snaplen: snaplen as usize,
            remaining,
            untagged: Vec::new(),
        }
    }

    /// Counts a packet that was read.
    #[inline]
    pub fn advance(&mut self) {
        self.remaining = self.remaining.saturating_sub(1);
    }

    /// Whether it applies to no more packets.
    pub fn is_over(&self) -> bool {
        self.remaining == 0
    }

    /// The bytes to keep of `packet`, which must be complete; `None` if the filter refuses it.
    ///
    /// A packet whose VLAN tag was metadata is copied, into memory that is reused.
    pub fn kept<'p>(&mut self, packet: &RingPacket<'p>) -> Option<&'p [u8]> {
        if self.is_over() {
            return Some(packet.bytes);
        }
        let ancillary = Ancillary {
            packet_type: packet_type(Some(packet.direction), packet.reception),
            interface_index: Some(packet.link),
            queue: None,
            vlan_tag: packet.vlan_tag,
        };
        let (mut bytes, mut original_len) = (packet.bytes, packet.original_len);
        if packet.vlan_tag.is_some() {
            original_len = original_len.saturating_sub(VLAN_TAG_BYTES as u32);
            // The ring restores no tag in a frame that ends before its position.
            if let Some(rest) = bytes.get(MAC_ADDRESSES_BYTES + VLAN_TAG_BYTES..) {
                self.untagged.clear();
                self.untagged
                    .extend_from_slice(&bytes[..MAC_ADDRESSES_BYTES]);
                self.untagged.extend_from_slice(rest);
                bytes = &self.untagged;
            }
        }
        let accepts = (self.filter).accepts_with(bytes, original_len, &ancillary);
        accepts.then(|| self.truncate(packet.bytes))
    }

    /// The bytes to keep of an accepted packet.
    #[inline]
    pub fn truncate<'p>(&self, bytes: &'p [u8]) -> &'p [u8] {
        &bytes[..bytes.len().min(self.snaplen)]
    }
}
