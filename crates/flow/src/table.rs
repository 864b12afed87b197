//! The bounded flow table.

use crate::account::{FlowAccount, ProtocolClass};
use crate::batch::{FlowBatch, Waiting};
use crate::decode::{Arrival, FlowPacket, NoFlow, Segment};
use crate::entries::{Entries, Timeouts};
use crate::flow::{EndReason, Flow};
use crate::index::Index;
use crate::key::{FlowKey, Seed};
use crate::wheel::Wheel;

/// Maximum flows and wheel slots that are checked for each packet.
const CHECKS: u32 = 8;

/// Flows among which the one to be evicted is chosen: that which had no packet for the longest time.
const CANDIDATES: usize = 8;

/// Bounds of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// Flows at the same time, at most 2²⁶. Default: 262 144.
    pub max_flows: usize,
    /// A flow without packets for this time ends. Default: 60 s.
    pub idle_ns: u64,
    /// A flow that lasts is exported at this interval. Default: 30 min.
    pub active_ns: u64,
    /// Random numbers for the hash. Whoever knows them can choose addresses that collide. Default: constants.
    pub seed: [u64; 6],
}

impl TableOptions {
    /// The most that `max_flows` can be.
    pub const MOST_FLOWS: usize = 1 << 26;
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            max_flows: 1 << 18,
            idle_ns: 60_000_000_000,
            active_ns: 1_800_000_000_000,
            // Digits of π.
            seed: [
                0x243f_6a88_85a3_08d3,
                0x1319_8a2e_0370_7344,
                0xa409_3822_299f_31d0,
                0x082e_fa98_ec4e_6c89,
                0x4528_21e6_38d0_1377,
                0xbe54_66cf_34e9_0c6c,
            ],
        }
    }
}

/// How long a TCP connection stays after its end, for its last segments: less than any new connection waits for its ports.
const LINGER_NS: u64 = 5_000_000_000;

/// Flows by their ends.
#[derive(Debug)]
pub struct FlowTable {
    index: Index,
    entries: Entries,
    wheel: Wheel,
    clock: Clock,
    timeouts: Timeouts,
    max_flows: usize,
    seed: Seed,
    account: FlowAccount,
    /// Packets that wait to be added.
    batch: FlowBatch,
}

impl FlowTable {
    /// An empty table. Memory is reserved now and used when flows need it.
    pub fn new(options: &TableOptions) -> Self {
        let max_flows = options.max_flows.clamp(1, TableOptions::MOST_FLOWS);
        let idle_ns = options.idle_ns.max(1);
        Self {
            index: Index::new(max_flows),
            entries: Entries::new(max_flows),
            wheel: Wheel::new(idle_ns),
            clock: Clock::default(),
            timeouts: Timeouts {
                idle: idle_ns,
                active: options.active_ns.max(1),
                linger: LINGER_NS.min(idle_ns),
            },
            max_flows,
            seed: options.seed,
            account: FlowAccount::default(),
            batch: FlowBatch::default(),
        }
    }

    /// Memory of a table with room for `max_flows` flows, at most.
    pub fn memory_bytes(max_flows: usize) -> usize {
        Entries::bytes(max_flows) + Index::bytes(max_flows)
    }

    /// Adds a packet. Calls `ended` with the flows that end now: a few at most, also if more are due.
    #[inline]
    pub fn add(&mut self, packet: &FlowPacket<'_>, ended: &mut impl FnMut(&Flow)) {
        self.add_waiting(ended);
        let segment = Segment::of(packet);
        let (hash, likely) = match &segment {
            Ok(segment) => {
                let hash = segment.key.hash(&self.seed);
                (hash, self.index.likely(hash))
            }
            Err(_) => (0, 0),
        };
        self.add_decoded(
            &Waiting {
                arrival: Arrival::of(packet),
                segment,
                hash,
                likely,
            },
            ended,
        );
    }

    /// As [`add`](Self::add), but the packet may wait until up to 31 others follow it, while the CPU fetches its flow. That is faster
    /// with many flows.
    #[inline]
    pub fn push(&mut self, packet: &FlowPacket<'_>, ended: &mut impl FnMut(&Flow)) {
        if self.batch.push(packet, &self.seed, &self.index) {
            self.add_half(ended);
        }
    }

    /// Adds the packets that wait, in their order.
    pub fn add_waiting(&mut self, ended: &mut impl FnMut(&Flow)) {
        self.add_half(ended);
        self.add_half(ended);
    }

    /// Finds the flows of the packets that have arrived, and adds those whose flows were found before.
    #[inline(never)]
    fn add_half(&mut self, ended: &mut impl FnMut(&Flow)) {
        for waiting in &mut self.batch.arrived {
            waiting.likely = self.index.likely(waiting.hash);
            self.entries.prefetch(waiting.likely);
        }
        let mut found = std::mem::take(&mut self.batch.found);
        for waiting in &found {
            if matches!(&waiting.segment, Ok(segment) if segment.tcp.is_some()) {
                self.entries.prefetch_tcp(waiting.likely);
            }
        }
        for waiting in &found {
            self.add_decoded(waiting, ended);
        }
        found.clear();
        self.batch.found = std::mem::replace(&mut self.batch.arrived, found);
    }

