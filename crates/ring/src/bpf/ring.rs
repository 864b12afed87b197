//! The reader's end of a BPF ring buffer or of one CPU's slots.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use abi::interface::hardware_address;
use abi::socket;
use wire::record::SlotRing;

use super::error::{BpfRingError, BpfRingSetupStep};
use super::memory::{Found, RecordMemory, Span, Written};
use super::slot_copies::SlotCopies;
use super::walk::Records;
use crate::clock::Offset;
use crate::counters::RingCounters;
use crate::cursor::Cursor;
use crate::device_clock::{ClockLine, DeviceClock, DeviceClockState};
use crate::interface::{InterfaceInfo, receive_queues, set_promiscuous};
use crate::options::DEFAULT_SNAPLEN;
use crate::packet::RingPacket;
use crate::prefetch;
use crate::properties::RingProperties;

/// Largest number of records in a batch, so that memory returns to the kernel steadily.
const MAX_RECORDS: u32 = 256;

/// Options of a [`BpfRing`].
#[derive(Clone, Debug)]
pub struct BpfRingOptions {
    /// Put the interface into promiscuous mode.
    pub promiscuous: bool,
    /// Largest number of bytes shown of a packet. The program limits the bytes copied, too.
    pub snaplen: u32,
    /// Records of the BPF ring buffer have [`DeviceMetadata`](wire::record::DeviceMetadata), which the program asks for
    /// (`bpf::RingBufferProgramOptions::metadata`).
    pub device_metadata: bool,
    /// Number of the device's clock, `/dev/ptpN`, by which its time stamps are converted to the time of day. `None`: they
    /// are not converted.
    pub device_clock: Option<u32>,
}

impl Default for BpfRingOptions {
    fn default() -> Self {
        Self {
            promiscuous: true,
            snaplen: DEFAULT_SNAPLEN,
            device_metadata: false,
            device_clock: None,
        }
    }
}

/// The reader's end of a BPF ring buffer (`bpf::RingBufferProgram`) or of one CPU's slots (`bpf::SlotProgram`).
/// It reads packet beginnings. `Send`, not `Sync`.
///
/// The program takes the time stamps (`CLOCK_MONOTONIC`, converted to the time of day as
/// [`XdpRing`](crate::XdpRing) does), unless the device has reported one. Packets are as the driver delivers them: VLAN tags
/// are in place unless the interface strips them, and the checksum status is unknown.
///
/// The descriptor becomes readable when there are records. A record wakes the reader only if all earlier records
/// were released. A reader that sleeps for a while before it reads is therefore woken once, however many
/// packets arrive. Such a reader should check whether the buffer [is filling](BpfRing::is_filling).
#[doc(alias = "BPF_MAP_TYPE_RINGBUF")]
#[derive(Debug)]
pub struct BpfRing {
    map: OwnedFd,
    memory: RecordMemory,
    /// Position up to which all records were released.
    read: u64,
    /// Records that were ready when the write position was last read, minus those read since. The program updates
    /// that position for each packet, so every read of it moves the cache line between CPUs.
    known: Span,
    /// Slots behind `read` that [`BpfRing::holds`] has already counted: their end, and their bytes.
    scanned: Cell<Option<(u64, usize)>>,
    /// The program's loss counter in the latest packet delivered.
    lost: u64,
    account: RingCounters,
    properties: RingProperties,
    /// Each record has the device's metadata.
    has_metadata: bool,
    /// The clock behind the device's time stamps.
    clock: Option<Box<DeviceClock>>,
    /// Copies of the current batch's slots. `None` for a BPF ring buffer, whose records are lent.
    copies: Option<SlotCopies>,
    /// Of the batch that is read packet by packet.
    pub(crate) cursor: Cursor<Span>,
    link: InterfaceInfo,
    /// Keeps promiscuous mode enabled.
    _membership: OwnedFd,
}

impl BpfRing {
    /// Maps the BPF ring buffer `map`, which holds packets of interface `link`.
    ///
    /// Each CPU has a buffer of its own; open them one by one. Costs some ten system calls; none per packet
    /// later. Does not block.
    ///
    /// # Errors
    /// [`BpfRingError`]; its text says what to do. `BpfRingSetupStep::Map` with EINVAL if `map` is not a ring
    /// buffer, with `ResourceBusy` if this process already reads it: two readers could release each other's
    /// records.
    /// # Privileges
    /// `CAP_NET_RAW` in the user namespace that owns the network namespace.
    /// # Kernel
    /// Linux 5.8.
    /// # Source
    /// kernel/bpf/ringbuf.c; Documentation/bpf/ringbuf.rst.
    pub fn open(
        link: &str,
        map: BorrowedFd<'_>,
        options: &BpfRingOptions,
    ) -> Result<Self, BpfRingError> {
        Self::with(link, map, options, || RecordMemory::map(map))
    }

