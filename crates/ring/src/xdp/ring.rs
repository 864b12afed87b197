//! A receive ring of an AF_XDP socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::socket;
use abi::xdp::{self, Metadata, SOL_XDP, Statistics, XDP_PKT_CONTD, XDP_STATISTICS};

use super::error::XdpOpenError;
use super::memory::Memory;
use super::options::{BusyPoll, XdpOptions};
use super::queue::{Consumer, Producer};
use super::setup::{self, Mode};
use super::walk::{Descriptors, View};
use crate::account::Account;
use crate::batch::{Batch, Lender};
use crate::ring::Link;

/// Descriptors that a batch covers at most, so that memory goes back to the kernel steadily. The
/// longest packet, 64 KiB, takes 37.
const MAX_DESCRIPTORS: u32 = 256;

/// The receive ring of one queue, over AF_XDP: packets as the driver has them.
///
/// It gets what an XDP program sends to its descriptor, and of its account nothing else is known:
/// what the program passes on or drops, the program counts. `Send`, not `Sync`.
///
/// Time stamps: a packet with [`abi::xdp::Metadata`] in front of it has the kernel's, taken by the
/// program as it ran ([`TimestampSource::Kernel`]; `CLOCK_MONOTONIC`, moved to the time of day by the
/// offset of the two clocks, which is known to some 50 ns; a clock that is set is followed within a
/// millisecond). Other packets have that of their batch ([`TimestampSource::Reader`]).
///
/// VLAN tags are where they were on the wire, unless the interface takes them off before
/// (`ethtool -K IF rxvlan off` keeps it from that): XDP does not see such a tag. The checksum is never
/// known; how a packet was addressed is told from its bytes.
///
/// [`TimestampSource::Kernel`]: crate::TimestampSource::Kernel
/// [`TimestampSource::Reader`]: crate::TimestampSource::Reader
#[doc(alias = "AF_XDP")]
#[derive(Debug)]
pub struct XdpRing {
    /// Ends the flow before anything else goes.
    pub(super) attachment: Option<OwnedFd>,
    pub(super) socket: OwnedFd,
    pub(super) rx: Consumer,
    pub(super) fill: Producer,
    pub(super) memory: Memory,
    pub(super) scratch: Vec<u8>,
    pub(super) view: View,
    pub(super) statistics: Statistics,
    pub(super) account: Account,
    /// Drops that no batch has reported yet.
    pub(crate) unreported: u64,
    /// The fill ring was seen empty since the kernel was last asked for its counters.
    pub(super) has_starved: bool,
    pub(super) busy_poll: Option<BusyPoll>,
    pub(super) mode: Mode,
    pub(super) queue: u32,
    pub(super) link: Link,
    /// Keeps promiscuous mode on.
    pub(super) _membership: OwnedFd,
}

impl XdpRing {
    /// Opens a ring on a queue of interface `link`. It receives nothing until a program sends packets
    /// to it.
    ///
    /// The packet memory is pinned. Cost: some twenty system calls here, none per packet. Does not
    /// block.
    ///
    /// # Errors
    /// [`XdpOpenError`]: its text says what to do; e.g. `XdpStep::Bind` with EBUSY when another
    /// socket has the queue. When one is closed, the kernel frees its queue some milliseconds later.
    /// # Privileges
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace; `CAP_NET_ADMIN` for busy
    /// polling; `CAP_IPC_LOCK` for memory beyond the limit of locked memory.
    /// # Kernel
    /// Linux 5.9; 5.11 for busy polling, 6.6 for packets of several buffers.
    /// # Source
    /// `xsk_bind`, net/xdp/xsk.c; Documentation/networking/af_xdp.rst.
    pub fn open(link: &str, options: &XdpOptions) -> Result<Self, XdpOpenError> {
        setup::open(link, options)
    }

    /// Number of receive queues of interface `link`: each needs a ring, or its packets are missed.
    ///
    /// # Errors
    /// [`XdpOpenError::Setup`]: `XdpStep::Link` with ENODEV, `XdpStep::Socket` with EPERM.
    /// # Privileges
    /// As for [`XdpRing::open`].
    pub fn queue_count(link: &str) -> Result<u32, XdpOpenError> {
        setup::queue_count(link)
    }

    /// Keeps `link`, an XDP link's descriptor or a duplicate of one, as long as the ring lives.
    ///
    /// The program is detached when the last holder of its link is gone: when the last ring that
    /// keeps it is dropped, or [stopped](XdpRing::stop), or the process ends, however it does.
    pub fn keep(&mut self, link: OwnedFd) {
        self.attachment = Some(link);
    }

