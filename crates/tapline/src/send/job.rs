//! An open send job.

use std::io;
use std::time::Duration;

use abi::clock::monotonic_ns;
use netlink::Netlink;
use probe::Histogram;

use super::error::SendError;
use super::lane::{self, DeviceCounter, Lane, LiveSent};
use super::one_cpu::OneCpu;
use super::options::{SendOptions, SendPath};
use super::pacer::{Pacer, is_stopped};
use super::queue::SendQueue;
use super::schedule::Schedule;
use super::source::{Fill, FilledQueues, SourceError};
use super::summary::SendSummary;
use crate::precise_wakeup::PreciseWakeup;
use crate::stop::{Stop, Stopper};

/// Batches between two looks at the stop, at full speed.
const BATCHES_PER_LOOK: u32 = 32;

/// Packets that carry the same send time, at most.
const STAMPED_BATCH: usize = 64;

/// An open send job.
#[must_use = "finish returns what became of the packets"]
pub struct Sender {
    options: SendOptions,
    netlink: Netlink,
    lane: Lane,
    device: DeviceCounter,
    second: Option<(Lane, DeviceCounter)>,
    schedule: Option<Schedule>,
    /// The planned time of the next packet, if it is known already.
    planned: Option<u64>,
    pacer: Pacer,
    stop: Stop,
    live: LiveSent,
    first_ns: Option<u64>,
    lateness: Histogram,
    is_stopped: bool,
    /// The packet that is injected.
    single: SendQueue,
}

impl SendOptions {
    /// Opens the job.
    ///
    /// # Errors
    /// [`SendError`]: there is no such interface, it is down, it carries a default route, or a privilege is missing.
    /// # Privileges
    /// `CAP_NET_RAW`; `CAP_SYS_ADMIN` to enter a network namespace.
    pub fn open(self) -> Result<Sender, SendError> {
        match self.namespace.clone() {
            Some(namespace) => namespace.run(|| Sender::open(self))?,
            None => Sender::open(self),
        }
    }
}

impl Sender {
    /// Opens the job in the network namespace of the calling thread.
    pub(super) fn open(mut options: SendOptions) -> Result<Self, SendError> {
        let mut netlink = Netlink::open()?;
        let live = LiveSent::default();
        let mut second = None;
        if let Some(name) = &options.second_link {
            // A call returns when the device has its packets, so that those of the other interface come behind them.
            if options.path == SendPath::Auto {
                options.path = SendPath::Bypass;
            }
            let link = lane::find(&mut netlink, name, &options)?;
            let lane = Lane::open(&options, name, &link, 0, live.clone())?;
            second = Some((lane, DeviceCounter::start(&link)));
        }
        let link = lane::find(&mut netlink, &options.link, &options)?;
        Ok(Self {
            lane: Lane::open(&options, &options.link, &link, 0, live.clone())?,
            device: DeviceCounter::start(&link),
            second,
            netlink,
            schedule: None,
            planned: None,
            pacer: Pacer::new(),
            stop: Stop::new().map_err(|source| SendError::Wait { source })?,
            live,
            first_ns: None,
            lateness: Histogram::default(),
            is_stopped: false,
            single: SendQueue::default(),
            options,
        })
    }

