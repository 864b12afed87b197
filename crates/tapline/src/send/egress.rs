//! One interface that packets are sent on: its path, its limits, and the account of its packets.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use netlink::{IfIndex, Link, Netlink};
use rustix::io::Errno;

use super::error::SendError;
use super::options::{LongFrames, SendOptions, SendPath};
use super::path::{PathRequest, Refusal, Transmit};
use super::queue::{QueueSize, QueuedPacket, SendQueue};
use super::timing::{Rate, is_stopped, pause};
use crate::stop::Stop;
use crate::uplink::NewWatch;

/// Length of an Ethernet header, and of a VLAN tag.
const HEADER_BYTES: usize = 14;
const TAG_BYTES: usize = 4;

/// How long a packet is offered to a device that has no room for it. A device that drops a packet answers as one
/// that is full. Longer than the receiving thread of a virtual interface waits for a CPU on a busy machine.
const MAX_FULL_NS: u64 = 1_000_000_000;

/// After this many consecutive packets for which there is no room, the job ends.
const MAX_REFUSED: u32 = 5;

/// Paths that take so many packets in a call get large queues.
const LARGE_BATCH: usize = 4096;

/// After these errors no packet can be sent any more.
const IS_FINAL: [Errno; 5] = [
    Errno::NETDOWN,
    Errno::NXIO,
    Errno::NODEV,
    Errno::OPNOTSUPP,
    Errno::PERM,
];

/// The largest MTU of a device that takes frames from here (`ETH_MAX_MTU`).
const MAX_MTU: u32 = 65_535;

/// How long to wait for room in a full queue, before the next attempt.
const FULL_WAIT: Duration = Duration::from_micros(50);

/// How long the device's counters may lag behind.
const COUNTERS_WAIT: Duration = Duration::from_millis(500);
const COUNTERS_INTERVAL: Duration = Duration::from_millis(1);

/// Counters of a running job, for any thread.
#[derive(Clone, Debug, Default)]
pub struct LiveSent(Arc<[AtomicU64; 4]>);

