//! Packets that the kernel has handed over, borrowed together.

use std::marker::PhantomData;
use std::ptr::NonNull;

use abi::packet::{BlockDesc, Tpacket2Hdr, Tpacket3Hdr};

use crate::buffer::{Records, RingBuffer, Span};
use crate::options::Backend;
use crate::packet::{Packet, lend};
use crate::prefetch;
use crate::ring::PacketRing;
use crate::xdp::{Descriptors, XdpRing};

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
    pub(crate) lender: Lender<'r>,
    pub(crate) packets: u32,
    /// Of those, not found where the ring's headers or descriptors point.
    pub(crate) unreadable: u32,
    pub(crate) lost_before: u64,
}

/// The ring that a batch is borrowed from, and how much of it.
#[derive(Debug)]
pub(crate) enum Lender<'r> {
    /// One block, or this many frames.
    Packet {
        ring: &'r mut PacketRing,
        slots: usize,
    },
    Xdp {
        ring: &'r mut XdpRing,
        descriptors: u32,
    },
    Buffer {
        ring: &'r mut RingBuffer,
        span: Span,
    },
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

    /// Whether [`Batch::end_after`] can be had: a block of TPACKET_V3 is given back as a whole.
    pub fn is_divisible(&self) -> bool {
        match &self.lender {
            Lender::Packet { ring, .. } => ring.geometry.backend == Backend::PacketV2,
            Lender::Xdp { .. } | Lender::Buffer { .. } => true,
        }
    }

    /// Leaves all but the first `packets` in the ring, which lends them again with its next batch.
    ///
    /// A batch that is not [divisible](Batch::is_divisible), has no more, or turned out to be unreadable
    /// in part, stays as it is.
    pub fn end_after(&mut self, packets: usize) {
        if packets >= self.len() || self.unreadable > 0 {
            return;
        }
        let packets = packets as u32;
        let lost_before = if packets == 0 { self.lost_before } else { 0 };
        match &mut self.lender {
            Lender::Packet { ring, slots } if ring.geometry.backend == Backend::PacketV2 => {
                *slots = packets as usize;
                ring.unreported += lost_before;
            }
            Lender::Packet { .. } => return,
            Lender::Xdp { ring, descriptors } => {
                *descriptors = ring.descriptors_of(packets, *descriptors);
                ring.unreported += lost_before;
            }
            Lender::Buffer { ring, span } => {
                *span = ring.first_of(packets, *span);
                ring.report_again(lost_before);
            }
        }
        self.packets = packets;
    }

    /// Walks over the packets. No system call is made, and nothing is copied but packets of several
    /// buffers.
    pub fn packets(&mut self) -> Packets<'_> {
        let walk = match &mut self.lender {
            Lender::Packet { ring, slots } => Walk::Slots(Slots::new(ring, *slots)),
            Lender::Xdp { ring, descriptors } => Walk::Descriptors(ring.walk(*descriptors)),
            Lender::Buffer { ring, span } => Walk::Records(ring.walk(*span)),
        };
        Packets {
            walk,
            left: self.packets,
            unreadable: &mut self.unreadable,
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let (packets, unreadable) = (self.packets, self.unreadable);
        match &mut self.lender {
            Lender::Packet { ring, slots } => ring.give_back(*slots, packets, unreadable),
            Lender::Xdp { ring, descriptors } => {
                ring.give_back(*descriptors, packets, unreadable);
            }
            Lender::Buffer { ring, span } => ring.give_back(*span, packets, unreadable),
        }
    }
}

/// The packets of a [`Batch`], oldest first.
#[derive(Debug)]
pub struct Packets<'b> {
    walk: Walk<'b>,
    left: u32,
    unreadable: &'b mut u32,
}

#[derive(Debug)]
enum Walk<'b> {
    Slots(Slots<'b>),
    Descriptors(Descriptors<'b>),
    Records(Records<'b>),
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
        let packet = match &mut self.walk {
            Walk::Slots(slots) => slots.next(self.left),
            Walk::Descriptors(descriptors) => descriptors.next(),
            Walk::Records(records) => records.next(),
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

/// What is done with the packets of a batch, one after another.
pub trait PacketSink {
    /// Takes the next one. To be inlined always: a packet then stays in registers on its way.
    fn packet(&mut self, packet: &Packet<'_>);
}

impl Packets<'_> {
    /// Hands all packets to `sink`: the iterator's loop, at less cost for each.
    ///
    /// There is a loop for each kind of ring: asked once which one it is, not for every packet.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `next`")]
    pub fn hand_to(self, sink: &mut impl PacketSink) {
        let Self {
            walk,
            left,
            unreadable,
        } = self;
        match walk {
            Walk::Slots(mut slots) => each(left, unreadable, |left| slots.next(left), sink),
            Walk::Descriptors(mut all) => each(left, unreadable, |_| all.next(), sink),
            Walk::Records(mut records) => each(left, unreadable, |_| records.next(), sink),
        }
    }
}

/// Hands on the `left` packets that `next` gives, up to one that is `unreadable`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as `hand_to`")]
fn each<'b>(
    left: u32,
    unreadable: &mut u32,
    mut next: impl FnMut(u32) -> Option<Packet<'b>>,
    sink: &mut impl PacketSink,
) {
    for left in (1..=left).rev() {
        let Some(packet) = next(left) else {
            *unreadable = left;
            return;
        };
        sink.packet(&packet);
    }
}

/// A walk over the slots of a packet ring.
#[derive(Debug)]
struct Slots<'b> {
    slot: NonNull<u8>,
    /// Where in the slot the next header is.
    offset: usize,
    room: usize,
    snaplen: u32,
    frame_bytes: usize,
    backend: Backend,
    lent: PhantomData<&'b [u8]>,
}

impl<'b> Slots<'b> {
    fn new(ring: &'b PacketRing, slots: usize) -> Self {
        let geometry = ring.geometry;
        let head = ring.head * geometry.slot_bytes;
        let (first, room) = match geometry.backend {
            Backend::PacketV2 => (0, geometry.slot_bytes * slots),
            Backend::PacketV3 => (first_offset(ring, head), geometry.slot_bytes),
        };
        Self {
            slot: ring.region.pointer(head, room),
            offset: first.min(room),
            room,
            snaplen: ring.snaplen,
            frame_bytes: geometry.slot_bytes,
            backend: geometry.backend,
            lent: PhantomData,
        }
    }

    /// The next packet, when `left` are to come; `None` if the headers are not what they should be.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: what its caller does not read is not made"
    )]
    fn next(&mut self, left: u32) -> Option<Packet<'b>> {
        match self.backend {
            Backend::PacketV3 => self.next_in_block(left),
            Backend::PacketV2 => self.next_frame(),
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: what its caller does not read is not made"
    )]
    fn next_in_block(&mut self, left: u32) -> Option<Packet<'b>> {
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
        if step < header.mac as usize + header.snaplen as usize && left > 1 {
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

/// Where the first packet of the block at byte `head` is.
fn first_offset(ring: &PacketRing, head: usize) -> usize {
    let block = ring.region.pointer(head, size_of::<BlockDesc>());
    let block = block.cast::<BlockDesc>();
    // SAFETY: mapped (checked), page-aligned, and the reader's while the batch is held.
    let first = unsafe { &raw const (*block.as_ptr()).offset_to_first_pkt };
    // SAFETY: as above.
    unsafe { first.read() as usize }
}
