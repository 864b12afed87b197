//! From the rings to the consumer.

use ring::{Batch, PacketSink, Packets};
use store::model;

use super::consumer::{Consumer, ConsumerError};
use super::counters::Counters;
use super::lane::Lane;
use super::reading::Reading;

/// Batches taken from one ring in a round at most: between rounds the capture looks at its limits.
const ROUND_BATCHES: usize = 16;

/// Rings whose packets are put in order together at most.
const MERGED: usize = 16;

/// What a round found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Packets read, wanted or not.
    pub packets: u64,
    /// Nothing was left to read at its end.
    pub emptied: bool,
}

impl Round {
    /// None there.
    pub const EMPTY: Self = Self {
        packets: 0,
        emptied: true,
    };
}

/// Hands packets to the consumer as long as it takes them and they are wanted.
pub(super) struct Delivery<'c, C> {
    pub consumer: &'c mut C,
    /// Packets still wanted.
    pub wanted: u64,
    pub failure: Option<ConsumerError>,
}

impl<C: Consumer> Delivery<'_, C> {
    /// Calls the consumer, unless it has failed before, and keeps its failure.
    pub fn try_to(&mut self, call: impl FnOnce(&mut C) -> Result<(), ConsumerError>) {
        if self.failure.is_none() {
            self.failure = call(self.consumer).err();
        }
    }

    /// Hands on what lies ready in the rings.
    pub fn round(&mut self, lanes: &mut [Lane]) -> Round {
        if let [lane] = lanes {
            return self.drain(lane);
        }
        let mut packets = 0;
        let mut emptied = true;
        for lanes in lanes.chunks_mut(MERGED) {
            let merged = self.merge(lanes);
            packets += merged.packets;
            emptied &= merged.emptied;
        }
        Round { packets, emptied }
    }

    /// One ring: its packets as they come.
    fn drain(&mut self, lane: &mut Lane) -> Round {
        let interface = lane.interface;
        let mut round = Round::default();
        for _ in 0..ROUND_BATCHES {
            let Some(mut batch) = lane.source.next_batch() else {
                round.emptied = true;
                break;
            };
            round.packets += batch.len() as u64;
            self.hand_on_all(&mut batch, interface, &lane.counters, &mut lane.reading);
        }
        round
    }

    /// At most [`MERGED`] rings: a batch of each, by time stamp, until one is at its end; what is left
    /// of the others waits for that ring's next batch, where it can.
    ///
    /// Order holds within what lies ready together; a packet that its ring hands over later than
    /// another's younger one comes after that.
    fn merge(&mut self, lanes: &mut [Lane]) -> Round {
        let mut taken = [const { None }; MERGED];
        let mut count = 0;
        for lane in lanes {
            if let Some(one) = Taken::next(lane) {
                taken[count] = Some(one);
                count += 1;
            }
        }
        if let [Some(only), None, ..] = &mut taken {
            let packets = only.batch.len() as u64;
            self.hand_on_all(&mut only.batch, only.interface, only.counters, only.reading);
            return Round {
                packets,
                emptied: false,
            };
        }
        let mut heads = [const { None }; MERGED];
        for (head, taken) in heads.iter_mut().zip(taken.iter_mut().flatten()) {
            *head = Some(Head::new(taken));
        }
        let mut is_first_at_end = false;
        while let Some(head) = oldest(&mut heads[..count], is_first_at_end) {
            let Some(packet) = head.next.take() else {
                break;
            };
            head.next = head.packets.next();
            head.handed_on += 1;
            is_first_at_end |= head.next.is_none() && head.may_wait;
            let lost_before = head.lost_before.take();
            self.hand_on(
                &packet,
                head.interface,
                lost_before,
                head.counters,
                head.reading,
            );
        }
        let handed_on: [usize; MERGED] =
            heads.map(|head| head.map_or(0, |head: Head<'_>| head.handed_on));
        for (taken, handed_on) in taken.iter_mut().flatten().zip(handed_on) {
            taken.batch.end_after(handed_on);
        }
        Round {
            packets: handed_on.iter().sum::<usize>() as u64,
            emptied: count == 0,
        }
    }

    /// A batch that there is nothing to put in order with.
    fn hand_on_all(
        &mut self,
        batch: &mut Batch<'_>,
        interface: u32,
        counters: &Counters,
        reading: &mut Reading,
    ) {
        let lost_before = lost_before(batch);
        batch.packets().hand_to(&mut HandOn {
            delivery: self,
            interface,
            lost_before,
            counters,
            reading,
        });
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn hand_on(
        &mut self,
        packet: &ring::Packet<'_>,
        interface: u32,
        drop_count: Option<u64>,
        counters: &Counters,
        reading: &mut Reading,
    ) {
        let kept = match &mut reading.exact {
            None => Some(packet.bytes),
            Some(exact) => exact.kept(packet),
        };
        let Some(bytes) = kept else {
            reading.refused += 1;
            return;
        };
        if self.failure.is_some() {
            reading.unwritten += 1;
            return;
        }
        if self.wanted == 0 {
            reading.surplus += 1;
            return;
        }
        let packet = model::Packet {
            interface,
            timestamp_ns: Some(packet.timestamp_ns),
            bytes,
            original_len: packet.original_len,
            direction: Some(packet.direction),
            reception: packet.reception,
            checksum: packet.checksum,
            queue: packet.queue,
            drop_count,
            packet_id: None,
        };
        match self.consumer.packet(&packet) {
            Ok(()) => {
                self.wanted -= 1;
                counters.deliver(packet.original_len);
            }
            Err(failure) => {
                self.failure = Some(failure);
                reading.unwritten += 1;
            }
        }
    }
}

/// Where the packets of a batch go.
struct HandOn<'h, 'c, C> {
    delivery: &'h mut Delivery<'c, C>,
    interface: u32,
    /// Until the first is handed on.
    lost_before: Option<u64>,
    counters: &'h Counters,
    reading: &'h mut Reading,
}

impl<C: Consumer> PacketSink for HandOn<'_, '_, C> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &ring::Packet<'_>) {
        let lost_before = self.lost_before.take();
        let (interface, counters) = (self.interface, self.counters);
        (self.delivery).hand_on(packet, interface, lost_before, counters, self.reading);
    }
}

