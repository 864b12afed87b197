//! The receive ring of an AF_XDP socket.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use abi::socket;
use abi::xdp::{self, SOL_XDP, Statistics, XDP_PKT_CONTD, XDP_STATISTICS, XdpDesc};
use wire::record::FrameMetadata;

use super::error::XdpOpenError;
use super::memory::Memory;
use super::options::{BusyPoll, XdpRingOptions};
use super::queue::{Consumer, Producer};
use super::setup::{self, BindMode};
use super::walk::Descriptors;
use crate::counters::RingCounters;
use crate::cursor::Cursor;
use crate::device_clock::{ClockLine, DeviceClock, DeviceClockState};
use crate::interface::InterfaceInfo;
use crate::packet::RingPacket;
use crate::properties::RingProperties;

/// Largest number of descriptors in a batch, so that memory returns to the kernel steadily. The longest packet, 64 KiB,
/// takes 37.
const MAX_DESCRIPTORS: u32 = 256;

/// The AF_XDP receive ring of one queue. Packets are as the driver delivers them.
///
/// The ring receives what an XDP program redirects to its descriptor, and its counters cover only these packets. The
/// program counts packets that it passes on or drops. `Send`, not `Sync`.
///
/// Time stamps: a packet with [`wire::record::FrameMetadata`] before it has the program's time ([`TimestampSource::Kernel`]).
/// It is `CLOCK_MONOTONIC`, converted to the time of day; the offset of the two clocks is known to some 50 ns, and a
/// clock change is noticed within a millisecond. Other packets have the time of their batch
/// ([`TimestampSource::Reader`]).
///
/// If the program asks the device about each packet ([`wire::record::DeviceMetadata`]), a packet has the device's time
/// stamp ([`TimestampSource::Hardware`]), its hash, and a VLAN tag that the device had stripped. A time stamp of zero is
/// none.
///
/// Otherwise VLAN tags are in place unless the interface strips them; XDP does not see a stripped tag. `ethtool -K IF rxvlan off`
/// disables stripping. The checksum status is always unknown. The destination address tells how a packet was addressed.
///
/// [`TimestampSource::Hardware`]: crate::TimestampSource::Hardware
/// [`TimestampSource::Kernel`]: crate::TimestampSource::Kernel
/// [`TimestampSource::Reader`]: crate::TimestampSource::Reader
#[doc(alias = "AF_XDP")]
#[derive(Debug)]
pub struct XdpRing {
    /// Link of the XDP program. Dropped first, to stop the flow of packets.
    pub(super) attachment: Option<OwnedFd>,
    pub(super) socket: OwnedFd,
    pub(super) rx: Consumer,
    /// Descriptors that [`XdpRing::holds`] has already counted.
    pub(super) scanned: Cell<Scanned>,
    pub(super) fill: Producer,
    pub(super) memory: Memory,
    pub(super) scratch: Vec<u8>,
    pub(super) properties: RingProperties,
    /// The snaplen from the next batch on.
    pub(super) snaplen: XdpSnaplen,
    /// The clock behind the device's time stamps.
    pub(super) clock: Option<Box<DeviceClock>>,
    pub(super) statistics: Statistics,
    pub(super) account: RingCounters,
    /// Dropped packets that no batch has reported yet.
    pub(crate) unreported: u64,
    /// Of the batch that is read packet by packet.
    pub(crate) cursor: Cursor<u32>,
    /// The fill ring was seen empty since the kernel's counters were last read.
    pub(super) has_starved: bool,
    pub(super) busy_poll: Option<BusyPoll>,
    pub(super) mode: BindMode,
    pub(super) queue: u32,
    pub(super) link: InterfaceInfo,
    /// Keeps promiscuous mode enabled.
    pub(super) _membership: OwnedFd,
}

/// Changes the snaplen of an [`XdpRing`] while another thread reads it. Clones change the same ring.
#[derive(Clone, Debug)]
pub struct XdpSnaplen(Arc<AtomicU32>);

