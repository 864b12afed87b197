//! The flows in the table.
//!
//! A table of many flows is larger than the caches, so that a packet costs as much as the cache lines it touches. What each packet
//! reads and writes is in two lines side by side; the rest is elsewhere, TCP connections only for flows that have one.

use abi::pages::prefer_large;
use abi::prefetch::prefetch_value;

use crate::decode::{Arrival, Segment};
use crate::flow::{EndReason, Flow, Traffic};
use crate::key::FlowKey;
use crate::tcp::TcpConnection;
use crate::wheel::{Linked, Links};

/// Stands for no TCP connection.
const NO_TCP: u32 = u32::MAX;

/// What each packet of a flow reads and writes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct Entry {
    /// [`FlowKey::NONE`] if the entry is free.
    key: FlowKey,
    /// Time of the last packet by the table's clock.
    last_clock: u64,
    last_ns: u64,
    first_ns: u64,
    /// The first is of the initiator.
    traffic: [Traffic; 2],
    /// The links of the wheel.
    previous: u32,
    next: u32,
    /// Place of its TCP connection.
    tcp: u32,
    slot: u8,
    /// Whether the initiator is the higher end of the key.
    is_swapped: bool,
}

const _: () = assert!(size_of::<Entry>() == 128);

/// A free entry.
const FREE: Entry = Entry {
    key: FlowKey::NONE,
    last_clock: 0,
    last_ns: 0,
    first_ns: 0,
    traffic: [Traffic {
        packets: 0,
        bytes: 0,
        ip_bytes: 0,
    }; 2],
    previous: 0,
    next: 0,
    tcp: NO_TCP,
    slot: 0,
    is_swapped: false,
};

impl Linked for Entry {
    fn links(&self) -> Links {
        Links {
            previous: self.previous,
            next: self.next,
            slot: self.slot,
        }
    }

    fn set_links(&mut self, links: Links) {
        self.previous = links.previous;
        self.next = links.next;
        self.slot = links.slot;
    }
}

impl Entry {
    fn packets(&self) -> u64 {
        self.traffic[0].packets + self.traffic[1].packets
    }
}

/// Properties of a flow that its first packet sets.
#[derive(Clone, Copy, Debug, Default)]
struct FlowStart {
    /// Time of the first packet by the table's clock.
    clock: u64,
    interface: u32,
}

/// In lines of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Connection(TcpConnection);

/// How long flows stay in the table, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub idle: u64,
    pub active: u64,
    /// After the end of a TCP connection.
    pub linger: u64,
}

/// All flows, by number.
#[derive(Debug)]
pub(crate) struct Entries {
    flows: Vec<Entry>,
    starts: Vec<FlowStart>,
    connections: Vec<Connection>,
    /// Numbers that are free, behind which `flows` grows.
    free: Vec<u32>,
    free_connections: Vec<u32>,
}

impl Entries {
    /// Reserves memory for `most` flows, which is used when flows need it.
    pub(crate) fn new(most: usize) -> Self {
        let mut entries = Self {
            flows: Vec::with_capacity(most),
            starts: Vec::with_capacity(most),
            connections: Vec::with_capacity(most),
            free: Vec::with_capacity(most),
            free_connections: Vec::with_capacity(most),
        };
        // Each packet is of any flow.
        prefer_large(&mut entries.flows);
        prefer_large(&mut entries.connections);
        entries
    }

    pub(crate) const fn bytes(most: usize) -> usize {
        let each = size_of::<Entry>() + size_of::<FlowStart>() + size_of::<Connection>();
        most * (each + 2 * size_of::<u32>())
    }

    /// All flows have lower numbers.
    pub(crate) fn len(&self) -> u32 {
        self.flows.len() as u32
    }

