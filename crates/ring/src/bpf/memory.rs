//! Memory that holds records: a BPF ring buffer or one CPU's slots.
//!
//! ```text
//! page 0      read position          (written by the reader)
//! page 1      write position         (read-only)
//! page 2 …    the data               (read-only; a power of two of bytes)
//! …           the same data again    (BPF ring buffers only: a record that wraps around is contiguous)
//! ```
//!
//! A record is a header of 8 bytes, whose first word is the length and two flags, followed by its bytes. Records begin
//! at multiples of 8. Positions count bytes since the buffer was created and never wrap; their low bits select the
//! address. Always `0 ≤ write position − read position ≤ size`.
//!
//! Source: kernel/bpf/ringbuf.c; Documentation/bpf/ringbuf.rst.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, PoisonError};

use abi::bpf::{MapInfo, MapType, map_info};
use abi::region::{ReadOnlyRegion, Region, page_bytes};
use abi::ring_buffer::{BUSY, HEADER_BYTES};
use wire::record::{
    LOST_AT, MAX_SLOT_BYTES, RECORD_HEADER_BYTES, RecordHeader, SlotRing, WOKEN_AT,
};

/// Positions from `at` up to `end`. They lie in the buffer and have not been released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub at: u64,
    pub end: u64,
}

/// Records found for a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub span: Span,
    pub packets: u32,
    /// The program's loss counter before these packets.
    pub lost: u64,
    /// Time of the first packet, `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
}

/// What the program has written at a position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written {
    /// No record, or an unfinished one.
    Nothing,
    /// An invalid record. The position of the next record is unknown.
    Invalid,
    /// A packet.
    Packet {
        /// Bytes of the packet.
        kept: usize,
        /// Position of the next record.
        next: u64,
    },
}

impl Span {
    /// Looks at the first record of the span, which lies in `memory`.
    #[inline]
    pub(super) fn look(self, memory: &RecordMemory) -> Written {
        if self.at == self.end {
            return Written::Nothing;
        }
        let Some(bytes) = memory.record(self.at) else {
            return Written::Nothing;
        };
        let kept = (bytes as usize).checked_sub(RECORD_HEADER_BYTES);
        let (Some(whole), Some(kept)) = (memory.step(bytes), kept) else {
            return Written::Invalid;
        };
        if whole > self.end.wrapping_sub(self.at) {
            return Written::Invalid;
        }
        Written::Packet {
            kept,
            next: self.at.wrapping_add(whole),
        }
    }

    /// The rest of the span after its first `packets` packets.
    pub(super) fn behind(self, packets: u32, memory: &RecordMemory) -> Self {
        let mut rest = self;
        match memory.slot_bytes() {
            Some(slot_bytes) => rest.at = rest.at.wrapping_add(u64::from(packets) * slot_bytes),
            None => {
                for _ in 0..packets {
                    if let Written::Packet { next, .. } = rest.look(memory) {
                        rest.at = next;
                    }
                }
            }
        }
        rest
    }

    /// Number of packets in the span, up to the first unfinished one.
    pub(super) fn count(self, memory: &RecordMemory) -> u64 {
        if let Some(slot_bytes) = memory.slot_bytes() {
            return self.end.wrapping_sub(self.at) / slot_bytes;
        }
        let mut rest = self;
        let mut count = 0;
        while let Written::Packet { next, .. } = rest.look(memory) {
            rest.at = next;
            count += 1;
        }
        count
    }
}

/// The reader's end of a BPF ring buffer or of one CPU's slots.
#[derive(Debug)]
pub(crate) struct RecordMemory {
    _only: OnlyReader,
    reader: Region,
    shared: ReadOnlyRegion,
    page_bytes: usize,
    bytes: u64,
    slots: Option<Slots>,
}

/// Properties of slots.
#[derive(Debug)]
struct Slots {
    /// Size of a slot, bytes.
    slot_bytes: u64,
    wakes: WakeBuffer,
}

/// A BPF ring buffer whose records only wake the reader.
#[derive(Debug)]
struct WakeBuffer {
    reader: Region,
    shared: ReadOnlyRegion,
}

