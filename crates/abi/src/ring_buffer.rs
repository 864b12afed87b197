//! BPF ring buffers: how their memory is laid out, and our end of it.
//!
//! ```text
//! page 0      how far the reader has read          (written by the reader)
//! page 1      how far records have been begun      (read-only)
//! page 2 …    the data, a power of two of bytes    (read-only)
//! …           the same data once more: what begins near the end is contiguous
//! ```
//!
//! A record is a header of 8 bytes, whose first word is the length and two flags, and its bytes;
//! records begin at multiples of 8. Positions count bytes since the buffer was made, never wrap, and
//! find their place by their low bits. At every moment `0 ≤ begun − read ≤ size`.
//!
//! Source: kernel/bpf/ringbuf.c; Documentation/bpf/ringbuf.rst.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::bpf::{MapInfo, MapType, map_info};
use crate::region::{ReadOnlyRegion, Region, page_bytes};

/// Bytes of a record's header (`BPF_RINGBUF_HDR_SZ`).
pub const HEADER_BYTES: u64 = 8;

/// The record is not finished (`BPF_RINGBUF_BUSY_BIT`).
pub const BUSY: u32 = 1 << 31;
/// What a mirroring program writes in front of a packet's bytes for the reader of its ring buffer.
///
/// The kernel defines no such struct: this is an agreement between our programs and our rings.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirrored {
    /// `CLOCK_MONOTONIC` when the program saw the packet, nanoseconds.
    pub monotonic_ns: u64,
    /// Packets that had no room in this buffer since the program was loaded.
    pub lost: u64,
    /// Length of the packet, bytes.
    pub original_len: u32,
    /// Receive queue, modulo 2¹⁶.
    pub queue: u16,
    /// Zero.
    pub padding: u16,
}

/// Bytes of [`Mirrored`].
pub const MIRRORED_BYTES: usize = size_of::<Mirrored>();

/// From one record to the next in an array of slots, bytes, at most.
pub const MOST_SLOT_BYTES: u32 = 4096;

/// The same in double words.
pub const MIRRORED_WORDS: usize = MIRRORED_BYTES / 8;

impl Mirrored {
    /// What the program wrote, by its bytes.
    #[inline]
    pub fn from_words(words: &[[u8; 8]; MIRRORED_WORDS]) -> Self {
        let [time, lost, [l0, l1, l2, l3, q0, q1, p0, p1]] = *words;
        Self {
            monotonic_ns: u64::from_ne_bytes(time),
            lost: u64::from_ne_bytes(lost),
            original_len: u32::from_ne_bytes([l0, l1, l2, l3]),
            queue: u16::from_ne_bytes([q0, q1]),
            padding: u16::from_ne_bytes([p0, p1]),
        }
    }
}

/// The reader's end of a `BPF_MAP_TYPE_RINGBUF`.
#[derive(Debug)]
pub struct RingBuffer {
    _only: OnlyReader,
    reader: Region,
    shared: ReadOnlyRegion,
    page_bytes: usize,
    bytes: u64,
    slots: Option<Slots>,
}

/// What is different where a program of ours keeps the records in an array.
#[derive(Debug)]
struct Slots {
    /// From one record to the next, bytes.
    slot_bytes: u64,
    wakes: WakeBuffer,
}

/// A ring buffer whose records say only that somebody is to wake up.
#[derive(Debug)]
struct WakeBuffer {
    reader: Region,
    shared: ReadOnlyRegion,
}

/// Where in a map of arrays a program keeps records, and how.
#[derive(Clone, Copy, Debug)]
pub struct SlotPlace<'m> {
    /// An array that can be mapped, whose values are laid out as a ring buffer, the data once.
    pub map: BorrowedFd<'m>,
    /// A ring buffer of one page, into which the program writes when the reader has to be woken.
    pub wakes: BorrowedFd<'m>,
    /// Place of the value.
    pub index: u32,
    /// From one record to the next, bytes: a power of two, [`MOST_SLOT_BYTES`] at most.
    pub slot_bytes: u32,
}

/// In the reader's page of slots: 0 while the reader is to be woken, 1 when it has been. Not in the lines of what the
/// reader writes for each batch: the program looks here after each round.
pub const WOKEN_AT: usize = 128;

/// In the program's page of slots: packets that had no room.
pub const LOST_AT: usize = 8;

impl RingBuffer {
    /// Maps the memory of `map`.
    ///
    /// # Errors
    /// EINVAL when it is no ring buffer, EBUSY when this process reads it already; what mmap(2) says.
    /// # Kernel
    /// Linux 5.8, of 64 bits.
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