impl XdpSnaplen {
    /// Shows at most `bytes` bytes of each packet, from the next batch on.
    pub fn set(&self, bytes: NonZeroU32) {
        // It publishes nothing else, so `Relaxed` is enough.
        self.0.store(bytes.get(), Ordering::Relaxed);
    }
}

/// The oldest descriptors, and the bytes of the packets in them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scanned {
    descriptors: u32,
    bytes: usize,
    /// Bytes counted of the packet that continues in the next descriptor.
    of_packet: usize,
}

impl Scanned {
    /// Counts the next descriptor, where a packet has at most `snaplen` bytes.
    fn count(&mut self, desc: &XdpDesc, snaplen: usize) {
        let kept = (desc.len as usize).min(snaplen - self.of_packet);
        self.bytes += kept;
        self.of_packet = match desc.options & XDP_PKT_CONTD {
            0 => 0,
            _ => self.of_packet + kept,
        };
        self.descriptors += 1;
    }
}

impl XdpRing {
    /// Opens a ring on a queue of interface `link`. It receives nothing until a program redirects packets to it.
    ///
    /// Pins the packet memory. Costs some twenty system calls; none per packet later. Does not block.
    ///
    /// # Errors
    /// [`XdpOpenError`]; its text says what to do. `XdpSetupStep::Bind` with EBUSY if another socket has the queue.
    /// The kernel frees a queue some milliseconds after its socket is closed.
    /// # Privileges
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace; `CAP_NET_ADMIN` for busy
    /// polling; `CAP_IPC_LOCK` for memory beyond the limit of locked memory.
    /// # Kernel
    /// Linux 5.9; 5.11 for busy polling, 6.6 for packets of several buffers.
    /// # Source
    /// `xsk_bind`, net/xdp/xsk.c; Documentation/networking/af_xdp.rst.
    pub fn open(link: &str, options: &XdpRingOptions) -> Result<Self, XdpOpenError> {
        let opened = setup::open(link, options)?;
        let clock = setup::device_clock(link, options)?;
        let scratch_bytes = if opened.mode.accepts_multi_buffer() {
            setup::SCRATCH_BYTES
        } else {
            0
        };
        Ok(Self {
            attachment: None,
            socket: opened.socket,
            rx: opened.rx,
            scanned: Cell::default(),
            fill: opened.fill,
            memory: opened.memory,
            scratch: vec![0; scratch_bytes],
            snaplen: XdpSnaplen(Arc::new(opened.properties.snaplen.into())),
            properties: opened.properties,
            clock,
            statistics: Statistics::default(),
            account: RingCounters::default(),
            unreported: 0,
            cursor: Cursor::default(),
            has_starved: false,
            busy_poll: options.busy_poll,
            mode: opened.mode,
            queue: options.queue,
            link: opened.link,
            _membership: opened.membership,
        })
    }

    /// Number of receive queues of interface `link`. Each needs a ring to capture its packets.
    ///
    /// # Errors
    /// [`XdpOpenError::Setup`]: `XdpSetupStep::Interface` with ENODEV, `XdpSetupStep::Socket` with EPERM.
    /// # Privileges
    /// As for [`XdpRing::open`].
    pub fn queue_count(link: &str) -> Result<u32, XdpOpenError> {
        setup::queue_count(link)
    }

    /// Holds `link`, the descriptor of an XDP link or a duplicate of it, while the ring lives.
    ///
    /// The kernel detaches the program when the last descriptor of its link is closed: when the last ring that holds
    /// one is dropped or [stopped](XdpRing::stop), or the process ends in any way.
    pub fn keep(&mut self, link: OwnedFd) {
        self.attachment = Some(link);
    }

    /// Closes the link that the ring holds. When the last ring does so, no more packets arrive, and the network stack
    /// gets all of them again. Packets in the ring can still be read.
    pub fn stop(&mut self) {
        self.attachment = None;
    }

