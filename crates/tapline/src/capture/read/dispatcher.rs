//! Moves packets from the rings to the consumer, in the order of their time stamps.

use ring::{Batch, PacketSink, Packets, TimestampSource};
use store::model;

use super::super::account::counters::Counters;
use super::consumer::{Consumer, ConsumerError};
use super::queue::{Reading, RxQueue};
use crate::packet::Packet;

/// Batches read from one ring in a round at most. Limits are checked between rounds.
pub const ROUND_BATCHES: usize = 16;

/// Packets read from one ring in a round, after which no further batch begins: a block of TPACKET_V3 has thousands.
pub const ROUND_PACKETS: u64 = 1 << 15;

/// Rings merged by time stamp at most.
pub const MERGED: usize = 16;

/// The result of a round over all rings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// Packets read, delivered or not.
    pub packets: u64,
    /// No packet was left at its end.
    pub emptied: bool,
}

impl Round {
    /// No packets.
    pub const EMPTY: Self = Self {
        packets: 0,
        emptied: true,
    };
}

/// Hands packets to the consumer until it fails or the packet limit is reached.
pub struct Dispatcher<'c, C> {
    pub consumer: &'c mut C,
    /// Packets left to the packet limit.
    pub remaining: u64,
    pub failure: Option<ConsumerError>,
}

impl<'c, C> Dispatcher<'c, C> {
    /// Hands over at most `remaining` packets.
    pub fn new(consumer: &'c mut C, remaining: u64) -> Self {
        Self {
            consumer,
            remaining,
            failure: None,
        }
    }
}

impl<C: Consumer> Dispatcher<'_, C> {
    /// Calls the consumer and keeps its error. Does nothing once it has failed.
    pub fn try_to(&mut self, call: impl FnOnce(&mut C) -> Result<(), ConsumerError>) {
        if self.failure.is_none() {
            self.failure = call(self.consumer).err();
        }
    }

    /// Delivers the packets that are ready in the rings.
    pub fn round(&mut self, queues: &mut [RxQueue]) -> Round {
        if let [queue] = queues {
            return self.drain(queue);
        }
        let mut packets = 0;
        let mut emptied = true;
        for queues in queues.chunks_mut(MERGED) {
            let merged = self.merge(queues);
            packets += merged.packets;
            emptied &= merged.emptied;
        }
        Round { packets, emptied }
    }

    /// One ring: its packets in their order.
    fn drain(&mut self, queue: &mut RxQueue) -> Round {
        let interface = queue.interface;
        let mut round = Round::default();
        let ring = queue.reader.ring_mut();
        for _ in 0..ROUND_BATCHES {
            if round.packets >= ROUND_PACKETS {
                break;
            }
            let Some(mut batch) = ring.next_batch() else {
                round.emptied = true;
                break;
            };
            round.packets += batch.len() as u64;
            self.dispatch_all(&mut batch, interface, &queue.counters, &mut queue.reading);
        }
        round
    }

    /// At most [`MERGED`] rings: merges one batch of each by time stamp until one batch is at its end. The
    /// rest of the others stays in their rings, if these can divide a batch.
    ///
    /// The order holds for packets that are ready together. A packet that its ring hands over late comes
    /// after younger ones of other rings.
    fn merge(&mut self, queues: &mut [RxQueue]) -> Round {
        let mut lent = [const { None }; MERGED];
        let mut count = 0;
        for queue in queues {
            if let Some(one) = LentBatch::next(queue) {
                lent[count] = Some(one);
                count += 1;
            }
        }
        if let [Some(only), None, ..] = &mut lent {
            let packets = only.batch.len() as u64;
            self.dispatch_all(&mut only.batch, only.interface, only.counters, only.reading);
            return Round {
                packets,
                emptied: false,
            };
        }
        let mut heads = [const { None }; MERGED];
        for (head, lent) in heads.iter_mut().zip(lent.iter_mut().flatten()) {
            *head = Some(MergeHead::new(lent));
        }
        let mut is_first_at_end = false;
        while let Some(head) = oldest(&mut heads[..count], is_first_at_end) {
            let Some(packet) = head.next.take() else {
                break;
            };
            head.next = head.packets.next();
            head.dispatched += 1;
            is_first_at_end |= head.next.is_none() && head.is_divisible;
            head.reading.lost_before += std::mem::take(&mut head.lost_before);
            self.dispatch(&packet, head.interface, head.counters, head.reading);
        }
        let dispatched: [usize; MERGED] =
            heads.map(|head| head.map_or(0, |head: MergeHead<'_>| head.dispatched));
        for (lent, dispatched) in lent.iter_mut().flatten().zip(dispatched) {
            lent.batch.truncate(dispatched);
        }
        Round {
            packets: dispatched.iter().sum::<usize>() as u64,
            emptied: count == 0,
        }
    }

    /// A batch without others to merge it with.
    fn dispatch_all(
        &mut self,
        batch: &mut Batch<'_>,
        interface: u32,
        counters: &Counters,
        reading: &mut Reading,
    ) {
        reading.lost_before += batch.lost_before();
        batch.packets().deliver_to(&mut Dispatch {
            dispatcher: self,
            interface,
            counters,
            reading,
        });
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn dispatch(
        &mut self,
        packet: &ring::RingPacket<'_>,
        interface: u32,
        counters: &Counters,
        reading: &mut Reading,
    ) {
        let kept = match &mut reading.exact {
            None => Some(packet.bytes),
            Some(exact) => {
                // Copied only here: a packet whose address is taken cannot stay in registers.
                let packet = *packet;
                let kept = exact.kept(&packet);
                exact.advance();
                kept
            }
        };
        let Some(bytes) = kept else {
            reading.refused += 1;
            return;
        };
        if self.failure.is_some() {
            reading.unwritten += 1;
            return;
        }
        if self.remaining == 0 {
            reading.surplus += 1;
            return;
        }
        let drop_count = match reading.lost_before {
            0 => None,
            _ => Some(std::mem::take(&mut reading.lost_before)),
        };
        let delivered = lend(packet, bytes, interface, drop_count, reading);
        match self.consumer.packet(&delivered) {
            Ok(()) => {
                reading.stamps.count(packet.timestamp_source);
                self.remaining -= 1;
                counters.deliver(packet.original_len);
            }
            Err(failure) => {
                self.failure = Some(failure);
                reading.unwritten += 1;
            }
        }
    }
}

/// The comment of a packet in a capture with hardware time stamps that has none.
const UNSTAMPED: &str = "time stamp by the kernel, not by the hardware";

/// A ring's packet as a capture lends it, with the `bytes` that the filter keeps.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "what the consumer does not read is not made"
)]
pub fn lend<'p>(
    packet: &ring::RingPacket<'p>,
    bytes: &'p [u8],
    interface: u32,
    drop_count: Option<u64>,
    reading: &Reading,
) -> Packet<'p> {
    let is_unstamped =
        reading.marks_unstamped && packet.timestamp_source != TimestampSource::Hardware;
    Packet::from(model::Packet {
        interface,
        timestamp_ns: Some(packet.timestamp_ns),
        bytes,
        original_len: packet.original_len,
        direction: Some(packet.direction),
        reception: packet.reception,
        checksum: packet.checksum,
        toeplitz: packet.hash,
        queue: packet.queue,
        drop_count,
        packet_id: None,
        process_id: None,
        comment: is_unstamped.then_some(UNSTAMPED),
        options: model::Options::NONE,
    })
}

