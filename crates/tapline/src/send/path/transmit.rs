//! What every path provides.

use std::io;
use std::time::Duration;

use probe::Histogram;
use rustix::io::Errno;

use crate::send::options::SendPath;
use crate::send::queue::SendQueue;

/// A way on which frames reach one device, in order.
pub trait Transmit: Send {
    /// Which one.
    fn path(&self) -> SendPath;

    /// Packets that one call of [`send`](Self::send) takes at most.
    fn batch(&self) -> usize;

    /// Sends packets `first..end` of `queue`, at least one and at most [`batch`](Self::batch). Returns how many the
    /// kernel took: the first ones. The caller offers the others again.
    fn send(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal>;

    /// Waits until there may be room, for `time` at most.
    fn wait(&self, time: Duration) -> io::Result<()>;

    /// Whether the first packet that was offered and not taken may be skipped. Not on a way that has it already.
    fn may_skip(&self) -> bool {
        true
    }

    /// Whether packets are sent at the times in the queue, which are those of the plan then.
    fn keeps_times(&self) -> bool {
        false
    }

    /// How long before its time a packet is handed over, so that it leaves at its time and not before.
    fn lead_ns(&self) -> u64 {
        0
    }

    /// Has the kernel stamp the next packet if it is sent alone; it was planned for `planned_ns` (`CLOCK_MONOTONIC`).
    fn stamp_next(&mut self, _planned_ns: u64) {}

    /// From the planned times of stamped packets to the kernel's time stamps; `None` if this way has none.
    fn stamped_lateness(&mut self) -> Option<&Histogram> {
        None
    }

    /// Waits until the device does not need the memory of accepted packets any more, and until it is known what became of
    /// them, for a limited time.
    fn drain(&mut self) {}

    /// Accepted packets that were dropped because their time had passed.
    fn missed(&mut self) -> u64 {
        0
    }
}

/// Why the kernel did not take the first packet of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The device's queue or the socket's buffer is full: try again.
    Full,
    /// Another reason.
    Error(Errno),
}
