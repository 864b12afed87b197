//! The path through an AF_XDP socket: the kernel makes fewer steps for each packet than for one of a packet socket.

use std::io;
use std::time::Duration;

use ring::{XdpSendOptions, XdpSender, XdpSetupError, XdpSetupStep};
use rustix::io::Errno;

use super::transmit::{Refusal, Transmit};
use crate::send::options::SendPath;
use crate::send::pacer::pause;
use crate::send::queue::SendQueue;

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

/// An AF_XDP socket that only sends.
#[derive(Debug)]
pub struct XdpSocket {
    sender: XdpSender,
    is_zero_copy: bool,
}

impl XdpSocket {
    /// Opens it on queue `queue` of an interface, for frames up to `longest` bytes.
    pub fn open(
        ifindex: u32,
        link: &str,
        queue: u32,
        longest: usize,
        is_zero_copy: bool,
    ) -> Result<Self, XdpSetupError> {
        let options = XdpSendOptions {
            queue,
            zero_copy: is_zero_copy,
            longest,
        };
        let mut left = MAX_QUEUE_WAIT;
        loop {
            match XdpSender::open(ifindex, link, &options) {
                Err(error) if is_queue_held(&error) && !left.is_zero() => {
                    // A signal only shortens the wait.
                    let _ = pause(QUEUE_INTERVAL);
                    left = left.saturating_sub(QUEUE_INTERVAL);
                }
                opened => {
                    return Ok(Self {
                        sender: opened?,
                        is_zero_copy,
                    });
                }
            }
        }
    }
}

impl Transmit for XdpSocket {
    fn path(&self) -> SendPath {
        if self.is_zero_copy {
            SendPath::XdpZeroCopy
        } else {
            SendPath::Xdp
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn send(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal> {
        // The first ones may be in the ring already, from a call that they were not taken in.
        let end = end.min(first + BATCH);
        let mut waiting = self.sender.waiting();
        while first + waiting < end && self.sender.push(queue.packet(first + waiting).bytes) {
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
        while self.is_zero_copy && self.sender.unsent() > 0 && !left.is_zero() {
            // A signal only shortens the wait.
            let _ = pause(DRAIN_INTERVAL);
            left = left.saturating_sub(DRAIN_INTERVAL);
        }
    }
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
