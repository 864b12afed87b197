//! The send queue: packets in one piece of memory, each with the time at which it is to be sent.

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
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    end: usize,
    time_ns: u64,
}

/// A packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket<'q> {
    /// Its bytes, from the link-layer header on.
    pub bytes: &'q [u8],
    /// When it was recorded, or when it is to be sent: nanoseconds of any clock.
    pub time_ns: u64,
}

impl SendQueue {
    /// A queue with memory for `packets` packets of `bytes` bytes in total.
    pub fn with_capacity(packets: usize, bytes: usize) -> Self {
        Self {
            arena: Vec::with_capacity(bytes),
            entries: Vec::with_capacity(packets),
        }
    }

    /// Adds a packet behind the others. Allocates only if the memory is used up.
    pub fn push(&mut self, time_ns: u64, bytes: &[u8]) {
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.entries.push(Entry {
            start,
            end: self.arena.len(),
            time_ns,
        });
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
        self.arena.len()
    }

    /// Removes all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.entries.clear();
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
        match self.entries.get(first..end) {
            Some([first, .., last]) => last.end - first.start,
            Some([only]) => only.end - only.start,
            _ => 0,
        }
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
