//! Iterates over the packets of TPACKET_V3 blocks and TPACKET_V2 frames.

use std::marker::PhantomData;
use std::ptr::NonNull;

use abi::packet::{BlockDesc, Tpacket2Hdr, Tpacket3Hdr};
use abi::region::Region;

use super::geometry::Geometry;
use crate::options::TpacketVersion;
use crate::packet::{RingPacket, Stamps, lend};
use crate::prefetch;

/// Packets as the kernel put them into a block of TPACKET_V3, or into frames of TPACKET_V2.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// The header of the first, a `tpacket3_hdr` or a `tpacket2_hdr`. Valid while the batch is held.
    pub first: *const u8,
    /// Bytes from there to the end of the block or of the last frame.
    pub room: usize,
    /// Bytes from one frame to the next; 0 in a block, where each header says it.
    pub frame_bytes: usize,
    /// Number of packets.
    pub packets: u32,
    /// Maximum bytes of a packet that the reader wants.
    pub snaplen: u32,
}

/// Iterator over the slots of a packet ring.
#[derive(Debug)]
pub(crate) struct Slots<'b> {
    walk: SlotWalk,
    lent: PhantomData<&'b [u8]>,
}

impl<'b> Slots<'b> {
    /// # Safety
    /// For `'b` the ring that `walk` is of must be borrowed, with the batch.
    pub unsafe fn new(walk: SlotWalk) -> Self {
        Self {
            walk,
            lent: PhantomData,
        }
    }

    /// As [`SlotWalk::next`].
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: fields that the caller does not read are not computed"
    )]
    pub fn next(&mut self, left: u32) -> Option<RingPacket<'b>> {
        // SAFETY: promised to `new`.
        unsafe { self.walk.next(left) }
    }
}

/// A position in the slots of a batch. It does not borrow the ring, so the ring can store it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotWalk {
    slot: NonNull<u8>,
    /// Offset of the next header from the slot.
    offset: usize,
    room: usize,
    snaplen: u32,
    frame_bytes: usize,
    version: TpacketVersion,
    stamps: Stamps,
}

// SAFETY: the address is in the ring's memory, which belongs to the process, not to a thread.
unsafe impl Send for SlotWalk {}

impl SlotWalk {
    /// The first packet of `slots` slots from slot `head` on, which the kernel has handed over or fills no more.
    pub fn new(
        region: &Region,
        geometry: Geometry,
        head: usize,
        slots: usize,
        snaplen: u32,
        stamps: Stamps,
    ) -> Self {
        let Geometry {
            version,
            slot_bytes,
            ..
        } = geometry;
        let head = head * slot_bytes;
        let (room, first) = match version {
            TpacketVersion::V2 => (slot_bytes * slots, 0),
            TpacketVersion::V3 => (slot_bytes, first_offset(region, head)),
        };
        Self {
            slot: region.pointer(head, room),
            offset: first.min(room),
            room,
            snaplen,
            frame_bytes: slot_bytes,
            version,
            stamps,
        }
    }