impl LiveSent {
    /// Packets that the kernel took so far.
    pub fn packets(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// Packets that the kernel refused for good so far.
    pub fn failed(&self) -> u64 {
        self.0[2].load(Ordering::Relaxed)
    }

    /// Sends repeated so far because the device's queue was full.
    pub fn retries(&self) -> u64 {
        self.0[3].load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, packets: u64, bytes: u64) {
        self.0[0].fetch_add(packets, Ordering::Relaxed);
        self.0[1].fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The packets of an interface, by their fate.
#[derive(Clone, Debug, Default)]
pub struct SentCounts {
    pub accepted: u64,
    pub bytes: u64,
    pub failed: BTreeMap<i32, u64>,
    pub skipped: u64,
    pub truncated: u64,
    pub retries: u64,
    /// When the last packet was taken (`CLOCK_MONOTONIC`).
    pub last_ns: u64,
}

impl SentCounts {
    pub fn submitted(&self) -> u64 {
        self.accepted + self.failed.values().sum::<u64>()
    }

    /// Adds the counts of another interface.
    pub fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.bytes += other.bytes;
        for (&errno, &count) in &other.failed {
            *self.failed.entry(errno).or_default() += count;
        }
        self.skipped += other.skipped;
        self.truncated += other.truncated;
        self.retries += other.retries;
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// The longest frames that an interface takes.
#[derive(Clone, Copy, Debug)]
pub struct FrameLimit {
    mtu: usize,
    header_bytes: usize,
}

impl FrameLimit {
    pub fn of(link: &Link) -> Self {
        Self {
            mtu: link.mtu.unwrap_or(MAX_MTU).min(MAX_MTU) as usize,
            header_bytes: if is_ethernet(link) { HEADER_BYTES } else { 0 },
        }
    }

    /// Bytes of the longest frame without a tag.
    fn bytes(self) -> usize {
        self.mtu + self.header_bytes
    }

    /// The longest frame like `frame` that the interface takes, if this one is longer.
    ///
    /// # Source
    /// `packet_snd` and `packet_extra_vlan_len_allowed`, net/packet/af_packet.c.
    #[inline]
    pub fn exceeded_by(self, frame: &[u8]) -> Option<usize> {
        let mut most = self.bytes();
        if frame.len() <= most {
            return None;
        }
        if self.header_bytes > 0 && frame.get(12..14) == Some(&[0x81, 0x00]) {
            most += TAG_BYTES;
        }
        (frame.len() > most).then_some(most)
    }
}

/// One interface that packets are sent on.
pub struct Egress {
    link: String,
    /// The ways that may be used, in order; the first is used now. Never empty.
    ways: VecDeque<Box<dyn Transmit>>,
    limit: FrameLimit,
    long_frames: LongFrames,
    /// Packets in a row for which there was no room.
    refused_in_a_row: u32,
    /// The way holds packets that the kernel did not take, so that no others can be sent on it.
    is_blocked: bool,
    live: LiveSent,
    /// Packets with the time at which they are sent.
    stamped: SendQueue,
    pub counts: SentCounts,
}

impl Egress {
    /// Opens an egress on queue `queue` of interface `link`, called `name`, in the network namespace of the calling thread.
    pub fn open(
        options: &SendOptions,
        name: &str,
        link: &Link,
        queue: u32,
        live: LiveSent,
    ) -> Result<Self, SendError> {
        let limit = FrameLimit::of(link);
        let request = PathRequest {
            link,
            name,
            queue,
            longest: limit.bytes() + TAG_BYTES,
            is_bulk: options.rate == Rate::Max,
        };
        let ways = request
            .open(options.path)
            .map_err(|source| SendError::Open {
                link: name.to_owned(),
                path: options.path,
                source,
            })?;
        Ok(Self {
            link: name.to_owned(),
            ways: ways.into(),
            limit,
            long_frames: options.long_frames,
            refused_in_a_row: 0,
            is_blocked: false,
            live,
            stamped: SendQueue::default(),
            counts: SentCounts::default(),
        })
    }

    /// Opens an egress for each of `threads` threads, all on the same path, the first on queue 0 of the interface.
    pub fn open_all(
        options: &SendOptions,
        link: &Link,
        threads: usize,
        live: &LiveSent,
    ) -> Result<Vec<Self>, SendError> {
        let open = |path| {
            let options = SendOptions {
                path,
                ..options.clone()
            };
            let egress = |queue| Self::open(&options, &options.link, link, queue, live.clone());
            (0..threads as u32)
                .map(egress)
                .collect::<Result<Vec<_>, _>>()
        };
        let mut egresses = open(options.path)?;
        let first = egresses[0].way().path();
        // There may be fewer queues than threads.
        if egresses
            .iter_mut()
            .any(|egress| egress.way().path() != first)
        {
            drop(egresses);
            egresses = open(SendPath::Bypass)?;
        }
        Ok(egresses)
    }

    /// The way that is used now.
    pub fn way(&mut self) -> &mut dyn Transmit {
        &mut *self.ways[0]
    }

    /// How large the queues of a source should be.
    pub fn queue_size(&mut self) -> QueueSize {
        if self.way().batch() >= LARGE_BATCH {
            QueueSize::LARGE
        } else {
            QueueSize::SMALL
        }
    }

    /// Sends packets `first..end`, with their send times, and treats those that are too long. A stop ends it while there is
    /// no room for a packet: that one and those behind it are not submitted.
    pub fn send(
        &mut self,
        queue: &SendQueue,
        first: usize,
        end: usize,
        stop: &Stop,
    ) -> Result<(), SendError> {
        if !queue.has_stamps() {
            return self.send_as_is(queue, first, end, stop);
        }
        let mut stamped = std::mem::take(&mut self.stamped);
        queue.copy_stamped(first, end, realtime_ns(), &mut stamped);
        let result = self.send_as_is(&stamped, 0, end - first, stop);
        self.stamped = stamped;
        result
    }

    fn send_as_is(
        &mut self,
        queue: &SendQueue,
        first: usize,
        end: usize,
        stop: &Stop,
    ) -> Result<(), SendError> {
        if queue.longest() <= self.limit.bytes() {
            return self.send_run(queue, first, end, stop);
        }
        let mut at = first;
        while at < end {
            let is_long =
                |&index: &usize| self.limit.exceeded_by(queue.packet(index).bytes).is_some();
            let long = (at..end).find(is_long).unwrap_or(end);
            self.send_run(queue, at, long, stop)?;
            at = long;
            if at < end {
                self.send_long(queue.packet(at), stop)?;
                at += 1;
            }
        }
        Ok(())
    }

    fn send_long(&mut self, packet: QueuedPacket<'_>, stop: &Stop) -> Result<(), SendError> {
        let frame = packet.bytes;
        let Some(most) = self.limit.exceeded_by(frame) else {
            return Ok(());
        };
        match self.long_frames {
            LongFrames::Refuse => Err(SendError::TooLong {
                link: self.link.clone(),
                bytes: frame.len(),
                most,
            }),
            LongFrames::Skip => {
                self.counts.skipped += 1;
                Ok(())
            }
            LongFrames::Truncate => {
                let mut queue = SendQueue::default();
                queue.push(packet.time_ns, &frame[..most]);
                self.counts.truncated += 1;
                self.send_run(&queue, 0, 1, stop)
            }
        }
    }

    /// Sends packets `first..end`. Repeats those for which there was no room.
    fn send_run(
        &mut self,
        queue: &SendQueue,
        first: usize,
        end: usize,
        stop: &Stop,
    ) -> Result<(), SendError> {
        if self.is_blocked {
            return Err(self.stalled());
        }
        let wait = |source| SendError::Wait { source };
        let mut at = first;
        let mut full_since = None;
        while at < end {
            match self.way().send(queue, at, end) {
                Ok(sent) => {
                    self.accept(queue, at, at + sent);
                    at += sent;
                    (full_since, self.refused_in_a_row) = (None, 0);
                }
                Err(Refusal::Full) => {
                    let now_ns = monotonic_ns();
                    if is_stopped(stop, 0).map_err(wait)? {
                        self.block();
                        return Err(SendError::Stopped);
                    }
                    if now_ns - *full_since.get_or_insert(now_ns) > MAX_FULL_NS {
                        self.give_up()?;
                        at += 1;
                        full_since = None;
                        continue;
                    }
                    self.counts.retries += 1;
                    self.live.0[3].fetch_add(1, Ordering::Relaxed);
                    self.way().wait(FULL_WAIT).map_err(wait)?;
                }
                // The driver does not send XDP frames any more.
                Err(Refusal::Error(Errno::NXIO | Errno::OPNOTSUPP)) if self.ways.len() > 1 => {
                    self.ways.pop_front();
                }
                Err(Refusal::Error(error)) => {
                    self.fail(error);
                    at += 1;
                    if IS_FINAL.contains(&error) {
                        return Err(SendError::Send {
                            link: self.link.clone(),
                            path: self.way().path(),
                            source: error.into(),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts a packet for which there is no room as failed.
    fn give_up(&mut self) -> Result<(), SendError> {
        self.fail(Errno::NOBUFS);
        self.refused_in_a_row += 1;
        self.block();
        if self.refused_in_a_row == MAX_REFUSED || self.is_blocked {
            return Err(self.stalled());
        }
        Ok(())
    }

    /// A packet will not be offered again. A way that has it already cannot go on to another one.
    fn block(&mut self) {
        self.is_blocked = !self.way().may_skip();
    }

    fn stalled(&self) -> SendError {
        SendError::Stalled {
            link: self.link.clone(),
        }
    }

    fn fail(&mut self, error: Errno) {
        *self.counts.failed.entry(error.raw_os_error()).or_default() += 1;
        self.live.0[2].fetch_add(1, Ordering::Relaxed);
    }

    fn accept(&mut self, queue: &SendQueue, first: usize, end: usize) {
        let (packets, bytes) = ((end - first) as u64, queue.bytes_of(first, end) as u64);
        self.counts.accepted += packets;
        self.counts.bytes += bytes;
        self.counts.last_ns = monotonic_ns();
        self.live.add(packets, bytes);
    }
}

/// The device's own count of the packets that it sent.
pub struct DeviceCounter {
    ifindex: IfIndex,
    /// At the start of the job; `None` if the device has no such counter.
    start: Option<u64>,
}

impl DeviceCounter {
    pub fn start(link: &Link) -> Self {
        Self {
            ifindex: link.index.unwrap_or_default(),
            start: sent(link),
        }
    }

    /// Packets that the device sent since the start, if nobody else's are among them: no more than `accepted`.
    pub fn delivered(&self, netlink: &mut Netlink, accepted: u64) -> Option<u64> {
        let start = self.start?;
        let deadline_ns = monotonic_ns() + COUNTERS_WAIT.as_nanos() as u64;
        loop {
            let link = netlink.link(self.ifindex).ok()?;
            let sent = sent(&link)?.saturating_sub(start);
            if sent >= accepted || monotonic_ns() >= deadline_ns {
                return (sent <= accepted).then_some(sent);
            }
            pause(COUNTERS_INTERVAL).ok()?;
        }
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

/// The interface called `name`, if packets may be sent on it. `watch` is there unless uplinks are permitted.
pub fn find(
    netlink: &mut Netlink,
    name: &str,
    options: &SendOptions,
    watch: Option<&mut NewWatch>,
) -> Result<Link, SendError> {
    let link = netlink.link_named(name)?;
    let name = || name.to_owned();
    if link.up == Some(false) {
        return Err(SendError::LinkDown { link: name() });
    }
    let hardware = link.hardware.unwrap_or_default();
    if let Some(link_type) = options.link_type
        && ring::link_type(hardware) != Some(link_type.0)
    {
        return Err(SendError::LinkType {
            link: name(),
            hardware,
            link_type,
        });
    }
    if let Some(watch) = watch
        && watch.add(netlink, &link, &name())?
    {
        return Err(SendError::Uplink { link: name() });
    }
    Ok(link)
}
