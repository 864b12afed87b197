//! The table.

use crate::account::FlowAccount;
use crate::batch::{FlowBatch, Waiting};
use crate::decode::{FlowPacket, Outside, Segment};
use crate::entry::{Entry, Timeouts};
use crate::flow::{EndReason, Flow};
use crate::index::Index;
use crate::key::Seed;
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
    entries: Vec<Entry>,
    /// Entries that are free, behind which `entries` grows.
    free: Vec<u32>,
    wheel: Wheel,
    clock: Clock,
    timeouts: Timeouts,
    max_flows: usize,
    seed: Seed,
    account: FlowAccount,
}

impl FlowTable {
    /// An empty table. Memory is reserved now and used when flows need it.
    pub fn new(options: &TableOptions) -> Self {
        let max_flows = options.max_flows.clamp(1, TableOptions::MOST_FLOWS);
        let idle_ns = options.idle_ns.max(1);
        Self {
            index: Index::new(max_flows),
            entries: Vec::with_capacity(max_flows),
            free: Vec::with_capacity(max_flows),
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
        }
    }

    /// Memory of a table with room for `max_flows` flows, at most.
    pub fn memory_bytes(max_flows: usize) -> usize {
        max_flows * (size_of::<Entry>() + size_of::<u32>()) + Index::bytes(max_flows)
    }

    /// Adds a packet. Calls `ended` with the flows that end now: a few at most, also if more are due.
    #[inline]
    pub fn add(&mut self, packet: &FlowPacket<'_>, ended: &mut impl FnMut(&Flow)) {
        let segment = Segment::of(packet);
        let hash = match &segment {
            Ok(segment) => segment.key.hash(&self.seed),
            Err(_) => 0,
        };
        self.add_decoded(packet, &segment, hash, ended);
    }

    /// Adds the packets of a batch, in their order, and empties it. The result is that of [`add`](Self::add) for each.
    pub fn add_batch(&mut self, batch: &mut FlowBatch, ended: &mut impl FnMut(&Flow)) {
        for waiting in &mut batch.packets {
            if let Ok(segment) = &waiting.segment {
                waiting.hash = segment.key.hash(&self.seed);
            }
        }
        // Each of the two loops has loads that do not wait for each other.
        let mut loaded = 0;
        for waiting in &batch.packets {
            loaded ^= self.index.load(waiting.hash);
        }
        std::hint::black_box(loaded);
        let mut loaded = 0;
        for waiting in &batch.packets {
            let entry = self.index.likely(waiting.hash);
            loaded ^= self.entries.get(entry).map_or(0, Entry::load);
        }
        std::hint::black_box(loaded);
        for Waiting {
            packet,
            segment,
            hash,
        } in &batch.packets
        {
            self.add_decoded(packet, segment, *hash, ended);
        }
        batch.packets.clear();
    }

    #[inline]
    fn add_decoded(
        &mut self,
        packet: &FlowPacket<'_>,
        segment: &Result<Segment, Outside>,
        hash: u64,
        ended: &mut impl FnMut(&Flow),
    ) {
        self.account.packets += 1;
        self.account.bytes += packet.len;
        let time_ns = packet.time_ns.unwrap_or(self.clock.time_ns);
        let clock = self.advance(time_ns);
        self.expire(clock, &mut { CHECKS }, ended);
        match segment {
            Ok(segment) => {
                self.account.in_flows += 1;
                self.add_segment(segment, hash, packet, (time_ns, clock), ended);
            }
            Err(Outside::NotIp) => self.account.not_ip += 1,
            Err(Outside::Fragment) => self.account.fragments += 1,
            Err(Outside::Malformed) => self.account.malformed += 1,
        }
    }

    /// Ends all flows whose time has come at `now_ns`, nanoseconds since 1970. For times without packets.
    pub fn expire_all(&mut self, now_ns: u64, ended: &mut impl FnMut(&Flow)) {
        if self.clock.is_running {
            let clock = self.advance(now_ns.max(self.clock.time_ns));
            self.expire(clock, &mut { u32::MAX }, ended);
        }
    }

    /// Ends all flows.
    pub fn finish(&mut self, ended: &mut impl FnMut(&Flow)) {
        for number in 0..self.entries.len() as u32 {
            let entry = &self.entries[number as usize];
            if !entry.is_free() {
                let reason = entry.reason(EndReason::End);
                self.wheel.remove(&mut self.entries, number);
                self.end(number, reason, ended);
            }
        }
    }

