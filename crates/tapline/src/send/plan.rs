//! What would be sent, and how long that would take.

use std::time::Duration;

use super::queue::QueuedPacket;
use super::schedule::{Rate, Schedule};

/// Packets that would be sent, of a dry run.
///
/// ```
/// use std::time::Duration;
/// use tapline::send::{Rate, SendPlan, SendQueue};
///
/// let mut queue = SendQueue::default();
/// queue.push(0, &[0; 60]);
/// queue.push(2_000_000, &[0; 100]);
/// let mut plan = SendPlan::new(Rate::Recorded(2.0));
/// for packet in queue.packets() {
///     plan.add(&packet);
/// }
/// assert_eq!((plan.packets(), plan.bytes()), (2, 160));
/// assert_eq!(plan.duration(), Some(Duration::from_millis(1)));
/// ```
#[derive(Debug)]
pub struct SendPlan {
    schedule: Schedule,
    packets: u64,
    bytes: u64,
    lengths: Option<(usize, usize)>,
    last_ns: u64,
}

impl SendPlan {
    /// No packets yet, at this rate.
    pub fn new(rate: Rate) -> Self {
        Self {
            schedule: Schedule::new(rate, 0),
            packets: 0,
            bytes: 0,
            lengths: None,
            last_ns: 0,
        }
    }

    /// Begins the recorded times anew, as before packets that are sent again ([`Fill::Repeat`](super::Fill::Repeat)).
    pub fn repeat(&mut self) {
        self.schedule.repeat();
    }

    /// Adds the next packet.
    pub fn add(&mut self, packet: &QueuedPacket<'_>) {
        let length = packet.bytes.len();
        self.last_ns = self.schedule.next(length, packet.time_ns);
        self.packets += 1;
        self.bytes += length as u64;
        let (shortest, longest) = self.lengths.unwrap_or((length, length));
        self.lengths = Some((shortest.min(length), longest.max(length)));
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lengths of the shortest and the longest packet; `None` without packets.
    pub fn lengths(&self) -> Option<(usize, usize)> {
        self.lengths
    }

    /// Planned time from the first packet to the last; `None` if they would be sent as fast as possible, or at absolute times.
    pub fn duration(&self) -> Option<Duration> {
        self.schedule
            .is_relative()
            .then(|| Duration::from_nanos(self.last_ns))
    }
}