    #[inline]
    fn add_decoded(&mut self, waiting: &Waiting, ended: &mut impl FnMut(&Flow)) {
        let arrival = &waiting.arrival;
        self.account.packets += 1;
        self.account.bytes += arrival.len;
        let time_ns = arrival.time_ns.unwrap_or(self.clock.time_ns);
        let clock = self.advance(time_ns);
        self.expire(clock, &mut { CHECKS }, ended);
        match &waiting.segment {
            Ok(segment) => {
                self.account.in_flows += 1;
                let class = ProtocolClass::of(segment.key.protocol());
                let traffic = &mut self.account.protocols[class as usize];
                traffic.packets += 1;
                traffic.bytes += arrival.len;
                traffic.ip_bytes += segment.ip_bytes;
                self.add_segment(segment, waiting, (time_ns, clock), ended);
            }
            Err(NoFlow::NotIp) => self.account.not_ip += 1,
            Err(NoFlow::Fragment) => self.account.fragments += 1,
            Err(NoFlow::Malformed) => self.account.malformed += 1,
        }
    }

    /// Ends all flows whose time has come at `now_ns`, nanoseconds since 1970. For times without packets.
    pub fn expire_all(&mut self, now_ns: u64, ended: &mut impl FnMut(&Flow)) {
        self.add_waiting(ended);
        if self.clock.is_running {
            let clock = self.advance(now_ns.max(self.clock.time_ns));
            self.expire(clock, &mut { u32::MAX }, ended);
        }
    }

    /// Ends all flows.
    pub fn finish(&mut self, ended: &mut impl FnMut(&Flow)) {
        self.add_waiting(ended);
        for number in 0..self.entries.len() {
            if !self.entries.is_free(number) {
                let reason = self.entries.reason(number, EndReason::End);
                self.export(number, reason, ended);
            }
        }
        self.entries.clear();
        self.index.clear();
        self.wheel.clear();
        self.account.flows = 0;
    }

    /// What became of all packets and flows so far, without packets that wait.
    pub fn account(&self) -> &FlowAccount {
        &self.account
    }

    fn advance(&mut self, time_ns: u64) -> u64 {
        if !self.clock.is_running {
            self.wheel.start(time_ns);
        }
        self.clock.advance(time_ns, self.timeouts.idle)
    }

    #[inline]
    fn add_segment(
        &mut self,
        segment: &Segment,
        waiting: &Waiting,
        times: (u64, u64),
        ended: &mut impl FnMut(&Flow),
    ) {
        let arrival = &waiting.arrival;
        let number = match self.find(&segment.key, waiting) {
            Some(number) => {
                if self.entries.is_another(number, segment) {
                    self.replace(number, segment, arrival, times, EndReason::Reused, ended);
                } else if self.was_idle(number, times.1) {
                    self.replace(number, segment, arrival, times, EndReason::Idle, ended);
                }
                number
            }
            None => self.begin(waiting.hash, segment, arrival, times, ended),
        };
        if self.entries.add(number, segment, arrival, times) {
            let (deadline, _) = self.entries.deadline(number, &self.timeouts);
            self.wheel.remove(self.entries.linked(), number);
            self.wheel.insert(self.entries.linked(), number, deadline);
        }
    }

    /// The flow of a packet.
    #[inline]
    fn find(&self, key: &FlowKey, waiting: &Waiting) -> Option<u32> {
        if self.entries.has_key(waiting.likely, key) {
            return Some(waiting.likely);
        }
        self.index
            .find(waiting.hash, |number| self.entries.has_key(number, key))
    }

    /// Whether a flow has been idle for too long before this packet of it: after a gap, the wheel may not have come to it yet.
    #[inline]
    fn was_idle(&self, number: u32, clock: u64) -> bool {
        clock.saturating_sub(self.entries.last_clock(number)) >= self.timeouts.idle
    }

    /// Begins another flow between the same ends.
    #[cold]
    fn replace(
        &mut self,
        number: u32,
        segment: &Segment,
        arrival: &Arrival,
        (time_ns, clock): (u64, u64),
        reason: EndReason,
        ended: &mut impl FnMut(&Flow),
    ) {
        let reason = self.entries.reason(number, reason);
        self.export(number, reason, ended);
        self.wheel.remove(self.entries.linked(), number);
        self.entries
            .replace(number, segment, arrival, (time_ns, clock));
        self.put_on_wheel(number, clock);
    }

