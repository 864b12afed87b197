//! The interface between the back ends' rings and the reader.

use std::fmt::Debug;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use ring::{
    Batch, BlockLayout, BpfRing, DeviceClockState, InterfaceInfo, PacketRing, RingCounters,
    RingPacket, XdpRing,
};

use super::super::account::summary::Sockets;
use super::super::plan::backend::Backend;

/// A ring as the reader sees it, called once a batch or once a round, never once a packet: a [`Batch`] walks
/// its packets without virtual calls. The descriptor is readable when there is work.
pub trait RxRing: AsFd + Debug + Send {
    /// Lends the packets that are ready, oldest first.
    fn next_batch(&mut self) -> Option<Batch<'_>>;

    /// Whether waiting packets take `bytes` of the ring or more; 1 asks whether there is any.
    fn holds(&self, bytes: usize) -> bool;

    /// Whether at least a quarter of the ring waits to be read.
    fn is_filling(&self) -> bool;

    /// How many parts of a quarter of the ring wait to be read, as [`parts`](super::forecast::parts) counts them.
    fn waiting_parts(&self) -> u64;

    /// What became of the packets, as of the last [`refresh`](Self::refresh).
    fn counters(&self) -> &RingCounters;

    /// Updates the kernel's part of the account. A failure leaves it as it was.
    fn refresh(&mut self);

    fn link(&self) -> &InterfaceInfo;

    fn backend(&self) -> Backend;

    /// Memory of the ring, bytes.
    fn buffer_bytes(&self) -> usize;

    /// Ends the flow, if the ring has a filter of its own. Packets in the ring can still be read.
    fn stop(&self) {}

    /// After [`stop`](Self::stop): makes packets visible that the kernel has not handed over yet. Returns whether some may have
    /// become visible.
    fn finish(&self) -> bool {
        false
    }

    /// Whether every packet that entered the ring has been read. Final once another ring has taken over.
    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(!self.holds(1))
    }

    /// Takes the pending error of the socket: the interface went down or away. Memory has no errors.
    fn take_error(&self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the descriptor becomes readable with the first packet, so that the reader itself has to wait
    /// for a batch.
    fn wakes_early(&self) -> bool {
        true
    }

    /// After how long the kernel hands over a block that is not full; `None` if all packets are visible.
    fn block_time(&self) -> Option<Duration> {
        None
    }

    /// Its blocks, if it has any.
    fn blocks(&self) -> Option<BlockLayout> {
        None
    }

    /// Age of the oldest waiting packet at `now_ns` of `CLOCK_REALTIME`, if its time stamp is of that clock. `None` if no
    /// packet is visible, or it gets its time stamp when it is read.
    fn oldest_age_ns(&self, now_ns: u64) -> Option<u64>;

    /// Clears a pending wake-up whose packets have been read. Called before a sleep without a look for
    /// packets.
    fn rearm(&self) {}

    /// Runs the driver, if the ring busy-polls.
    fn drive(&self) {}

    /// The clock behind hardware time stamps that are converted to the time of day.
    fn device_clock(&self) -> Option<DeviceClockState> {
        None
    }

    /// How an AF_XDP socket receives.
    fn sockets(&self) -> Option<Sockets> {
        None
    }
}

/// A ring of any back end.
///
/// The one place where the back ends are told apart by an enum: [`Capture::next`](super::super::Capture::next)
/// lends packet by packet, and a virtual call for each packet would cost more than walking the ring does.
#[derive(Debug)]
pub enum RingReader {
    /// Packet socket: all queues of the interface.
    Packet(Box<PacketRing>),
    /// AF_XDP socket: one queue.
    Xdp(Box<XdpRing>),
    /// Memory that an XDP program fills: the packets of one CPU.
    Buffer(Box<BpfRing>),
}

macro_rules! each_ring {
    ($own:expr, $ring:ident => $call:expr) => {
        match $own {
            RingReader::Packet($ring) => $call,
            RingReader::Xdp($ring) => $call,
            RingReader::Buffer($ring) => $call,
        }
    };
}

impl RingReader {
    /// The methods of the ring that are called once a batch.
    #[inline]
    pub fn ring(&self) -> &dyn RxRing {
        match self {
            Self::Packet(ring) => &**ring,
            Self::Xdp(ring) => &**ring,
            Self::Buffer(ring) => &**ring,
        }
    }

    /// As [`ring`](Self::ring).
    #[inline]
    pub fn ring_mut(&mut self) -> &mut dyn RxRing {
        match self {
            Self::Packet(ring) => &mut **ring,
            Self::Xdp(ring) => &mut **ring,
            Self::Buffer(ring) => &mut **ring,
        }
    }

    /// Continues where `before` ended, a ring of the same back end, whose memory is freed.
    pub fn follow(&mut self, before: Self) {
        match (self, before) {
            (Self::Packet(ring), Self::Packet(before)) => ring.follow(*before),
            (Self::Buffer(ring), Self::Buffer(before)) => ring.follow(*before),
            // AF_XDP rings are never replaced, nor is a ring by one of another back end.
            _ => {}
        }
    }

    /// Gives back the packets lent by [`next_packet`](Self::next_packet) and begins the next batch; `false`
    /// if no packet is ready.
    pub fn begin_batch(&mut self) -> bool {
        each_ring!(self, ring => ring.begin_batch())
    }

    /// Gives back the packets lent by [`next_packet`](Self::next_packet).
    pub fn end_batch(&mut self) {
        each_ring!(self, ring => ring.end_batch());
    }

    /// Packets of the current batch that have not been lent.
    #[inline]
    pub fn packets_left(&self) -> usize {
        each_ring!(self, ring => ring.packets_left())
    }

    /// Packets dropped before the current batch, if they have not been reported yet.
    #[inline]
    pub fn take_lost_before(&mut self) -> u64 {
        each_ring!(self, ring => ring.take_lost_before())
    }

    /// The packet that [`next_packet`](Self::next_packet) lends next.
    pub fn peek(&mut self) -> Option<RingPacket<'_>> {
        each_ring!(self, ring => ring.peek())
    }

    /// Lends the next packet of the current batch; `None` at its end, or if its memory is malformed.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what the caller does not read is not made"
    )]
    pub fn next_packet(&mut self) -> Option<RingPacket<'_>> {
        each_ring!(self, ring => ring.next_packet())
    }

    /// Lends up to `max` packets of the current batch, one after another, as [`next_packet`](Self::next_packet) would.
    /// The kind of ring is matched once, not for every packet.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what the caller does not read is not made"
    )]
    pub fn lend_each(&mut self, max: usize, mut each: impl FnMut(RingPacket<'_>)) {
        match self {
            Self::Packet(ring) => ring.lend_each(max, each),
            others => {
                for _ in 0..max {
                    let Some(packet) = others.next_packet() else {
                        return;
                    };
                    each(packet);
                }
            }
        }
    }
}
