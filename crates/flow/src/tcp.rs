//! One direction of a TCP connection, and the connection.
//!
//! A segment that does not advance the sequence number was sent again or came late. What was seen before is a retransmission;
//! what fills a gap is one, too, if it follows duplicate acknowledgements or comes later than reordering explains: a round-trip
//! time after the segment with the highest number. Wireshark decides by the same rules, with which tests compare.

use abi::prefetch::prefetch_value;

use crate::decode::TcpSegment;
use crate::flow::{TcpFlow, TcpState};

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// How late a segment can come by reordering, if the round-trip time is unknown.
const REORDERING_NS: u64 = 3_000_000;

/// A retransmission follows duplicate acknowledgements within this time.
const FAST_NS: u64 = 20_000_000;

/// Gaps that are remembered in a direction: beyond these, the oldest counts as filled.
const GAPS: usize = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The highest sequence number seen, plus one, and when it was seen first.
    next: u32,
    next_ns: u64,
    acknowledged: u32,
    acknowledged_ns: u64,
    /// Sequence number of its SYN, as its first segment shows it.
    initial: u32,
    gaps: [(u32, u32); GAPS],
    window: u16,
    gap_count: u8,
    duplicates: u8,
    flags: u8,
    has_sent: bool,
    has_acknowledged: bool,
    retransmissions: u32,
    out_of_order: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Handshake {
    /// Nothing of it was seen.
    #[default]
    Unseen,
    Syn,
    SynAck,
    Done,
}

/// A TCP connection.
///
/// The caller decides which segments belong to it, and which end is the initiator: [`Self::is_answer`] helps with the first one.
/// Segments from the initiator are forward, others backward.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnection {
    /// The first is of the initiator.
    directions: [Direction; 2],
    handshake: Handshake,
    is_reset: bool,
    /// Whether an answer was seen after its SYN, whose time is known.
    is_answered: bool,
    /// Time of the last SYN.
    syn_ns: u64,
    /// From the SYN to the first answer.
    responder_rtt_ns: u64,
    rtt_ns: u64,
}

/// Where the sequence numbers of a segment are in those that its sender has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceOrder {
    /// Next, or it has no sequence numbers of its own: acknowledgements, keep-alives, probes of a closed window, resets.
    InOrder,
    /// Behind numbers that were not seen.
    AfterGap,
    /// It fills a gap, sooner than a retransmission could.
    OutOfOrder,
    /// Sent again: its numbers were seen before, or fill a gap later than reordering explains.
    Retransmission,
}

impl TcpConnection {
    /// Whether the segment's receiver is the initiator, as far as a first segment tells.
    pub fn is_answer(header: &TcpSegment) -> bool {
        header.flags & (SYN | ACK) == SYN | ACK
    }

    /// Whether a segment of this direction begins another connection between the same ports.
    #[inline]
    pub fn is_another(&self, backward: bool, header: &TcpSegment) -> bool {
        let own = &self.directions[usize::from(backward)];
        // The SYN may have been overtaken by what follows it.
        header.flags & (SYN | ACK | RST) == SYN && own.has_sent && own.initial != header.sequence
    }

    /// Takes a segment, at a time in nanoseconds since 1970.
    #[inline]
    pub fn add(&mut self, backward: bool, header: &TcpSegment, now_ns: u64) -> SequenceOrder {
        self.shake_hands(backward, header, now_ns);
        let rtt_ns = self.rtt_ns;
        let [forward, reverse] = &mut self.directions;
        let (own, other) = if backward {
            (reverse, forward)
        } else {
            (forward, reverse)
        };
        own.flags |= header.flags;
        if header.flags & RST != 0 {
            self.is_reset = true;
            return SequenceOrder::InOrder;
        }
        own.add(other, header, now_ns, rtt_ns)
    }

