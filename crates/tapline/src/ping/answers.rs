//! Taking what has come.

use abi::clock::monotonic_ns;
use abi::datagram::{Datagram, Queue, QueuedError};
use probe::{COOKIE_BYTES, Message, Reply};

use super::channel::Channel;
use super::departures::Departures;
use super::event::{Event, Observer};
use super::pinger::{Pinger, look};

/// Datagrams taken from a queue at once at most.
const MAX_TAKEN: u32 = 256;
/// How far a time stamp may lie ahead of the clock when it is read. Beyond, the clock was set.
const MAX_AHEAD_NS: u64 = 1_000_000;
/// Longest way from a probe's stamp to the driver that is believed.
const MAX_DEPARTURE_NS: u64 = 1_000_000_000;
/// The sequence number in the header of an echo, from the end of the header.
const SEQUENCE_BYTES: usize = 2;

/// How far the time stamps that are being taken can be trusted.
#[derive(Clone, Copy, Debug, Default)]
struct Trust {
    has_looked: bool,
    /// The wall clock was set since the last look: of stamps taken around that moment nobody can say by
    /// which clock they are.
    is_lost: bool,
}

impl Pinger {
    /// Takes answers while there are any, up to a bound for each family; how many came.
    pub(super) fn take_answers(&mut self, observer: &mut impl Observer) -> u32 {
        let mut trust = Trust::default();
        // The channels are lent out for the time, so that the rest can be changed beside them.
        let channels = std::mem::take(&mut self.channels);
        let taken = channels
            .iter()
            .map(|channel| self.take_from(channel, &mut trust, observer));
        let taken = taken.sum();
        self.channels = channels;
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
            self.judge(channel, (&datagram, Queue::Data), bytes, trust, observer);
        }
        self.buffer = buffer;
        if taken == 0 && channel.has_news_of_errors() {
            taken = self.take_errors(channel, |_| false, trust, observer);
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
            if datagram
                .error
                .as_ref()
                .is_some_and(QueuedError::is_time_stamp)
            {
                self.look_once(trust, observer);
                self.note_departure(&datagram, &buffer[..datagram.len], *trust);
            } else {
                self.judge(
                    channel,
                    (&datagram, Queue::Errors),
                    &buffer[..datagram.len],
                    trust,
                    observer,
                );
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

    fn judge(
        &mut self,
        channel: &Channel,
        (datagram, queue): (&Datagram, Queue),
        bytes: &[u8],
        trust: &mut Trust,
        observer: &mut impl Observer,
    ) {
        self.look_once(trust, observer);
        let Some(message) = channel.read(datagram, queue, bytes) else {
            return;
        };
        let departure_ns = match &message {
            Message::Reply(reply) => self.departure(channel, reply, trust, observer),
            Message::Error(_) => 0,
        };
        let now_ns = monotonic_ns().saturating_sub(self.start_ns);
        let stamp_ns = (datagram.stamp_ns.filter(|_| !trust.is_lost))
            .and_then(|wall_ns| self.in_run(wall_ns))
            .filter(|stamp_ns| *stamp_ns <= now_ns + MAX_AHEAD_NS);
        let stamp_ns = stamp_ns.map(|stamp_ns| stamp_ns.saturating_sub(departure_ns));
        let verdict = self.prober.received(&message, stamp_ns, now_ns);
        let event = Event::Answer {
            verdict,
            message,
            wall_ns: datagram.stamp_ns,
        };
        observer.event(&event, &self.prober);
    }

    /// How long after its own stamp the probe left that `reply` answers; 0 where only that is known.
    fn departure(
        &mut self,
        channel: &Channel,
        reply: &Reply<'_>,
        trust: &mut Trust,
        observer: &mut impl Observer,
    ) -> u64 {
        let mut known = None;
        if self.departures.is_wanted()
            && let Some((probe, _)) = self.prober.identify(reply.sequence, reply.payload)
        {
            // The probe left before its answer came, so what the kernel tells of that is in the queue.
            let is_known = |departures: &Departures| departures.delay(probe).is_some();
            self.take_errors(channel, is_known, trust, observer);
            known = self.departures.delay(probe);
        }
        match known {
            Some(_) => self.departures.by_kernel += 1,
            None => self.departures.by_program += 1,
        }
        known.unwrap_or(0).into()
    }

    /// Looks at the clocks, once for all that is taken at a time.
    fn look_once(&mut self, trust: &mut Trust, observer: &mut impl Observer) {
        if std::mem::replace(&mut trust.has_looked, true) {
            return;
        }
        if let Some(by_ns) = self.clock.look(look()) {
            trust.is_lost = true;
            observer.event(&Event::ClockStep { by_ns }, &self.prober);
        }
    }

    /// A time of the wall clock in nanoseconds since the run began.
    fn in_run(&self, wall_ns: u64) -> Option<u64> {
        self.clock.monotonic_ns(wall_ns).checked_sub(self.start_ns)
    }
}
