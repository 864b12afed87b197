//! What would be sent, and how long that would take.

use std::time::Duration;

use netlink::Netlink;

use super::egress::FrameLimit;
use super::error::SendError;
use super::options::{LongFrames, SendOptions};
use super::queue::QueuedPacket;
use super::timing::{Rate, Schedule};

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
///     plan.add(&packet)?;
/// }
/// assert_eq!((plan.packets(), plan.bytes()), (2, 160));
/// assert_eq!(plan.duration(), Some(Duration::from_millis(1)));
/// # Ok::<(), tapline::send::SendError>(())
/// ```
#[derive(Debug)]
pub struct SendPlan {
    schedule: Schedule,
    packets: u64,
    bytes: u64,
    lengths: Option<(usize, usize)>,
    last_ns: u64,
    /// Of the interface and the second one: their names, and the longest frames that they take.
    limits: [Option<(String, FrameLimit)>; 2],
    long_frames: LongFrames,
    skipped: u64,
    truncated: u64,
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
            limits: [None, None],
            long_frames: LongFrames::default(),
            skipped: 0,
            truncated: 0,
        }
    }

    /// Treats frames above the MTU as a job with `options` would. Without this, the plan has all frames as they are.
    ///
    /// # Errors
    /// [`SendError::Link`]: there is no such interface.
    pub fn fit(mut self, options: &SendOptions) -> Result<Self, SendError> {
        let names = [Some(&options.link), options.second_link.as_ref()];
        let limits = || {
            let mut netlink = Netlink::open()?;
            let mut limit = |name: Option<&String>| {
                name.map(|name| {
                    let link = netlink.link_named(name)?;
                    Ok::<_, SendError>((name.clone(), FrameLimit::of(&link)))
                })
                .transpose()
            };
            let [first, second] = names;
            Ok::<_, SendError>([limit(first)?, limit(second)?])
        };
        self.limits = match &options.namespace {
            Some(namespace) => namespace.run(limits)??,
            None => limits()?,
        };
        self.long_frames = options.long_frames;
        Ok(self)
    }

    /// Begins the recorded times anew, as before packets that are sent again ([`Fill::Repeat`](super::Fill::Repeat)).
    pub fn repeat(&mut self) {
        self.schedule.repeat();
    }

    /// Adds the next packet.
    ///
    /// # Errors
    /// [`SendError::TooLong`]: it would end the job.
    pub fn add(&mut self, packet: &QueuedPacket<'_>) -> Result<(), SendError> {
        let limit = &self.limits[usize::from(packet.is_second)];
        let mut length = packet.bytes.len();
        if let Some((link, limit)) = limit
            && let Some(most) = limit.exceeded_by(packet.bytes)
        {
            match self.long_frames {
                LongFrames::Refuse => {
                    return Err(SendError::TooLong {
                        link: link.clone(),
                        bytes: length,
                        most,
                    });
                }
                LongFrames::Skip => {
                    self.skipped += 1;
                    return Ok(());
                }
                LongFrames::Truncate => {
                    self.truncated += 1;
                    length = most;
                }
            }
        }
        self.last_ns = self.schedule.next(length, packet.time_ns);
        self.packets += 1;
        self.bytes += length as u64;
        let (shortest, longest) = self.lengths.unwrap_or((length, length));
        self.lengths = Some((shortest.min(length), longest.max(length)));
        Ok(())
    }

    /// Frames above the MTU that would be skipped. They are not among the packets.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Frames above the MTU that would be cut.
    pub fn truncated(&self) -> u64 {
        self.truncated
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
