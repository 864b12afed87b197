//! TCP connections: handshakes, retransmissions, gaps.

use std::collections::HashMap;
use std::net::SocketAddr;

use flow::{SequenceOrder, TcpConnection, TcpSegment};
use probe::Histogram;
use wire::{Tcp, TcpFlags};

use super::remove_lower_half;

/// Maximum connections that are followed. When there are more, those that were silent longest are forgotten.
const CONNECTIONS_MAX: usize = 1 << 15;

/// TCP connections. A segment that the capture lost looks like one that the network lost.
///
/// Retransmissions and segments out of order are those of [`tapline::flows`](crate::flows).
#[derive(Clone, Debug, Default)]
pub struct TcpAnalysis {
    /// Connections: pairs of ends, counted again when a new handshake begins.
    pub connections: u64,
    /// Connections whose handshake was captured as a whole.
    pub handshakes: u64,
    /// Handshakes: from the SYN to the ACK that ends it, nanoseconds.
    pub round_trips: Histogram,
    /// From the SYN to the answer of the server, nanoseconds.
    pub server_times: Histogram,
    /// Segments.
    pub segments: u64,
    /// Segments that were sent again: their bytes were seen before, or fill a gap later than reordering explains.
    pub retransmissions: u64,
    /// Segments that fill a gap, sooner than a retransmission could.
    pub out_of_order: u64,
    /// Segments before which sequence numbers are missing.
    pub gaps: u64,
    /// Segments with RST.
    pub resets: u64,
    /// Connections that were forgotten because there were too many: if they go on, they count again.
    pub forgotten: u64,
    connections_now: HashMap<[SocketAddr; 2], Connection>,
}

#[derive(Clone, Debug)]
struct Connection {
    last_ns: u64,
    /// Whether the initiator is the higher end of the key.
    is_swapped: bool,
    tcp: TcpConnection,
}

impl Connection {
    /// One that `segment` begins, or of which it is the first to be captured.
    fn new(is_from_higher: bool, segment: &TcpSegment) -> Self {
        Self {
            last_ns: 0,
            is_swapped: is_from_higher ^ TcpConnection::is_answer(segment),
            tcp: TcpConnection::default(),
        }
    }
}

impl TcpAnalysis {
    /// Adds a segment with `payload` bytes. Returns whether it is a retransmission.
    pub(super) fn add(
        &mut self,
        header: Tcp<'_>,
        payload: u32,
        from: SocketAddr,
        to: SocketAddr,
        time_ns: u64,
    ) -> bool {
        let segment = TcpSegment {
            sequence: header.sequence(),
            acknowledgement: header.acknowledgment(),
            window: header.window(),
            flags: header.flags().0 as u8,
            data_bytes: payload,
        };
        self.segments += 1;
        self.resets += u64::from(header.flags().contains(TcpFlags::RST));
        let is_from_higher = from > to;
        let key = if is_from_higher {
            [to, from]
        } else {
            [from, to]
        };
        if self.connections_now.len() >= CONNECTIONS_MAX && !self.connections_now.contains_key(&key)
        {
            let (forgotten, _) = remove_lower_half(&mut self.connections_now, |one| one.last_ns);
            self.forgotten += forgotten;
        }
        let connections = &mut self.connections;
        let connection = self.connections_now.entry(key).or_insert_with(|| {
            *connections += 1;
            Connection::new(is_from_higher, &segment)
        });
        let is_backward = is_from_higher != connection.is_swapped;
        if connection.tcp.is_another(is_backward, &segment) {
            self.connections += 1;
            *connection = Connection::new(is_from_higher, &segment);
        }
        connection.last_ns = time_ns;
        let tcp = &mut connection.tcp;
        let known = (tcp.responder_rtt_ns(), tcp.rtt_ns());
        let order = tcp.add(is_from_higher != connection.is_swapped, &segment, time_ns);
        if let (None, Some(time_ns)) = (known.0, tcp.responder_rtt_ns()) {
            self.server_times.record(time_ns);
        }
        if let (None, Some(time_ns)) = (known.1, tcp.rtt_ns()) {
            self.handshakes += 1;
            self.round_trips.record(time_ns);
        }
        self.gaps += u64::from(order == SequenceOrder::AfterGap);
        self.out_of_order += u64::from(order == SequenceOrder::OutOfOrder);
        self.retransmissions += u64::from(order == SequenceOrder::Retransmission);
        order == SequenceOrder::Retransmission
    }
}
