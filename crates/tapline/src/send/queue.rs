//! The send queue: packets in one piece of memory, each with the time at which it is to be sent.

use wire::stamp::StampPlace;

/// Packets to send, in order, with their bytes in one arena. Filling it again reuses the memory.
///
/// ```
/// let mut queue = tapline::send::SendQueue::default();
/// queue.push(0, &[0xff; 60]);
/// queue.push(1_000, &[0xff; 1514]);
/// assert_eq!((queue.len(), queue.bytes()), (2, 1574));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SendQueue {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// Bytes of all packets. Repeated packets share their place in the arena.
    bytes: usize,
    /// Where all packets carry the time at which they are sent; `None` if they carry none.
    stamp: Option<StampPlace>,
    /// How much a source puts into it; `None`: a large queue.
    size: Option<QueueSize>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    end: usize,
    time_ns: u64,
    is_second: bool,
}

/// A packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket<'q> {
    /// Its bytes, from the link-layer header on.
    pub bytes: &'q [u8],
    /// When it was recorded, or when it is to be sent: nanoseconds of any clock.
    pub time_ns: u64,
}

/// How much memory a source fills in a queue, bytes: those of its frames, repeated ones once, and [`PER_PACKET`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueSize(pub usize);

/// What a packet counts for besides its bytes.
const PER_PACKET: usize = 64;

impl QueueSize {
    /// Stays in a CPU's second-level cache while it is filled and sent.
    pub const SMALL: Self = Self(1 << 18);
    /// For a path that takes many packets in one call.
    pub const LARGE: Self = Self(1 << 21);
}

impl SendQueue {
    /// A queue with memory for `packets` packets of `bytes` bytes in total.
    pub fn with_capacity(packets: usize, bytes: usize) -> Self {
        Self {
            arena: Vec::with_capacity(bytes),
            entries: Vec::with_capacity(packets),
            bytes: 0,
            stamp: None,
            size: None,
        }
    }

    /// A queue with memory for as much as a source puts into one.
    pub(super) fn for_source(size: QueueSize) -> Self {
        let mut queue = Self::with_capacity(size.0 / PER_PACKET, size.0);
        queue.size = Some(size);
        queue
    }

    /// Whether a source should fill another queue: this one holds enough.
    pub fn is_full(&self) -> bool {
        let size = self.size.unwrap_or(QueueSize::LARGE);
        self.len() * PER_PACKET + self.arena.len() >= size.0
    }

    /// Adds a packet behind the others. Allocates only if the memory is used up.
    pub fn push(&mut self, time_ns: u64, bytes: &[u8]) {
        self.push_to(false, time_ns, bytes);
    }

    /// Adds a packet for the second interface of a job that has [one](super::SendOptions::second_link), otherwise like
    /// [`push`](Self::push).
    pub fn push_second(&mut self, time_ns: u64, bytes: &[u8]) {
        self.push_to(true, time_ns, bytes);
    }

    pub(super) fn push_to(&mut self, is_second: bool, time_ns: u64, bytes: &[u8]) {
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.bytes += bytes.len();
        self.entries.push(Entry {
            start,
            end: self.arena.len(),
            time_ns,
            is_second,
        });
    }

    /// Whether packet `first` is for the second interface, and the end of those behind it that are for the same one, at
    /// most `end`.
    pub(super) fn same_interface(&self, first: usize, end: usize) -> (bool, usize) {
        let entries = &self.entries[first..end];
        let is_second = entries.first().is_some_and(|entry| entry.is_second);
        let other = entries
            .iter()
            .position(|entry| entry.is_second != is_second);
        (is_second, other.map_or(end, |count| first + count))
    }

    /// Removes the last packet.
    pub(super) fn pop(&mut self) {
        if let Some(last) = self.entries.pop() {
            self.bytes -= last.end - last.start;
        }
    }

    /// Adds the last packet once more, without a copy of its bytes. Does nothing without one.
    pub(super) fn repeat_last(&mut self, time_ns: u64) {
        if let Some(&last) = self.entries.last() {
            self.bytes += last.end - last.start;
            self.entries.push(Entry { time_ns, ..last });
        }
    }

