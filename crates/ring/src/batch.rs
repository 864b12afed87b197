//! Batches: packets that a ring lends to its reader.

use crate::bpf::{BpfRing, Records, Span};
use crate::options::TpacketVersion;
use crate::packet::RingPacket;
use crate::tpacket::{PacketRing, Slots};
use crate::xdp::{Descriptors, XdpRing};

/// Packets lent by a ring, oldest first. Dropping the batch returns their memory to the kernel.
///
/// A held batch leaves the kernel less room for new packets, so drop it soon.
#[derive(Debug)]
pub struct Batch<'r> {
    pub(crate) source: BatchSource<'r>,
    pub(crate) packets: u32,
    /// Packets of the batch that cannot be read: the ring's headers or descriptors are not valid.
    pub(crate) unreadable: u32,
    pub(crate) lost_before: u64,
}

/// The ring that lent a batch, and the part of the ring that the batch covers.
#[derive(Debug)]
pub(crate) enum BatchSource<'r> {
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
        ring: &'r mut BpfRing,
        span: Span,
    },
}

impl Batch<'_> {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.packets as usize
    }

    /// Whether the batch has no packets.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Packets that the ring dropped since the previous batch because it was full.
    ///
    /// The kernel reports their number, not their position: some may have arrived after this batch's
    /// first packet.
    pub fn lost_before(&self) -> u64 {
        self.lost_before
    }

    /// Whether [`Batch::truncate`] works: a TPACKET_V3 block can only be returned as a whole.
    pub fn can_truncate(&self) -> bool {
        match &self.source {
            BatchSource::Packet { ring, .. } => ring.geometry.version == TpacketVersion::V2,
            BatchSource::Xdp { .. } | BatchSource::Buffer { .. } => true,
        }
    }

    /// Keeps the first `packets` packets; the ring lends the others again with its next batch.
    ///
    /// Does nothing if the batch [cannot be truncated](Batch::can_truncate), has no more packets than that, or
    /// contains unreadable ones.
    pub fn truncate(&mut self, packets: usize) {
        if packets >= self.len() || self.unreadable > 0 {
            return;
        }
        let packets = packets as u32;
        let lost_before = if packets == 0 { self.lost_before } else { 0 };
        match &mut self.source {
            BatchSource::Packet { ring, slots } if ring.geometry.version == TpacketVersion::V2 => {
                *slots = packets as usize;
                ring.unreported += lost_before;
            }
            BatchSource::Packet { .. } => return,
            BatchSource::Xdp { ring, descriptors } => {
                *descriptors = ring.descriptors_of(packets, *descriptors);
                ring.unreported += lost_before;
            }
            BatchSource::Buffer { ring, span } => {
                *span = ring.first_of(packets, *span);
                ring.report_again(lost_before);
            }
        }
        self.packets = packets;
    }

    /// Iterates over the packets. Makes no system call. Copies only multi-buffer packets and slots.
    pub fn packets(&mut self) -> Packets<'_> {
        let walk = match &mut self.source {
            BatchSource::Packet { ring, slots } => Walk::Slots(ring.slots(*slots)),
            BatchSource::Xdp { ring, descriptors } => Walk::Descriptors(ring.walk(*descriptors)),
            BatchSource::Buffer { ring, span } => Walk::Records(ring.walk(*span)),
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
        match &mut self.source {
            BatchSource::Packet { ring, slots } => ring.give_back(*slots, packets, unreadable),
            BatchSource::Xdp { ring, descriptors } => {
                ring.give_back(*descriptors, packets, unreadable);
            }
            BatchSource::Buffer { ring, span } => ring.give_back(*span, packets, unreadable),
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
    type Item = RingPacket<'b>;

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: fields that the caller does not read are not computed"
    )]
    fn next(&mut self) -> Option<RingPacket<'b>> {
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

/// Receives the packets of a batch, one after another.
pub trait PacketSink {
    /// Receives one packet. Mark the implementation `#[inline(always)]` to keep packets in registers.
    fn packet(&mut self, packet: &RingPacket<'_>);
}

impl Packets<'_> {
    /// Passes all packets to `sink`. Cheaper per packet than the iterator, because the kind of ring is matched
    /// once and not for every packet.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `next`")]
    pub fn deliver_to(self, sink: &mut impl PacketSink) {
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

/// Passes `left` packets from `next` to `sink`, up to the first that is unreadable.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as `deliver_to`")]
fn each<'b>(
    left: u32,
    unreadable: &mut u32,
    mut next: impl FnMut(u32) -> Option<RingPacket<'b>>,
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

impl PacketRing {
    /// Borrows packets that the kernel has handed over, oldest first. Returns `None` if there are none yet.
    ///
    /// Copies nothing and makes no system call, except to read the number of lost packets if the kernel reports losses.
    /// To sleep until there is work, poll the descriptor.
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        self.end_batch();
        let ready = self.find_batch()?;
        let lost_before = std::mem::take(&mut self.unreported);
        let (slots, packets) = (ready.slots, ready.packets);
        Some(Batch {
            source: BatchSource::Packet { ring: self, slots },
            packets,
            unreadable: 0,
            lost_before,
        })
    }
}

impl XdpRing {
    /// Borrows packets that the kernel has handed over, oldest first. Returns `None` if there are none yet.
    ///
    /// Copies only multi-buffer packets. Makes a system call only if no packet waits and the ring polls busily, if the
    /// driver needs a wake-up to get memory, or to read the number of lost packets when memory was short.
    ///
    /// To sleep until there is work, poll the descriptor, which also wakes the driver. It becomes readable after each
    /// NAPI poll of the driver, i.e. after at most 64 packets. If that is too often, sleep for a fixed time instead and
    /// check whether the ring [is filling](XdpRing::is_filling).
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        self.end_batch();
        let (packets, descriptors) = self.find_batch()?;
        Some(Batch {
            packets,
            unreadable: 0,
            lost_before: std::mem::take(&mut self.unreported),
            source: BatchSource::Xdp {
                ring: self,
                descriptors,
            },
        })
    }
}

impl BpfRing {
    /// Borrows finished packets, oldest first. Returns `None` if there are none yet.
    ///
    /// Copies nothing (except from [slots](BpfRing::open_slots)) and makes no system call, except to read the
    /// clocks once a millisecond. To sleep until there is work, poll the descriptor.
    ///
    /// A batch ends where the program lost packets, so [`Batch::lost_before`] counts exactly those between this
    /// batch and the previous one.
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        self.end_batch();
        let (found, lost_before) = self.find_batch()?;
        Some(Batch {
            packets: found.packets,
            unreadable: 0,
            lost_before,
            source: BatchSource::Buffer {
                ring: self,
                span: found.span,
            },
        })
    }
}
