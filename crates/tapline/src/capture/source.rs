//! The rings that packets come from, as the capture sees them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ring::{Account, Batch, Link, PacketRing, RingBuffer, XdpRing};

use super::backend::Backend;

/// A ring of one interface, of whichever kind; which it is matters once a batch.
#[derive(Debug)]
pub(super) enum Source {
    /// Of a packet socket: all of the interface's queues.
    Packet(PacketRing),
    /// Of an AF_XDP socket: one of the interface's queues.
    Xdp(Box<XdpRing>),
    /// A ring buffer: those of one processor.
    Buffer(Box<RingBuffer>),
}

impl Source {
    /// Packets that lie ready, oldest first.
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        match self {
            Self::Packet(ring) => ring.next_batch(),
            Self::Xdp(ring) => ring.next_batch(),
            Self::Buffer(ring) => ring.next_batch(),
        }
    }

    /// What became of the packets it was offered, as of the last [`refresh`](Self::refresh).
    pub fn account(&self) -> &Account {
        match self {
            Self::Packet(ring) => ring.account(),
            Self::Xdp(ring) => ring.account(),
            Self::Buffer(ring) => ring.account(),
        }
    }

    /// Brings the kernel's part of the account up to date. A failure leaves it as it was.
    pub fn refresh(&mut self) {
        match self {
            // The counters of a socket can always be read.
            Self::Packet(ring) => drop(ring.refresh()),
            Self::Xdp(ring) => drop(ring.refresh()),
            Self::Buffer(ring) => ring.refresh(),
        }
    }

    /// Stops the flow, where its own filter can; what is in the ring stays there to be read.
    pub fn stop(&self) {
        match self {
            // Refused only for want of memory for one instruction; packets then go on to come in, and
            // the capture's end does not wait for the last of them for ever.
            Self::Packet(ring) => drop(ring.stop()),
            // Its program is detached.
            Self::Xdp(_) | Self::Buffer(_) => {}
        }
    }

    /// Whether every packet that came into it has been read. It stays so once another ring took over.
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        match self {
            Self::Packet(ring) => Ok(!ring.holds(1) && ring.is_at_end()?),
            // All that is in its memory can be seen.
            Self::Buffer(ring) => Ok(!ring.holds(1)),
            Self::Xdp(ring) => Ok(!ring.holds(1)),
        }
    }

    /// Goes on where `before` ends, a ring of the same kind, whose memory is free then.
    pub fn follow(&mut self, before: Self) {
        match (self, before) {
            (Self::Packet(ring), Self::Packet(before)) => ring.follow(before),
            (Self::Buffer(ring), Self::Buffer(before)) => ring.follow(*before),
            // No ring of AF_XDP is followed, and no ring by one of another kind.
            _ => {}
        }
    }

    /// Takes the pending error of its socket: the interface went down or away.
    pub fn take_error(&self) -> io::Result<()> {
        match self {
            Self::Packet(ring) => ring.take_error(),
            Self::Xdp(ring) => ring.take_error(),
            // It is memory, and has no errors.
            Self::Buffer(_) => Ok(()),
        }
    }

    /// Whether its descriptor is readable from the first packet on, so that a batch has to be waited
    /// for beside it.
    pub fn wakes_early(&self) -> bool {
        match self {
            Self::Packet(ring) => ring.backend() == ring::Backend::PacketV2,
            Self::Xdp(_) | Self::Buffer(_) => true,
        }
    }

    /// Whether the packets that wait take `bytes` of it or more; 1 asks whether there is any.
    pub fn holds(&self, bytes: usize) -> bool {
        match self {
            Self::Packet(ring) => ring.holds(bytes),
            Self::Xdp(ring) => ring.holds(bytes),
            Self::Buffer(ring) => ring.holds(bytes),
        }
    }

    /// After how long packets are handed over that wait in it unseen; `None` if all can be seen.
    pub fn block_time(&self) -> Option<Duration> {
        match self {
            Self::Packet(ring) => ring.block_time(),
            Self::Xdp(_) | Self::Buffer(_) => None,
        }
    }

    /// How old the oldest packet is that waits in it, at `now_ns` by `CLOCK_REALTIME`, where that is told and
    /// its time stamp is of that clock.
    pub fn oldest_age_ns(&self, now_ns: u64) -> Option<u64> {
        match self {
            Self::Packet(ring) => Some(now_ns.saturating_sub(ring.oldest_ns()?)),
            Self::Xdp(_) | Self::Buffer(_) => None,
        }
    }

    /// Comes before a sleep without a look for packets: what was told of is told of no more.
    pub fn rearm(&self) {
        match self {
            Self::Buffer(ring) => ring.rearm(),
            // Readable by what is in them.
            Self::Packet(_) | Self::Xdp(_) => {}
        }
    }

    /// Has the driver receive now, if that is the reader's task.
    pub fn drive(&self) {
        match self {
            Self::Xdp(ring) => ring.drive(),
            Self::Packet(_) | Self::Buffer(_) => {}
        }
    }

    /// Whether a quarter of it or more waits to be read.
    pub fn is_filling(&self) -> bool {
        match self {
            Self::Packet(ring) => ring.is_filling(),
            Self::Xdp(ring) => ring.is_filling(),
            Self::Buffer(ring) => ring.is_filling(),
        }
    }

    pub fn link(&self) -> &Link {
        match self {
            Self::Packet(ring) => ring.link(),
            Self::Xdp(ring) => ring.link(),
            Self::Buffer(ring) => ring.link(),
        }
    }

    pub fn backend(&self) -> Backend {
        match self {
            Self::Packet(ring) => ring.backend().into(),
            Self::Xdp(_) => Backend::Xdp,
            Self::Buffer(_) => Backend::XdpRingbuf,
        }
    }

    /// Size of its memory, bytes.
    pub fn buffer_bytes(&self) -> usize {
        match self {
            Self::Packet(ring) => ring.buffer_bytes(),
            Self::Xdp(ring) => ring.buffer_bytes(),
            Self::Buffer(ring) => ring.buffer_bytes(),
        }
    }
}

/// Readable when there is work.
impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Packet(ring) => ring.as_fd(),
            Self::Xdp(ring) => ring.as_fd(),
            Self::Buffer(ring) => ring.as_fd(),
        }
    }
}