    /// Begins a flow, for which another one may have to end.
    fn begin(
        &mut self,
        hash: u64,
        segment: &Segment,
        arrival: &Arrival,
        (time_ns, clock): (u64, u64),
        ended: &mut impl FnMut(&Flow),
    ) -> u32 {
        if self.account.flows as usize == self.max_flows {
            self.make_room(clock, ended);
        }
        if self.index.is_full(hash) {
            self.evict_neighbour(hash, ended);
        }
        let number = self.entries.begin(segment, arrival, (time_ns, clock));
        let has_room = self.index.insert(hash, number);
        debug_assert!(has_room, "a bucket has lost a flow");
        self.account.flows += 1;
        self.account.most_flows = self.account.most_flows.max(self.account.flows);
        self.put_on_wheel(number, clock);
        number
    }

    /// Schedules the next check of a flow.
    fn put_on_wheel(&mut self, number: u32, clock: u64) {
        let (mut deadline, _) = self.entries.deadline(number, &self.timeouts);
        if self.entries.packets(number) == 0 {
            // Its first packet begins the active timeout, now or later.
            deadline = deadline.min(clock.saturating_add(self.timeouts.active));
        }
        self.wheel.insert(self.entries.linked(), number, deadline);
    }

    /// Evicts one of the flows that are checked next: that without packets for the longest time. The others are put where
    /// their deadlines are now, so that they are not candidates again soon.
    #[cold]
    fn make_room(&mut self, clock: u64, ended: &mut impl FnMut(&Flow)) {
        let mut oldest = None::<u32>;
        for _ in 0..CANDIDATES {
            let Some(mut other) = self.wheel.first(self.entries.linked()) else {
                break;
            };
            let last = |number: u32| self.entries.last_clock(number);
            match oldest.as_mut() {
                Some(oldest) => {
                    if last(other) < last(*oldest) {
                        std::mem::swap(oldest, &mut other);
                    }
                    self.put_on_wheel(other, clock);
                }
                None => oldest = Some(other),
            }
        }
        if let Some(oldest) = oldest {
            self.evict(oldest, ended);
        }
    }

    /// Evicts the flow without packets for the longest time of those in the two full buckets of a hash.
    #[cold]
    fn evict_neighbour(&mut self, hash: u64, ended: &mut impl FnMut(&Flow)) {
        let last = |number: &u32| self.entries.last_clock(*number);
        if let Some(oldest) = self.index.neighbours(hash).min_by_key(last) {
            self.wheel.remove(self.entries.linked(), oldest);
            self.evict(oldest, ended);
        }
    }

    /// Ends a flow that the wheel has no more.
    fn evict(&mut self, number: u32, ended: &mut impl FnMut(&Flow)) {
        let reason = self.entries.reason(number, EndReason::Evicted);
        self.end(number, reason, ended);
    }

    /// Ends flows whose time has come, after at most `budget` checks.
    #[inline]
    fn expire(&mut self, clock: u64, budget: &mut u32, ended: &mut impl FnMut(&Flow)) {
        while let Some(number) = self.wheel.due(self.entries.linked(), clock, budget) {
            self.check(number, clock, ended);
        }
    }

    /// Checks a flow that the wheel has taken out.
    fn check(&mut self, number: u32, clock: u64, ended: &mut impl FnMut(&Flow)) {
        let (deadline, reason) = self.entries.deadline(number, &self.timeouts);
        if deadline > clock {
            self.put_on_wheel(number, clock);
        } else if reason == EndReason::Active {
            self.export(number, reason, ended);
            self.entries.restart(number);
            self.put_on_wheel(number, clock);
        } else {
            self.end(number, reason, ended);
        }
    }

    /// Exports a flow, if it has packets, and forgets it. The wheel has it no more.
    fn end(&mut self, number: u32, reason: EndReason, ended: &mut impl FnMut(&Flow)) {
        self.export(number, reason, ended);
        let hash = self.entries.key(number).hash(&self.seed);
        self.index.remove(hash, number);
        self.entries.end(number);
        self.account.flows -= 1;
    }

    fn export(&mut self, number: u32, reason: EndReason, ended: &mut impl FnMut(&Flow)) {
        if self.entries.packets(number) > 0 {
            self.account.ended[reason as usize] += 1;
            ended(&self.entries.export(number, reason));
        }
    }
}

/// The time of the table, which never goes back.
///
/// It follows the times of packets. If these jump back by more than the idle timeout, as after a wrong time in a file, it
/// goes on from where it is: otherwise each further packet would find its flow idle for too long.
#[derive(Debug, Default)]
struct Clock {
    is_running: bool,
    now: u64,
    /// What is added to the time of a packet.
    offset: u64,
    /// The last time that was passed in.
    time_ns: u64,
}

impl Clock {
    #[inline]
    fn advance(&mut self, time_ns: u64, most_back_ns: u64) -> u64 {
        self.is_running = true;
        self.time_ns = time_ns;
        let shown = time_ns.saturating_add(self.offset);
        if shown.saturating_add(most_back_ns) < self.now {
            self.offset = self.now - time_ns;
        }
        self.now = self.now.max(shown);
        self.now
    }
}

#[cfg(test)]
mod tests;
