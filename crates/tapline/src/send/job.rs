//! An open send job.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abi::clock::monotonic_ns;
use netlink::{IfIndex, Link, Netlink, Route, RouteType};
use probe::Histogram;
use rustix::io::Errno;

use super::error::SendError;
use super::one_cpu::OneCpu;
use super::options::{LongFrames, SendOptions};
use super::pacer::{is_stopped, pause, wait_until};
use super::queue::SendQueue;
use super::schedule::Schedule;
use super::socket::{BATCH, Refusal, SendSocket};
use super::source::{Fill, FilledQueues, SourceError};
use super::summary::SendSummary;
use crate::precise_wakeup::PreciseWakeup;
use crate::stop::{Stop, Stopper};

/// Length of an Ethernet header, and of a VLAN tag.
const HEADER_BYTES: usize = 14;
const TAG_BYTES: usize = 4;

/// How long a packet is offered to a device that has no room for it. A device that drops a packet answers as one
/// that is full.
const MAX_FULL_NS: u64 = 20_000_000;

/// So many packets in a row for which there is no room end the job.
const MAX_REFUSED: u32 = 50;

/// How long to wait for room in a full queue, before the next attempt.
const FULL_WAIT: Duration = Duration::from_micros(50);

/// Batches between two looks at the stop, at full speed.
const BATCHES_PER_LOOK: u32 = 32;

/// How long the device's counters may lag behind.
const COUNTERS_WAIT: Duration = Duration::from_millis(500);
const COUNTERS_INTERVAL: Duration = Duration::from_millis(1);

/// An open send job.
#[must_use = "finish returns what became of the packets"]
pub struct Sender {
    options: SendOptions,
    socket: SendSocket,
    netlink: Netlink,
    ifindex: IfIndex,
    mtu: usize,
    header_bytes: usize,
    /// The device's counter of sent packets at the start.
    sent_at_start: Option<u64>,
    schedule: Option<Schedule>,
    /// The planned time of the next packet, if it is known already.
    planned: Option<u64>,
    stop: Stop,
    live: LiveSent,
    counts: Counts,
    /// Packets in a row for which there was no room.
    refused_in_a_row: u32,
    /// The packet that is injected.
    single: SendQueue,
}

#[derive(Debug, Default)]
struct Counts {
    accepted: u64,
    bytes: u64,
    failed: BTreeMap<i32, u64>,
    skipped: u64,
    truncated: u64,
    retries: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    lateness: Histogram,
    is_stopped: bool,
}

/// Counters of a running job, for any thread.
#[derive(Clone, Debug, Default)]
pub struct LiveSent(Arc<[AtomicU64; 2]>);

