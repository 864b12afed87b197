//! The streams of stamped packets: figures that the program writes and this process reads.
//!
//! ```text
//! value of a stream:  lock  counters  words of the window     buckets of the delays
//!                     0     8         128                     128 + 32 KiB
//! ```
//!
//! A word of the window has 32 sequence numbers. Its low half has a bit for each that came, its high half says which of the
//! numbers with this place they are. So a word is never cleared: the first number of the next round overwrites it. There
//! are words for twice the window, so that no number of the window is overwritten.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use abi::bpf::{Map, MapLayout, MapType, MapTypes};
use abi::clock::{monotonic_ns, realtime_ns};

use crate::map::{Map as SingleValue, MapError};

/// Streams at most; each takes 69 KiB of kernel memory.
const MAX_STREAMS: u32 = 256;

/// Sequence numbers behind the next one for which a stream knows whether they came.
pub(super) const WINDOW: i32 = 1 << 16;
/// Numbers in a word.
pub(super) const WORD_NUMBERS: i32 = 32;
pub(super) const WORDS: i32 = 2 * WINDOW / WORD_NUMBERS;
/// The first sequence number is increased by 2 to this power, so that those before it are not negative.
pub(super) const BASE_SHIFT: i32 = 32;

/// Buckets of the delays: 2 to the power of this many for each doubling, and as many for the nanoseconds below.
pub(super) const PARTS: i32 = 7;
/// Delays of 2 to the power of this many nanoseconds and more are in the last bucket.
pub(super) const DELAY_TOP: i32 = 43;
pub(super) const BUCKETS: i32 = (DELAY_TOP - PARTS + 1) << PARTS;

// Offsets in the value of a stream.
pub(super) const LOCK: i32 = 0;
/// One more than the highest sequence number; 0 before the first packet.
pub(super) const NEXT: i16 = 8;
/// The lowest one.
pub(super) const FIRST: i16 = 16;
pub(super) const RECEIVED: i16 = 24;
pub(super) const REORDERED: i16 = 32;
pub(super) const DISTANCE: i16 = 40;
pub(super) const DUPLICATED: i16 = 48;
pub(super) const LATE: i16 = 56;
pub(super) const NEGATIVE: i16 = 64;
/// Both increased by 2^63.
pub(super) const LEAST_DELAY: i16 = 72;
pub(super) const MOST_DELAY: i16 = 80;
/// Of the delays in buckets.
pub(super) const SUM: i16 = 88;
pub(super) const WORDS_AT: i16 = 128;
pub(super) const BUCKETS_AT: i32 = WORDS_AT as i32 + 8 * WORDS;
const VALUE_BYTES: i32 = BUCKETS_AT + 8 * BUCKETS;

// Offsets in the value of the packets that belong to no stream.
pub(super) const UNSTAMPED: i16 = 0;
pub(super) const UNCOUNTED: i16 = 8;
const OTHERS_BYTES: usize = 16;

const KEY_BYTES: usize = 8;

const CLOCK_READS: u32 = 8;

/// The figures of all streams, of any number of programs.
#[derive(Debug)]
pub struct StreamTable {
    streams: Map,
    /// A stream without packets, from which the program makes new ones.
    blank: SingleValue,
    /// What to add to `CLOCK_MONOTONIC`.
    clock: SingleValue,
    others: SingleValue,
}

/// Maps of the streams.
#[derive(Clone, Copy, Debug)]
pub struct StreamMaps<'m> {
    /// The streams by number.
    pub(super) streams: BorrowedFd<'m>,
    /// A stream without packets.
    pub(super) blank: BorrowedFd<'m>,
    /// What to add to the kernel's clock.
    pub(super) clock: BorrowedFd<'m>,
    /// Counters of packets that belong to no stream.
    pub(super) others: BorrowedFd<'m>,
}

