//! TCP connections: handshakes, segments that were sent again, gaps.

use std::collections::HashMap;
use std::net::SocketAddr;

use probe::Histogram;
use wire::{Tcp, TcpFlags};

/// Connections that are followed. When there are more, those that were silent longest are forgotten.
const CONNECTIONS_MAX: usize = 1 << 15;

/// Gaps that are kept of a direction.
const GAPS_MAX: usize = 8;

/// TCP connections. A segment that the capture lost looks like one that the network lost.
#[derive(Clone, Debug, Default)]
pub struct TcpAnalysis {
    /// Connections: pairs of ends, counted again when a new handshake begins.
    pub connections: u64,
    /// Connections whose handshake was captured as a whole.
    pub handshakes: u64,
    /// Handshakes: from the SYN to the ACK that ends it.
    pub round_trips: Histogram,
    /// From the SYN to the answer of the server.
    pub server_times: Histogram,
    /// Segments.
    pub segments: u64,
    /// Segments with sequence numbers that were all or in part seen before. Probes of idle connections (keep-alive) do not count.
    pub retransmissions: u64,
    /// Segments that fill a gap: out of order, or sent again after a loss before the point of capture.
    pub late: u64,
    /// Segments after which numbers are missing.
    pub gaps: u64,
    /// Segments with RST.
    pub resets: u64,
    /// Connections that were forgotten because there were too many: if they go on, they count again.
    pub forgotten: u64,
    connections_now: HashMap<[SocketAddr; 2], Connection>,
}

#[derive(Clone, Debug, Default)]
struct Connection {
    last_ns: u64,
    /// The time of the newest SYN, and the end that sent it.
    syn: Option<(u64, usize)>,
    is_answered: bool,
    is_complete: bool,
    directions: [Direction; 2],
}

/// What one end sent.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// The number of its SYN, as the first segment has it.
    first: Option<u32>,
    /// The number after the highest one seen.
    next: Option<u32>,
    /// The highest number that the other end expects next.
    acknowledged: Option<u32>,
    /// Numbers that were skipped: start and end.
    gaps: Vec<(u32, u32)>,
}

/// Where a segment is in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    InOrder,
    AfterGap,
    InGap,
    Again,
}

/// Whether `a` is before `b`, in numbers that wrap.
fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

impl TcpAnalysis {
    /// Adds a segment with `payload` bytes. Returns whether it was sent again.
    pub(super) fn add(
        &mut self,
        header: Tcp<'_>,
        payload: u32,
        from: SocketAddr,
        to: SocketAddr,
        time_ns: u64,
    ) -> bool {
        let flags = header.flags();
        let has = |flag| flags.contains(flag);
        self.segments += 1;
        self.resets += u64::from(has(TcpFlags::RST));
        let sender = usize::from(from > to);
        let key = if sender == 0 { [from, to] } else { [to, from] };
        if self.connections_now.len() >= CONNECTIONS_MAX && !self.connections_now.contains_key(&key)
        {
            self.forget();
        }
        let connections = &mut self.connections;
        let connection = self.connections_now.entry(key).or_insert_with(|| {
            *connections += 1;
            Connection::default()
        });
        connection.last_ns = time_ns;
        let sequence = header.sequence();
        if has(TcpFlags::SYN) && !has(TcpFlags::ACK) {
            // Ports that are used again; a SYN that was overtaken or is repeated begins nothing.
            let first = connection.directions[sender].first;
            if first.is_some_and(|first| first != sequence) {
                self.connections += 1;
                *connection = Connection {
                    last_ns: time_ns,
                    ..Connection::default()
                };
            }
            connection.syn = Some((time_ns, sender));
        }
        if let Some((syn_ns, client)) = connection.syn {
            let since_ns = time_ns.saturating_sub(syn_ns);
            if has(TcpFlags::SYN)
                && has(TcpFlags::ACK)
                && sender != client
                && !connection.is_answered
            {
                connection.is_answered = true;
                self.server_times.record(since_ns);
            } else if connection.is_answered
                && !connection.is_complete
                && sender == client
                && has(TcpFlags::ACK)
                && !has(TcpFlags::SYN)
                && !has(TcpFlags::RST)
            {
                connection.is_complete = true;
                self.handshakes += 1;
                self.round_trips.record(since_ns);
            }
        }
        if has(TcpFlags::RST) {
            return false;
        }
        let numbers = payload + u32::from(has(TcpFlags::SYN)) + u32::from(has(TcpFlags::FIN));
        let can_probe = payload <= 1 && !has(TcpFlags::SYN) && !has(TcpFlags::FIN);
        if has(TcpFlags::ACK) {
            connection.directions[1 - sender].acknowledge(header.acknowledgment());
        }
        let direction = &mut connection.directions[sender];
        let before_first = sequence.wrapping_sub(u32::from(!has(TcpFlags::SYN)));
        direction.first.get_or_insert(before_first);
        let place = direction.place(sequence, numbers, payload > 0, can_probe);
        self.gaps += u64::from(place == Place::AfterGap);
        self.late += u64::from(place == Place::InGap);
        self.retransmissions += u64::from(place == Place::Again);
        place == Place::Again
    }

