//! Packets that the kernel has handed over, borrowed together.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use abi::packet::{BlockDesc, TP_STATUS_KERNEL, Tpacket2Hdr, Tpacket3Hdr};

use crate::options::Backend;
use crate::packet::{Packet, lend};
use crate::prefetch;
use crate::ring::PacketRing;

/// Offset of the shared status word in a slot: V2's header begins with it, V3's block has it third.
pub(crate) const fn status_offset(backend: Backend) -> usize {
    match backend {
        Backend::PacketV2 => std::mem::offset_of!(Tpacket2Hdr, status),
        Backend::PacketV3 => std::mem::offset_of!(BlockDesc, block_status),
    }
}

/// Packets lent by a ring, oldest first. Dropping the batch gives their memory back.
///
/// While it is held the kernel has that much less room, so hold it no longer than you need.
#[derive(Debug)]
pub struct Batch<'r> {
    pub(crate) ring: &'r mut PacketRing,
    /// Slots of the ring it covers: one block, or this many frames.
    pub(crate) slots: usize,
    pub(crate) packets: u32,
    /// Of those, not found where the block's headers point.
    pub(crate) unreadable: u32,
    pub(crate) lost_before: u64,
}

impl Batch<'_> {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.packets as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Packets the ring dropped for want of room since the batch before this one was made.
    ///
    /// The kernel tells their number, not their place: some may have come after this batch's first
    /// packet.
    pub fn lost_before(&self) -> u64 {
        self.lost_before
    }

    /// Walks over the packets. Nothing is copied, and no system call is made.
    pub fn packets(&mut self) -> Packets<'_> {
        let geometry = self.ring.geometry;
        let head = self.ring.head * geometry.slot_bytes;
        let (first, room) = match geometry.backend {
            Backend::PacketV2 => (0, geometry.slot_bytes * self.slots),
            Backend::PacketV3 => (self.first_offset(head), geometry.slot_bytes),
        };
        Packets {
            slot: self.ring.region.pointer(head, room),
            offset: first.min(room),
            room,
            left: self.packets,
            snaplen: self.ring.snaplen,
            frame_bytes: geometry.slot_bytes,
            backend: geometry.backend,
            unreadable: &mut self.unreadable,
            lent: PhantomData,
        }
    }

    fn first_offset(&self, head: usize) -> usize {
        let block = self
            .ring
            .region
            .pointer(head, size_of::<BlockDesc>())
            .cast::<BlockDesc>();
        // SAFETY: mapped (checked), page-aligned, and the reader's while the batch is held.
        let first = unsafe { &raw const (*block.as_ptr()).offset_to_first_pkt };
        // SAFETY: as above.
        unsafe { first.read() as usize }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let ring = &mut *self.ring;
        let geometry = ring.geometry;
        for slot in 0..self.slots {
            let offset = (ring.head + slot) * geometry.slot_bytes + status_offset(geometry.backend);
            // Release: every read of the slot's bytes is done before the kernel can see that it may
            // fill it again (prb_dispatch_next_block and packet_lookup_frame, net/packet/af_packet.c);
            // with a weaker store a packet could change under its reader.
            ring.region
                .word(offset)
                .store(TP_STATUS_KERNEL, Ordering::Release);
        }
        ring.head = (ring.head + self.slots) % geometry.count;
        ring.account.delivered += (self.packets - self.unreadable) as u64;
        ring.account.unreadable += self.unreadable as u64;
    }
}

/// The packets of a [`Batch`], oldest first.
#[derive(Debug)]
pub struct Packets<'b> {
    slot: NonNull<u8>,
    /// Where in the slot the next header is.
    offset: usize,
    room: usize,
    left: u32,
    snaplen: u32,
    frame_bytes: usize,
    backend: Backend,
    unreadable: &'b mut u32,
    lent: PhantomData<&'b [u8]>,
}

impl<'b> Iterator for Packets<'b> {
    type Item = Packet<'b>;

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: what its caller does not read is not made"
    )]
    fn next(&mut self) -> Option<Packet<'b>> {
        if self.left == 0 {
            return None;
        }
        let packet = match self.backend {
            Backend::PacketV3 => self.next_in_block(),
            Backend::PacketV2 => self.next_frame(),
        };
        if packet.is_none() {
            *self.unreadable = self.left;
            self.left = 0;
        } else {
            self.left -= 1;
        }
        packet
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left as usize))
    }
}

impl<'b> Packets<'b> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: what its caller does not read is not made"
    )]
    fn next_in_block(&mut self) -> Option<Packet<'b>> {
        if self.offset > self.room || !self.offset.is_multiple_of(8) {
            return None;
        }
        // SAFETY: at most `room` from the slot's start, all of which is mapped.
        let at = unsafe { self.slot.add(self.offset) };
        let room = self.room - self.offset;
        // SAFETY: aligned (checked; blocks are page-aligned), handed over while the batch is
        // borrowed. It overlaps no packet lent before: each step goes beyond the one it leaves
        // (checked below), and `packets`, which begins anew, borrows the batch mutably.
        let (packet, header) = unsafe { lend::<Tpacket3Hdr>(at, room, self.snaplen) }?;
        let step = header.next_offset as usize;
        // The last packet of a block has no next one.
        if step < header.mac as usize + header.snaplen as usize && self.left > 1 {
            return None;
        }
        prefetch::ahead(at, step);
        self.offset += step;
        Some(packet)
    }

    #[inline]
    fn next_frame(&mut self) -> Option<Packet<'b>> {
        // SAFETY: the batch covers `left` whole frames from here (counted by `ready_frames`).
        let at = unsafe { self.slot.add(self.offset) };
        // SAFETY: frames are aligned to 16 and do not overlap; the status of each was seen to be
        // "user" when the batch was made.
        let (packet, _) = unsafe { lend::<Tpacket2Hdr>(at, self.frame_bytes, self.snaplen) }?;
        self.offset += self.frame_bytes;
        Some(packet)
    }
}