impl RecordMemory {
    /// Maps the BPF ring buffer `map`.
    ///
    /// # Errors
    /// EINVAL if it is not a ring buffer, EBUSY if this process already reads it; errors of mmap(2).
    /// # Kernel
    /// Linux 5.8, 64-bit.
    pub fn map(map: BorrowedFd<'_>) -> io::Result<Self> {
        let MapInfo {
            map_type: kind,
            id: number,
            unused: [_, _, bytes, _],
            ..
        } = map_info(map)?;
        let page_bytes = page_bytes();
        if kind != MapType::RingBuffer as u32 || !bytes.is_power_of_two() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let only = OnlyReader::of(number)?;
        let reader = Region::map_at(map, 0, page_bytes)?;
        let all = page_bytes + 2 * bytes as usize;
        let shared = ReadOnlyRegion::map_at(map, page_bytes as u64, all)?;
        Ok(Self {
            _only: only,
            reader,
            shared,
            page_bytes,
            bytes: bytes.into(),
            slots: None,
        })
    }

    /// Maps the slots of one CPU.
    ///
    /// # Errors
    /// EINVAL if the maps have another layout, EBUSY if this process already reads them; errors of mmap(2).
    /// # Kernel
    /// Linux 5.8 (arrays can be mapped since 5.5).
    pub fn map_slots(place: &SlotRing<'_>) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let info = map_info(place.map)?;
        let [_, value_bytes, entries, _] = info.unused;
        let page_bytes = page_bytes();
        let wakes = map_info(place.wakes)?;
        let slot_bytes = u64::from(place.slot_bytes);
        let bytes = (value_bytes as usize).checked_sub(2 * page_bytes);
        let bytes = bytes.ok_or_else(invalid)? as u64;
        if info.map_type != MapType::Array as u32
            || wakes.map_type != MapType::RingBuffer as u32
            || place.index >= entries
            || !bytes.is_power_of_two()
            || !slot_bytes.is_power_of_two()
            || slot_bytes < HEADER_BYTES + RECORD_HEADER_BYTES as u64
            || slot_bytes > bytes.min(MAX_SLOT_BYTES.into())
            || !bytes.is_multiple_of(page_bytes as u64)
        {
            return Err(invalid());
        }
        let only = OnlyReader::of(wakes.id)?;
        let at = u64::from(place.index) * u64::from(value_bytes);
        let wakes = WakeBuffer {
            reader: Region::map_at(place.wakes, 0, page_bytes)?,
            shared: ReadOnlyRegion::map_at(place.wakes, page_bytes as u64, page_bytes)?,
        };
        Ok(Self {
            _only: only,
            reader: Region::map_at(place.map, at, page_bytes)?,
            shared: ReadOnlyRegion::map_at(
                place.map,
                at + page_bytes as u64,
                page_bytes + bytes as usize,
            )?,
            page_bytes,
            bytes,
            slots: Some(Slots { slot_bytes, wakes }),
        })
    }

    /// Distance from a record of `bytes` bytes to the next record. `None` if the buffer cannot hold the record.
    #[inline]
    pub fn step(&self, bytes: u32) -> Option<u64> {
        let whole = (u64::from(bytes) + HEADER_BYTES).next_multiple_of(HEADER_BYTES);
        (whole <= self.bytes).then_some(whole)
    }

    /// Size of a slot; `None` for a BPF ring buffer. Slots must be [copied](RecordMemory::copy), not lent: nothing
    /// prevents other writers from changing them.
    #[inline]
    pub fn slot_bytes(&self) -> Option<u64> {
        self.slots.as_ref().map(|slots| slots.slot_bytes)
    }

    /// Size of the data in bytes: a power of two.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Read position.
    pub fn read_position(&self) -> u64 {
        // Relaxed: only the reader writes it.
        let read = self.reader.word64(0).load(Ordering::Relaxed);
        let unit = self.slot_bytes().unwrap_or(HEADER_BYTES);
        // Other holders of the map could write here, too.
        read & !(unit - 1)
    }

    /// Write position: the end of the last record begun.
    #[inline]
    pub fn write_position(&self) -> u64 {
        // Acquire pairs with the store-release of the producer's position in __bpf_ringbuf_reserve,
        // kernel/bpf/ringbuf.c, and with the last store of a slot program, which x86-64 does not reorder with earlier
        // stores. With a weaker load, an unfinished record's header could be seen without its "busy" flag, and a slot
        // could be copied before it is written.
        self.shared.load64_acquire(0)
    }