    /// Maps the slots of one CPU that `bpf::SlotProgram` fills with packets of interface `link`.
    ///
    /// The reader does not trust the writer: it copies slots out of the shared memory and checks the copies. If a
    /// slot is invalid, the rest of its batch counts as unreadable.
    ///
    /// # Errors
    /// As [`BpfRing::open`].
    /// # Privileges
    /// As [`BpfRing::open`].
    /// # Kernel
    /// Linux 5.8.
    pub fn open_slots(
        link: &str,
        place: &SlotRing<'_>,
        options: &BpfRingOptions,
    ) -> Result<Self, BpfRingError> {
        Self::with(link, place.wakes, options, || {
            RecordMemory::map_slots(place)
        })
    }

    /// Opens a ring on memory from `map`. The descriptor `wakes` is readable when there is work for the reader.
    fn with(
        link: &str,
        wakes: BorrowedFd<'_>,
        options: &BpfRingOptions,
        map: impl FnOnce() -> io::Result<RecordMemory>,
    ) -> Result<Self, BpfRingError> {
        if options.snaplen == 0 {
            return Err(BpfRingError::SnaplenZero);
        }
        let at = |step| {
            move |source| BpfRingError::Setup {
                step,
                link: link.to_owned(),
                source,
            }
        };
        let asked = socket::packet_socket().map_err(at(BpfRingSetupStep::Socket))?;
        let fd = asked.as_fd();
        let index = socket::link_index(fd, link).map_err(at(BpfRingSetupStep::Interface))?;
        let address = hardware_address(fd, link).map_err(at(BpfRingSetupStep::Interface))?;
        // A driver that does not report its queues may have several.
        let has_queues = receive_queues(fd, link).map_or(true, |queues| queues > 1);
        let Some(interface) = InterfaceInfo::new(link, index, address.hatype) else {
            return Err(BpfRingError::LinkLayer {
                link: link.to_owned(),
                hatype: address.hatype,
            });
        };
        if options.promiscuous {
            set_promiscuous(fd, index).map_err(at(BpfRingSetupStep::Promiscuous))?;
        }
        let memory = map().map_err(at(BpfRingSetupStep::Map))?;
        let map = wakes
            .try_clone_to_owned()
            .map_err(at(BpfRingSetupStep::Map))?;
        let copies = memory.slot_bytes().map(SlotCopies::new);
        let clock = options.device_clock.map(DeviceClock::open).transpose();
        let clock = clock.map_err(at(BpfRingSetupStep::Clock))?;
        Ok(Self {
            map,
            read: memory.read_position(),
            scanned: Cell::new(None),
            known: Span {
                at: memory.read_position(),
                end: memory.read_position(),
            },
            memory,
            lost: 0,
            account: RingCounters::default(),
            cursor: Cursor::default(),
            properties: RingProperties {
                snaplen: options.snaplen,
                link: index,
                mac: (interface.link_type == 1).then_some(address.bytes),
                has_queues,
                offset: Offset::measure(),
            },
            has_metadata: options.device_metadata && copies.is_none(),
            clock: clock.map(Box::new),
            copies,
            link: interface,
            _membership: asked,
        })
    }

    /// The interface whose packets the ring holds.
    pub fn interface(&self) -> &InterfaceInfo {
        &self.link
    }