    /// The next packet, with `left` packets to come. `None` if the headers are not valid.
    ///
    /// # Safety
    /// For `'b` the ring's memory must stay mapped, and the batch that this position is in must not be given back.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: fields that the caller does not read are not computed"
    )]
    pub unsafe fn next<'b>(&mut self, left: u32) -> Option<RingPacket<'b>> {
        match self.version {
            // SAFETY: promised by the caller.
            TpacketVersion::V3 => unsafe { self.next_in_block(left) },
            // SAFETY: promised by the caller.
            TpacketVersion::V2 => unsafe { self.next_frame() },
        }
    }

    /// The `left` packets from here on as they lie in memory. `None` if the source of their time stamps has to be counted.
    pub fn frames(&self, left: u32) -> Option<Frames> {
        let room = self.room.checked_sub(self.offset)?;
        (!self.stamps.has_driver).then(|| Frames {
            first: self.slot.as_ptr().wrapping_add(self.offset),
            room,
            frame_bytes: match self.version {
                TpacketVersion::V2 => self.frame_bytes,
                TpacketVersion::V3 => 0,
            },
            packets: left,
            snaplen: self.snaplen,
        })
    }

    /// Moves on by `packets`, which are not more than there are and take `bytes` in a block. There, the next packet is
    /// checked as any other.
    pub fn move_on(&mut self, packets: u32, bytes: usize) {
        self.offset = match self.version {
            TpacketVersion::V2 => self.offset + packets as usize * self.frame_bytes,
            TpacketVersion::V3 => self.offset.saturating_add(bytes),
        };
    }

    /// Passes packets to `each` until `end` of the `left` packets are left, or the headers are not valid. Returns how many
    /// are left. The version is matched once, not for every packet.
    ///
    /// # Safety
    /// As [`next`](Self::next).
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "fields that the caller does not read are not computed"
    )]
    pub unsafe fn each<'b>(
        &mut self,
        left: u32,
        end: u32,
        mut each: impl FnMut(RingPacket<'b>),
    ) -> u32 {
        // A copy stays in registers, whatever `each` writes.
        let (mut walk, mut left) = (*self, left);
        match walk.version {
            TpacketVersion::V3 => {
                while left > end {
                    // SAFETY: promised by the caller.
                    let Some(packet) = (unsafe { walk.next_in_block(left) }) else {
                        break;
                    };
                    left -= 1;
                    each(packet);
                }
            }
            TpacketVersion::V2 => {
                while left > end {
                    // SAFETY: promised by the caller.
                    let Some(packet) = (unsafe { walk.next_frame() }) else {
                        break;
                    };
                    left -= 1;
                    each(packet);
                }
            }
        }
        *self = walk;
        left
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: fields that the caller does not read are not computed"
    )]
    unsafe fn next_in_block<'b>(&mut self, left: u32) -> Option<RingPacket<'b>> {
        if self.offset > self.room || !self.offset.is_multiple_of(8) {
            return None;
        }
        // SAFETY: the offset is at most `room`, and `room` bytes from the slot's start are mapped.
        let at = unsafe { self.slot.add(self.offset) };
        let room = self.room - self.offset;
        // SAFETY: the address is aligned (checked; blocks are page-aligned), and while the batch is borrowed the kernel has
        // handed the block over, or puts no packet into it (`PacketRing::left_in_open_block`). It may close such a block, which
        // writes no byte of a packet. The packet does not overlap packets lent before: each step moves past
        // the packet before it (checked below), and `packets`, which starts again, borrows the batch mutably.
        let (packet, header) =
            unsafe { lend::<Tpacket3Hdr>(at, room, self.snaplen, &self.stamps) }?;
        let step = header.next_offset as usize;
        // The last packet of a block has no successor.
        if step < header.mac as usize + header.snaplen as usize && left > 1 {
            return None;
        }
        prefetch::ahead(at, step);
        self.offset += step;
        Some(packet)
    }

    #[inline]
    unsafe fn next_frame<'b>(&mut self) -> Option<RingPacket<'b>> {
        // SAFETY: the batch covers `left` whole frames from here (counted by `ready_frames`).
        let at = unsafe { self.slot.add(self.offset) };
        // SAFETY: frames are aligned to 16 and do not overlap. `ready_frames` saw the status "user" of each of
        // them when the batch was made.
        let (packet, _) =
            unsafe { lend::<Tpacket2Hdr>(at, self.frame_bytes, self.snaplen, &self.stamps) }?;
        self.offset += self.frame_bytes;
        Some(packet)
    }
}

/// Offset of the first packet in the block at byte `head`.
fn first_offset(region: &Region, head: usize) -> usize {
    let block = region.pointer(head, size_of::<BlockDesc>());
    let block = block.cast::<BlockDesc>();
    // SAFETY: mapped (checked), page-aligned. The kernel writes this field only before it puts packets into the block.
    let first = unsafe { &raw const (*block.as_ptr()).offset_to_first_pkt };
    // SAFETY: as above.
    unsafe { first.read() as usize }
}