    /// What became of all packets and flows so far.
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
        hash: u64,
        packet: &FlowPacket<'_>,
        (time_ns, clock): (u64, u64),
        ended: &mut impl FnMut(&Flow),
    ) {
        let entries = &self.entries;
        let found = self
            .index
            .find(hash, |number| entries[number as usize].key == segment.key);
        let number = match found {
            Some(number) => {
                if self.entries[number as usize].is_another(segment) {
                    self.replace(number, segment, packet, (time_ns, clock), ended);
                }
                number
            }
            None => self.begin(hash, segment, packet, (time_ns, clock), ended),
        };
        let entry = &mut self.entries[number as usize];
        let was_ended = entry.is_ended();
        entry.add(segment, packet, time_ns, clock);
        if entry.is_ended() && !was_ended {
            let (deadline, _) = entry.deadline(&self.timeouts);
            self.wheel.remove(&mut self.entries, number);
            self.wheel.insert(&mut self.entries, number, deadline);
        }
    }

    /// Begins another flow between the same ends.
    #[cold]
    fn replace(
        &mut self,
        number: u32,
        segment: &Segment,
        packet: &FlowPacket<'_>,
        (time_ns, clock): (u64, u64),
        ended: &mut impl FnMut(&Flow),
    ) {
        let reason = self.entries[number as usize].reason(EndReason::Reused);
        self.export(number, reason, ended);
        self.wheel.remove(&mut self.entries, number);
        self.entries[number as usize] = Entry::new(segment, packet, time_ns, clock);
        self.put_on_wheel(number, clock);
    }

    /// Begins a flow, for which another one may have to end.
    fn begin(
        &mut self,
        hash: u64,
        segment: &Segment,
        packet: &FlowPacket<'_>,
        (time_ns, clock): (u64, u64),
        ended: &mut impl FnMut(&Flow),
    ) -> u32 {
        if self.account.flows as usize == self.max_flows {
            self.make_room(clock, ended);
        }
        let number = self.free.pop().unwrap_or(self.entries.len() as u32);
        if !self.index.insert(hash, number) {
            self.evict_neighbour(hash, ended);
            let has_room = self.index.insert(hash, number);
            debug_assert!(has_room, "a bucket has lost a flow");
        }
        let entry = Entry::new(segment, packet, time_ns, clock);
        match self.entries.get_mut(number as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.account.flows += 1;
        self.account.most_flows = self.account.most_flows.max(self.account.flows);
        self.put_on_wheel(number, clock);
        number
    }

    /// Schedules the next check of a flow.
    fn put_on_wheel(&mut self, number: u32, clock: u64) {
        let entry = &self.entries[number as usize];
        let (mut deadline, _) = entry.deadline(&self.timeouts);
        if entry.packets() == 0 {
            // Its first packet begins the active timeout, now or later.
            deadline = deadline.min(clock.saturating_add(self.timeouts.active));
        }
        self.wheel.insert(&mut self.entries, number, deadline);
    }

    /// Evicts one of the flows that are checked next: that without packets for the longest time. The others are put where
    /// their deadlines are now, so that they are not candidates again soon.
    #[cold]
    fn make_room(&mut self, clock: u64, ended: &mut impl FnMut(&Flow)) {
        let mut oldest = None::<u32>;
        for _ in 0..CANDIDATES {
            let Some(mut other) = self.wheel.first(&mut self.entries) else {
                break;
            };
            let last = |number: u32| self.entries[number as usize].last_clock;
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
        let last = |number: &u32| self.entries[*number as usize].last_clock;
        if let Some(oldest) = self.index.neighbours(hash).min_by_key(last) {
            self.wheel.remove(&mut self.entries, oldest);
            self.evict(oldest, ended);
        }
    }

    /// Ends a flow that the wheel has no more.
    fn evict(&mut self, number: u32, ended: &mut impl FnMut(&Flow)) {
        let reason = self.entries[number as usize].reason(EndReason::Evicted);
        self.end(number, reason, ended);
    }

    /// Ends flows whose time has come, after at most `budget` checks.
    #[inline]
    fn expire(&mut self, clock: u64, budget: &mut u32, ended: &mut impl FnMut(&Flow)) {
        while let Some(number) = self.wheel.due(&mut self.entries, clock, budget) {
            self.check(number, clock, ended);
        }
    }

    /// Checks a flow that the wheel has taken out.
    fn check(&mut self, number: u32, clock: u64, ended: &mut impl FnMut(&Flow)) {
        let (deadline, reason) = self.entries[number as usize].deadline(&self.timeouts);
        if deadline > clock {
            self.put_on_wheel(number, clock);
        } else if reason == EndReason::Active {
            self.export(number, reason, ended);
            self.entries[number as usize].restart();
            self.put_on_wheel(number, clock);
        } else {
            self.end(number, reason, ended);
        }
    }

    /// Exports a flow, if it has packets, and forgets it. The wheel has it no more.
    fn end(&mut self, number: u32, reason: EndReason, ended: &mut impl FnMut(&Flow)) {
        self.export(number, reason, ended);
        let entry = &mut self.entries[number as usize];
        let hash = entry.key.hash(&self.seed);
        entry.free();
        self.index.remove(hash, number);
        self.free.push(number);
        self.account.flows -= 1;
    }

    fn export(&mut self, number: u32, reason: EndReason, ended: &mut impl FnMut(&Flow)) {
        let entry = &self.entries[number as usize];
        if entry.packets() > 0 {
            self.account.ended[reason as usize] += 1;
            ended(&entry.export(reason));
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
