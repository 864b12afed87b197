//! The send queue: packets in one piece of memory, each with the time at which it is to be sent.

use std::collections::TryReserveError;
use std::mem;
use std::sync::Arc;

use abi::prefetch::prefetch;
use wire::stamp::StampOffsets;

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
    own: Packets,
    /// Packets that other queues have too; its own memory is not used then.
    shared: Option<Arc<Packets>>,
    /// How much a source puts into it; `None`: a large queue.
    size: Option<QueueSize>,
}

#[derive(Clone, Debug, Default)]
struct Packets {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// Number of copies of the last packet that follow it.
    copies: usize,
    /// Bytes of all packets, copies too.
    bytes: usize,
    /// Length of the longest packet.
    longest: usize,
    /// Where all packets carry the time at which they are sent; `None` if they carry none.
    stamp: Option<StampOffsets>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    end: usize,
    time_ns: u64,
    is_second: bool,
}

impl Entry {
    #[inline]
    fn length(&self) -> usize {
        self.end - self.start
    }
}

impl Packets {
    fn with_capacity(packets: usize, bytes: usize) -> Self {
        Self {
            arena: Vec::with_capacity(bytes),
            entries: Vec::with_capacity(packets),
            ..Self::default()
        }
    }

    fn try_with_capacity(packets: usize, bytes: usize) -> Result<Self, TryReserveError> {
        let mut empty = Self::default();
        empty.arena.try_reserve_exact(bytes)?;
        empty.entries.try_reserve_exact(packets)?;
        Ok(empty)
    }

    fn clear(&mut self) {
        self.arena.clear();
        self.entries.clear();
        (self.copies, self.bytes, self.longest) = (0, 0, 0);
        self.stamp = None;
    }

    #[inline]
    fn add(&mut self, entry: Entry) {
        self.bytes += entry.length();
        self.longest = self.longest.max(entry.length());
        self.entries.push(entry);
    }

    /// The entry of packet number `index`. Copies, and numbers beyond the end, have the last entry. There must be one.
    #[inline]
    fn entry(&self, index: usize) -> Entry {
        self.entries[index.min(self.entries.len() - 1)]
    }

    #[inline]
    fn bytes_at(&self, entry: Entry) -> &[u8] {
        &self.arena[entry.start..entry.end]
    }
}

/// A packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket<'q> {
    /// Its bytes, from the link-layer header on.
    pub bytes: &'q [u8],
    /// When it was recorded, or when it is to be sent: nanoseconds of any clock.
    pub time_ns: u64,
    /// Whether it is for the second interface.
    pub is_second: bool,
}

/// How much memory a source fills in a queue, bytes: those of its frames, repeated ones once, and [`PER_PACKET`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueSize(pub usize);

/// Bytes that a packet counts in addition to its own.
const PER_PACKET: usize = 64;

/// Copies of a packet that a source puts into a queue at most. They take no memory.
const MAX_COPIES: usize = 1 << 18;

