//! Receiving replies, errors and transmit time stamps.

use abi::clock::realtime_ns;
use abi::datagram::{Datagram, Queue, QueuedError};
use probe::{COOKIE_BYTES, Classification, IcmpMessage, Prober};
use ring::PacketRing;

use super::state::{Engine, read_clocks};
use super::tx_timestamps::TxTimestamps;
use crate::ping::event::{AnswerMessage, PingEvent};
use crate::ping::socket::{FamilySocket, parse_packet};

/// Maximum datagrams received from a queue at once.
pub(super) const MAX_RECEIVED: u32 = 256;
/// Maximum lead of a time stamp over the clock when it is read. A larger lead means that the clock was set.
const MAX_LEAD_NS: u64 = 1_000_000;
/// Maximum plausible time from our stamp of a probe to the driver's.
const MAX_TX_DELAY_NS: u64 = 1_000_000_000;
/// Length of the sequence number, at the end of the echo header.
const SEQUENCE_BYTES: usize = 2;

/// The latest clock reading, which shows how far time stamps can be trusted.
#[derive(Clone, Copy, Debug, Default)]
struct ClockCheck {
    /// When the clocks were read; `None` before the first message.
    read_ns: Option<u64>,
    /// The wall clock was set since the previous reading. Time stamps of that period may be from either clock.
    was_set: bool,
}

/// The time stamp of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrival {
    wall_ns: Option<u64>,
    /// Stamped on arrival, not when it was read.
    is_by_kernel: bool,
}

impl Arrival {
    /// A message stamped `wall_ns`, read at `read_ns` by the wall clock. Where the kernel does not stamp on arrival, it
    /// stamps when the message is read: at `read_ns` or later (`__sock_recv_timestamp`, net/socket.c).
    #[inline]
    fn new(wall_ns: Option<u64>, read_ns: u64) -> Self {
        Self {
            wall_ns,
            is_by_kernel: wall_ns.is_some_and(|wall_ns| wall_ns < read_ns),
        }
    }
}

/// Whether a raw socket would have dropped the message.
fn is_damaged_ipv6(message: &IcmpMessage<'_>) -> bool {
    match message {
        IcmpMessage::Reply(reply) => !reply.intact && reply.source.is_ipv6(),
        IcmpMessage::Error(error) => !error.intact && error.router.is_ipv6(),
    }
}

impl Engine {
    /// Receives messages while there are any, up to a maximum per queue. Returns how many arrived.
    pub fn receive(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) -> u32 {
        let mut check = ClockCheck::default();
        let mut received = 0;
        self.batcher.read();
        // Ring and sockets are moved out, so that the rest of the engine can be changed meanwhile.
        if let Some(mut ring) = self.ring.take() {
            received += self.receive_from_ring(&mut ring, &mut check, observe);
            self.ring = Some(ring);
        }
        let sockets = std::mem::take(&mut self.sockets);
        for socket in sockets.iter().filter(|socket| socket.receives) {
            received += self.receive_from(socket, &mut check, observe);
        }
        self.sockets = sockets;
        received
    }