    /// Begins the flow of `segment`, its first one, without packets so far.
    pub(crate) fn begin(&mut self, segment: &Segment, arrival: &Arrival, times: (u64, u64)) -> u32 {
        let number = self.free.pop().unwrap_or(self.len());
        if number == self.len() {
            self.flows.push(FREE);
            self.starts.push(FlowStart::default());
        }
        self.put(number, segment, arrival, times);
        number
    }

    /// Begins another flow in the place of one that has ended, between the same ends.
    pub(crate) fn replace(
        &mut self,
        number: u32,
        segment: &Segment,
        arrival: &Arrival,
        times: (u64, u64),
    ) {
        self.free_connection(number);
        self.put(number, segment, arrival, times);
    }

    fn put(
        &mut self,
        number: u32,
        segment: &Segment,
        arrival: &Arrival,
        (time_ns, clock): (u64, u64),
    ) {
        let is_answer = segment.tcp.as_ref().is_some_and(TcpConnection::is_answer);
        self.flows[number as usize] = Entry {
            key: segment.key,
            last_clock: clock,
            last_ns: time_ns,
            first_ns: time_ns,
            is_swapped: segment.is_swapped ^ is_answer,
            ..FREE
        };
        self.starts[number as usize] = FlowStart {
            clock,
            interface: arrival.interface,
        };
    }

    /// Frees the place of a flow.
    pub(crate) fn end(&mut self, number: u32) {
        self.free_connection(number);
        self.flows[number as usize].key = FlowKey::NONE;
        self.free.push(number);
    }

    fn free_connection(&mut self, number: u32) {
        let tcp = std::mem::replace(&mut self.flows[number as usize].tcp, NO_TCP);
        if tcp != NO_TCP {
            self.free_connections.push(tcp);
        }
    }

    /// Frees all places.
    pub(crate) fn clear(&mut self) {
        self.flows.clear();
        self.starts.clear();
        self.connections.clear();
        self.free.clear();
        self.free_connections.clear();
    }

    /// What the wheel links.
    pub(crate) fn linked(&mut self) -> &mut [Entry] {
        &mut self.flows
    }

    pub(crate) fn is_free(&self, number: u32) -> bool {
        self.flows[number as usize].key == FlowKey::NONE
    }

    /// Whether a flow, which need not exist, has this key.
    #[inline]
    pub(crate) fn has_key(&self, number: u32, key: &FlowKey) -> bool {
        let entry = self.flows.get(number as usize);
        entry.is_some_and(|entry| entry.key == *key)
    }

    pub(crate) fn key(&self, number: u32) -> &FlowKey {
        &self.flows[number as usize].key
    }

    pub(crate) fn last_clock(&self, number: u32) -> u64 {
        self.flows[number as usize].last_clock
    }

    pub(crate) fn packets(&self, number: u32) -> u64 {
        self.flows[number as usize].packets()
    }

    /// Has the CPU fetch the lines of a flow, which need not exist.
    #[inline]
    pub(crate) fn prefetch(&self, number: u32) {
        if let Some(entry) = self.flows.get(number as usize) {
            prefetch_value(entry);
            prefetch_value(&entry.traffic);
        }
    }

    /// Has the CPU fetch the TCP connection of a flow, which need not exist.
    #[inline]
    pub(crate) fn prefetch_tcp(&self, number: u32) {
        let entry = self.flows.get(number as usize);
        let place = entry.map_or(NO_TCP, |entry| entry.tcp);
        if let Some(Connection(tcp)) = self.connections.get(place as usize) {
            tcp.prefetch();
        }
    }

    fn tcp(&self, number: u32) -> Option<&TcpConnection> {
        let place = self.flows[number as usize].tcp;
        let connection = self.connections.get(place as usize);
        connection.map(|Connection(tcp)| tcp)
    }

    /// Whether `segment` begins another flow between the same ends.
    #[inline]
    pub(crate) fn is_another(&self, number: u32, segment: &Segment) -> bool {
        let Some(header) = &segment.tcp else {
            return false;
        };
        let backward = segment.is_swapped != self.flows[number as usize].is_swapped;
        let tcp = self.tcp(number);
        tcp.is_some_and(|tcp| tcp.is_another(backward, header))
    }

