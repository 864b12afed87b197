//! Reading a capture packet by packet, for its pull interface.
//!
//! The rings keep the reading position between calls ([`RingReader::next_packet`]), so a packet is lent without
//! a copy and without an allocation.

use abi::clock::monotonic_ns;
use ring::Frames;

use super::account::summary::{CaptureSummary, Ended};
use super::engine::{Engine, Run, RunTime};
use super::read::consumer::{Closure, ConsumerError};
use super::read::dispatcher::{Dispatcher, ROUND_BATCHES, ROUND_PACKETS, Round, lend};
use super::read::queue::RxQueue;
use super::read::ring::RingReader;
use crate::packet::Packet;
use crate::stop::Stop;

/// The position of a pulling reader.
pub struct Pull {
    phase: Phase,
    /// Packets left to the packet limit.
    remaining: u64,
    /// Direct reading, of one queue of a packet socket or AF_XDP without an exact filter: no packet has to be looked
    /// at before it is lent, and packets are counted when [`ready`](Self::ready) finds none. It ends when this many
    /// packets of the batch are left: those beyond the packet limit. `usize::MAX` while packets are not read directly.
    direct_end: usize,
    /// Packets of the batch that were left when they were last counted.
    direct_start: usize,
    /// The next packet of each queue.
    heads: Vec<Head>,
    /// The queue of the packet that was lent last.
    last: Option<usize>,
    /// A batch that could stay in its ring is at its end: the others that could wait for its next one.
    is_first_at_end: bool,
    /// Batches and packets of this round.
    batches: usize,
    packets: u64,
    /// The policy lets this round read.
    is_in_round: bool,
}

enum Phase {
    Opened,
    Reading(Box<Run>),
    Closing {
        ended: Ended,
        time: RunTime,
        deadline_ns: u64,
    },
    Over {
        ended: Ended,
        time: RunTime,
    },
}

#[derive(Clone, Copy)]
struct Head {
    /// `None` at the end of the batch.
    time_ns: Option<u64>,
    /// The rest of a batch can stay in the ring.
    is_divisible: bool,
}

impl Head {
    fn of(queue: &RxQueue) -> Self {
        Self {
            time_ns: None,
            // A block of TPACKET_V3 is given back as a whole.
            is_divisible: queue.ring().wakes_early(),
        }
    }
}

impl Pull {
    pub fn new(engine: &Engine) -> Self {
        Self {
            phase: Phase::Opened,
            remaining: engine.options.limits.packets.unwrap_or(u64::MAX),
            direct_end: usize::MAX,
            direct_start: 0,
            heads: engine.queues.iter().map(Head::of).collect(),
            last: None,
            is_first_at_end: false,
            batches: 0,
            packets: 0,
            is_in_round: false,
        }
    }

    /// Why the capture ended; `None` before its last packet has been read.
    pub fn ended(&self) -> Option<&Ended> {
        match &self.phase {
            Phase::Over { ended, .. } => Some(ended),
            _ => None,
        }
    }

    /// The queue of the next packet, if one is ready. Waits for nothing.
    #[inline]
    pub fn ready(&mut self, engine: &mut Engine) -> Option<usize> {
        let queue = engine.queues.first()?;
        if queue.reader.packets_left() > self.direct_end {
            return Some(0);
        }
        self.select(engine)
    }

    /// Counts the packets that were read directly.
    fn count_direct(&mut self, engine: &Engine) {
        if self.direct_end == usize::MAX {
            return;
        }
        let left = engine.queues[0].reader.packets_left();
        let lent = (self.direct_start - left) as u64;
        self.direct_start = left;
        self.remaining -= lent;
        self.packets += lent;
        if lent > 0 {
            self.last = Some(0);
        }
    }

    /// Begins direct reading of the current batch, if it is possible.
    fn start_direct(&mut self, engine: &mut Engine) {
        let [queue] = &mut engine.queues[..] else {
            return;
        };
        queue.reading.exact.take_if(|exact| exact.is_over());
        if queue.reading.exact.is_none() && !matches!(queue.reader, RingReader::Buffer(_)) {
            self.direct_start = queue.reader.packets_left();
            let limit = usize::try_from(self.remaining).unwrap_or(usize::MAX);
            self.direct_end = self.direct_start.saturating_sub(limit);
        }
    }

