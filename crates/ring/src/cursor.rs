//! A reader's position in a batch, kept in the ring between calls.

use crate::packet::RingPacket;
use crate::tpacket::SlotWalk;

/// Position in a batch that is being read packet by packet; `E` is the extent of the batch in its ring.
#[derive(Debug)]
pub(crate) struct Cursor<E> {
    /// `None` if no batch is being read.
    pub extent: Option<E>,
    pub packets: u32,
    /// Packets not lent yet.
    pub left: u32,
    pub unreadable: u32,
    pub lost_before: u64,
    /// Where the next packet is: a position in a ring buffer, or the number of a descriptor or of a copied slot.
    pub at: u64,
}

/// The extent of a packet ring's batch, with the position of the next packet.
#[derive(Debug)]
pub(crate) struct PacketExtent {
    pub slots: usize,
    pub walk: SlotWalk,
}

impl<E> Default for Cursor<E> {
    fn default() -> Self {
        Self {
            extent: None,
            packets: 0,
            left: 0,
            unreadable: 0,
            lost_before: 0,
            at: 0,
        }
    }
}

impl<E> Cursor<E> {
    /// Counts a packet, or notes that the rest of the batch is unreadable.
    #[inline]
    pub fn count<'b>(&mut self, packet: Option<RingPacket<'b>>) -> Option<RingPacket<'b>> {
        if packet.is_some() {
            self.left -= 1;
        } else {
            (self.unreadable, self.left) = (self.left, 0);
        }
        packet
    }
}
