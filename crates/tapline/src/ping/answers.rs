//! Taking what has come.

use abi::datagram::{Datagram, Queue, QueuedError};
use probe::{COOKIE_BYTES, Message, Prober, Verdict};
use ring::PacketRing;

use super::channel::Channel;
use super::departures::Departures;
use super::event::{Event, Observer};
use super::pinger::{Pinger, look};
use super::ring::read;

/// Datagrams taken from a queue at once at most.
pub(super) const MAX_TAKEN: u32 = 256;
/// How far a time stamp may lie ahead of the clock when it is read. Beyond, the clock was set.
const MAX_AHEAD_NS: u64 = 1_000_000;
/// Longest way from a probe's stamp to the driver that is believed.
const MAX_DEPARTURE_NS: u64 = 1_000_000_000;
/// The sequence number in the header of an echo, from the end of the header.
const SEQUENCE_BYTES: usize = 2;

/// How far the time stamps that are being taken can be trusted.
#[derive(Clone, Copy, Debug, Default)]
struct Trust {
    /// When the clocks were looked at; `None` when they have not been.
    looked_ns: Option<u64>,
    /// The wall clock was set since the last look: of stamps taken around that moment nobody can say by
    /// which clock they are.
    is_lost: bool,
}

/// Whether a message would be no more than a drop of a raw socket.
fn is_damaged_ipv6(message: &Message<'_>) -> bool {
    match message {
        Message::Reply(reply) => !reply.intact && reply.source.is_ipv6(),
        Message::Error(error) => !error.intact && error.router.is_ipv6(),
    }
}

impl Pinger {
    /// Takes answers while there are any, up to a bound for each family; how many came.
    pub(super) fn take_answers(&mut self, observer: &mut impl Observer) -> u32 {
        let mut trust = Trust::default();
        let mut taken = 0;
        self.unread.read();
        // Ring and channels are lent out for the time, so that the rest can be changed beside them.
        if let Some(mut ring) = self.ring.take() {
            taken += self.take_from_ring(&mut ring, &mut trust, observer);
            self.ring = Some(ring);
        }
        let channels = std::mem::take(&mut self.channels);
        for channel in channels.iter().filter(|channel| channel.hears) {
            taken += self.take_from(channel, &mut trust, observer);
        }
        self.channels = channels;
        taken
    }

    fn take_from_ring(
        &mut self,
        ring: &mut PacketRing,
        trust: &mut Trust,
        observer: &mut impl Observer,
    ) -> u32 {
        let mut taken = 0;
        let type_of_link = ring.link().link_type;
        while taken < MAX_TAKEN
            && let Some(mut batch) = ring.next_batch()
        {
            for packet in batch.packets() {
                taken += 1;
                self.look_once(trust, observer);
                if let Some(message) = read(&packet, type_of_link) {
                    self.damaged_in_ring += u64::from(is_damaged_ipv6(&message));
                    self.judge(&message, Some(packet.timestamp_ns), None, *trust, observer);
                }
            }
        }
        if taken == 0 {
            // An interface that went down makes the descriptor readable until this has been taken; its
            // probes are local drops or lost, and it may come up again.
            let _ = ring.take_error();
        }
        taken
    }

    fn take_from(
        &mut self,
        channel: &Channel,
        trust: &mut Trust,
        observer: &mut impl Observer,
    ) -> u32 {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut taken = 0;
        while taken < MAX_TAKEN
            && let Some(datagram) = channel.take(Queue::Data, &mut buffer)
        {
            taken += 1;
            let bytes = &buffer[..datagram.len];
            self.look_once(trust, observer);
            if let Some(message) = channel.read(&datagram, Queue::Data, bytes) {
                let departure_ns = self.departure(channel, &message, trust, observer);
                let stamp_ns = datagram.stamp_ns;
                let awaited = self.prober.total().pending();
                self.judge(&message, stamp_ns, departure_ns, *trust, observer);
                // Where this was the last answer that was waited for, a look for more would cost as much as
                // taking it.
                if awaited > 0 && self.prober.total().pending() == 0 {
                    break;
                }
            }
        }
        self.buffer = buffer;
        // Behind answers that have waited together there may be errors, whose sign did not wake.
        let is_group = self.unread.is_patient() && taken > 1;
        if (taken == 0 || is_group) && channel.has_news_of_errors() {
            taken += self.take_errors(channel, |_| false, trust, observer);
        }
        taken
    }