    /// Maps records that a program keeps in an array.
    ///
    /// # Errors
    /// EINVAL when the maps are not such, EBUSY when this process reads it already; what mmap(2) says.
    /// # Kernel
    /// Linux 5.8 (an array can be mapped since 5.5).
    pub fn map_slots(place: &SlotPlace<'_>) -> io::Result<Self> {
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
            || slot_bytes < HEADER_BYTES + MIRRORED_BYTES as u64
            || slot_bytes > bytes.min(MOST_SLOT_BYTES.into())
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

    /// From the begin of a record of `bytes` bytes to that of the next; `None` if there is none so long.
    #[inline]
    pub fn step(&self, bytes: u32) -> Option<u64> {
        let whole = (u64::from(bytes) + HEADER_BYTES).next_multiple_of(HEADER_BYTES);
        (whole <= self.bytes).then_some(whole)
    }

    /// From one record to the next, bytes, where a program of ours fills slots, of which nothing but the program
    /// keeps anybody from writing to them: they are to be [copied](RingBuffer::copy), not lent.
    #[inline]
    pub fn slot_bytes(&self) -> Option<u64> {
        self.slots.as_ref().map(|slots| slots.slot_bytes)
    }

    /// Size of the data, bytes: a power of two.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How far its reader has read.
    pub fn read_up_to(&self) -> u64 {
        // Relaxed: only the reader writes it.
        let read = self.reader.word64(0).load(Ordering::Relaxed);
        let unit = self.slot_bytes().unwrap_or(HEADER_BYTES);
        // Others with the map could write here too.
        read & !(unit - 1)
    }

    /// How far records have been begun.
    #[inline]
    pub fn begun_up_to(&self) -> u64 {
        // Acquire pairs with the store-release of the producer's position in __bpf_ringbuf_reserve,
        // kernel/bpf/ringbuf.c, and with the last store of a program that fills slots, which x86-64 does not
        // let overtake those before it. With a weaker load the header of a record that is being written could
        // be seen as the memory was before, without its "busy" flag, and a slot be copied before it is written.
        self.shared.load64_acquire(0)
    }

    /// Packets that had no room in slots so far; `None` for a ring buffer, which does not tell.
    pub fn lost(&self) -> Option<u64> {
        self.slots.as_ref()?;
        Some(self.shared.load64_acquire(LOST_AT))
    }

    /// Bytes of the record at `position`, without its header; `None` while it is being written. Beyond
    /// [`RingBuffer::begun_up_to`] any answer.
    ///
    /// A record that is to be skipped (`BPF_RINGBUF_DISCARD_BIT`) is longer than any buffer.
    #[inline]
    pub fn record(&self, position: u64) -> Option<u32> {
        // Acquire pairs with the exchange of the length in bpf_ringbuf_commit. With a weaker load bytes
        // of the record could be read before they were written.
        let word = self.shared.load_acquire(self.place(position));
        (word & BUSY == 0).then_some(word)
    }

    /// Copies what is at `position` and behind it. What is written there meanwhile is copied in part.
    ///
    /// # Panics
    /// When the memory ends before.
    #[inline]
    pub fn copy(&self, position: u64, into: &mut [[u8; 8]]) {
        self.shared.copy(self.place(position), into);
    }

    /// What a mirroring program tells of the packet in the record at `position`.
    ///
    /// # Panics
    /// When the memory ends before.
    #[inline]
    pub fn mirrored(&self, position: u64) -> Mirrored {
        let first = self.place(position) + HEADER_BYTES as usize;
        let words =
            std::array::from_fn(|word| self.shared.load64_acquire(first + 8 * word).to_ne_bytes());
        Mirrored::from_words(&words)
    }

    /// Where the `bytes` bytes of the record at `position` are, behind its header; `None` when the buffer
    /// does not hold that many. They change when the reader has [released](RingBuffer::release) them.
    #[inline]
    pub fn bytes_of(&self, position: u64, bytes: u32) -> Option<NonNull<u8>> {
        let fits = u64::from(bytes) + HEADER_BYTES <= self.bytes;
        let at = self.place(position) + HEADER_BYTES as usize;
        // From the last byte of the data on, as many lie behind as before: the data is mapped twice.
        fits.then(|| self.shared.pointer(at, bytes as usize))
    }

    /// Gives everything before `position` back to be written again.
    #[inline]
    pub fn release(&self, position: u64) {
        // Release pairs with the load-acquire of the consumer's position in __bpf_ringbuf_reserve: the
        // bytes have been read before they are written again.
        self.reader.word64(0).store(position, Ordering::Release);
    }

    /// Comes between [releasing](RingBuffer::release) and a last look for records before sleep.
    ///
    /// The kernel wakes for a record only if it sees that all before it were released
    /// (`bpf_ringbuf_commit`). It writes the record and then reads the position; we write the position
    /// and then read the record. Without a full barrier between the two on either side each could miss
    /// what the other wrote, and the record would lie there without a wake-up.
    pub fn before_last_look(&self) {
        if let Some(slots) = &self.slots {
            let written = slots.wakes.shared.load64_acquire(0);
            // Relaxed: the kernel compares it with its own position only.
            let read = slots.wakes.reader.word64(0);
            read.store(written, Ordering::Relaxed);
            self.reader.word64(WOKEN_AT).store(0, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn place(&self, position: u64) -> usize {
        // Multiples of 8: the word of a header is aligned whatever the position.
        let offset = position & (self.bytes - 1) & !(HEADER_BYTES - 1);
        self.page_bytes + offset as usize
    }
}

/// Numbers of the maps that this process reads.
static READ: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The right to read a map, which one reader has: a second one could give back what the first has lent.
#[derive(Debug)]
struct OnlyReader(u32);

impl OnlyReader {
    fn of(map: u32) -> io::Result<Self> {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if read.insert(map) {
            Ok(Self(map))
        } else {
            Err(io::ErrorKind::ResourceBusy.into())
        }
    }
}

impl Drop for OnlyReader {
    fn drop(&mut self) {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        read.remove(&self.0);
    }
}
