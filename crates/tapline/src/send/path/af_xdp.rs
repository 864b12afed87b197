//! The path through an AF_XDP socket: the kernel makes fewer steps for each packet than for one of a packet socket.

use std::io;
use std::time::Duration;

use abi::clock::{monotonic_ns, tai_ns};
use ring::{XdpSendOptions, XdpSender, XdpSetupError, XdpSetupStep};
use rustix::io::Errno;

use super::packet::LEAD_NS;
use super::transmit::{Refusal, Transmit};
use crate::send::options::SendPath;
use crate::send::queue::{QueuedPacket, SendQueue};
use crate::send::timing::pause;

/// Packets handed to the kernel in one system call at most.
const BATCH: usize = 256;

/// How long a device may take to send what is in its queue, at the end.
const MAX_DRAIN: Duration = Duration::from_millis(500);
const DRAIN_INTERVAL: Duration = Duration::from_millis(1);

/// How long a queue may be held by a socket that was closed before: the kernel releases it later.
///
/// # Source
/// `xp_put_pool`, net/xdp/xsk_buff_pool.c.
const MAX_QUEUE_WAIT: Duration = Duration::from_millis(50);
const QUEUE_INTERVAL: Duration = Duration::from_millis(1);

/// What reads the memory of the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpKind {
    /// The kernel copies each packet.
    Copy,
    /// The device reads it.
    ZeroCopy,
    /// The device reads it, and sends each packet at its launch time.
    Timed,
}

/// An AF_XDP socket that only sends.
#[derive(Debug)]
pub struct XdpSocket {
    sender: XdpSender,
    kind: XdpKind,
    /// Packets have planned times.
    is_paced: bool,
}

impl XdpSocket {
    /// Opens it on queue `queue` of an interface, for frames up to `longest` bytes.
    pub fn open(
        ifindex: u32,
        link: &str,
        queue: u32,
        longest: usize,
        kind: XdpKind,
        is_paced: bool,
    ) -> Result<Self, XdpSetupError> {
        let options = XdpSendOptions {
            queue,
            zero_copy: kind != XdpKind::Copy,
            longest,
            has_launch_times: kind == XdpKind::Timed,
        };
        Ok(Self {
            sender: open_sender(ifindex, link, &options)?,
            kind,
            is_paced,
        })
    }
}

/// As [`XdpSender::open`], and waits until the kernel has released the queue.
pub fn open_sender(
    ifindex: u32,
    link: &str,
    options: &XdpSendOptions,
) -> Result<XdpSender, XdpSetupError> {
    let mut left = MAX_QUEUE_WAIT;
    loop {
        match XdpSender::open(ifindex, link, options) {
            Err(error) if is_queue_held(&error) && !left.is_zero() => {
                // A signal only shortens the wait.
                let _ = pause(QUEUE_INTERVAL);
                left = left.saturating_sub(QUEUE_INTERVAL);
            }
            opened => return opened,
        }
    }
}

impl Transmit for XdpSocket {
    fn path(&self) -> SendPath {
        match self.kind {
            XdpKind::Copy => SendPath::Xdp,
            XdpKind::ZeroCopy => SendPath::XdpZeroCopy,
            XdpKind::Timed => SendPath::XdpTimed,
        }
    }

    fn keeps_times(&self) -> bool {
        self.kind == XdpKind::Timed
    }

    fn lead_ns(&self) -> u64 {
        if self.kind == XdpKind::Timed {
            LEAD_NS
        } else {
            0
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn send(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal> {
        // The first ones may be in the ring already, from a call that they were not taken in.
        let end = end.min(first + BATCH);
        let mut waiting = self.sender.waiting();
        // Clocks drift apart, so that each batch has its own difference.
        let offset_ns = self.has_times().then(tai_offset_ns);
        let mut push = |packet: QueuedPacket<'_>| match offset_ns {
            Some(offset_ns) => {
                let time_ns = packet.time_ns.wrapping_add(offset_ns);
                self.sender.push_at(packet.bytes, time_ns)
            }
            None => self.sender.push(packet.bytes),
        };
        while first + waiting < end && push(queue.packet(first + waiting)) {
            queue.prefetch_behind(first + waiting);
            waiting += 1;
        }
        if waiting == 0 {
            let frame = queue.packet(first).bytes;
            return Err(if frame.is_empty() {
                Refusal::Error(Errno::INVAL)
            } else {
                Refusal::Full
            });
        }
        let mut sent = 0;
        // Each call takes at least one, or ends this.
        while sent < waiting {
            match self.sender.transmit() {
                Ok(taken) => sent += taken,
                Err(_) if sent > 0 => break,
                Err(error) => return Err(refusal(&error)),
            }
        }
        Ok(sent)
    }

    /// Waits the whole time: poll(2) would make a copying socket send.
    ///
    /// # Source
    /// `xsk_poll`, net/xdp/xsk.c.
    fn wait(&self, time: Duration) -> io::Result<()> {
        pause(time)
    }

    fn may_skip(&self) -> bool {
        self.sender.waiting() == 0
    }

    /// Waits until a device that reads this memory has sent everything.
    fn drain(&mut self) {
        let mut left = MAX_DRAIN;
        while self.kind != XdpKind::Copy && self.sender.unsent() > 0 && !left.is_zero() {
            // A signal only shortens the wait.
            let _ = pause(DRAIN_INTERVAL);
            left = left.saturating_sub(DRAIN_INTERVAL);
        }
    }
}

impl XdpSocket {
    /// Whether each packet has a time at which the device sends it.
    fn has_times(&self) -> bool {
        self.kind == XdpKind::Timed && self.is_paced
    }
}

/// What to add to a time of `CLOCK_MONOTONIC` for one of `CLOCK_TAI`, in which the device's clock runs.
fn tai_offset_ns() -> u64 {
    // Linux has had this clock since 3.10.
    tai_ns().unwrap_or(0).wrapping_sub(monotonic_ns())
}

fn is_queue_held(error: &XdpSetupError) -> bool {
    error.step == XdpSetupStep::BindToSend && error.source.raw_os_error() == Some(libc::EBUSY)
}

fn refusal(error: &io::Error) -> Refusal {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => Refusal::Full,
        Some(error) => Refusal::Error(error),
        None => Refusal::Error(Errno::IO),
    }
}