/// What the kernel knows of a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamRecord {
    /// Its number.
    pub stream: u16,
    /// The lowest sequence number, plus 2^32.
    pub first: u64,
    /// One more than the highest one, plus 2^32.
    pub next: u64,
    /// Different packets that arrived.
    pub received: u64,
    /// Packets that arrived after one with a higher number.
    pub reordered: u64,
    /// How far they were behind, at most.
    pub reordered_distance: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Packets that are behind the window.
    pub late: u64,
    /// Packets with a negative delay.
    pub negative_delays: u64,
    /// The shortest and the longest delay, nanoseconds; 0 before the first packet.
    pub delay_range_ns: (i64, i64),
    /// Sum of the delays that are not negative.
    pub delay_sum_ns: u64,
    /// These delays: 128 buckets for each doubling above 128 ns, up to 2.4 hours, and one for each nanosecond below.
    pub delays: Vec<u64>,
}

/// Packets that belong to no stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherStamped {
    /// Fragments that end like a stamp.
    pub unstamped: u64,
    /// Packets of streams for which there was no room.
    pub uncounted: u64,
}

impl StreamTable {
    /// Creates a table without streams.
    ///
    /// # Errors
    /// [`MapError`], e.g. EPERM.
    /// # Privileges
    /// `CAP_BPF`.
    /// # Kernel
    /// Linux 5.2.
    pub fn create(name: &str) -> Result<Self, MapError> {
        let value_bytes = VALUE_BYTES.cast_unsigned();
        let streams = MapLayout {
            map_type: MapType::Hash,
            key_bytes: KEY_BYTES as u32,
            value_bytes,
            max_entries: MAX_STREAMS,
        };
        let types = MapTypes {
            encoded: &types(value_bytes),
            key: KEY_TYPE,
            value: VALUE_TYPE,
        };
        let failed = MapError::creating(name, streams.map_type);
        let table = Self {
            streams: Map::create_typed(&streams, &types, name).map_err(&failed)?,
            blank: SingleValue::value(name, value_bytes)?,
            clock: SingleValue::value(name, size_of::<u64>() as u32)?,
            others: SingleValue::value(name, OTHERS_BYTES as u32)?,
        };
        table.set_clock().map_err(failed)?;
        Ok(table)
    }

    /// The maps, for a program.
    pub fn maps(&self) -> StreamMaps<'_> {
        StreamMaps {
            streams: self.streams.as_fd(),
            blank: self.blank.as_fd(),
            clock: self.clock.as_fd(),
            others: self.others.as_fd(),
        }
    }

    /// Tells the programs the present time: they read `CLOCK_MONOTONIC`, and stamps have `CLOCK_REALTIME`. To be called
    /// again from time to time, because the latter can be set.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_UPDATE_ELEM`; none is known for a map of this type.
    pub fn set_clock(&self) -> io::Result<()> {
        self.clock.write(&clock_offset_ns().to_ne_bytes())
    }

    /// The streams, in no particular order, and the packets that belong to none. The figures of a stream are of one moment.
    /// Costs two system calls and a copy of 69 KiB for each stream.
    ///
    /// # Errors
    /// Errors of `BPF_MAP_LOOKUP_ELEM`; none is known for a map of this type.
    pub fn read(&self) -> io::Result<(Vec<StreamRecord>, OtherStamped)> {
        let mut records = Vec::new();
        let mut area = vec![0; self.streams.area_bytes()];
        let (mut key, mut next) = (None, [0; KEY_BYTES]);
        // No stream is ever removed.
        for _ in 0..MAX_STREAMS {
            let last = key.as_ref().map(<[u8; _]>::as_slice);
            if !self.streams.next_key(last, &mut next)? {
                break;
            }
            self.streams.lookup_locked(&next, &mut area)?;
            let record = StreamRecord::parse(u64::from_ne_bytes(next) as u16, &area);
            // Its first packet may not be counted yet.
            records.extend((record.next > 0).then_some(record));
            key = Some(next);
        }
        let mut others = [0; OTHERS_BYTES];
        self.others.read(&mut others)?;
        let others = OtherStamped {
            unstamped: word(&others, UNSTAMPED),
            uncounted: word(&others, UNCOUNTED),
        };
        Ok((records, others))
    }
}