    /// From the last SYN to the acknowledgement of its answer, nanoseconds: the round-trip time between the ends.
    pub fn rtt_ns(&self) -> Option<u64> {
        let is_known = self.handshake == Handshake::Done && self.is_answered;
        is_known.then_some(self.rtt_ns)
    }

    /// From the SYN to its first answer: the round-trip time between here and the responder.
    pub fn responder_rtt_ns(&self) -> Option<u64> {
        self.is_answered.then_some(self.responder_rtt_ns)
    }

    fn shake_hands(&mut self, backward: bool, header: &TcpSegment, now_ns: u64) {
        match (header.flags & (SYN | ACK | RST), backward) {
            (SYN, false) if self.handshake != Handshake::Done => {
                self.handshake = self.handshake.max(Handshake::Syn);
                self.syn_ns = now_ns;
            }
            (flags, true) if flags == SYN | ACK && self.handshake == Handshake::Syn => {
                self.handshake = Handshake::SynAck;
                // A SYN that follows was sent again, and may have another answer. Packets without a time have none.
                self.is_answered = self.syn_ns > 0;
                self.responder_rtt_ns = now_ns.saturating_sub(self.syn_ns);
            }
            (flags, true) if flags == SYN | ACK && self.handshake == Handshake::Unseen => {
                // The SYN was not seen.
                self.handshake = Handshake::SynAck;
            }
            (ACK, false) if self.handshake == Handshake::SynAck => {
                self.handshake = Handshake::Done;
                if self.is_answered {
                    self.rtt_ns = now_ns.saturating_sub(self.syn_ns);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Whether both ends have closed it, or one has reset it.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_reset || self.directions.iter().all(|own| own.flags & FIN != 0)
    }

    /// Has the CPU fetch what a segment needs.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let [one, other] = &self.directions;
        prefetch_value(&one.next);
        prefetch_value(&other.next);
        prefetch_value(&self.syn_ns);
    }

    fn state(&self) -> TcpState {
        let closed = self.directions.iter().filter(|own| own.flags & FIN != 0);
        match (self.is_reset, closed.count(), self.handshake) {
            (true, ..) => TcpState::Reset,
            (_, 2, _) => TcpState::Closed,
            (_, 1, _) => TcpState::HalfClosed,
            (.., Handshake::Syn) => TcpState::SynSent,
            (.., Handshake::SynAck) => TcpState::SynReceived,
            _ => TcpState::Established,
        }
    }

    pub(crate) fn export(&self) -> TcpFlow {
        let each = |of: fn(&Direction) -> u32| self.directions.each_ref().map(of);
        TcpFlow {
            state: self.state(),
            flags: self.directions.each_ref().map(|own| own.flags),
            retransmissions: each(|own| own.retransmissions),
            out_of_order: each(|own| own.out_of_order),
            rtt_ns: self.rtt_ns(),
            responder_rtt_ns: self.responder_rtt_ns(),
        }
    }

    /// Begins to count anew.
    pub(crate) fn clear_counters(&mut self) {
        for own in &mut self.directions {
            own.retransmissions = 0;
            own.out_of_order = 0;
        }
    }
}

impl Handshake {
    fn max(self, other: Self) -> Self {
        if self as u8 > other as u8 {
            self
        } else {
            other
        }
    }
}

/// Whether a sequence number is before another one.
#[inline]
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b).cast_signed()) < 0
}