    /// Adds a packet. Returns whether the TCP connection ended with it.
    #[inline]
    pub(crate) fn add(
        &mut self,
        number: u32,
        segment: &Segment,
        arrival: &Arrival,
        (time_ns, clock): (u64, u64),
    ) -> bool {
        let entry = &mut self.flows[number as usize];
        let backward = segment.is_swapped != entry.is_swapped;
        if entry.packets() == 0 {
            entry.first_ns = time_ns;
            entry.last_ns = time_ns;
            self.starts[number as usize].clock = clock;
        }
        // Packets of several queues are not always in order.
        entry.first_ns = entry.first_ns.min(time_ns);
        entry.last_ns = entry.last_ns.max(time_ns);
        entry.last_clock = clock;
        let traffic = &mut entry.traffic[usize::from(backward)];
        traffic.packets += 1;
        traffic.bytes += arrival.len;
        traffic.ip_bytes += segment.ip_bytes;
        let Some(header) = &segment.tcp else {
            return false;
        };
        if entry.tcp == NO_TCP {
            entry.tcp = self.free_connections.pop().unwrap_or_else(|| {
                self.connections.push(Connection::default());
                self.connections.len() as u32 - 1
            });
            self.connections[entry.tcp as usize] = Connection::default();
        }
        let Connection(tcp) = &mut self.connections[entry.tcp as usize];
        let was_ended = tcp.is_ended();
        tcp.add(backward, header, time_ns);
        tcp.is_ended() && !was_ended
    }

    /// When a flow ends if no more packets come, and why.
    pub(crate) fn deadline(&self, number: u32, timeouts: &Timeouts) -> (u64, EndReason) {
        let last_clock = self.last_clock(number);
        if let Some(reason) = self.closed(number) {
            return (last_clock.saturating_add(timeouts.linger), reason);
        }
        let idle = last_clock.saturating_add(timeouts.idle);
        let first_clock = self.starts[number as usize].clock;
        let active = first_clock.saturating_add(timeouts.active);
        // What was exported and had no packets since then does not go on.
        if active < idle && self.packets(number) > 0 {
            (active, EndReason::Active)
        } else {
            (idle, EndReason::Idle)
        }
    }

    /// Why a flow ends if it does now, with `otherwise` if nothing has ended it before.
    pub(crate) fn reason(&self, number: u32, otherwise: EndReason) -> EndReason {
        self.closed(number).unwrap_or(otherwise)
    }

    /// How the TCP connection ended, if it did.
    fn closed(&self, number: u32) -> Option<EndReason> {
        let tcp = self.tcp(number).filter(|tcp| tcp.is_ended())?;
        Some(if tcp.is_reset() {
            EndReason::Rst
        } else {
            EndReason::Fin
        })
    }

    pub(crate) fn export(&self, number: u32, end: EndReason) -> Flow {
        let entry = &self.flows[number as usize];
        let [low, high] = entry.key.ends();
        let (initiator, responder) = if entry.is_swapped {
            (high, low)
        } else {
            (low, high)
        };
        let [forward, backward] = entry.traffic;
        Flow {
            protocol: entry.key.protocol(),
            initiator,
            responder,
            interface: self.starts[number as usize].interface,
            first_ns: entry.first_ns,
            last_ns: entry.last_ns,
            forward,
            backward,
            end,
            tcp: self.tcp(number).map(TcpConnection::export),
        }
    }

    /// Counts anew after an export by the active timeout.
    pub(crate) fn restart(&mut self, number: u32) {
        let entry = &mut self.flows[number as usize];
        entry.traffic = [Traffic::default(); 2];
        if let Some(Connection(tcp)) = self.connections.get_mut(entry.tcp as usize) {
            tcp.clear_counters();
        }
    }
}
