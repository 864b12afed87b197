//! Chunks of several encoders, written as one file in the order of the time stamps.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

use super::chunk::PacketChunk;
use super::{CaptureFile, WriteError};

/// What became of the packets of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Accepted by the file.
    pub written: u64,
    /// Written after a packet with a later time stamp.
    pub late: u64,
    /// Given to [`ChunkMerge::discard`], or refused by a file that failed.
    pub discarded: u64,
}

/// Merges the chunks of several lanes by time stamp into a [`CaptureFile`].
///
/// ```text
/// encoder 0 ─▶ chunks ─▶ lane 0 ┐
/// encoder 1 ─▶ chunks ─▶ lane 1 ┼─▶ oldest first, up to a time ─▶ file
/// encoder 2 ─▶ chunks ─▶ lane 2 ┘
/// ```
///
/// The caller says up to which time no lane gets an older packet any more ([`write_before`](Self::write_before)).
/// A packet that comes later than that is written nevertheless and counted as [late](LaneCounts::late). Packets
/// need not be in order within a lane. Those with the same time stamp are written by lane.
///
/// Cost per packet: one copy and O(log lanes) comparisons; O(log packets) for a packet that is out of order within
/// its lane. Reads no clock.
#[derive(Debug)]
pub struct ChunkMerge {
    lanes: Vec<Lane>,
    /// Latest time stamp that was written.
    newest_ns: u64,
}

#[derive(Default)]
struct Lane {
    /// The packets that are not written, oldest first.
    waiting: VecDeque<WaitingPacket>,
    /// The chunks that hold them, in the order in which they came.
    chunks: VecDeque<HeldChunk>,
    /// Number of the first of them.
    first_chunk: u32,
    free: Vec<PacketChunk>,
    counts: LaneCounts,
}

#[derive(Clone, Copy)]
struct WaitingPacket {
    time_ns: u64,
    /// Number of its chunk.
    chunk: u32,
    /// Its record within the chunk.
    start: u32,
    end: u32,
}

struct HeldChunk {
    chunk: PacketChunk,
    /// Packets that are not written.
    left: usize,
    newest_ns: u64,
}

/// Orders lanes by their oldest packet, then by number.
type Heads = BinaryHeap<Reverse<(u64, usize)>>;

impl ChunkMerge {
    /// A merge of `lanes` lanes.
    pub fn new(lanes: usize) -> Self {
        Self {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            newest_ns: 0,
        }
    }

    /// Memory for a chunk for `bytes` bytes of records, in itself and in the merge.
    pub fn memory_bytes(bytes: usize) -> usize {
        PacketChunk::memory_bytes(bytes)
            + PacketChunk::most_packets(bytes) * size_of::<WaitingPacket>()
    }

    /// Adds the packets of `chunk` to `lane`.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn add(&mut self, lane: usize, chunk: PacketChunk) {
        self.lanes[lane].add(chunk);
    }

    /// Writes all packets with a time stamp below `before_ns`, but at most `remaining`, from which it subtracts
    /// them.
    ///
    /// # Errors
    /// As [`CaptureFile::write`]. The packets at which the file failed are counted as written if it accepted them
    /// and as discarded otherwise. The others stay.
    pub fn write_before(
        &mut self,
        before_ns: u64,
        file: &mut CaptureFile,
        remaining: &mut u64,
    ) -> Result<(), WriteError> {
        let mut heads: Heads = (self.lanes.iter().enumerate())
            .filter_map(|(number, lane)| lane.head(number, before_ns))
            .collect();
        while *remaining > 0
            && let Some(Reverse((_, number))) = heads.pop()
        {
            let until = heads.peek().map_or((before_ns, 0), |&Reverse(next)| next);
            let lane = &mut self.lanes[number];
            let run = lane.next_run(number, until, *remaining);
            *remaining -= run as u64;
            lane.write(run, file, &mut self.newest_ns)?;
            heads.extend(lane.head(number, before_ns));
        }
        Ok(())
    }

    /// Counts all packets that are not written as discarded, and removes them.
    pub fn discard(&mut self) {
        for lane in &mut self.lanes {
            lane.counts.discarded += lane.waiting.len() as u64;
            lane.waiting.clear();
            for held in &mut lane.chunks {
                held.left = 0;
            }
            lane.release();
        }
    }

    /// The argument of [`write_before`](Self::write_before) that empties the first chunk of `lane`; `None` if the
    /// lane has no chunk.
    pub fn before_to_free(&self, lane: usize) -> Option<u64> {
        let held = self.lanes.get(lane)?.chunks.front()?;
        Some(held.newest_ns.saturating_add(1))
    }

    /// A chunk of `lane` all of whose packets have been written or discarded. It is empty.
    pub fn take_free(&mut self, lane: usize) -> Option<PacketChunk> {
        self.lanes.get_mut(lane)?.free.pop()
    }

    /// Packets that are not written.
    pub fn waiting(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting.len()).sum()
    }

    /// What became of the packets, by lane.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = LaneCounts> {
        self.lanes.iter().map(|lane| lane.counts)
    }
}