/// Dispatches the packets of one batch.
struct Dispatch<'h, 'c, C> {
    dispatcher: &'h mut Dispatcher<'c, C>,
    interface: u32,
    counters: &'h Counters,
    reading: &'h mut Reading,
}

impl<C: Consumer> PacketSink for Dispatch<'_, '_, C> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &ring::RingPacket<'_>) {
        let (interface, counters) = (self.interface, self.counters);
        (self.dispatcher).dispatch(packet, interface, counters, self.reading);
    }
}

/// A batch of one queue, and the queue's counters.
struct LentBatch<'l> {
    interface: u32,
    batch: Batch<'l>,
    counters: &'l Counters,
    reading: &'l mut Reading,
}

impl<'l> LentBatch<'l> {
    /// The packets that are ready in `queue`.
    fn next(queue: &'l mut RxQueue) -> Option<Self> {
        let interface = queue.interface;
        let RxQueue {
            reader,
            counters,
            reading,
            ..
        } = queue;
        Some(Self {
            interface,
            batch: reader.ring_mut().next_batch()?,
            counters,
            reading,
        })
    }
}

/// The next packet of a batch, and the others behind it.
struct MergeHead<'b> {
    interface: u32,
    next: Option<ring::RingPacket<'b>>,
    dispatched: usize,
    /// The rest of the batch can stay in its ring.
    is_divisible: bool,
    packets: Packets<'b>,
    /// Packets that the ring lost before the batch. It reports them again unless a packet of the batch is dispatched.
    lost_before: u64,
    counters: &'b Counters,
    reading: &'b mut Reading,
}

impl<'b> MergeHead<'b> {
    fn new(lent: &'b mut LentBatch<'_>) -> Self {
        let lost_before = lent.batch.lost_before();
        let is_divisible = lent.batch.can_truncate();
        let mut packets = lent.batch.packets();
        Self {
            interface: lent.interface,
            next: packets.next(),
            dispatched: 0,
            is_divisible,
            packets,
            lost_before,
            counters: lent.counters,
            reading: lent.reading,
        }
    }
}

/// The head with the oldest packet, the first queue's among equals. With `only_indivisible`, only those
/// whose batch cannot stay in its ring.
fn oldest<'h, 'b>(
    heads: &'h mut [Option<MergeHead<'b>>],
    only_indivisible: bool,
) -> Option<&'h mut MergeHead<'b>> {
    let time = |head: &MergeHead<'_>| head.next.as_ref().map_or(u64::MAX, |p| p.timestamp_ns);
    let heads = heads.iter_mut().flatten();
    heads
        .filter(|head| head.next.is_some() && !(only_indivisible && head.is_divisible))
        .min_by_key(|head| time(head))
}