impl StreamRecord {
    fn parse(stream: u16, value: &[u8]) -> Self {
        let delay = |at| word(value, at).wrapping_sub(1 << 63).cast_signed();
        let (buckets, _) = value[BUCKETS_AT as usize..].as_chunks();
        Self {
            stream,
            first: word(value, FIRST),
            next: word(value, NEXT),
            received: word(value, RECEIVED),
            reordered: word(value, REORDERED),
            reordered_distance: word(value, DISTANCE),
            duplicated: word(value, DUPLICATED),
            late: word(value, LATE),
            negative_delays: word(value, NEGATIVE),
            delay_range_ns: (delay(LEAST_DELAY), delay(MOST_DELAY)),
            delay_sum_ns: word(value, SUM),
            delays: buckets.iter().copied().map(u64::from_ne_bytes).collect(),
        }
    }
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`: of several reads the one that took the shortest, because the thread can be
/// interrupted between the clocks.
fn clock_offset_ns() -> u64 {
    let reads = (0..CLOCK_READS).map(|_| {
        let before_ns = monotonic_ns();
        let realtime_ns = realtime_ns();
        let after_ns = monotonic_ns();
        let middle_ns = before_ns.midpoint(after_ns);
        (after_ns - before_ns, realtime_ns.wrapping_sub(middle_ns))
    });
    reads.min().map_or(0, |(_, offset_ns)| offset_ns)
}

/// The word at offset `at` of a value; 0 beyond its end.
fn word(value: &[u8], at: i16) -> u64 {
    let word = value
        .get(usize::from(at.cast_unsigned())..)
        .and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from_ne_bytes(*word))
}

// Numbers of the types below, in their order.
const U32: u32 = 1;
const U64: u32 = 2;
const LOCK_TYPE: u32 = 3;
const WORDS_TYPE: u32 = 4;
const VALUE_TYPE: u32 = 5;
const KEY_TYPE: u32 = U64;

/// The types of a stream's value: `struct { struct bpf_spin_lock lock; u64 words[…]; }`, in the kernel's encoding.
///
/// # Source
/// Documentation/bpf/btf.rst.
fn types(value_bytes: u32) -> Vec<u8> {
    const NAMES: &[u8] = b"\0u32\0u64\0bpf_spin_lock\0val\0stream\0lock\0words\0";
    let name = |wanted: &str| {
        let wanted = [b"\0", wanted.as_bytes(), b"\0"].concat();
        let at = NAMES.windows(wanted.len()).position(|name| name == wanted);
        // All names that are used here are in the list.
        at.map_or(0, |at| at as u32 + 1)
    };
    let kind = |kind: u32, members: u32| kind << 24 | members;
    let (integer, array, structure) = (1, 3, 4);
    let words = value_bytes / 8 - 1;
    let types = [
        // Name, kind, bytes; bits.
        &[name("u32"), kind(integer, 0), 4, 32][..],
        &[name("u64"), kind(integer, 0), 8, 64],
        // Name, kind, bytes; of each member name, type and first bit.
        &[name("bpf_spin_lock"), kind(structure, 1), 4],
        &[name("val"), U32, 0],
        // No name, kind, 0; types of the elements and of the index, number.
        &[0, kind(array, 0), 0, U64, U32, words],
        &[name("stream"), kind(structure, 2), value_bytes],
        &[name("lock"), LOCK_TYPE, 0],
        &[name("words"), WORDS_TYPE, 64],
    ]
    .concat();
    let types_bytes = 4 * types.len() as u32;
    let names_bytes = NAMES.len() as u32;
    // Magic number, version 1 and no flags; length of the header, place and length of the types and of the names.
    let header_bytes = 24_u32;
    let version = u32::from_ne_bytes({
        let [low, high] = 0xeb9f_u16.to_ne_bytes();
        [low, high, 1, 0]
    });
    let header = [
        version,
        header_bytes,
        0,
        types_bytes,
        types_bytes,
        names_bytes,
    ];
    let numbers = header.into_iter().chain(types);
    let numbers = numbers.flat_map(u32::to_ne_bytes);
    numbers.chain(NAMES.iter().copied()).collect()
}