impl Direction {
    #[inline]
    fn add(
        &mut self,
        other: &Self,
        header: &TcpSegment,
        now_ns: u64,
        rtt_ns: u64,
    ) -> SequenceOrder {
        let TcpSegment {
            sequence,
            data_bytes,
            flags,
            ..
        } = *header;
        let controls = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        let end = sequence.wrapping_add(data_bytes).wrapping_add(controls);
        let is_probe = data_bytes == 1
            && self.has_sent
            && sequence == self.next
            && other.has_acknowledged
            && other.window == 0;
        let mut order = SequenceOrder::InOrder;
        if !self.has_sent {
            self.has_sent = true;
            self.initial = sequence.wrapping_sub(u32::from(flags & SYN == 0));
            self.advance(end, now_ns);
        } else if data_bytes + controls > 0 && !is_probe {
            order = self.add_sequence(other, (sequence, end), header, now_ns, rtt_ns);
        } else if !is_probe && before(self.next, sequence) {
            // What comes before this acknowledgement was not seen.
            self.remember_gap(self.next, sequence);
            self.advance(end, now_ns);
            order = SequenceOrder::AfterGap;
        }
        if flags & ACK != 0 {
            self.acknowledge(header, now_ns);
        }
        self.window = header.window;
        order
    }

    /// A segment that takes up sequence numbers.
    #[inline]
    fn add_sequence(
        &mut self,
        other: &Self,
        (sequence, end): (u32, u32),
        header: &TcpSegment,
        now_ns: u64,
        rtt_ns: u64,
    ) -> SequenceOrder {
        let order = if sequence == self.next {
            // What is acknowledged was seen by its receiver before.
            if other.acknowledges(sequence, header.data_bytes) {
                SequenceOrder::Retransmission
            } else {
                SequenceOrder::InOrder
            }
        } else if before(sequence, self.next) {
            self.add_below(other, (sequence, end), header, now_ns, rtt_ns)
        } else {
            self.remember_gap(self.next, sequence);
            SequenceOrder::AfterGap
        };
        self.retransmissions += u32::from(order == SequenceOrder::Retransmission);
        self.out_of_order += u32::from(order == SequenceOrder::OutOfOrder);
        if before(self.next, end) || order == SequenceOrder::AfterGap {
            self.advance(end, now_ns);
        }
        order
    }

    /// A segment that begins below the highest sequence number.
    #[cold]
    fn add_below(
        &mut self,
        other: &Self,
        (sequence, end): (u32, u32),
        header: &TcpSegment,
        now_ns: u64,
        rtt_ns: u64,
    ) -> SequenceOrder {
        let data_bytes = header.data_bytes;
        let is_control = header.flags & (SYN | FIN) != 0;
        let is_one_less = sequence == self.next.wrapping_sub(1);
        // Keep-alives repeat a byte.
        if is_one_less && data_bytes == 1 && !is_control {
            return SequenceOrder::InOrder;
        }
        let fills_gap = self.fill_gap(sequence, end);
        if other.acknowledges(sequence, data_bytes) {
            return SequenceOrder::Retransmission;
        }
        // New data behind the byte of a probe.
        if is_one_less && data_bytes > 1 {
            return SequenceOrder::InOrder;
        }
        let is_fast = other.duplicates >= 2
            && other.acknowledged == sequence
            && now_ns.saturating_sub(other.acknowledged_ns) < FAST_NS;
        let late_ns = now_ns.saturating_sub(self.next_ns);
        let reordering_ns = if rtt_ns > 0 { rtt_ns } else { REORDERING_NS };
        if fills_gap && !is_fast && late_ns < reordering_ns {
            SequenceOrder::OutOfOrder
        } else {
            SequenceOrder::Retransmission
        }
    }

    /// Whether all of `data_bytes` from `sequence` on are acknowledged.
    #[inline]
    fn acknowledges(&self, sequence: u32, data_bytes: u32) -> bool {
        let end = sequence.wrapping_add(data_bytes);
        data_bytes > 0 && self.has_acknowledged && !before(self.acknowledged, end)
    }

    #[inline]
    fn advance(&mut self, next: u32, now_ns: u64) {
        self.next = next;
        self.next_ns = now_ns;
    }

    #[inline]
    fn acknowledge(&mut self, header: &TcpSegment, now_ns: u64) {
        let is_new = !self.has_acknowledged || header.acknowledgement != self.acknowledged;
        let is_duplicate = !is_new
            && header.data_bytes == 0
            && header.flags & (SYN | FIN) == 0
            && header.window != 0
            && header.window == self.window
            && header.sequence == self.next;
        if is_new {
            self.duplicates = 0;
        } else if is_duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        self.has_acknowledged = true;
        self.acknowledged = header.acknowledgement;
        self.acknowledged_ns = now_ns;
    }