impl LiveSent {
    /// Packets that the kernel took so far.
    pub fn packets(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }
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
    pub(super) fn open(options: SendOptions) -> Result<Self, SendError> {
        let mut netlink = Netlink::open()?;
        let link = netlink.link_named(&options.link)?;
        let name = || options.link.clone();
        if link.up == Some(false) {
            return Err(SendError::LinkDown { link: name() });
        }
        let ifindex = link.index.unwrap_or_default();
        if !options.allow_uplink && is_uplink(&mut netlink, &link)? {
            return Err(SendError::Uplink { link: name() });
        }
        let socket = SendSocket::open(ifindex.0, options.path);
        let socket = socket.map_err(|source| SendError::Open {
            link: name(),
            source,
        })?;
        let wait = |source| SendError::Wait { source };
        Ok(Self {
            socket,
            netlink,
            ifindex,
            mtu: link.mtu.unwrap_or(u32::MAX) as usize,
            header_bytes: if is_ethernet(&link) { HEADER_BYTES } else { 0 },
            sent_at_start: sent(&link),
            schedule: None,
            planned: None,
            stop: Stop::new().map_err(wait)?,
            live: LiveSent::default(),
            counts: Counts::default(),
            refused_in_a_row: 0,
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
        let result = self.send_range(&queue, 0, 1);
        self.single = queue;
        result
    }

    /// Sends the packets of `queue` at the rate of the job. Several queues continue one schedule. Returns whether
    /// all were sent: not if the job was stopped, or at its packet limit.
    ///
    /// # Errors
    /// [`SendError`]; the account is still true.
    pub fn transmit(&mut self, queue: &SendQueue) -> Result<bool, SendError> {
        let _settings = (PreciseWakeup::begin(), OneCpu::begin());
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
        let _settings = (PreciseWakeup::begin(), OneCpu::begin());
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
        let mut next = 0;
        let mut batches = 0;
        while next < queue.len() {
            let left = self.left();
            if left == 0 {
                return Ok(false);
            }
            let most = queue.len().min(next + left.min(BATCH));
            let Some(end) = self.due(queue, next, most).map_err(wait)? else {
                self.counts.is_stopped = true;
                return Ok(false);
            };
            self.send_range(queue, next, end)?;
            next = end;
            batches += 1;
            if batches % BATCHES_PER_LOOK == 0 && is_stopped(&self.stop, 0).map_err(wait)? {
                self.counts.is_stopped = true;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Packets left to the limit.
    fn left(&self) -> usize {
        let limit = self.options.packets.unwrap_or(u64::MAX);
        usize::try_from(limit.saturating_sub(self.counts.submitted())).unwrap_or(usize::MAX)
    }

    /// Waits for packet `next` of `queue`; returns the end of those that are due then, at most `most`. `None`: the
    /// job was stopped.
    fn due(&mut self, queue: &SendQueue, next: usize, most: usize) -> io::Result<Option<usize>> {
        let rate = self.options.rate;
        let first_ns = *self.counts.first_ns.get_or_insert_with(monotonic_ns);
        let schedule = (self.schedule).get_or_insert_with(|| Schedule::new(rate, first_ns));
        if !schedule.is_paced() {
            return Ok(Some(most));
        }
        let mut plan = |index: usize| {
            let packet = queue.packet(index);
            schedule.next(packet.bytes.len(), packet.time_ns)
        };
        let mut planned = self.planned.take().unwrap_or_else(|| plan(next));
        let Some(now_ns) = wait_until(planned, &self.stop)? else {
            return Ok(None);
        };
        let mut end = next;
        while planned <= now_ns {
            self.counts.lateness.record(now_ns - planned);
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

    /// Sends packets `first..end`, and treats those that are too long.
    fn send_range(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<(), SendError> {
        self.counts.first_ns.get_or_insert_with(monotonic_ns);
        let mut at = first;
        while at < end {
            let is_long = |&index: &usize| self.most(queue.packet(index).bytes).is_some();
            let long = (at..end).find(is_long).unwrap_or(end);
            self.send_run(queue, at, long)?;
            at = long;
            if at < end {
                self.send_long(queue.packet(at).bytes)?;
                at += 1;
            }
        }
        Ok(())
    }

    /// The longest frame like `frame` that the interface takes, if this one is longer.
    ///
    /// # Source
    /// `packet_snd` and `packet_extra_vlan_len_allowed`, net/packet/af_packet.c.
    #[inline]
    fn most(&self, frame: &[u8]) -> Option<usize> {
        let mut most = self.mtu + self.header_bytes;
        if frame.len() <= most {
            return None;
        }
        if self.header_bytes > 0 && frame.get(12..14) == Some(&[0x81, 0x00]) {
            most += TAG_BYTES;
        }
        (frame.len() > most).then_some(most)
    }

    fn send_long(&mut self, frame: &[u8]) -> Result<(), SendError> {
        let Some(most) = self.most(frame) else {
            return Ok(());
        };
        match self.options.long_frames {
            LongFrames::Refuse => Err(SendError::TooLong {
                link: self.options.link.clone(),
                bytes: frame.len(),
                most,
            }),
            LongFrames::Skip => {
                self.counts.skipped += 1;
                Ok(())
            }
            LongFrames::Truncate => {
                let mut queue = SendQueue::default();
                queue.push(0, &frame[..most]);
                self.counts.truncated += 1;
                self.send_run(&queue, 0, 1)
            }
        }
    }

    /// Sends packets `first..end`. Repeats those for which there was no room.
    fn send_run(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<(), SendError> {
        let mut at = first;
        let mut full_since = None;
        while at < end {
            match self.socket.send(queue, at, end) {
                Ok(sent) => {
                    self.accept(queue, at, at + sent);
                    at += sent;
                    (full_since, self.refused_in_a_row) = (None, 0);
                }
                Err(Refusal::Full) => {
                    let now_ns = monotonic_ns();
                    if now_ns - *full_since.get_or_insert(now_ns) > MAX_FULL_NS {
                        self.fail(Errno::NOBUFS);
                        at += 1;
                        full_since = None;
                        self.refused_in_a_row += 1;
                        if self.refused_in_a_row == MAX_REFUSED {
                            let link = self.options.link.clone();
                            return Err(SendError::Stalled { link });
                        }
                        continue;
                    }
                    self.counts.retries += 1;
                    let waited = self.socket.wait(FULL_WAIT);
                    waited.map_err(|source| SendError::Wait { source })?;
                }
                Err(Refusal::Error(error)) => {
                    self.fail(error);
                    at += 1;
                    if matches!(error, Errno::NETDOWN | Errno::NXIO | Errno::NODEV) {
                        return Err(SendError::Send {
                            link: self.options.link.clone(),
                            source: error.into(),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: Errno) {
        *self.counts.failed.entry(error.raw_os_error()).or_default() += 1;
    }

    fn accept(&mut self, queue: &SendQueue, first: usize, end: usize) {
        let bytes: usize = (first..end)
            .map(|index| queue.packet(index).bytes.len())
            .sum();
        self.counts.accepted += (end - first) as u64;
        self.counts.bytes += bytes as u64;
        self.counts.last_ns = monotonic_ns();
        let [packets, all_bytes] = &*self.live.0;
        packets.store(self.counts.accepted, Ordering::Relaxed);
        all_bytes.store(self.counts.bytes, Ordering::Relaxed);
    }

    /// Ends the job and returns its summary. Waits up to half a second for the device's counters.
    ///
    /// # Errors
    /// None at present.
    pub fn finish(mut self) -> Result<SendSummary, SendError> {
        let delivered = self.delivered();
        let counts = self.counts;
        let duration_ns = counts
            .first_ns
            .map_or(0, |first| counts.last_ns.saturating_sub(first));
        Ok(SendSummary {
            submitted: counts.submitted(),
            accepted: counts.accepted,
            bytes: counts.bytes,
            delivered,
            failed: counts.failed,
            skipped: counts.skipped,
            truncated: counts.truncated,
            retries: counts.retries,
            path: self.options.path,
            duration: Duration::from_nanos(duration_ns),
            lateness: counts.lateness,
            is_stopped: counts.is_stopped,
        })
    }

    /// Packets that the device sent since the start, by its own counter, if nobody else's are among them.
    fn delivered(&mut self) -> Option<u64> {
        let start = self.sent_at_start?;
        let deadline_ns = monotonic_ns() + COUNTERS_WAIT.as_nanos() as u64;
        loop {
            let link = self.netlink.link(self.ifindex).ok()?;
            let sent = sent(&link)?.saturating_sub(start);
            if sent >= self.counts.accepted || monotonic_ns() >= deadline_ns {
                return (sent <= self.counts.accepted).then_some(sent);
            }
            pause(COUNTERS_INTERVAL).ok()?;
        }
    }
}

impl Counts {
    fn submitted(&self) -> u64 {
        self.accepted + self.failed.values().sum::<u64>()
    }
}

/// The device's counter of sent packets.
fn sent(link: &Link) -> Option<u64> {
    Some(link.statistics.as_ref()?.tx_packets)
}

/// Ethernet and loopback interfaces have Ethernet headers.
fn is_ethernet(link: &Link) -> bool {
    let hardware = link.hardware.unwrap_or_default();
    [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&hardware)
}

/// Whether a default route goes through `link`, or through the bridge or bond that it belongs to.
fn is_uplink(netlink: &mut Netlink, link: &Link) -> Result<bool, SendError> {
    let ours = [link.index, link.master];
    let is_ours = |dev: Option<IfIndex>| dev.is_some() && ours.contains(&dev);
    let routes = netlink.list(&Route::default())?;
    Ok(routes.items.iter().any(|route| {
        let hops = route.nexthops.as_deref().unwrap_or_default();
        let is_unicast = route.kind.is_none_or(|kind| kind == RouteType::Unicast);
        let is_default = is_unicast && route.dst.is_none_or(|network| network.len == 0);
        is_default && (is_ours(route.dev) || hops.iter().any(|hop| is_ours(hop.dev)))
    }))
}