    /// The interface of the ring.
    pub fn interface(&self) -> &InterfaceInfo {
        &self.link
    }

    /// The receive queue of the ring.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// Changes the snaplen while the ring is read.
    pub fn snaplen(&self) -> XdpSnaplen {
        self.snaplen.clone()
    }

    /// Whether the driver receives directly into the packet memory, as the kernel reports it (`XDP_OPTIONS`).
    pub fn is_zero_copy(&self) -> bool {
        self.mode.is_zero_copy
    }

    /// Whether the kernel accepted `XDP_USE_NEED_WAKEUP` when the socket was bound: it then sets a flag when it needs
    /// a wake-up, and needs no system call otherwise.
    pub fn uses_need_wakeup(&self) -> bool {
        self.mode.uses_need_wakeup()
    }

    /// Busy polling options, if the ring polls busily.
    pub fn busy_poll(&self) -> Option<BusyPoll> {
        self.busy_poll
    }

    /// Whether packets longer than a chunk can be received. The XDP program must then accept multi-buffer frames.
    /// Otherwise such packets are dropped and counted.
    pub fn takes_multi_buffer(&self) -> bool {
        self.mode.accepts_multi_buffer()
    }

    /// Size of the packet memory in bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.memory.region().bytes()
    }

    /// State of the clock behind the device's time stamps; `None` if stamps are not converted.
    pub fn device_clock(&self) -> Option<DeviceClockState> {
        self.clock.as_ref().map(|clock| clock.state())
    }

    fn device_line(&self) -> ClockLine {
        self.clock
            .as_ref()
            .map_or(ClockLine::IDENTITY, |clock| clock.line())
    }

    /// Finds the packets and descriptors of the next batch.
    #[inline]
    pub(crate) fn find_batch(&mut self) -> Option<(u32, u32)> {
        let mut ready = self.rx.ready();
        if ready == 0 {
            if self.busy_poll.is_none() && !self.fill.needs_wakeup() {
                return None;
            }
            self.wake();
            ready = self.rx.ready();
        }
        self.follow_snaplen();
        let (packets, descriptors) = self.whole_packets(ready.min(MAX_DESCRIPTORS))?;
        self.look_at_the_clock();
        if let Some(clock) = &mut self.clock {
            clock.follow();
        }
        self.has_starved |= self.fill.is_empty();
        if self.has_starved {
            // Reading the counters fails only on a bad address, which this is not. If it fails anyway, the next batch
            // reads them again.
            let _ = self.ask();
        }
        Some((packets, descriptors))
    }

    /// Follows a change of the snaplen.
    #[inline]
    fn follow_snaplen(&mut self) {
        let snaplen = self.snaplen.0.load(Ordering::Relaxed);
        if snaplen != self.properties.snaplen {
            self.properties.snaplen = snaplen;
            // The bytes were counted with the former snaplen.
            self.scanned.set(Scanned::default());
        }
    }

    /// Lends the next packet of the [current batch](Self::begin_batch); `None` at its end.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "fields that the caller does not read are not computed"
    )]
    pub fn next_packet(&mut self) -> Option<RingPacket<'_>> {
        let (at, left) = (self.cursor.at as u32, self.cursor.left);
        let count = self.cursor.extent.filter(|_| left > 0)?;
        let device_line = self.device_line();
        let mut rest = Descriptors {
            device_line,
            rx: &self.rx,
            memory: &self.memory,
            at,
            count,
            scratch: &mut self.scratch,
            properties: self.properties,
            queue: self.queue,
        };
        let packet = rest.next();
        self.cursor.at = rest.at.into();
        self.cursor.count(packet)
    }

    /// The packet that [`next_packet`](Self::next_packet) lends next.
    pub fn peek(&mut self) -> Option<RingPacket<'_>> {
        let (at, left) = (self.cursor.at as u32, self.cursor.left);
        let count = self.cursor.extent.filter(|_| left > 0)?;
        let mut rest = self.walk(count);
        rest.at = at;
        rest.next()
    }

    /// Runs the driver's NAPI poll now, if the ring polls busily and no packet waits.
    #[inline]
    pub fn drive(&self) {
        if self.busy_poll.is_some() && self.rx.ready() == 0 {
            self.wake();
        }
    }

    fn wake(&self) {
        // A failure concerns the interface; `take_error` reports it.
        let _ = xdp::wake(self.socket.as_fd());
    }

    /// Reads the clocks, unless the time stamp of the oldest packet shows that they were read a moment ago.
    fn look_at_the_clock(&mut self) {
        let oldest = self.rx.descriptor(0);
        // SAFETY: the descriptor lies in the receive ring: there is at least one.
        let stamp = unsafe { self.memory.metadata(&oldest) };
        let is_recent = |stamp: FrameMetadata| self.properties.offset.is_recent(stamp.monotonic_ns);
        if !stamp.is_some_and(is_recent) {
            self.properties.offset.follow();
        }
    }

    /// Number of whole packets in the oldest `ready` descriptors, and of their descriptors. Limited to what fits into
    /// the scratch memory.
    fn whole_packets(&self, ready: u32) -> Option<(u32, u32)> {
        if ready == 0 {
            return None;
        }
        if !self.mode.accepts_multi_buffer() {
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
                joined += length.min(self.properties.snaplen as usize);
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
        // The end of the packet is still to come. A packet without end is given up as unreadable.
        let is_endless = ready >= MAX_DESCRIPTORS.min(self.rx.count());
        is_endless.then_some((1, ready))
    }

    /// Number of descriptors, of the oldest `descriptors`, that the oldest `packets` packets take.
    pub(crate) fn descriptors_of(&self, packets: u32, descriptors: u32) -> u32 {
        if !self.mode.accepts_multi_buffer() {
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

    /// Iterates over the packets of the oldest `descriptors`.
    #[inline]
    pub(crate) fn walk(&mut self, descriptors: u32) -> Descriptors<'_> {
        Descriptors {
            device_line: self.device_line(),
            rx: &self.rx,
            memory: &self.memory,
            at: 0,
            count: descriptors,
            scratch: &mut self.scratch,
            properties: self.properties,
            queue: self.queue,
        }
    }

    /// Returns the chunks of the oldest `descriptors` to the kernel. They held `packets` packets, of which `unreadable`
    /// were unreadable.
    pub(crate) fn give_back(&mut self, descriptors: u32, packets: u32, unreadable: u32) {
        self.has_starved |= self.fill.is_empty();
        for ahead in 0..descriptors {
            let desc = self.rx.descriptor(ahead);
            // SAFETY: the descriptor lies in the receive ring until `release`. The batch that lent its bytes is being
            // dropped.
            unsafe { self.memory.forget_metadata(&desc) };
            // The fill ring has room for every chunk (`setup::rings`). It can only be full if the kernel handed over a
            // chunk twice.
            if let Some(chunk) = self.memory.chunk(&desc) {
                self.fill.put(chunk);
            }
        }
        self.rx.release(descriptors);
        self.scanned.set(Scanned::default());
        self.fill.publish();
        self.account.delivered += (packets - unreadable) as u64;
        self.account.unreadable += unreadable as u64;
    }

    /// Whether waiting packets have at least `bytes` bytes, each at most the snaplen; 1 means any packet.
    ///
    /// Reads each descriptor that has arrived since the previous call.
    #[inline]
    pub fn holds(&self, bytes: usize) -> bool {
        let ready = self.rx.ready();
        if bytes <= 1 || bytes > self.buffer_bytes() {
            return ready > 0 && bytes <= 1;
        }
        let mut scanned = self.scanned.get();
        while scanned.bytes < bytes && scanned.descriptors < ready {
            let desc = self.rx.descriptor(scanned.descriptors);
            scanned.count(&desc, self.properties.snaplen as usize);
        }
        self.scanned.set(scanned);
        scanned.bytes >= bytes
    }

    /// Time stamp of the oldest waiting packet, in nanoseconds, by the kernel's clock. `None` also if the packet gets its
    /// time stamp when it is read.
    pub fn oldest_ns(&self) -> Option<u64> {
        if self.rx.ready() == 0 {
            return None;
        }
        let oldest = self.rx.descriptor(0);
        // SAFETY: the descriptor lies in the receive ring: there is at least one. Its chunk is returned through
        // `&mut self` only.
        let stamp = unsafe { self.memory.metadata(&oldest) }?;
        Some(self.properties.offset.realtime_ns(stamp.monotonic_ns))
    }

    /// Packets that wait to be read, and those that the ring can hold.
    pub fn waiting_packets(&self) -> (usize, usize) {
        (self.rx.ready() as usize, self.rx.count() as usize)
    }

    /// Whether more than a quarter of the ring waits to be read.
    pub fn is_filling(&self) -> bool {
        self.rx.ready() > self.rx.count() / 4
    }

    /// Packets redirected to this ring so far. [`XdpRing::refresh`] updates the kernel's counters. `freezes` is always
    /// 0.
    pub fn counters(&self) -> &RingCounters {
        &self.account
    }

    /// The kernel's counters as last read. They are never reset. In copy mode, a packet without memory counts in both
    /// `rx_dropped` and `rx_fill_ring_empty_descs`. [`XdpRing::counters`] counts it once, as `rx_dropped + rx_ring_full`.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Reads the kernel's counters and updates [`XdpRing::counters`].
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    pub fn refresh(&mut self) -> io::Result<()> {
        // Count before reading the kernel's counters: packets that arrive in between are in neither.
        let waiting = self.waiting();
        self.ask()?;
        let read = self.account.delivered + self.account.unreadable;
        self.account.accepted = read + self.account.dropped + waiting;
        Ok(())
    }

    /// Reads the kernel's counters.
    fn ask(&mut self) -> io::Result<()> {
        self.statistics = socket::option(self.socket.as_fd(), SOL_XDP, XDP_STATISTICS)?;
        let dropped = self.statistics.rx_dropped + self.statistics.rx_ring_full;
        self.unreported += dropped.saturating_sub(self.account.dropped);
        self.account.dropped = dropped;
        self.has_starved = false;
        Ok(())
    }

    /// Number of packets in the ring.
    fn waiting(&self) -> u64 {
        let ready = self.rx.ready();
        if !self.mode.accepts_multi_buffer() {
            return ready as u64;
        }
        let is_last = |ahead: &u32| self.rx.descriptor(*ahead).options & XDP_PKT_CONTD == 0;
        (0..ready).filter(is_last).count() as u64
    }

    /// Takes the pending error of the socket. An error does not make the descriptor poll as `POLLERR` (`xsk_poll`,
    /// net/xdp/xsk.c), so call this now and then when no packets arrive.
    ///
    /// # Errors
    /// ENETDOWN if the interface was removed.
    pub fn take_error(&self) -> io::Result<()> {
        socket::take_error(self.socket.as_fd())
    }
}

impl AsFd for XdpRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_several_buffers_counts_up_to_the_snaplen() {
        let desc = |len, options| XdpDesc {
            addr: 0,
            len,
            options,
        };
        let mut scanned = Scanned::default();
        let packets = [
            (desc(60, 0), 60),
            (desc(1800, 0), 1060),
            (desc(600, XDP_PKT_CONTD), 1660),
            (desc(600, XDP_PKT_CONTD), 2060),
            (desc(600, 0), 2060),
            (desc(0, 0), 2060),
            (desc(1000, 0), 3060),
        ];
        for (number, (desc, bytes)) in (1..).zip(packets) {
            scanned.count(&desc, 1000);
            assert_eq!((scanned.descriptors, scanned.bytes), (number, bytes));
        }
    }
}