impl Lane {
    fn add(&mut self, chunk: PacketChunk) {
        let number = self.first_chunk.wrapping_add(self.chunks.len() as u32);
        let (mut start, mut newest_ns) = (0, 0);
        self.waiting.reserve(chunk.len());
        for entry in chunk.index() {
            let packet = WaitingPacket {
                time_ns: entry.time_ns,
                chunk: number,
                start,
                end: entry.end,
            };
            start = entry.end;
            newest_ns = entry.time_ns.max(newest_ns);
            match self.waiting.back() {
                Some(last) if last.time_ns > entry.time_ns => self.insert(packet),
                _ => self.waiting.push_back(packet),
            }
        }
        self.chunks.push_back(HeldChunk {
            left: chunk.len(),
            chunk,
            newest_ns,
        });
        // It may be empty.
        self.release();
    }

    /// Inserts a packet that is older than the last one.
    #[cold]
    fn insert(&mut self, packet: WaitingPacket) {
        let is_before = |other: &WaitingPacket| other.time_ns <= packet.time_ns;
        let at = self.waiting.partition_point(is_before);
        self.waiting.insert(at, packet);
    }

    fn head(&self, number: usize, before_ns: u64) -> Option<Reverse<(u64, usize)>> {
        let oldest = self.waiting.front()?;
        (oldest.time_ns < before_ns).then_some(Reverse((oldest.time_ns, number)))
    }

    /// Packets at the head of the lane that come before `until`, at most `most`, and whose records follow each
    /// other: at least one.
    fn next_run(&self, number: usize, until: (u64, usize), most: u64) -> usize {
        let mut packets = self.waiting.iter();
        let Some(&(mut last)) = packets.next() else {
            return 0;
        };
        let mut run = 1;
        for packet in packets {
            let is_adjacent = packet.chunk == last.chunk && packet.start == last.end;
            if !is_adjacent || (packet.time_ns, number) >= until || run as u64 >= most {
                break;
            }
            last = *packet;
            run += 1;
        }
        run
    }

    /// Writes the first `run` packets.
    fn write(
        &mut self,
        run: usize,
        file: &mut CaptureFile,
        newest_ns: &mut u64,
    ) -> Result<(), WriteError> {
        let Some(first) = self.waiting.front() else {
            return Ok(());
        };
        let place = first.chunk.wrapping_sub(self.first_chunk) as usize;
        let held = &mut self.chunks[place];
        let end = self.waiting[run - 1].end;
        let records = &held.chunk.records()[first.start as usize..end as usize];
        let before = file.packets_accepted();
        let packets = (self.waiting.range(..run))
            .map(|packet| (packet.time_ns, (packet.end - packet.start) as usize));
        let result = file.write_records(records, packets);
        let accepted = file.packets_accepted() - before;
        self.counts.written += accepted;
        self.counts.discarded += run as u64 - accepted;
        for packet in self.waiting.drain(..run) {
            if packet.time_ns < *newest_ns {
                self.counts.late += 1;
            } else {
                *newest_ns = packet.time_ns;
            }
        }
        held.left -= run;
        if held.left == 0 {
            self.release();
        }
        result
    }

    /// Frees the chunks at the front that have no packets left.
    fn release(&mut self) {
        while let Some(mut held) = self.chunks.pop_front_if(|held| held.left == 0) {
            self.first_chunk = self.first_chunk.wrapping_add(1);
            held.chunk.clear();
            self.free.push(held.chunk);
        }
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("waiting", &self.waiting.len())
            .field("chunks", &self.chunks.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