    /// Packets lost so far because no slot was free. `None` for a BPF ring buffer, which does not count them here.
    pub fn lost(&self) -> Option<u64> {
        self.slots.as_ref()?;
        Some(self.shared.load64_acquire(LOST_AT))
    }

    /// Length of the record at `position` without its header. `None` while it is unfinished. Arbitrary beyond
    /// [`RecordMemory::write_position`].
    ///
    /// A discarded record (`BPF_RINGBUF_DISCARD_BIT`) appears longer than any buffer.
    #[inline]
    pub fn record(&self, position: u64) -> Option<u32> {
        // Acquire pairs with the exchange of the length in bpf_ringbuf_commit. With a weaker load, bytes of the record
        // could be read before they are written.
        let word = self.shared.load_acquire(self.place(position));
        (word & BUSY == 0).then_some(word)
    }

    /// Copies the memory from `position` on. A concurrent write may be copied in part.
    ///
    /// # Panics
    /// If the memory ends before.
    #[inline]
    pub fn copy(&self, position: u64, into: &mut [[u8; 8]]) {
        self.shared.copy(self.place(position), into);
    }

    /// The packet header in the record at `position`.
    ///
    /// # Panics
    /// If the memory ends before.
    #[inline]
    pub fn header(&self, position: u64) -> RecordHeader {
        let first = self.place(position) + HEADER_BYTES as usize;
        let words =
            std::array::from_fn(|word| self.shared.load64_acquire(first + 8 * word).to_ne_bytes());
        RecordHeader::from_words(&words)
    }

    /// Address of the `bytes` bytes after the header of the record at `position`. `None` if the buffer is smaller. The
    /// bytes may change once the reader has [released](RecordMemory::release) them.
    #[inline]
    pub fn bytes_of(&self, position: u64, bytes: u32) -> Option<NonNull<u8>> {
        let fits = u64::from(bytes) + HEADER_BYTES <= self.bytes;
        let at = self.place(position) + HEADER_BYTES as usize;
        // The data is mapped twice, so the bytes are contiguous from every position.
        fits.then(|| self.shared.pointer(at, bytes as usize))
    }

    /// Releases everything before `position`, so that it can be overwritten.
    #[inline]
    pub fn release(&self, position: u64) {
        // Release pairs with the load-acquire of the consumer's position in __bpf_ringbuf_reserve: the bytes are read
        // before they are overwritten.
        self.reader.word64(0).store(position, Ordering::Release);
    }

    /// Call between [releasing](RecordMemory::release) records and the last check for records before sleeping.
    ///
    /// The kernel wakes the reader for a record only if all earlier records were released (`bpf_ringbuf_commit`). The
    /// kernel writes the record and then reads the read position; the reader writes the read position and then reads the
    /// record. Without a full barrier on both sides, each could miss the other's write, and the record would not wake
    /// the reader.
    pub fn prepare_sleep(&self) {
        if let Some(slots) = &self.slots {
            let written = slots.wakes.shared.load64_acquire(0);
            // Relaxed: the kernel only compares it with its own position.
            let read = slots.wakes.reader.word64(0);
            read.store(written, Ordering::Relaxed);
            self.reader.word64(WOKEN_AT).store(0, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn place(&self, position: u64) -> usize {
        // Rounded to multiples of 8, so that a header is aligned for every position.
        let offset = position & (self.bytes - 1) & !(HEADER_BYTES - 1);
        self.page_bytes + offset as usize
    }
}

/// Ids of the maps that this process reads.
static READERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The exclusive right to read a map. A second reader could release records that the first one has lent.
#[derive(Debug)]
struct OnlyReader(u32);

impl OnlyReader {
    fn of(map: u32) -> io::Result<Self> {
        let mut read = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        if read.insert(map) {
            Ok(Self(map))
        } else {
            Err(io::ErrorKind::ResourceBusy.into())
        }
    }
}

impl Drop for OnlyReader {
    fn drop(&mut self) {
        let mut read = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        read.remove(&self.0);
    }
}