    /// Ends direct reading until the next batch: the rest of this one has to be looked at.
    pub fn stop_direct(&mut self, engine: &Engine) {
        self.count_direct(engine);
        self.direct_end = usize::MAX;
    }

    /// Waits for the next packet, but not beyond `until_ns`. `None`: the time is over, or the capture is.
    /// With `is_urgent` packets do not wait for their batch.
    pub fn wait(
        &mut self,
        engine: &mut Engine,
        stop: &Stop,
        until_ns: u64,
        is_urgent: bool,
    ) -> Option<usize> {
        loop {
            if let Some(queue) = self.ready(engine) {
                return Some(queue);
            }
            if !self.refill(engine, stop, until_ns, is_urgent) {
                return None;
            }
        }
    }

    /// Lends the next packet of the queue that [`ready`](Self::ready) or [`wait`](Self::wait) returned; `None`
    /// if its ring is malformed.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what the caller does not read is not made"
    )]
    pub fn lend<'e>(&mut self, engine: &'e mut Engine, number: usize) -> Option<Packet<'e>> {
        let queue = &mut engine.queues[number];
        let lost_before = Some(queue.reader.take_lost_before()).filter(|&lost| lost > 0);
        let left = queue.reader.packets_left();
        let Some(packet) = queue.reader.next_packet() else {
            // The rest of the batch was skipped, not lent.
            self.direct_start = self.direct_start.saturating_sub(left);
            return None;
        };
        if self.direct_end == usize::MAX {
            self.last = Some(number);
            self.remaining -= 1;
            self.packets += 1;
        }
        queue.counters.deliver(packet.original_len);
        queue.reading.stamps.count(packet.timestamp_source);
        let bytes = match &mut queue.reading.exact {
            None => packet.bytes,
            Some(exact) => {
                exact.advance();
                exact.truncate(packet.bytes)
            }
        };
        let interface = queue.interface;
        Some(lend(&packet, bytes, interface, lost_before, &queue.reading))
    }

    /// Lends up to `max` packets that are ready to `each`, which keeps none. Waits for nothing.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what the caller does not read is not made"
    )]
    pub fn lend_each(
        &mut self,
        engine: &mut Engine,
        max: usize,
        mut each: impl FnMut(&Packet<'_>),
    ) {
        let mut room = max;
        while room > 0
            && let Some(number) = self.ready(engine)
        {
            if self.direct_end == usize::MAX {
                room -= 1;
                let Some(packet) = self.lend(engine, number) else {
                    return;
                };
                each(&packet);
            } else {
                room -= self.lend_direct(&mut engine.queues[0], room, &mut each);
            }
        }
    }

    /// The packets that are read directly, as they lie in memory, and their interface.
    pub fn frames(&mut self, engine: &mut Engine) -> Option<(Frames, u32)> {
        self.ready(engine)?;
        if self.direct_end == usize::MAX {
            return None;
        }
        let queue = &mut engine.queues[0];
        let RingReader::Packet(ring) = &mut queue.reader else {
            return None;
        };
        let mut frames = ring.frames()?;
        let lendable = ring.packets_left() - self.direct_end;
        frames.packets = frames.packets.min(lendable.try_into().unwrap_or(u32::MAX));
        Some((frames, queue.interface))
    }

    /// Counts packets of [`frames`](Self::frames) as lent.
    pub fn skip_frames(&self, engine: &mut Engine, packets: u32, bytes: usize, wire_bytes: u64) {
        if self.direct_end == usize::MAX {
            return;
        }
        let queue = &mut engine.queues[0];
        let lendable = queue.reader.packets_left().saturating_sub(self.direct_end);
        let packets = packets.min(lendable.try_into().unwrap_or(u32::MAX));
        if let RingReader::Packet(ring) = &mut queue.reader {
            ring.skip_frames(packets, bytes);
            let most = u64::from(packets) * u64::from(u32::MAX);
            queue
                .counters
                .deliver_all(u64::from(packets), wire_bytes.min(most));
        }
    }

    /// Lends up to `max` packets that are read directly, and at least one place of them is used. They are counted together.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what the caller does not read is not made"
    )]
    fn lend_direct(
        &mut self,
        queue: &mut RxQueue,
        max: usize,
        each: &mut impl FnMut(&Packet<'_>),
    ) -> usize {
        let mut lost_before = Some(queue.reader.take_lost_before()).filter(|&lost| lost > 0);
        let left = queue.reader.packets_left();
        let wanted = max.min(left - self.direct_end);
        let (reading, interface) = (&queue.reading, queue.interface);
        let (mut packets, mut bytes, mut stamps) = (0, 0, reading.stamps);
        queue.reader.lend_each(wanted, |packet| {
            packets += 1;
            bytes += u64::from(packet.original_len);
            stamps.count(packet.timestamp_source);
            let lost_before = lost_before.take();
            each(&lend(
                &packet,
                packet.bytes,
                interface,
                lost_before,
                reading,
            ));
        });
        queue.reading.stamps = stamps;
        queue.counters.deliver_all(packets as u64, bytes);
        // The rest of a malformed batch was skipped, not lent.
        self.direct_start -= left - packets - queue.reader.packets_left();
        wanted
    }

    /// The queue with the oldest packet that is ready, passes the exact filter and is within the packet limit.
    fn select(&mut self, engine: &mut Engine) -> Option<usize> {
        self.stop_direct(engine);
        if let Some(last) = self.last.take() {
            self.look(&mut engine.queues[last], last);
        }
        loop {
            let number = self.oldest()?;
            let queue = &mut engine.queues[number];
            if self.remaining == 0 {
                queue.reading.surplus += 1;
            } else if let Some(exact) = &mut queue.reading.exact {
                let packet = queue.reader.peek();
                if packet.is_none_or(|packet| exact.kept(&packet).is_some()) {
                    return Some(number);
                }
                exact.advance();
                queue.reading.refused += 1;
            } else {
                return Some(number);
            }
            queue.reader.next_packet();
            self.packets += 1;
            self.look(queue, number);
        }
    }

    /// The queue with the oldest packet; the first among equals.
    fn oldest(&self) -> Option<usize> {
        let only_indivisible = self.is_first_at_end;
        let heads = self.heads.iter().enumerate();
        let times = heads.filter_map(|(number, head)| {
            let time_ns = head.time_ns?;
            (!(only_indivisible && head.is_divisible)).then_some((number, time_ns))
        });
        let oldest = times.min_by_key(|&(_, time_ns)| time_ns);
        oldest.map(|(number, _)| number)
    }

    /// Looks at the next packet of `queue`.
    fn look(&mut self, queue: &mut RxQueue, number: usize) {
        let head = &mut self.heads[number];
        head.time_ns = queue.reader.peek().map(|packet| packet.timestamp_ns);
        if head.time_ns.is_none() {
            if queue.reader.packets_left() > 0 {
                // Malformed: this counts the rest as unreadable.
                queue.reader.next_packet();
            }
            self.is_first_at_end |= head.is_divisible;
        }
    }

    /// Does what follows the end of all batches: begins the next ones, or sleeps. `false`: the time is over, or
    /// the capture is.
    fn refill(&mut self, engine: &mut Engine, stop: &Stop, until_ns: u64, is_urgent: bool) -> bool {
        match &mut self.phase {
            Phase::Opened => {
                self.phase = Phase::Reading(Box::new(engine.begin()));
                true
            }
            Phase::Reading(run) => {
                if !self.is_in_round {
                    let mut nobody = nobody();
                    let dispatcher = &mut Dispatcher::new(&mut nobody, self.remaining);
                    match engine.before_round(run, dispatcher) {
                        Ok(waits) => self.is_in_round = !waits || is_urgent,
                        Err(error) => {
                            self.close(engine, stop, Ended::Wait(error));
                            return true;
                        }
                    }
                }
                // Limits are checked between rounds.
                let batches = if self.heads.len() == 1 {
                    ROUND_BATCHES
                } else {
                    1
                };
                let is_full = self.batches >= batches || self.packets >= ROUND_PACKETS;
                let is_exhausted = self.is_in_round && is_full;
                if self.is_in_round && !is_exhausted && self.begin_batches(engine) {
                    return true;
                }
                self.end_batches(engine);
                self.after_round(engine, stop, !is_exhausted, until_ns);
                // An end that was just found is followed to the last packet.
                until_ns == u64::MAX
                    || monotonic_ns() < until_ns
                    || matches!(self.phase, Phase::Closing { .. })
            }
            Phase::Closing { deadline_ns, .. } => {
                let deadline_ns = *deadline_ns;
                if engine.reads_on(deadline_ns) && self.begin_batches(engine) {
                    return true;
                }
                self.end_batches(engine);
                if !engine.closing_step(deadline_ns) {
                    engine.poller.end(stop);
                    self.be_over();
                }
                true
            }
            Phase::Over { .. } => false,
        }
    }

    fn after_round(&mut self, engine: &mut Engine, stop: &Stop, emptied: bool, until_ns: u64) {
        let Phase::Reading(run) = &mut self.phase else {
            return;
        };
        let round = Round {
            packets: std::mem::take(&mut self.packets),
            emptied,
        };
        (self.batches, self.is_in_round) = (0, false);
        let mut nobody = nobody();
        let mut dispatcher = Dispatcher::new(&mut nobody, self.remaining);
        match engine.after_round(run, round, &mut dispatcher, stop, until_ns) {
            Ok(None) => {}
            Ok(Some(ended)) => self.close(engine, stop, ended),
            Err(error) => self.close(engine, stop, Ended::Wait(error)),
        }
    }

    /// Begins the next batch of every queue; returns whether there is a packet.
    fn begin_batches(&mut self, engine: &mut Engine) -> bool {
        self.last = None;
        self.is_first_at_end = false;
        // Queues may have come and gone, and rings of the other version of TPACKET may have taken over.
        self.heads.clear();
        self.heads.extend(engine.queues.iter().map(Head::of));
        let mut has_packet = false;
        for (number, queue) in engine.queues.iter_mut().enumerate() {
            if queue.reader.begin_batch() {
                has_packet = true;
                self.look(queue, number);
            }
        }
        // Batches that are empty from the start are at no end.
        self.is_first_at_end = false;
        self.start_direct(engine);
        self.batches += 1;
        has_packet
    }

    /// Gives back all packets that were lent.
    fn end_batches(&mut self, engine: &mut Engine) {
        self.stop_direct(engine);
        self.last = None;
        for (head, queue) in self.heads.iter_mut().zip(&mut engine.queues) {
            queue.reader.end_batch();
            head.time_ns = None;
        }
    }

    /// Ends the flow of packets, unless it has ended. Those in the rings can still be read.
    pub fn close(&mut self, engine: &mut Engine, stop: &Stop, ended: Ended) {
        if matches!(self.phase, Phase::Closing { .. } | Phase::Over { .. }) {
            return;
        }
        let run = match &self.phase {
            Phase::Reading(run) => Some(&**run),
            _ => None,
        };
        let time = engine.run_time(run);
        // Ends the link poller, and restores the timer settings of this one.
        self.phase = Phase::Opened;
        let mut nobody = nobody();
        let dispatcher = &mut Dispatcher::new(&mut nobody, 0);
        self.phase = Phase::Closing {
            ended,
            time,
            deadline_ns: engine.begin_closing(dispatcher, stop),
        };
    }

    fn be_over(&mut self) {
        let phase = std::mem::replace(&mut self.phase, Phase::Opened);
        self.phase = match phase {
            Phase::Closing { ended, time, .. } => Phase::Over { ended, time },
            phase => phase,
        };
    }

    /// Ends the capture, if it has not ended yet. Packets that are still in the rings count as filtered, as
    /// those beyond a packet limit do.
    pub fn finish(mut self, engine: &mut Engine, stop: &Stop) -> CaptureSummary {
        // A block of TPACKET_V3 is given back as a whole: count its rest first.
        self.count_direct(engine);
        self.remaining = 0;
        self.select(engine);
        self.end_batches(engine);
        self.close(engine, stop, Ended::Stopped);
        if let Phase::Closing { deadline_ns, .. } = self.phase {
            let mut nobody = nobody();
            let mut dispatcher = Dispatcher::new(&mut nobody, 0);
            engine.settle(&mut dispatcher, deadline_ns);
        }
        let (Phase::Closing { ended, time, .. } | Phase::Over { ended, time }) = self.phase else {
            unreachable!("it has been closed");
        };
        engine.summary(ended, time, 0)
    }
}

/// A consumer for the engine that takes no packets.
fn nobody() -> Closure<impl FnMut(&Packet<'_>) -> Result<(), ConsumerError>> {
    Closure(|_: &Packet<'_>| Ok(()))
}