    /// Lets go of the link that the ring keeps; when the last ring does, no more packets come, and
    /// the stack sees all of them again. What is in the ring stays there to be read.
    pub fn stop(&mut self) {
        self.attachment = None;
    }

    /// The interface it receives from.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The queue it receives from.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// Whether the driver receives straight into the packet memory.
    pub fn is_zero_copy(&self) -> bool {
        self.mode.is_zero_copy
    }

    /// Whether the kernel tells when it has to be woken for memory, and is not called otherwise: always.
    pub fn uses_need_wakeup(&self) -> bool {
        true
    }

    /// How the reader runs the driver, if it does.
    pub fn busy_poll(&self) -> Option<BusyPoll> {
        self.busy_poll
    }

    /// Whether packets longer than a chunk can be received; the steering program must take frames of
    /// several buffers then. Otherwise such packets are dropped and counted.
    pub fn takes_multi_buffer(&self) -> bool {
        self.mode.takes_multi_buffer
    }

    /// Size of the packet memory, bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.memory.region().bytes()
    }

    /// Borrows packets the kernel has finished with, oldest first; `None` when there are none yet.
    ///
    /// Packets of one buffer are not copied. No system call is made, except: with none there, to run
    /// the driver when the ring polls busily, and to wake it when it waits for memory; and to ask for
    /// the number of packets lost when memory was short.
    ///
    /// To sleep until there is work, poll the descriptor, which wakes the driver too. It becomes
    /// readable at the end of each round of the driver, after 64 packets at most; where that is too
    /// often, sleep for a time, and look whether the ring [is filling](XdpRing::is_filling).
    #[inline]
    pub fn next_batch(&mut self) -> Option<Batch<'_>> {
        let mut ready = self.rx.ready();
        if ready == 0 {
            if self.busy_poll.is_none() && !self.fill.needs_wakeup() {
                return None;
            }
            self.wake();
            ready = self.rx.ready();
        }
        let (packets, descriptors) = self.whole_packets(ready.min(MAX_DESCRIPTORS))?;
        self.look_at_the_clock();
        self.has_starved |= self.fill.is_empty();
        if self.has_starved {
            // Asking a socket for its counters fails only on a bad address, which it is not; should
            // it, the number is asked for again with the next batch.
            let _ = self.ask();
        }
        Some(Batch {
            packets,
            unreadable: 0,
            lost_before: std::mem::take(&mut self.unreported),
            lender: Lender::Xdp {
                ring: self,
                descriptors,
            },
        })
    }

    /// Has the driver receive now, if the ring polls busily and no packet waits.
    #[inline]
    pub fn drive(&self) {
        if self.busy_poll.is_some() && self.rx.ready() == 0 {
            self.wake();
        }
    }

    fn wake(&self) {
        // What fails here concerns the interface, of which `take_error` tells.
        let _ = xdp::wake(self.socket.as_fd());
    }

    /// Reads the clocks, unless the oldest packet says that this was done a moment ago.
    fn look_at_the_clock(&mut self) {
        let oldest = self.rx.descriptor(0);
        // SAFETY: the descriptor lies in the receive ring: there is at least one.
        let stamp = unsafe { self.memory.metadata(&oldest) };
        let is_recent = |stamp: Metadata| self.view.offset.is_recent(stamp.monotonic_ns);
        if !stamp.is_some_and(is_recent) {
            self.view.offset.follow();
        }
    }

    /// How many whole packets the oldest `ready` descriptors hold, and how many descriptors those
    /// take: no more than can be put together in the scratch memory.
    fn whole_packets(&self, ready: u32) -> Option<(u32, u32)> {
        if ready == 0 {
            return None;
        }
        if !self.mode.takes_multi_buffer {
            return Some((ready, ready));
        }
        let (mut packets, mut whole) = (0, 0);
        let (mut joined, mut length) = (0, 0);
        for ahead in 0..ready {
            let desc = self.rx.descriptor(ahead);
            length += desc.len as usize;
            if desc.options & XDP_PKT_CONTD != 0 {
                continue;
            }
            if ahead > whole {
                joined += length.min(self.view.snaplen as usize);
                if joined > self.scratch.len() && packets > 0 {
                    break;
                }
            }
            length = 0;
            packets += 1;
            whole = ahead + 1;
        }
        if packets > 0 {
            return Some((packets, whole));
        }
        // A packet whose end is to come; one that has none is given up as unreadable.
        let is_endless = ready >= MAX_DESCRIPTORS.min(self.rx.count());
        is_endless.then_some((1, ready))
    }

    /// How many of the oldest `descriptors` the oldest `packets` take.
    pub(crate) fn descriptors_of(&self, packets: u32, descriptors: u32) -> u32 {
        if !self.mode.takes_multi_buffer {
            return packets.min(descriptors);
        }
        let mut ends = 0;
        let mut is_before = |ahead: &u32| {
            let is_within = ends < packets;
            ends += u32::from(self.rx.descriptor(*ahead).options & XDP_PKT_CONTD == 0);
            is_within
        };
        (0..descriptors).take_while(&mut is_before).count() as u32
    }

    /// Walks over the `descriptors` of a batch.
    #[inline]
    pub(crate) fn walk(&mut self, descriptors: u32) -> Descriptors<'_> {
        Descriptors {
            rx: &self.rx,
            memory: &self.memory,
            at: 0,
            count: descriptors,
            scratch: &mut self.scratch,
            view: self.view,
            queue: self.queue,
        }
    }

    /// Gives the chunks of the oldest `descriptors` back, of which `unreadable` of `packets` packets
    /// were no good.
    pub(crate) fn give_back(&mut self, descriptors: u32, packets: u32, unreadable: u32) {
        self.has_starved |= self.fill.is_empty();
        for ahead in 0..descriptors {
            let desc = self.rx.descriptor(ahead);
            // SAFETY: it lies in the receive ring until `release`, and the batch that lent its bytes
            // is being dropped.
            unsafe { self.memory.forget_metadata(&desc) };
            // There is room for every chunk (`setup::rings`), so only one that the kernel handed over
            // twice can be refused.
            if let Some(chunk) = self.memory.chunk(&desc) {
                self.fill.put(chunk);
            }
        }
        self.rx.release(descriptors);
        self.fill.publish();
        self.account.delivered += (packets - unreadable) as u64;
        self.account.unreadable += unreadable as u64;
    }

    /// Whether the packets that wait take `bytes` of the packet memory or more, in whole chunks; 1 asks
    /// whether there is any.
    #[inline]
    pub fn holds(&self, bytes: usize) -> bool {
        let waiting = self.rx.ready() as usize;
        waiting > 0 && waiting * self.memory.chunk_bytes() >= bytes
    }

    /// Whether a quarter of the ring or more waits to be read.
    pub fn is_filling(&self) -> bool {
        self.rx.ready() > self.rx.count() / 4
    }

    /// What became of the packets sent to this ring; [`XdpRing::refresh`] brings the kernel's part up
    /// to date. `freezes` is always 0.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The kernel's counters as they were when last asked, never reset. In copy mode a packet for
    /// which there was no memory is in `rx_dropped` and in `rx_fill_ring_empty_descs`; the account
    /// counts it once, as `rx_dropped + rx_ring_full`.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Asks the kernel for its counters and brings the account up to date.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn refresh(&mut self) -> io::Result<()> {
        // Counted before the kernel is asked: what comes between is in neither.
        let waiting = self.waiting();
        self.ask()?;
        let read = self.account.delivered + self.account.unreadable;
        self.account.accepted = read + self.account.dropped + waiting;
        Ok(())
    }

    /// Asks the kernel for its counters.
    fn ask(&mut self) -> io::Result<()> {
        self.statistics = socket::option(self.socket.as_fd(), SOL_XDP, XDP_STATISTICS)?;
        let dropped = self.statistics.rx_dropped + self.statistics.rx_ring_full;
        self.unreported += dropped.saturating_sub(self.account.dropped);
        self.account.dropped = dropped;
        self.has_starved = false;
        Ok(())
    }

    /// Packets in the ring.
    fn waiting(&self) -> u64 {
        let ready = self.rx.ready();
        if !self.mode.takes_multi_buffer {
            return ready as u64;
        }
        let is_last = |ahead: &u32| self.rx.descriptor(*ahead).options & XDP_PKT_CONTD == 0;
        (0..ready).filter(is_last).count() as u64
    }

    /// Takes the pending error of the socket. The descriptor does not poll as broken then
    /// (`xsk_poll`, net/xdp/xsk.c), so ask now and again when nothing comes.
    ///
    /// # Errors
    /// ENETDOWN when the interface went away.
    pub fn take_error(&self) -> io::Result<()> {
        socket::take_error(self.socket.as_fd())
    }
}

impl AsFd for XdpRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