    fn remember_gap(&mut self, begin: u32, end: u32) {
        if usize::from(self.gap_count) == GAPS {
            self.gaps.rotate_left(1);
            self.gap_count -= 1;
        }
        self.gaps[usize::from(self.gap_count)] = (begin, end);
        self.gap_count += 1;
    }

    /// Takes `sequence..end` out of the gaps; returns whether any of it was missing.
    fn fill_gap(&mut self, sequence: u32, end: u32) -> bool {
        let gaps = std::mem::take(&mut self.gaps);
        let count = std::mem::take(&mut self.gap_count);
        let mut fills = false;
        for &(from, to) in &gaps[..usize::from(count)] {
            if !before(sequence, to) || !before(from, end) {
                self.remember_gap(from, to);
                continue;
            }
            fills = true;
            if before(from, sequence) {
                self.remember_gap(from, sequence);
            }
            if before(end, to) {
                self.remember_gap(end, to);
            }
        }
        fills
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_known_also_where_numbers_wrap() {
        for start in [0_u32, u32::MAX - 150, 1 << 31] {
            let mut connection = TcpConnection::default();
            let mut order = |at: u32, data_bytes| {
                let segment = TcpSegment {
                    sequence: start.wrapping_add(at),
                    acknowledgement: 0,
                    window: 100,
                    flags: 0,
                    data_bytes,
                };
                connection.add(false, &segment, 1_000_000)
            };
            assert_eq!(order(0, 100), SequenceOrder::InOrder);
            assert_eq!(order(100, 0), SequenceOrder::InOrder);
            assert_eq!(order(200, 100), SequenceOrder::AfterGap);
            assert_eq!(order(100, 50), SequenceOrder::OutOfOrder);
            assert_eq!(order(100, 50), SequenceOrder::Retransmission);
            assert_eq!(order(150, 50), SequenceOrder::OutOfOrder);
            assert_eq!(order(299, 1), SequenceOrder::InOrder, "a keep-alive");
            assert_eq!(order(250, 100), SequenceOrder::Retransmission);
            assert_eq!(order(350, 10), SequenceOrder::InOrder);
        }
    }

    #[test]
    fn a_syn_that_is_sent_again_after_its_answer_leaves_the_time_of_the_answer() {
        let mut connection = TcpConnection::default();
        let mut add = |backward, flags, sequence, now_ns| {
            let segment = TcpSegment {
                sequence,
                acknowledgement: 0,
                window: 100,
                flags,
                data_bytes: 0,
            };
            connection.add(backward, &segment, now_ns);
        };
        add(false, SYN, 7, 1_000);
        add(true, SYN | ACK, 9, 1_400);
        // The answer was lost behind the capture.
        add(false, SYN, 7, 5_000);
        add(true, SYN | ACK, 9, 5_300);
        add(false, ACK, 8, 5_900);
        assert_eq!(connection.responder_rtt_ns(), Some(400));
        assert_eq!(connection.rtt_ns(), Some(900));
    }

    #[test]
    fn a_syn_that_was_overtaken_begins_no_other_connection() {
        let mut connection = TcpConnection::default();
        let segment = |flags, sequence| TcpSegment {
            sequence,
            acknowledgement: 0,
            window: 100,
            flags,
            data_bytes: 0,
        };
        connection.add(false, &segment(ACK, 0), 1);
        assert!(!connection.is_another(false, &segment(SYN, u32::MAX)));
        assert!(connection.is_another(false, &segment(SYN, 7)));
        let order = connection.add(false, &segment(SYN, u32::MAX), 2);
        assert_eq!(order, SequenceOrder::Retransmission);
    }
}