    /// How many of the packets `first..end` share the place of the first one.
    pub(super) fn repeated(&self, first: usize, end: usize) -> usize {
        let entries = &self.entries[first..end];
        let is_first = |entry: &&Entry| entry.start == entries[0].start;
        entries.iter().take_while(is_first).count()
    }

    /// Becomes equal to `other`. Allocates only if the memory is too small.
    pub(super) fn copy_of(&mut self, other: &Self) {
        self.arena.clone_from(&other.arena);
        self.entries.clone_from(&other.entries);
        self.bytes = other.bytes;
        self.stamp = other.stamp;
    }

    /// Bytes of memory that the packets take.
    pub(super) fn memory_bytes(&self) -> usize {
        self.arena.len() + self.entries.len() * size_of::<Entry>()
    }

    /// Adds packet `index` of `other`, changed by `edit` in `frame`.
    pub(super) fn push_edited(
        &mut self,
        other: &Self,
        index: usize,
        frame: &mut Vec<u8>,
        edit: &mut dyn FnMut(&mut Vec<u8>),
    ) {
        let entry = other.entries[index];
        frame.clear();
        frame.extend_from_slice(&other.arena[entry.start..entry.end]);
        edit(frame);
        self.push_to(entry.is_second, entry.time_ns, frame);
    }

    /// Adds packet `index` of `other`, with another time.
    pub(super) fn push_of(&mut self, other: &Self, index: usize, time_ns: u64) {
        let entry = other.entries[index];
        let bytes = &other.arena[entry.start..entry.end];
        self.push_to(entry.is_second, time_ns, bytes);
        self.stamp = other.stamp;
    }

    /// Adds a packet that starts as `bytes` and is then changed by `write`. Otherwise like [`push`](Self::push).
    #[inline]
    pub(super) fn push_with(&mut self, time_ns: u64, bytes: &[u8], write: impl FnOnce(&mut [u8])) {
        self.push(time_ns, bytes);
        let start = self.arena.len() - bytes.len();
        write(&mut self.arena[start..]);
    }

    /// Says where all packets carry their send time, which is 0 so far.
    pub(super) fn set_stamp_place(&mut self, place: Option<StampPlace>) {
        self.stamp = place;
    }

    /// Has its packets carry their send time where those of `other` do.
    pub(super) fn stamp_like(&mut self, other: &Self) {
        self.stamp = other.stamp;
    }

    /// Whether packets carry their send time, which [`copy_stamped`](Self::copy_stamped) sets.
    #[inline]
    pub(super) fn has_stamps(&self) -> bool {
        self.stamp.is_some()
    }

    /// Replaces the packets of `into` by packets `first..end` of this queue, which carry the send time `now_ns`
    /// (nanoseconds since 1970). Allocates only if the memory of `into` is too small.
    pub(super) fn copy_stamped(&self, first: usize, end: usize, now_ns: u64, into: &mut Self) {
        into.clear();
        for entry in &self.entries[first..end] {
            into.push_with(
                entry.time_ns,
                &self.arena[entry.start..entry.end],
                |frame| self.stamp(frame, now_ns),
            );
        }
    }

    /// Writes the send time `now_ns` into `frame`, a copy of a packet, if this queue's packets carry one.
    #[inline]
    pub(super) fn stamp(&self, frame: &mut [u8], now_ns: u64) {
        if let Some(place) = self.stamp {
            place.set_time(frame, now_ns);
        }
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.entries.clear();
        self.bytes = 0;
        self.stamp = None;
    }

    /// The packets, in order.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = QueuedPacket<'_>> {
        self.entries.iter().map(|entry| QueuedPacket {
            bytes: &self.arena[entry.start..entry.end],
            time_ns: entry.time_ns,
        })
    }

    /// Bytes of the packets `first..end`, which must exist.
    #[inline]
    pub(super) fn bytes_of(&self, first: usize, end: usize) -> usize {
        let entries = self.entries[first..end].iter();
        entries.map(|entry| entry.end - entry.start).sum()
    }

    /// Packet number `index`, which must exist.
    #[inline]
    pub(super) fn packet(&self, index: usize) -> QueuedPacket<'_> {
        let entry = self.entries[index];
        QueuedPacket {
            bytes: &self.arena[entry.start..entry.end],
            time_ns: entry.time_ns,
        }
    }
}
