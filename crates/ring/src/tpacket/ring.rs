//! The receive ring of a packet socket.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use abi::bpf::attach_classic;
use abi::packet::{
    BlockDesc, PACKET_FANOUT, PACKET_STATISTICS, SOL_PACKET, TP_STATUS_KERNEL, TP_STATUS_LOSING,
    TP_STATUS_USER, Tpacket2Hdr, Tpacket3Hdr, TpacketStats,
};
use abi::region::Region;
use abi::socket;

use super::block_layout::BlockLayout;
use super::filter::{self, Refused};
use super::geometry::{Geometry, MAX_FRAMES};
use super::setup::{self, Role};
use super::walk::{SlotWalk, Slots};
use crate::counters::RingCounters;
use crate::cursor::{Cursor, PacketExtent};
use crate::device_clock::{DeviceClock, DeviceClockState};
use crate::error::RingOpenError;
use crate::header::Header;
use crate::interface::InterfaceInfo;
use crate::options::{RingFilter, RingOptions, TimestampSource, TpacketVersion};
use crate::packet::Stamps;

/// A packet socket's receive ring: memory that the kernel fills with packets and the reader empties.
///
/// Layout: `count` contiguous slots of equal size. A slot is a frame with one packet (TPACKET_V2) or a block with
/// many (TPACKET_V3). A status word in each slot says whether the kernel or the reader owns it. The reader visits
/// the slots in order. `Send`, not `Sync`.
#[derive(Debug)]
pub struct PacketRing {
    pub(crate) region: Region,
    pub(crate) socket: OwnedFd,
    pub(crate) geometry: Geometry,
    pub(crate) head: usize,
    /// Slots from the head on that [`PacketRing::holds`] has already counted.
    pub(crate) scanned: Cell<Scanned>,
    pub(crate) snaplen: u32,
    pub(crate) account: RingCounters,
    /// Dropped packets that no batch has reported yet.
    pub(crate) unreported: u64,
    /// Of the batch that is read packet by packet.
    pub(crate) cursor: Cursor<PacketExtent>,
    pub(crate) link: InterfaceInfo,
    /// Configured source of time stamps.
    timestamps: TimestampSource,
    /// Direction that each filter rejects.
    refused: Refused,
    /// The clock behind hardware time stamps, which are converted to the time of day.
    clock: Option<Box<DeviceClock>>,
    /// No packet can enter any more. Shared with the [`HandoverGroup`](crate::HandoverGroup), which replaces the ring.
    pub(crate) is_at_rest: Arc<AtomicBool>,
    /// An unused packet socket, through which [`finish`](Self::finish) waits for the CPUs; with a long block timer. Their group
    /// keeps those of rings that are replaced: closing one waits for the CPUs, too, and the reader drops such rings.
    pub(crate) spare: Option<Arc<OwnedFd>>,
    /// What a [`HandoverGroup`](crate::HandoverGroup) or a [`RingShare`](crate::RingShare) has the ring keep. Dropped last,
    /// after the memory and the socket.
    pub(crate) turn: Option<Arc<dyn fmt::Debug + Send + Sync>>,
}

