//! Packets one at a time.
//!
//! A [`Batch`] borrows its ring, so nobody can store both. A reader that returns to its caller after each
//! packet uses a cursor instead: [`begin_batch`](PacketRing::begin_batch), then
//! [`next_packet`](PacketRing::next_packet) until it returns `None`, then `begin_batch` again, which gives the
//! memory of the batch before back to the kernel.

use crate::batch::{Batch, BatchSource};
use crate::bpf::BpfRing;
use crate::cursor::{Cursor, PacketExtent};
use crate::options::TimestampSource;
use crate::packet::RingPacket;
use crate::tpacket::{Frames, PacketRing};
use crate::xdp::XdpRing;

/// The methods that are the same for all rings: `$source` makes the source of a batch of an extent.
macro_rules! reads_one_by_one {
    ($ring:ty, |$own:ident, $extent:ident| $source:expr, $begin:expr) => {
        impl $ring {
            /// Gives back the batch that was read and begins the next one; `false` if there is none yet.
            pub fn begin_batch(&mut self) -> bool {
                self.end_batch();
                let not_taken = self.cursor.lost_before;
                let Some(batch) = self.next_batch() else {
                    return false;
                };
                let (extent, at) = $begin(&batch);
                let (packets, lost_before) = (batch.packets, batch.lost_before + not_taken);
                // The memory is given back when the reading ends.
                std::mem::forget(batch);
                self.cursor = Cursor {
                    extent: Some(extent),
                    packets,
                    left: packets,
                    unreadable: 0,
                    lost_before,
                    at,
                };
                true
            }

            /// Gives back the packets that were lent. Those that were not stay in the ring where a batch
            /// [can be truncated](Batch::can_truncate), and are given back unread elsewhere.
            pub fn end_batch(&mut self) {
                let Some($extent) = self.cursor.extent.take() else {
                    return;
                };
                let Cursor {
                    packets,
                    left,
                    unreadable,
                    lost_before,
                    ..
                } = self.cursor;
                self.cursor.left = 0;
                let $own = &mut *self;
                let mut batch = Batch {
                    source: $source,
                    packets,
                    unreadable,
                    lost_before,
                };
                // Then the ring reports lost packets again.
                let is_unread = batch.can_truncate() && left == packets && packets > 0;
                batch.truncate((packets - left) as usize);
                drop(batch);
                if is_unread && unreadable == 0 {
                    self.cursor.lost_before = 0;
                }
            }

            /// Packets of the current batch that have not been lent yet.
            #[inline]
            pub fn packets_left(&self) -> usize {
                self.cursor.left as usize
            }

            /// Packets that the ring dropped before the current batch, as [`Batch::lost_before`], and before earlier
            /// ones for which this was not called. Returns them once.
            #[inline]
            pub fn take_lost_before(&mut self) -> u64 {
                let lost = self.cursor.lost_before;
                if lost > 0 {
                    self.cursor.lost_before = 0;
                }
                lost
            }
        }
    };
}

reads_one_by_one!(
    PacketRing,
    |ring, extent| BatchSource::Packet {
        ring,
        slots: extent.slots
    },
    |batch: &Batch<'_>| match &batch.source {
        BatchSource::Packet { ring, slots } => {
            let (slots, walk) = (*slots, ring.slot_walk(*slots));
            (PacketExtent { slots, walk }, 0)
        }
        _ => unreachable!("the batch of a packet ring"),
    }
);
reads_one_by_one!(
    XdpRing,
    |ring, descriptors| BatchSource::Xdp { ring, descriptors },
    |batch: &Batch<'_>| match &batch.source {
        BatchSource::Xdp { descriptors, .. } => (*descriptors, 0),
        _ => unreachable!("the batch of an AF_XDP ring"),
    }
);
reads_one_by_one!(
    BpfRing,
    |ring, span| BatchSource::Buffer { ring, span },
    |batch: &Batch<'_>| match &batch.source {
        BatchSource::Buffer { ring, span } => (*span, ring.first_position(*span)),
        _ => unreachable!("the batch of a ring buffer"),
    }
);

impl PacketRing {
    /// Lends the next packet of the [current batch](Self::begin_batch); `None` at its end.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "fields that the caller does not read are not computed"
    )]
    pub fn next_packet(&mut self) -> Option<RingPacket<'_>> {
        let cursor = &mut self.cursor;
        if cursor.left == 0 {
            return None;
        }
        let extent = cursor.extent.as_mut()?;
        // SAFETY: the packet borrows the ring, which is unmapped and gives the batch back only when it is borrowed
        // mutably again.
        let packet = unsafe { extent.walk.next(cursor.left) };
        cursor.count(packet)
    }

    /// Lends up to `max` packets of the [current batch](Self::begin_batch), one after another. Cheaper per packet than
    /// [`next_packet`](Self::next_packet).
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "fields that the caller does not read are not computed"
    )]
    pub fn lend_each(&mut self, max: usize, each: impl FnMut(RingPacket<'_>)) {
        let cursor = &mut self.cursor;
        let Some(extent) = &mut cursor.extent else {
            return;
        };
        let end = cursor
            .left
            .saturating_sub(u32::try_from(max).unwrap_or(u32::MAX));
        // SAFETY: as in `next_packet`: `each` keeps no packet, whose lifetime it does not know.
        let left = unsafe { extent.walk.each(cursor.left, end, each) };
        if left > end {
            cursor.unreadable = left;
        }
        cursor.left = if left > end { 0 } else { left };
    }

    /// The rest of the [current batch](Self::begin_batch) as it lies in memory, for a reader with a walk of its own.
    ///
    /// `None` if the next packet cannot be read or has a VLAN tag that has to be put back, if time stamps have to be
    /// converted or counted, and while [lost packets](Self::take_lost_before) have not been taken.
    pub fn frames(&mut self) -> Option<Frames> {
        let packet = self.peek()?;
        if packet.vlan_tag.is_some() || packet.timestamp_source != TimestampSource::Kernel {
            return None;
        }
        let cursor = &self.cursor;
        let walk = &cursor.extent.as_ref()?.walk;
        (cursor.lost_before == 0)
            .then(|| walk.frames(cursor.left))
            .flatten()
    }

    /// Counts the next `packets` of [`frames`](Self::frames) as lent and moves on to the one that follows, in a block by
    /// `bytes`. Wrong numbers end the batch, or lend other bytes of its block.
    pub fn skip_frames(&mut self, packets: u32, bytes: usize) {
        let cursor = &mut self.cursor;
        if let Some(extent) = &mut cursor.extent {
            let packets = packets.min(cursor.left);
            extent.walk.move_on(packets, bytes);
            cursor.left -= packets;
        }
    }

    /// The packet that [`next_packet`](Self::next_packet) lends next.
    #[inline]
    pub fn peek(&mut self) -> Option<RingPacket<'_>> {
        let left = self.cursor.left;
        let extent = self.cursor.extent.as_ref().filter(|_| left > 0)?;
        let mut walk = extent.walk;
        // SAFETY: as in `next_packet`.
        unsafe { walk.next(left) }
    }
}
