//! The ways to a device, one file each.

mod packet;

use std::io;
use std::time::Duration;

use rustix::io::Errno;

use super::options::SendPath;
use super::queue::SendQueue;
use packet::PacketSocket;

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

    /// Whether the first packet that was offered and not taken may be left out. Not on a way that has it already.
    fn may_skip(&self) -> bool {
        true
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

/// Opens the way `path` to interface `ifindex`, in the namespace of the calling thread.
pub fn open(ifindex: u32, path: SendPath) -> io::Result<Box<dyn Transmit>> {
    Ok(match path {
        SendPath::Bypass => Box::new(PacketSocket::open(ifindex, false)?),
        SendPath::Qdisc => Box::new(PacketSocket::open(ifindex, true)?),
    })
}
