//! A flow in the table.

use crate::decode::{FlowPacket, Segment};
use crate::flow::{EndReason, Flow, Traffic};
use crate::key::FlowKey;
use crate::tcp::TcpConnection;
use crate::wheel::{Linked, Links};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub key: FlowKey,
    /// Time of the last packet by the table's clock.
    pub last_clock: u64,
    last_ns: u64,
    /// The first is of the initiator.
    traffic: [Traffic; 2],
    links: Links,
    interface: u32,
    /// Whether the initiator is the higher end of the key.
    is_swapped: bool,
    is_tcp: bool,
    is_free: bool,
    first_ns: u64,
    /// Time of the first packet by the table's clock.
    first_clock: u64,
    tcp: TcpConnection,
}

impl Linked for Entry {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// How long flows stay in the table, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub idle: u64,
    pub active: u64,
    /// After the end of a TCP connection.
    pub linger: u64,
}

impl Entry {
    /// An entry without packets for the flow of `segment`, its first one.
    pub(crate) fn new(
        segment: &Segment,
        packet: &FlowPacket<'_>,
        time_ns: u64,
        clock: u64,
    ) -> Self {
        let is_answer = segment.tcp.as_ref().is_some_and(TcpConnection::is_answer);
        Self {
            key: segment.key,
            last_clock: clock,
            last_ns: time_ns,
            traffic: [Traffic::default(); 2],
            links: Links::default(),
            interface: packet.interface,
            is_swapped: segment.is_swapped ^ is_answer,
            is_tcp: segment.tcp.is_some(),
            is_free: false,
            first_ns: time_ns,
            first_clock: clock,
            tcp: TcpConnection::default(),
        }
    }

    /// Whether `segment` begins another flow between the same ends.
    #[inline]
    pub(crate) fn is_another(&self, segment: &Segment) -> bool {
        let backward = segment.is_swapped != self.is_swapped;
        segment
            .tcp
            .as_ref()
            .is_some_and(|header| self.tcp.is_another(backward, header))
    }

    #[inline]
    pub(crate) fn add(
        &mut self,
        segment: &Segment,
        packet: &FlowPacket<'_>,
        time_ns: u64,
        clock: u64,
    ) {
        let backward = segment.is_swapped != self.is_swapped;
        if self.packets() == 0 {
            self.first_ns = time_ns;
            self.first_clock = clock;
            self.last_ns = time_ns;
        }
        // Packets of several queues are not always in order.
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
        self.last_clock = clock;
        let traffic = &mut self.traffic[usize::from(backward)];
        traffic.packets += 1;
        traffic.bytes += packet.len;
        traffic.ip_bytes += segment.ip_bytes;
        if let Some(header) = &segment.tcp {
            self.is_tcp = true;
            self.tcp.add(backward, header, time_ns);
        }
    }

    /// Loads the lines of this entry that a packet needs. The result says nothing.
    #[inline]
    pub(crate) fn load(&self) -> u64 {
        self.last_clock ^ self.traffic[1].ip_bytes ^ self.first_ns
    }

    /// Whether the TCP connection is closed or reset.
    #[inline]
    pub(crate) fn is_ended(&self) -> bool {
        self.is_tcp && self.tcp.is_ended()
    }

    pub(crate) fn packets(&self) -> u64 {
        self.traffic[0].packets + self.traffic[1].packets
    }

    /// When it ends if no more packets come, and why.
    pub(crate) fn deadline(&self, timeouts: &Timeouts) -> (u64, EndReason) {
        if self.is_ended() {
            return (self.last_clock + timeouts.linger, self.closed());
        }
        let idle = self.last_clock.saturating_add(timeouts.idle);
        let active = self.first_clock.saturating_add(timeouts.active);
        // What was exported and had no packets since then does not go on.
        if active < idle && self.packets() > 0 {
            (active, EndReason::Active)
        } else {
            (idle, EndReason::Idle)
        }
    }

    /// Why it ends if it does now, with `otherwise` if nothing has ended it before.
    pub(crate) fn reason(&self, otherwise: EndReason) -> EndReason {
        if self.is_ended() {
            self.closed()
        } else {
            otherwise
        }
    }

    fn closed(&self) -> EndReason {
        if self.tcp.is_reset() {
            EndReason::Rst
        } else {
            EndReason::Fin
        }
    }

    pub(crate) fn export(&self, end: EndReason) -> Flow {
        let [low, high] = self.key.ends();
        let (initiator, responder) = if self.is_swapped {
            (high, low)
        } else {
            (low, high)
        };
        let [forward, backward] = self.traffic;
        Flow {
            protocol: self.key.protocol(),
            initiator,
            responder,
            interface: self.interface,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            forward,
            backward,
            end,
            tcp: self.is_tcp.then(|| self.tcp.export()),
        }
    }

    pub(crate) fn is_free(&self) -> bool {
        self.is_free
    }

    pub(crate) fn free(&mut self) {
        self.is_free = true;
    }

    /// Counts anew after an export by the active timeout.
    pub(crate) fn restart(&mut self) {
        self.traffic = [Traffic::default(); 2];
        self.tcp.clear_counters();
    }
}