    /// Uses a stop of the caller instead of that of [`stopper`](Self::stopper).
    pub fn stop_with(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Stops the job from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// Counters for other threads.
    pub fn live(&self) -> LiveSent {
        self.live.clone()
    }

    /// Sends one packet now, whatever the rate.
    ///
    /// # Errors
    /// [`SendError`]; the account is still true.
    pub fn inject(&mut self, frame: &[u8]) -> Result<(), SendError> {
        let mut queue = std::mem::take(&mut self.single);
        queue.clear();
        queue.push(0, frame);
        self.first_ns.get_or_insert_with(monotonic_ns);
        let result = self.lane.send(&queue, 0, 1);
        self.single = queue;
        result
    }

    /// Sends the packets of `queue` at the rate of the job. Several queues continue one schedule. Returns whether
    /// all were sent: not if the job was stopped, or at its packet limit.
    ///
    /// # Errors
    /// [`SendError`]; the account is still true.
    pub fn transmit(&mut self, queue: &SendQueue) -> Result<bool, SendError> {
        let _settings = (PreciseWakeup::begin_prompt(), OneCpu::begin());
        self.transmit_next(queue)
    }

    /// Sends the packets of `source`, which fills queues on a thread of its own. Returns whether all were sent.
    ///
    /// # Errors
    /// [`SendError::Source`] if the source failed; packets before that are sent. Otherwise as
    /// [`transmit`](Self::transmit).
    pub fn run<S>(&mut self, source: S) -> Result<bool, SendError>
    where
        S: FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static,
    {
        let wait = |source| SendError::Wait { source };
        let queues = FilledQueues::start(source).map_err(wait)?;
        let _settings = (PreciseWakeup::begin_prompt(), OneCpu::begin());
        loop {
            let filled = queues.next();
            let failed = || SendError::Source("the source of packets panicked".into());
            let (fill, queue) = filled.ok_or_else(failed)?.map_err(SendError::Source)?;
            if fill == Fill::Repeat
                && let Some(schedule) = &mut self.schedule
            {
                schedule.repeat();
            }
            if !self.transmit_next(&queue)? {
                return Ok(false);
            }
            if fill == Fill::End {
                return Ok(true);
            }
            queues.recycle(queue);
        }
    }

    fn transmit_next(&mut self, queue: &SendQueue) -> Result<bool, SendError> {
        let wait = |source| SendError::Wait { source };
        let batch = self.lane.way().batch();
        // The packets of a batch carry one send time.
        let batch = if queue.has_stamps() {
            batch.min(STAMPED_BATCH)
        } else {
            batch
        };
        let mut next = 0;
        let mut batches = 0;
        while next < queue.len() {
            let left = self.left();
            if left == 0 {
                return Ok(false);
            }
            let most = queue.len().min(next + left.min(batch));
            let Some(end) = self.due(queue, next, most).map_err(wait)? else {
                self.is_stopped = true;
                return Ok(false);
            };
            self.send_range(queue, next, end)?;
            next = end;
            batches += 1;
            if batches % BATCHES_PER_LOOK == 0 && is_stopped(&self.stop, 0).map_err(wait)? {
                self.is_stopped = true;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends packets `first..end`, each on its interface.
    fn send_range(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<(), SendError> {
        let Some((second, _)) = &mut self.second else {
            return self.lane.send(queue, first, end);
        };
        let mut at = first;
        while at < end {
            let (is_second, next) = queue.same_interface(at, end);
            let lane = if is_second {
                &mut *second
            } else {
                &mut self.lane
            };
            lane.send(queue, at, next)?;
            at = next;
        }
        Ok(())
    }

    /// Packets left to the limit.
    fn left(&self) -> usize {
        let limit = self.options.packets.unwrap_or(u64::MAX);
        let second = self.second.as_ref();
        let second = second.map_or(0, |(lane, _)| lane.counts.submitted());
        let submitted = self.lane.counts.submitted() + second;
        usize::try_from(limit.saturating_sub(submitted)).unwrap_or(usize::MAX)
    }

    /// Waits for packet `next` of `queue`; returns the end of those that are due then, at most `most`. `None`: the
    /// job was stopped.
    fn due(&mut self, queue: &SendQueue, next: usize, most: usize) -> io::Result<Option<usize>> {
        let rate = self.options.rate;
        let first_ns = *self.first_ns.get_or_insert_with(monotonic_ns);
        let schedule = (self.schedule).get_or_insert_with(|| Schedule::new(rate, first_ns));
        if !schedule.is_paced() {
            return Ok(Some(most));
        }
        let mut plan = |index: usize| {
            let packet = queue.packet(index);
            schedule.next(packet.bytes.len(), packet.time_ns)
        };
        let mut planned = self.planned.take().unwrap_or_else(|| plan(next));
        let Some(now_ns) = self.pacer.wait_until(planned, &self.stop)? else {
            return Ok(None);
        };
        let mut end = next;
        while planned <= now_ns {
            self.lateness.record(now_ns - planned);
            end += 1;
            if end == most {
                // The next packet may be in another queue: it is planned when it comes.
                return Ok(Some(end));
            }
            planned = plan(end);
        }
        self.planned = Some(planned);
        Ok(Some(end))
    }

    /// Ends the job and returns its summary. Waits up to half a second for the device's counters.
    ///
    /// # Errors
    /// None at present.
    pub fn finish(mut self) -> Result<SendSummary, SendError> {
        self.lane.way().drain();
        let path = self.lane.way().path();
        let mut counts = self.lane.counts;
        let mut delivered = self.device.delivered(&mut self.netlink, counts.accepted);
        let second_accepted = self.second.map(|(mut lane, device)| {
            lane.way().drain();
            let accepted = lane.counts.accepted;
            let more = device.delivered(&mut self.netlink, accepted);
            delivered = delivered.zip(more).map(|(first, second)| first + second);
            counts.add(&lane.counts);
            accepted
        });
        let duration_ns = (self.first_ns).map_or(0, |first| counts.last_ns.saturating_sub(first));
        Ok(SendSummary {
            submitted: counts.submitted(),
            accepted: counts.accepted,
            second_accepted,
            bytes: counts.bytes,
            delivered,
            failed: counts.failed,
            skipped: counts.skipped,
            truncated: counts.truncated,
            retries: counts.retries,
            path,
            duration: Duration::from_nanos(duration_ns),
            lateness: self.lateness,
            is_stopped: self.is_stopped,
        })
    }
}