    /// Forgets the half that was silent longest.
    fn forget(&mut self) {
        let times = self
            .connections_now
            .values()
            .map(|connection| connection.last_ns);
        let mut times: Vec<u64> = times.collect();
        let middle = times.len() / 2;
        let (_, &mut limit, _) = times.select_nth_unstable(middle);
        let before = self.connections_now.len();
        self.connections_now
            .retain(|_, connection| connection.last_ns > limit);
        self.forgotten += (before - self.connections_now.len()) as u64;
    }
}

impl Direction {
    /// Adds `numbers` from `sequence` on, of bytes if `has_bytes`. `can_probe`: it may be a probe of an idle connection, which repeats the last number.
    fn place(&mut self, sequence: u32, numbers: u32, has_bytes: bool, can_probe: bool) -> Place {
        let end = sequence.wrapping_add(numbers);
        let Some(next) = self.next else {
            self.next = Some(end);
            return Place::InOrder;
        };
        if is_before(next, sequence) {
            if self.gaps.len() == GAPS_MAX {
                self.gaps.remove(0);
            }
            self.gaps.push((next, sequence));
            self.next = Some(end);
            return Place::AfterGap;
        }
        let is_probe = can_probe && sequence.wrapping_add(1) == next;
        if numbers == 0 || is_probe || sequence == next {
            if is_before(next, end) {
                self.next = Some(end);
            }
            // What has an acknowledgment already was overtaken by it.
            let is_late = |known: u32| sequence == next && has_bytes && !is_before(known, end);
            let is_late = self.acknowledged.is_some_and(is_late);
            return if is_late {
                Place::InGap
            } else {
                Place::InOrder
            };
        }
        if is_before(next, end) {
            self.next = Some(end);
        }
        if self.fill(sequence, end) {
            Place::InGap
        } else {
            Place::Again
        }
    }

    fn acknowledge(&mut self, number: u32) {
        if self
            .acknowledged
            .is_none_or(|known| is_before(known, number))
        {
            self.acknowledged = Some(number);
        }
    }

    /// Takes numbers out of the gaps. Returns whether some were in one.
    fn fill(&mut self, start: u32, end: u32) -> bool {
        let Some(at) = self
            .gaps
            .iter()
            .position(|&(from, to)| is_before(start, to) && is_before(from, end))
        else {
            return false;
        };
        let (from, to) = self.gaps.remove(at);
        for (from, to) in [(from, start), (end, to)] {
            if is_before(from, to) && self.gaps.len() < GAPS_MAX {
                self.gaps.push((from, to));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_also_where_numbers_wrap() {
        for start in [0_u32, u32::MAX - 150, 1 << 31] {
            let mut direction = Direction::default();
            let mut place = |at: u32, numbers| {
                direction.place(start.wrapping_add(at), numbers, numbers > 0, numbers <= 1)
            };
            assert_eq!(place(0, 100), Place::InOrder);
            assert_eq!(place(100, 0), Place::InOrder);
            assert_eq!(place(200, 100), Place::AfterGap);
            assert_eq!(place(100, 50), Place::InGap);
            assert_eq!(place(100, 50), Place::Again);
            assert_eq!(place(150, 50), Place::InGap);
            assert_eq!(place(299, 1), Place::InOrder, "a probe");
            assert_eq!(place(250, 100), Place::Again);
            assert_eq!(place(350, 10), Place::InOrder);
        }
    }
}