    fn receive_from_ring(
        &mut self,
        ring: &mut PacketRing,
        check: &mut ClockCheck,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> u32 {
        let mut received = 0;
        let link_type = ring.interface().link_type;
        while received < MAX_RECEIVED
            && let Some(mut batch) = ring.next_batch()
        {
            for packet in batch.packets() {
                received += 1;
                self.check_clocks(check, observe);
                if let Some(message) = parse_packet(&packet, link_type) {
                    self.damaged_in_ring += u64::from(is_damaged_ipv6(&message));
                    let arrival = Arrival::new(Some(packet.timestamp_ns), u64::MAX);
                    self.classify(&message, arrival, None, *check, observe);
                }
            }
        }
        if received == 0 {
            // An interface that went down keeps the descriptor readable until the error is read. Its probes count as
            // local drops or lost, and it may come up again.
            let _ = ring.take_error();
        }
        received
    }

    fn receive_from(
        &mut self,
        socket: &FamilySocket,
        check: &mut ClockCheck,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> u32 {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut received = 0;
        while received < MAX_RECEIVED {
            let read_ns = self.read_limit_ns();
            let Some(datagram) = socket.receive(Queue::Data, &mut buffer) else {
                break;
            };
            received += 1;
            let bytes = &buffer[..datagram.len];
            self.check_clocks(check, observe);
            if let Some(message) = socket.parse(&datagram, Queue::Data, bytes) {
                let tx_delay_ns = self.tx_delay(socket, &message, check, observe);
                let arrival = Arrival::new(datagram.stamp_ns, read_ns);
                let pending = self.prober.total().pending();
                self.classify(&message, arrival, tx_delay_ns, *check, observe);
                // After the last pending answer, a further read would cost as much as receiving one.
                if pending > 0 && self.prober.total().pending() == 0 {
                    break;
                }
            }
        }
        self.buffer = buffer;
        // Batched replies may have hidden the notification of an error.
        let is_batch = self.batcher.is_enabled() && received > 1;
        if (received == 0 || is_batch) && socket.may_have_errors() {
            received += self.receive_errors(socket, |_| false, check, observe);
        }
        received
    }

    /// Stamps before this wall-clock time were made on arrival. The clock is read only if the kernel is not known to stamp
    /// on arrival.
    #[inline]
    fn read_limit_ns(&self) -> u64 {
        if self.stamps_on_arrival {
            u64::MAX
        } else {
            realtime_ns()
        }
    }

    /// Reads the error queue until `is_enough`: transmit time stamps, and ICMP errors.
    fn receive_errors(
        &mut self,
        socket: &FamilySocket,
        is_enough: impl Fn(&TxTimestamps) -> bool,
        check: &mut ClockCheck,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> u32 {
        let mut buffer = std::mem::take(&mut self.error_buffer);
        let mut received = 0;
        while received < MAX_RECEIVED && !is_enough(&self.tx_timestamps) {
            let read_ns = self.read_limit_ns();
            let Some(datagram) = socket.receive(Queue::Errors, &mut buffer) else {
                break;
            };
            received += 1;
            let bytes = &buffer[..datagram.len];
            self.check_clocks(check, observe);
            if datagram
                .error
                .as_ref()
                .is_some_and(QueuedError::is_time_stamp)
            {
                self.note_tx_timestamp(&datagram, bytes, *check);
            } else if let Some(message) = socket.parse(&datagram, Queue::Errors, bytes) {
                let arrival = Arrival::new(datagram.stamp_ns, read_ns);
                self.classify(&message, arrival, None, *check, observe);
            }
        }
        self.error_buffer = buffer;
        received
    }

    /// Notes the transmit time stamp of a probe. The kernel returns the packet, which ends with the payload.
    fn note_tx_timestamp(&mut self, datagram: &Datagram, packet: &[u8], check: ClockCheck) {
        let payload_bytes = COOKIE_BYTES + self.prober.filler().len();
        let Some((head, payload)) =
            (packet.len().checked_sub(payload_bytes)).and_then(|at| packet.split_at_checked(at))
        else {
            return;
        };
        let Some(sequence) = head.last_chunk::<SEQUENCE_BYTES>() else {
            return;
        };
        let sequence = u16::from_be_bytes(*sequence);
        let Some((probe, stamp_ns)) = self.prober.identify(sequence, payload) else {
            return;
        };
        let sent_ns = datagram.sent_ns.filter(|_| !check.was_set);
        let sent_ns = sent_ns.and_then(|wall_ns| self.run_ns(wall_ns));
        let delay_ns = sent_ns.and_then(|sent_ns| sent_ns.checked_sub(stamp_ns));
        if let Some(delay_ns) = delay_ns.filter(|delay_ns| *delay_ns < MAX_TX_DELAY_NS) {
            self.tx_timestamps.note(probe, delay_ns as u32);
        }
    }

    /// Classifies and counts a message. `tx_delay_ns` of its round trip passed before its probe was transmitted.
    fn classify(
        &mut self,
        message: &IcmpMessage<'_>,
        arrival: Arrival,
        tx_delay_ns: Option<u32>,
        check: ClockCheck,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        let wall_ns = arrival.wall_ns;
        let stamp_ns =
            (wall_ns.filter(|_| !check.was_set)).and_then(|wall_ns| self.run_ns(wall_ns));
        // A message that arrived before the clock reading arrived before now.
        let now_ns = match check.read_ns {
            Some(read_ns) if stamp_ns.is_some_and(|stamp_ns| stamp_ns <= read_ns) => read_ns,
            _ => self.now_ns(),
        };
        let stamp_ns = stamp_ns.filter(|stamp_ns| *stamp_ns <= now_ns + MAX_LEAD_NS);
        let delay_ns = tx_delay_ns.unwrap_or(0).into();
        let stamp_ns = stamp_ns.map(|stamp_ns| stamp_ns.saturating_sub(delay_ns));
        let class = self.prober.received(message, stamp_ns, now_ns);
        if let Classification::Received {
            rtt_ns: Some(_), ..
        } = class
        {
            self.tx_counts.count(tx_delay_ns.is_some());
            self.rx_counts.count(arrival.is_by_kernel);
        }
        let event = PingEvent::Answer {
            class,
            message: AnswerMessage::from(message),
            wall_ns,
        };
        observe(event, &self.prober);
    }

    /// The time from our stamp of the answered probe to the driver's; `None` if unknown.
    fn tx_delay(
        &mut self,
        socket: &FamilySocket,
        message: &IcmpMessage<'_>,
        check: &mut ClockCheck,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> Option<u32> {
        let IcmpMessage::Reply(reply) = message else {
            return None;
        };
        if let Some(target) = Prober::claimed_target(reply.payload)
            && self.tx_timestamps.is_tracked(target, reply.sequence)
            && let Some((probe, _)) = self.prober.identify(reply.sequence, reply.payload)
        {
            if self.tx_timestamps.is_pending(probe) {
                // The probe was transmitted before its reply arrived, so its time stamp is in the queue.
                let is_known = |timestamps: &TxTimestamps| timestamps.delay(probe).is_some();
                self.receive_errors(socket, is_known, check, observe);
            }
            return self.tx_timestamps.delay(probe);
        }
        None
    }

    /// Reads the clocks once per call of `receive`.
    fn check_clocks(
        &mut self,
        check: &mut ClockCheck,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) {
        if check.read_ns.is_some() {
            return;
        }
        let reading = read_clocks();
        check.read_ns = Some(reading.after_ns.saturating_sub(self.start_ns));
        if let Some(by_ns) = self.clock.update(reading) {
            check.was_set = true;
            observe(PingEvent::ClockStep { by_ns }, &self.prober);
        }
    }

    /// A wall-clock time in nanoseconds since the start of the run.
    fn run_ns(&self, wall_ns: u64) -> Option<u64> {
        self.clock.monotonic_ns(wall_ns).checked_sub(self.start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_the_read_is_not_one_of_the_arrival() {
        for (wall_ns, read_ns, is_by_kernel) in [
            (Some(999), 1000, true),
            (Some(1000), 1000, false),
            (Some(1001), 1000, false),
            (Some(1001), u64::MAX, true),
            (None, u64::MAX, false),
        ] {
            let arrival = Arrival::new(wall_ns, read_ns);
            assert_eq!(arrival.is_by_kernel, is_by_kernel, "{wall_ns:?} {read_ns}");
        }
    }
}