    /// Takes what the queue of errors tells, until `is_enough`: when probes left, and errors about them.
    fn take_errors(
        &mut self,
        channel: &Channel,
        is_enough: impl Fn(&Departures) -> bool,
        trust: &mut Trust,
        observer: &mut impl Observer,
    ) -> u32 {
        let mut buffer = std::mem::take(&mut self.side_buffer);
        let mut taken = 0;
        while taken < MAX_TAKEN
            && !is_enough(&self.departures)
            && let Some(datagram) = channel.take(Queue::Errors, &mut buffer)
        {
            taken += 1;
            let bytes = &buffer[..datagram.len];
            self.look_once(trust, observer);
            if datagram
                .error
                .as_ref()
                .is_some_and(QueuedError::is_time_stamp)
            {
                self.note_departure(&datagram, bytes, *trust);
            } else if let Some(message) = channel.read(&datagram, Queue::Errors, bytes) {
                self.judge(&message, datagram.stamp_ns, None, *trust, observer);
            }
        }
        self.side_buffer = buffer;
        taken
    }

    /// Notes when a probe left: the kernel gives back the packet, which ends with the payload.
    fn note_departure(&mut self, datagram: &Datagram, packet: &[u8], trust: Trust) {
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
        let sent_ns = datagram.sent_ns.filter(|_| !trust.is_lost);
        let sent_ns = sent_ns.and_then(|wall_ns| self.in_run(wall_ns));
        let delay_ns = sent_ns.and_then(|sent_ns| sent_ns.checked_sub(stamp_ns));
        if let Some(delay_ns) = delay_ns.filter(|delay_ns| *delay_ns < MAX_DEPARTURE_NS) {
            self.departures.note(probe, delay_ns as u32);
        }
    }

    /// Judges and counts a message that came at `wall_ns`, of whose time `departure_ns` went by before its probe left.
    fn judge(
        &mut self,
        message: &Message<'_>,
        wall_ns: Option<u64>,
        departure_ns: Option<u32>,
        trust: Trust,
        observer: &mut impl Observer,
    ) {
        let stamp_ns =
            (wall_ns.filter(|_| !trust.is_lost)).and_then(|wall_ns| self.in_run(wall_ns));
        // What came before the clocks were looked at came before now.
        let now_ns = match trust.looked_ns {
            Some(looked_ns) if stamp_ns.is_some_and(|stamp_ns| stamp_ns <= looked_ns) => looked_ns,
            _ => self.now_ns(),
        };
        let stamp_ns = stamp_ns.filter(|stamp_ns| *stamp_ns <= now_ns + MAX_AHEAD_NS);
        let before_ns = departure_ns.unwrap_or(0).into();
        let stamp_ns = stamp_ns.map(|stamp_ns| stamp_ns.saturating_sub(before_ns));
        let verdict = self.prober.received(message, stamp_ns, now_ns);
        if let Verdict::Received {
            rtt_ns: Some(_), ..
        } = verdict
        {
            match departure_ns {
                Some(_) => self.departures.by_kernel += 1,
                None => self.departures.by_program += 1,
            }
        }
        let message = *message;
        let event = Event::Answer {
            verdict,
            message,
            wall_ns,
        };
        observer.event(&event, &self.prober);
    }

    /// How long after its own stamp the probe left that `message` answers; `None` where only that is known.
    fn departure(
        &mut self,
        channel: &Channel,
        message: &Message<'_>,
        trust: &mut Trust,
        observer: &mut impl Observer,
    ) -> Option<u32> {
        let Message::Reply(reply) = message else {
            return None;
        };
        if let Some(target) = Prober::claimed_target(reply.payload)
            && self.departures.has_asked(target, reply.sequence)
            && let Some((probe, _)) = self.prober.identify(reply.sequence, reply.payload)
        {
            if self.departures.is_awaited(probe) {
                // It left before its answer came, so what the kernel tells of that is in the queue.
                let is_known = |departures: &Departures| departures.delay(probe).is_some();
                self.take_errors(channel, is_known, trust, observer);
            }
            return self.departures.delay(probe);
        }
        None
    }

    /// Looks at the clocks, once for all that is taken at a time.
    fn look_once(&mut self, trust: &mut Trust, observer: &mut impl Observer) {
        if trust.looked_ns.is_some() {
            return;
        }
        let look = look();
        trust.looked_ns = Some(look.after_ns.saturating_sub(self.start_ns));
        if let Some(by_ns) = self.clock.look(look) {
            trust.is_lost = true;
            observer.event(&Event::ClockStep { by_ns }, &self.prober);
        }
    }

    /// A time of the wall clock in nanoseconds since the run began.
    fn in_run(&self, wall_ns: u64) -> Option<u64> {
        self.clock.monotonic_ns(wall_ns).checked_sub(self.start_ns)
    }
}