fn lost_before(batch: &Batch<'_>) -> Option<u64> {
    Some(batch.lost_before()).filter(|&lost| lost > 0)
}

/// A batch of one lane, and where its packets are counted.
struct Taken<'l> {
    interface: u32,
    batch: Batch<'l>,
    counters: &'l Counters,
    reading: &'l mut Reading,
}

impl<'l> Taken<'l> {
    /// What lies ready in the ring of `lane`.
    fn next(lane: &'l mut Lane) -> Option<Self> {
        let interface = lane.interface;
        let Lane {
            source,
            counters,
            reading,
            ..
        } = lane;
        Some(Self {
            interface,
            batch: source.next_batch()?,
            counters,
            reading,
        })
    }
}

/// The next packet of a batch, and the others behind it.
struct Head<'b> {
    interface: u32,
    next: Option<ring::Packet<'b>>,
    handed_on: usize,
    /// What is left of the batch can stay in its ring.
    may_wait: bool,
    packets: Packets<'b>,
    lost_before: Option<u64>,
    counters: &'b Counters,
    reading: &'b mut Reading,
}

impl<'b> Head<'b> {
    fn new(taken: &'b mut Taken<'_>) -> Self {
        let lost_before = lost_before(&taken.batch);
        let may_wait = taken.batch.is_divisible();
        let mut packets = taken.batch.packets();
        Self {
            interface: taken.interface,
            next: packets.next(),
            handed_on: 0,
            may_wait,
            packets,
            lost_before,
            counters: taken.counters,
            reading: taken.reading,
        }
    }
}

/// The head whose packet is the oldest; of equally old ones, the one whose lane comes first. Only of
/// those that must not wait, if `others_wait`.
fn oldest<'h, 'b>(
    heads: &'h mut [Option<Head<'b>>],
    others_wait: bool,
) -> Option<&'h mut Head<'b>> {
    let time = |head: &Head<'_>| head.next.as_ref().map_or(u64::MAX, |p| p.timestamp_ns);
    let heads = heads.iter_mut().flatten();
    heads
        .filter(|head| head.next.is_some() && !(others_wait && head.may_wait))
        .min_by_key(|head| time(head))
}