    /// Size of the buffer in bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.memory.bytes() as usize
    }

    /// State of the clock behind the device's time stamps; `None` if stamps are not converted.
    pub fn device_clock(&self) -> Option<DeviceClockState> {
        self.clock.as_ref().map(|clock| clock.state())
    }

    /// The conversion of the device's time stamps; `None` if records have none.
    #[inline]
    fn device_line(&self) -> Option<ClockLine> {
        let clock = self.clock.as_deref();
        self.has_metadata
            .then(|| clock.map_or(ClockLine::IDENTITY, DeviceClock::line))
    }

    /// Finds the records of the next batch, and the packets lost before them.
    #[inline]
    pub(crate) fn find_batch(&mut self) -> Option<(Found, u64)> {
        let found = self.find().or_else(|| {
            self.memory.prepare_sleep();
            self.find()
        })?;
        if !self.properties.offset.is_recent(found.monotonic_ns) {
            self.properties.offset.follow();
        }
        if let Some(clock) = &mut self.clock {
            clock.follow();
        }
        let lost_before = found.lost.wrapping_sub(self.lost);
        self.lost = found.lost;
        Some((found, lost_before))
    }

    /// Lends the next packet of the [current batch](Self::begin_batch); `None` at its end.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "fields that the caller does not read are not computed"
    )]
    pub fn next_packet(&mut self) -> Option<RingPacket<'_>> {
        let (at, left) = (self.cursor.at, self.cursor.left);
        let span = self.cursor.extent.filter(|_| left > 0)?;
        let device_line = self.device_line();
        let mut rest = Records {
            device_line,
            ..resume(
                &self.memory,
                self.properties,
                self.copies.as_ref(),
                span,
                at,
            )
        };
        let packet = rest.next();
        self.cursor.at = match rest.copies {
            Some((_, number)) => number as u64,
            None => rest.span.at,
        };
        self.cursor.count(packet)
    }

    /// The packet that [`next_packet`](Self::next_packet) lends next.
    pub fn peek(&mut self) -> Option<RingPacket<'_>> {
        let (at, left) = (self.cursor.at, self.cursor.left);
        let span = self.cursor.extent.filter(|_| left > 0)?;
        let device_line = self.device_line();
        let mut rest = Records {
            device_line,
            ..resume(
                &self.memory,
                self.properties,
                self.copies.as_ref(),
                span,
                at,
            )
        };
        rest.next()
    }

    /// The position of the first packet of a batch, for a [`Cursor`].
    pub(crate) fn first_position(&self, span: Span) -> u64 {
        if self.copies.is_some() { 0 } else { span.at }
    }

    /// Makes the descriptor unreadable if all signalled packets have been read. Packets that arrive later make it
    /// readable again. [`next_batch`](Self::next_batch) does the same when there are no packets. Callers of
    /// `rearm` must check once more whether the buffer [holds](Self::holds) packets before they sleep.
    pub fn rearm(&self) {
        self.memory.prepare_sleep();
    }

    /// Finds the records of the next batch.
    #[inline]
    fn find(&mut self) -> Option<Found> {
        if self.known.at == self.known.end {
            self.known = self.waiting();
        }
        let known = self.known;
        let found = match (&mut self.copies, self.memory.slot_bytes()) {
            (Some(copies), Some(slot_bytes)) => copies.find(&self.memory, known, slot_bytes),
            _ => self.find_lent(known),
        };
        if found.is_none() {
            self.known.end = self.known.at;
        }
        found
    }

    /// Finds the records of the next batch where records are lent.
    #[inline]
    fn find_lent(&self, waiting: Span) -> Option<Found> {
        let mut rest = waiting;
        let mut found: Option<Found> = None;
        for _ in 0..MAX_RECORDS {
            match rest.look(&self.memory) {
                Written::Nothing => break,
                Written::Packet { kept, next } => {
                    if let Some(record) = self.memory.bytes_of(rest.at, 0) {
                        prefetch::ahead(record, kept);
                    }
                    let header = self.memory.header(rest.at);
                    let found = found.get_or_insert(Found {
                        span: Span {
                            end: waiting.at,
                            ..waiting
                        },
                        packets: 0,
                        lost: header.lost,
                        monotonic_ns: header.monotonic_ns,
                    });
                    if found.lost != header.lost {
                        break;
                    }
                    found.packets += 1;
                    found.span.end = next;
                    rest.at = next;
                }
                // The valid records come first. The invalid rest then counts as one packet, which the iterator
                // reports as unreadable.
                Written::Invalid => {
                    return found.or(Some(Found {
                        span: waiting,
                        packets: 1,
                        lost: self.lost,
                        monotonic_ns: 0,
                    }));
                }
            }
        }
        found
    }

    /// Records begun but not released. Clamps a write position that is out of range.
    #[inline]
    fn waiting(&self) -> Span {
        let begun = self.memory.write_position();
        let bytes = begun.wrapping_sub(self.read).min(self.memory.bytes());
        let unit = self.memory.slot_bytes().unwrap_or(1);
        let bytes = bytes & !(unit - 1);
        Span {
            at: self.read,
            end: self.read.wrapping_add(bytes),
        }
    }

    /// Iterates over the records of a batch.
    #[inline]
    pub(crate) fn walk(&self, span: Span) -> Records<'_> {
        Records {
            memory: &self.memory,
            span,
            properties: self.properties,
            device_line: self.device_line(),
            copies: self.copies.as_ref().map(|copies| (copies, 0)),
        }
    }

    /// The part of `span` that holds its oldest `packets` packets.
    pub(crate) fn first_of(&self, packets: u32, span: Span) -> Span {
        let rest = span.behind(packets, &self.memory);
        Span {
            end: rest.at,
            ..span
        }
    }

    /// Makes the next batch report `lost` packets that the current one will not.
    pub(crate) fn report_again(&mut self, lost: u64) {
        self.lost = self.lost.wrapping_sub(lost);
    }

    /// Releases the records of a batch of `packets` packets, of which `unreadable` were unreadable.
    pub(crate) fn give_back(&mut self, span: Span, packets: u32, unreadable: u32) {
        self.read = span.end;
        self.known.at = span.end;
        self.scanned.set(None);
        self.memory.release(self.read);
        self.account.delivered += (packets - unreadable) as u64;
        self.account.unreadable += unreadable as u64;
    }

    /// Continues where `before` ends: this ring's counters include its packets from now on. The program must
    /// have switched from that memory to this one, for the same CPU.
    ///
    /// Unmaps the memory of `before`. Packets still in it are lost.
    pub fn follow(&mut self, before: Self) {
        self.account = self.account + before.account;
        // A slot program with new memory counts losses from 0 again, after the last losses of its predecessor.
        let counted = before.memory.lost().unwrap_or(0);
        self.lost = before.lost.wrapping_sub(counted);
        drop(before);
    }

    /// Whether waiting packets, including record headers, have at least `bytes` bytes; 1 means any packet. The unused
    /// end of a slot does not count. In a BPF ring buffer, a packet that the program is writing counts.
    ///
    /// Slots are read only if they are enough to hold so many bytes, and each only once.
    #[inline]
    pub fn holds(&self, bytes: usize) -> bool {
        let waiting = self.waiting_bytes();
        if waiting == 0 || waiting < bytes {
            return false;
        }
        match self.memory.slot_bytes() {
            Some(slot_bytes) if bytes > 1 => self.slots_hold(bytes, slot_bytes),
            _ => true,
        }
    }

    /// Time stamp of the oldest waiting packet, in nanoseconds, by the kernel's clock. `None` also if the program is
    /// writing the packet.
    pub fn oldest_ns(&self) -> Option<u64> {
        let known = if self.known.at == self.known.end {
            self.waiting()
        } else {
            self.known
        };
        let Written::Packet { .. } = known.look(&self.memory) else {
            return None;
        };
        let header = self.memory.header(known.at);
        Some(self.properties.offset.realtime_ns(header.monotonic_ns))
    }

    fn slots_hold(&self, bytes: usize, slot_bytes: u64) -> bool {
        let end = self.waiting().end;
        let (mut at, mut counted) = self.scanned.get().unwrap_or((self.read, 0));
        while counted < bytes && at != end {
            // An invalid slot counts as a full one. The batch reports it as unreadable.
            let record = self.memory.record(at);
            let used = record.and_then(|length| self.memory.step(length));
            counted += used.map_or(slot_bytes, |used| used.min(slot_bytes)) as usize;
            at = at.wrapping_add(slot_bytes);
        }
        self.scanned.set(Some((at, counted)));
        counted >= bytes
    }

    /// Whether more than a quarter of the buffer waits to be read.
    pub fn is_filling(&self) -> bool {
        self.waiting_bytes() > self.buffer_bytes() / 4
    }

    /// Bytes that wait to be read, including headers.
    pub fn waiting_bytes(&self) -> usize {
        let waiting = self.waiting();
        waiting.end.wrapping_sub(waiting.at) as usize
    }

    /// Packets of this buffer so far. [`BpfRing::refresh`] updates `accepted`.
    ///
    /// `dropped` is always 0: the program counts packets that found no room (`bpf::XdpCounters::lost`), and
    /// batches report them. `freezes` is always 0, too.
    pub fn counters(&self) -> &RingCounters {
        &self.account
    }

    /// Counts the waiting packets and updates `accepted`. Makes no system call.
    pub fn refresh(&mut self) {
        let waiting = self.waiting().count(&self.memory);
        let account = &mut self.account;
        account.accepted = account.delivered + account.unreadable + waiting;
    }
}

/// The walk over the records of `span` from position `at` of a [`Cursor`] on, without what the device reported.
#[inline]
fn resume<'b>(
    memory: &'b RecordMemory,
    properties: RingProperties,
    copies: Option<&'b SlotCopies>,
    mut span: Span,
    at: u64,
) -> Records<'b> {
    if copies.is_none() {
        span.at = at;
    }
    Records {
        memory,
        span,
        properties,
        device_line: None,
        copies: copies.map(|copies| (copies, at as usize)),
    }
}

impl AsFd for BpfRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