/// How many packets ahead of a copy the processor loads them: a few cache misses take as long as a few copies.
const PREFETCHED: usize = 4;

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
            own: Packets::with_capacity(packets, bytes),
            ..Self::default()
        }
    }

    /// As [`with_capacity`](Self::with_capacity), for a size that there may be no memory for.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn try_with_capacity(packets: usize, bytes: usize) -> Result<Self, TryReserveError> {
        Ok(Self {
            own: Packets::try_with_capacity(packets, bytes)?,
            ..Self::default()
        })
    }

    /// A queue with memory for as much as a source puts into one.
    pub(super) fn for_source(size: QueueSize) -> Self {
        Self {
            own: Packets::with_capacity(size.0 / PER_PACKET, size.0),
            shared: None,
            size: Some(size),
        }
    }

    #[inline]
    fn all(&self) -> &Packets {
        self.shared.as_deref().unwrap_or(&self.own)
    }

    /// The packets, to change them: a copy if other queues have them too.
    #[inline]
    fn all_mut(&mut self) -> &mut Packets {
        if let Some(shared) = self.shared.take() {
            self.own.clone_from(&shared);
        }
        &mut self.own
    }

    /// A queue with the same packets. Neither has a copy of their bytes of its own afterwards.
    pub(super) fn share(&mut self) -> Self {
        let empty = Self::for_source(self.size.unwrap_or(QueueSize::SMALL)).own;
        let own = &mut self.own;
        let shared = (self.shared).get_or_insert_with(|| Arc::new(mem::replace(own, empty)));
        Self {
            own: Packets::default(),
            shared: Some(Arc::clone(shared)),
            size: self.size,
        }
    }

    /// Whether a source should fill another queue: this one holds enough.
    #[inline]
    pub fn is_full(&self) -> bool {
        let size = self.size.unwrap_or(QueueSize::LARGE);
        self.memory_bytes() >= size.0 || self.all().copies >= MAX_COPIES
    }

    /// Whether it is for a path that takes many packets in one call.
    pub(super) fn is_large(&self) -> bool {
        self.size == Some(QueueSize::LARGE)
    }

    /// Bytes of memory that the packets take, about.
    #[inline]
    pub(super) fn memory_bytes(&self) -> usize {
        let packets = self.all();
        packets.entries.len() * PER_PACKET + packets.arena.len()
    }

    /// Adds a packet behind the others. Allocates only if the memory is used up.
    #[inline]
    pub fn push(&mut self, time_ns: u64, bytes: &[u8]) {
        self.push_to(false, time_ns, bytes);
    }

    /// As [`push`](Self::push), if there is memory for the packet.
    ///
    /// # Errors
    /// There is not enough memory. The queue is unchanged.
    #[inline]
    pub fn try_push(&mut self, time_ns: u64, bytes: &[u8]) -> Result<(), TryReserveError> {
        let packets = self.all_mut();
        packets.arena.try_reserve(bytes.len())?;
        packets.entries.try_reserve(packets.copies + 1)?;
        self.push(time_ns, bytes);
        Ok(())
    }

    /// Adds a packet for the second interface of a job that has [one](super::SendOptions::second_link), otherwise like
    /// [`push`](Self::push).
    pub fn push_second(&mut self, time_ns: u64, bytes: &[u8]) {
        self.push_to(true, time_ns, bytes);
    }

    #[inline]
    pub(super) fn push_to(&mut self, is_second: bool, time_ns: u64, bytes: &[u8]) {
        let packets = self.all_mut();
        // Only the last packet has copies.
        for _ in 0..mem::take(&mut packets.copies) {
            packets.entries.push(packets.entry(usize::MAX));
        }
        let start = packets.arena.len();
        packets.arena.extend_from_slice(bytes);
        packets.add(Entry {
            start,
            end: start + bytes.len(),
            time_ns,
            is_second,
        });
    }

    /// Whether packet `first` is for the second interface, and the end of those behind it that are for the same one, at
    /// most `end`.
    pub(super) fn same_interface(&self, first: usize, end: usize) -> (bool, usize) {
        let is_second = |index| self.all().entry(index).is_second;
        let of_first = is_second(first);
        let other = (first..end).find(|index| is_second(*index) != of_first);
        (of_first, other.unwrap_or(end))
    }

    /// Removes the last packet.
    pub(super) fn pop(&mut self) {
        let packets = self.all_mut();
        let Some(&last) = packets.entries.last() else {
            return;
        };
        packets.bytes -= last.length();
        if packets.copies > 0 {
            packets.copies -= 1;
        } else {
            packets.entries.pop();
        }
    }

    /// Adds the last packet `count` times more, without copies of its bytes. Does nothing without one.
    pub(super) fn repeat_last(&mut self, count: usize) {
        let packets = self.all_mut();
        if let Some(last) = packets.entries.last() {
            packets.bytes += last.length() * count;
            packets.copies += count;
        }
    }

    /// How many copies of the last packet a source may add.
    pub(super) fn copies_left(&self) -> usize {
        MAX_COPIES.saturating_sub(self.all().copies)
    }

    /// How many of the packets `first..end`, from the first one on, are known to be copies of it, including itself.
    #[inline]
    pub(super) fn repeated(&self, first: usize, end: usize) -> usize {
        let is_last = first + 1 >= self.all().entries.len();
        if is_last { end - first } else { 1 }
    }

    /// Takes the packets of `other`, which [`share`](Self::share) returned.
    pub(super) fn take_shared(&mut self, other: &Self) {
        self.shared.clone_from(&other.shared);
    }

    /// Adds packet `index` of `other`, changed by `edit` in `frame`.
    pub(super) fn push_edited(
        &mut self,
        other: &Self,
        index: usize,
        frame: &mut Vec<u8>,
        edit: &mut dyn FnMut(&mut Vec<u8>),
    ) {
        let entry = other.all().entry(index);
        frame.clear();
        frame.extend_from_slice(other.all().bytes_at(entry));
        edit(frame);
        self.push_to(entry.is_second, entry.time_ns, frame);
    }

    /// Adds packet `index` of `other`, with another time.
    pub(super) fn push_of(&mut self, other: &Self, index: usize, time_ns: u64) {
        let entry = other.all().entry(index);
        let bytes = other.all().bytes_at(entry);
        self.push_to(entry.is_second, time_ns, bytes);
        self.stamp_like(other);
    }

    /// Adds a packet that starts as `bytes` and is then changed by `write`. Otherwise like [`push`](Self::push).
    #[inline]
    pub(super) fn push_with(&mut self, time_ns: u64, bytes: &[u8], write: impl FnOnce(&mut [u8])) {
        self.push(time_ns, bytes);
        let start = self.own.arena.len() - bytes.len();
        write(&mut self.own.arena[start..]);
    }

    /// Sets where all packets carry their send time, which is 0 so far.
    pub(super) fn set_stamp_offsets(&mut self, offsets: Option<StampOffsets>) {
        self.all_mut().stamp = offsets;
    }

    /// Has its packets carry their send time where those of `other` do.
    pub(super) fn stamp_like(&mut self, other: &Self) {
        self.all_mut().stamp = other.all().stamp;
    }

    /// Whether packets carry their send time, which [`copy_stamped`](Self::copy_stamped) sets.
    #[inline]
    pub(super) fn has_stamps(&self) -> bool {
        self.all().stamp.is_some()
    }

    /// Replaces the packets of `into` by packets `first..end` of this queue, which carry the send time `now_ns`
    /// (nanoseconds since 1970). Allocates only if the memory of `into` is too small.
    pub(super) fn copy_stamped(&self, first: usize, end: usize, now_ns: u64, into: &mut Self) {
        into.clear();
        for index in first..end {
            let packet = self.packet(index);
            into.push_with(packet.time_ns, packet.bytes, |frame| {
                self.stamp(frame, now_ns);
            });
        }
    }

    /// Writes the send time `now_ns` into `frame`, a copy of a packet, if this queue's packets carry one.
    #[inline]
    pub(super) fn stamp(&self, frame: &mut [u8], now_ns: u64) {
        if let Some(place) = self.all().stamp {
            place.set_time(frame, now_ns);
        }
    }

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        let packets = self.all();
        packets.entries.len() + packets.copies
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all().entries.is_empty()
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> usize {
        self.all().bytes
    }

    /// Length of the longest packet, or of a longer one that was removed.
    #[inline]
    pub(super) fn longest(&self) -> usize {
        self.all().longest
    }

    /// Removes all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.shared = None;
        self.own.clear();
    }

    /// The packets, in order.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = QueuedPacket<'_>> {
        (0..self.len()).map(|index| self.packet(index))
    }

    /// Bytes of the packets `first..end`, which must exist.
    #[inline]
    pub(super) fn bytes_of(&self, first: usize, end: usize) -> usize {
        if (first, end) == (0, self.len()) {
            return self.bytes();
        }
        let packets = self.all();
        let (from, to) = (
            first.min(packets.entries.len()),
            end.min(packets.entries.len()),
        );
        let single = packets.entries[from..to].iter().map(Entry::length);
        let copies = (end - first) - (to - from);
        let copied = packets.entries.last().map_or(0, Entry::length);
        single.sum::<usize>() + copies * copied
    }

    /// Has the processor load a packet that is to be copied soon after packet `index`.
    #[inline]
    pub(super) fn prefetch_behind(&self, index: usize) {
        prefetch(self.packet(index + PREFETCHED).bytes);
    }

    /// Packet number `index`, which must exist.
    #[inline]
    pub(super) fn packet(&self, index: usize) -> QueuedPacket<'_> {
        let packets = self.all();
        let entry = packets.entry(index);
        QueuedPacket {
            bytes: packets.bytes_at(entry),
            time_ns: entry.time_ns,
            is_second: entry.is_second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_packet_are_packets() {
        let mut queue = SendQueue::default();
        queue.repeat_last(3);
        assert!(queue.is_empty());
        queue.push(1, b"first");
        queue.push(2, b"copied");
        queue.repeat_last(3);
        assert_eq!((queue.len(), queue.bytes()), (5, 5 + 4 * 6));
        assert_eq!((queue.repeated(0, 5), queue.repeated(1, 5)), (1, 4));
        assert_eq!((queue.bytes_of(0, 3), queue.bytes_of(2, 4)), (17, 12));
        queue.pop();
        queue.push(3, b"last");
        let all: Vec<_> = queue
            .packets()
            .map(|packet| (packet.time_ns, packet.bytes))
            .collect();
        let copied = (2, &b"copied"[..]);
        assert_eq!(
            all,
            [(1, &b"first"[..]), copied, copied, copied, (3, b"last")]
        );
        assert_eq!((queue.bytes(), queue.longest()), (5 + 3 * 6 + 4, 6));
        assert_eq!(queue.repeated(1, 5), 1);
    }

    #[test]
    fn a_source_adds_a_bounded_number_of_copies() {
        let mut queue = SendQueue::for_source(QueueSize::SMALL);
        queue.push(0, &[0; 60]);
        queue.repeat_last(queue.copies_left());
        assert!(queue.is_full());
        assert_eq!((queue.len(), queue.copies_left()), (MAX_COPIES + 1, 0));
    }
}