impl PacketRing {
    /// The packets of the `slots` slots at the head, which the kernel has handed over or fills no more.
    pub(crate) fn slots(&self, slots: usize) -> Slots<'_> {
        // SAFETY: the ring is borrowed for as long as the packets are.
        unsafe { Slots::new(self.slot_walk(slots)) }
    }

    /// The position of the first packet of the `slots` slots at the head.
    pub(crate) fn slot_walk(&self, slots: usize) -> SlotWalk {
        let stamps = self.stamps();
        SlotWalk::new(
            &self.region,
            self.geometry,
            self.head,
            slots,
            self.snaplen,
            stamps,
        )
    }

    fn stamps(&self) -> Stamps {
        Stamps {
            line: self.clock.as_ref().map(|clock| clock.line()),
            has_driver: self.timestamps == TimestampSource::Driver,
        }
    }

    /// State of the clock behind hardware time stamps; `None` if stamps are not converted.
    pub fn device_clock(&self) -> Option<DeviceClockState> {
        self.clock.as_ref().map(|clock| clock.state())
    }

    /// Opens a ring on interface `link` and starts it.
    ///
    /// Costs about a dozen system calls; none per packet later. Does not block.
    ///
    /// # Errors
    /// [`RingOpenError::Option`] if the options contradict each other. [`RingOpenError::Setup`] with the step that
    /// the kernel refused: `SetupStep::Socket` with EPERM, `SetupStep::Interface` with ENODEV, `SetupStep::Ring`
    /// with ENOMEM, `SetupStep::Filter` with EINVAL.
    /// # Privileges
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace; read access to `/dev/ptpN` for a
    /// `device_clock`.
    /// # Kernel
    /// Linux 4.20 (`PACKET_IGNORE_OUTGOING`).
    /// # Source
    /// `packet_set_ring`, net/packet/af_packet.c; Documentation/networking/packet_mmap.rst.
    pub fn open(link: &str, options: &RingOptions) -> Result<Self, RingOpenError> {
        Self::open_as(link, options, Role::Alone)
    }

    pub(crate) fn open_as(
        link: &str,
        options: &RingOptions,
        role: Role<'_>,
    ) -> Result<Self, RingOpenError> {
        let opened = setup::open(link, options, role)?;
        Ok(Self {
            region: opened.region,
            socket: opened.socket,
            geometry: opened.geometry,
            head: 0,
            scanned: Cell::default(),
            snaplen: options.snaplen,
            account: RingCounters::default(),
            unreported: 0,
            link: opened.link,
            timestamps: options.timestamps,
            refused: opened.refused,
            clock: opened.clock,
            cursor: Cursor::default(),
            is_at_rest: Arc::default(),
            spare: opened.spare,
            turn: None,
        })
    }

    /// The interface of the ring.
    pub fn interface(&self) -> &InterfaceInfo {
        &self.link
    }

    /// Number of the fanout group that its options named or created.
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    pub fn fanout_group(&self) -> io::Result<u16> {
        let option: u32 = socket::option(self.socket.as_fd(), SOL_PACKET, PACKET_FANOUT)?;
        // The low half; mode and flags are the high half.
        Ok(option as u16)
    }

    /// TPACKET version of the ring.
    pub fn version(&self) -> TpacketVersion {
        self.geometry.version
    }

    /// Size of the ring in bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.geometry.bytes()
    }

    /// The slots of the next batch.
    #[inline]
    pub(crate) fn find_batch(&mut self) -> Option<Ready> {
        let ready = self.ready()?;
        if ready.losing {
            // Reading the counters fails only on a bad address, which this is not. If it fails anyway, the next
            // batch reads them again.
            let _ = self.refresh();
        }
        if let Some(clock) = &mut self.clock {
            clock.follow();
        }
        Some(ready)
    }

    /// Returns the slots of a batch to the kernel, of whose packets `unreadable` were unreadable.
    pub(crate) fn give_back(&mut self, slots: usize, packets: u32, unreadable: u32) {
        for slot in self.head..self.head + slots {
            if self.geometry.version == TpacketVersion::V3 {
                // So that a number other than 0 is that of the block which the kernel fills: it stores 0 itself only when
                // it opens the block (prb_open_block, net/packet/af_packet.c). `Relaxed`: the store below orders it.
                self.packet_count(slot).store(0, Ordering::Relaxed);
            }
            let offset = slot * self.geometry.slot_bytes + status_offset(self.geometry.version);
            // Release: every read of the slot's bytes happens before the kernel can see that it may fill the slot
            // again (prb_dispatch_next_block and packet_lookup_frame, net/packet/af_packet.c). With a weaker store,
            // a packet could change while it is read.
            let status = self.region.word(offset);
            status.store(TP_STATUS_KERNEL, Ordering::Release);
        }
        self.head = (self.head + slots) % self.geometry.count;
        self.scanned.set(Scanned::default());
        self.account.delivered += (packets - unreadable) as u64;
        self.account.unreadable += unreadable as u64;
    }

    fn ready(&self) -> Option<Ready> {
        match self.geometry.version {
            TpacketVersion::V3 => self.ready_block(),
            TpacketVersion::V2 => self.ready_frames(),
        }
    }

    pub(crate) fn status(&self, slot: usize) -> u32 {
        let offset = slot * self.geometry.slot_bytes + status_offset(self.geometry.version);
        // Acquire pairs with the write barrier between filling the slot and setting this word (prb_flush_block and
        // __packet_set_status, net/packet/af_packet.c). With a weaker load, a packet could be read before its bytes
        // are visible.
        self.region.word(offset).load(Ordering::Acquire)
    }

    fn ready_block(&self) -> Option<Ready> {
        let status = self.status(self.head);
        let packets = if status & TP_STATUS_USER == 0 {
            self.left_in_open_block()
        } else {
            // The acquiring load of the status orders it.
            self.packet_count(self.head).load(Ordering::Relaxed)
        };
        (status & TP_STATUS_USER != 0 || packets > 0).then_some(Ready {
            slots: 1,
            packets,
            losing: status & TP_STATUS_LOSING != 0,
        })
    }

    /// TPACKET_V3: packets of the block at the head, which the kernel has not handed over, if no packet can enter any more.
    /// Its timer changes nothing then but the header of the block, and in that of the last packet the offset of the next one,
    /// which is not used.
    fn left_in_open_block(&self) -> u32 {
        // Acquire pairs with the stores of `true` (`setup::finish` and `setup::put_to_rest`), which follow a wait for all CPUs that were
        // copying packets. With a weaker load, a packet could be read before its bytes are visible.
        if self.geometry.version == TpacketVersion::V3 && self.is_at_rest.load(Ordering::Acquire) {
            self.packet_count(self.head).load(Ordering::Relaxed)
        } else {
            0
        }
    }

    /// TPACKET_V3: the number of packets of a block, which is the kernel's unless the reader owns the block.
    fn packet_count(&self, slot: usize) -> &AtomicU32 {
        let offset = slot * self.geometry.slot_bytes + offset_of!(BlockDesc, num_pkts);
        self.region.word(offset)
    }

    fn ready_frames(&self) -> Option<Ready> {
        let most = MAX_FRAMES.min(self.geometry.count - self.head);
        let mut losing = false;
        let mut slots = 0;
        while slots < most {
            let status = self.status(self.head + slots);
            if status & TP_STATUS_USER == 0 {
                break;
            }
            losing |= status & TP_STATUS_LOSING != 0;
            slots += 1;
        }
        (slots > 0).then_some(Ready {
            slots,
            packets: slots as u32,
            losing,
        })
    }

    /// Packets so far. [`PacketRing::refresh`] updates the kernel's counters.
    pub fn counters(&self) -> &RingCounters {
        &self.account
    }

    /// Reads the kernel's counters and adds them to [`PacketRing::counters`].
    ///
    /// Reading resets the kernel's counters. Nothing is lost, because only this ring reads them.
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    pub fn refresh(&mut self) -> io::Result<()> {
        let since: TpacketStats =
            socket::option(self.socket.as_fd(), SOL_PACKET, PACKET_STATISTICS)?;
        self.account.count(since);
        self.unreported += since.drops as u64;
        Ok(())
    }

    /// Replaces the filter. Packets in the ring stay there: the filter before has accepted them.
    ///
    /// Returns once no CPU runs the filter before any more, if the process may open packet sockets. Otherwise a packet that
    /// another CPU is filtering at this moment may still enter.
    ///
    /// # Errors
    /// EINVAL if the kernel rejects the program or the ring is [finished](Self::finish), ENOMEM if the program is larger than
    /// `net.core.optmem_max` allows. The filter before stays then.
    /// # Source
    /// `sk_attach_filter`, net/core/filter.c; `packet_release`, net/packet/af_packet.c, which waits for the CPUs.
    pub fn set_filter(&self, filter: &RingFilter) -> io::Result<()> {
        if self.is_at_rest.load(Ordering::Relaxed) {
            // Blocks that the kernel fills again would be read meanwhile.
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        setup::attach(self.socket.as_fd(), filter, self.refused, self.snaplen)?;
        // Closing any packet socket waits for the CPUs. Without the privilege there is none, as documented.
        drop(socket::packet_socket());
        Ok(())
    }

    /// Stops receiving: the ring gets no packets that arrive from now on.
    ///
    /// Packets in the ring can still be read. The kernel hands over a V3 block that holds packets when its timer
    /// expires; [`finish`](Self::finish) does not wait for that. A packet that another CPU is filtering at this moment may still enter.
    ///
    /// # Errors
    /// Errors of setsockopt(2).
    pub fn stop(&self) -> io::Result<()> {
        attach_classic(self.socket.as_fd(), &filter::nothing())
    }

    /// Stops receiving as [`stop`](Self::stop) does. With a V3 block timer of more than 50 ms, also waits until no CPU is
    /// putting a packet into the ring: about ten milliseconds. Packets of a block that is not full are then lent at once, and
    /// not only when the timer expires. Returns whether they are from now on.
    ///
    /// # Errors
    /// Errors of setsockopt(2).
    /// # Source
    /// `tpacket_rcv` and `packet_set_ring`, net/packet/af_packet.c.
    pub fn finish(&self) -> io::Result<bool> {
        let Some(spare) = &self.spare else {
            return Ok(false);
        };
        if self.is_at_rest.load(Ordering::Relaxed) {
            return Ok(false);
        }
        setup::finish(&[(self.socket.as_fd(), &*self.is_at_rest)], spare.as_fd())?;
        Ok(true)
    }

    /// Continues where `before` ends: this ring's counters include its packets from now on.
    ///
    /// Frees the memory of `before`. Packets still in it are lost and count as waiting forever; see
    /// [`PacketRing::is_at_end`].
    pub fn follow(&mut self, mut before: Self) {
        self.account = self.account + before.account;
        if self.clock.is_some() {
            // It knows the drift better.
            self.clock = before.clock.take().or_else(|| self.clock.take());
        }
        self.unreported += before.unreported;
        drop(before);
    }

    /// Whether every packet that entered the ring has been read so far. The answer is final once no more packets can
    /// arrive: after [`PacketRing::stop`], or after another ring [took over](crate::PreparedRing::take_over).
    ///
    /// Costs a system call.
    ///
    /// # Errors
    /// Errors of getsockopt(2).
    pub fn is_at_end(&mut self) -> io::Result<bool> {
        self.refresh()?;
        Ok(self.account.waiting() == 0)
    }

    /// Takes the pending error of the socket, which makes its descriptor poll as `POLLERR`.
    ///
    /// # Errors
    /// ENETDOWN if the interface went down or was removed.
    pub fn take_error(&self) -> io::Result<()> {
        socket::take_error(self.socket.as_fd())
    }

    /// Whether waiting packets, including their headers, take at least `bytes` bytes of the ring; 1 means any packet. In
    /// TPACKET_V3 the packets of a block count once the kernel has handed the block over.
    ///
    /// Reads the header of each slot that has arrived since the previous call.
    #[inline]
    pub fn holds(&self, bytes: usize) -> bool {
        if bytes <= 1 {
            return self.is_handed_over(self.head) || self.left_in_open_block() > 0;
        }
        if bytes > self.geometry.bytes() {
            return false;
        }
        let mut scanned = self.scanned.get();
        while scanned.bytes < bytes && scanned.slots < self.geometry.count {
            let slot = (self.head + scanned.slots) % self.geometry.count;
            if !self.is_handed_over(slot) {
                break;
            }
            scanned.bytes += self.used_bytes(slot);
            scanned.slots += 1;
        }
        self.scanned.set(scanned);
        scanned.bytes >= bytes
    }

    /// Frames (TPACKET_V2) or blocks (TPACKET_V3) that wait to be read, and those of the ring. Approximate while several
    /// CPUs fill frames at the same time.
    ///
    /// Costs a load for each doubling of the ring.
    pub fn waiting_slots(&self) -> (usize, usize) {
        let count = self.geometry.count;
        // The kernel hands them over in order from the head on.
        let (mut waiting, mut end) = (0, count);
        while waiting < end {
            let middle = usize::midpoint(waiting, end);
            if self.is_handed_over((self.head + middle) % count) {
                waiting = middle + 1;
            } else {
                end = middle;
            }
        }
        (waiting, count)
    }

    /// Whether a quarter of the ring or more waits to be read.
    pub fn is_filling(&self) -> bool {
        self.is_handed_over((self.head + self.geometry.count / 4) % self.geometry.count)
    }

    /// Time stamp of the oldest waiting packet, in nanoseconds, as [`RingPacket::timestamp_ns`].
    ///
    /// [`RingPacket::timestamp_ns`]: crate::RingPacket::timestamp_ns
    pub fn oldest_ns(&self) -> Option<u64> {
        if !self.is_handed_over(self.head) {
            return None;
        }
        match self.geometry.version {
            TpacketVersion::V2 => Some(self.stamps().of(&self.frame(self.head)).0),
            TpacketVersion::V3 => {
                let first = self.block(self.head).offset_to_first_pkt as usize;
                let fits = first.is_multiple_of(8)
                    && first + size_of::<Tpacket3Hdr>() <= self.geometry.slot_bytes;
                if !fits {
                    return None;
                }
                let at = self.head * self.geometry.slot_bytes + first;
                let header = self.region.pointer(at, size_of::<Tpacket3Hdr>());
                // SAFETY: mapped (checked), aligned to 8 (checked; blocks are page-aligned), and owned by the reader,
                // as the status says.
                let header = unsafe { header.cast::<Tpacket3Hdr>().read() };
                Some(self.stamps().of(&header).0)
            }
        }
    }

    /// TPACKET_V3: time after which the kernel hands over a block that is not full.
    pub fn block_time(&self) -> Option<Duration> {
        let ms = self.geometry.retire_ms;
        (self.geometry.version == TpacketVersion::V3).then(|| Duration::from_millis(ms.into()))
    }

    /// TPACKET_V3: its blocks, and why they have their size and timer.
    pub fn blocks(&self) -> Option<BlockLayout> {
        Some(BlockLayout {
            bytes: self.geometry.slot_bytes,
            count: self.geometry.count,
            timer: self.block_time()?,
            reason: self.geometry.reason,
        })
    }

    fn is_handed_over(&self, slot: usize) -> bool {
        self.status(slot) & TP_STATUS_USER != 0
    }

    /// Bytes that packets take in a slot that the reader owns.
    fn used_bytes(&self, slot: usize) -> usize {
        match self.geometry.version {
            TpacketVersion::V2 => {
                let header = self.frame(slot);
                (header.start() + header.kept()).min(self.geometry.slot_bytes)
            }
            TpacketVersion::V3 => {
                let block = self.block(slot);
                block.blk_len.saturating_sub(block.offset_to_first_pkt) as usize
            }
        }
    }

    /// The header of a frame that the reader owns.
    fn frame(&self, slot: usize) -> Tpacket2Hdr {
        let at = slot * self.geometry.slot_bytes;
        let header = self.region.pointer(at, size_of::<Tpacket2Hdr>());
        // SAFETY: mapped (checked), aligned to 16 as frames are. The kernel does not write a frame that the reader owns,
        // and the caller has seen that status.
        unsafe { header.cast::<Tpacket2Hdr>().read() }
    }

    /// The header of a block that the reader owns.
    fn block(&self, slot: usize) -> BlockDesc {
        let at = slot * self.geometry.slot_bytes;
        let block = self.region.pointer(at, size_of::<BlockDesc>());
        // SAFETY: mapped (checked) and page-aligned. The kernel does not write a block that the reader owns, and the
        // caller has seen that status.
        unsafe { block.cast::<BlockDesc>().read() }
    }
}

/// Slots from the head on that the reader is known to own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scanned {
    slots: usize,
    /// Bytes of their packets.
    bytes: usize,
}

/// Slots that are ready at the head of a ring.
pub(crate) struct Ready {
    pub slots: usize,
    pub packets: u32,
    losing: bool,
}

/// Offset of the status word in a slot, which is shared with the kernel.
const fn status_offset(version: TpacketVersion) -> usize {
    match version {
        TpacketVersion::V2 => offset_of!(Tpacket2Hdr, status),
        TpacketVersion::V3 => offset_of!(BlockDesc, block_status),
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
