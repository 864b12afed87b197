//! Chunks of several encoders, written as one file in the order of the time stamps.

use std::collections::VecDeque;
use std::fmt;

use super::chunk::{IndexEntry, PacketChunk};
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
/// Cost: a copy for each packet, and O(log lanes) comparisons for packets of a lane that no other lane's packet
/// separates. A chunk with packets out of order is sorted when it is added. Reads no clock.
#[derive(Debug)]
pub struct ChunkMerge {
    lanes: Vec<Lane>,
    /// Where packets wait, the oldest last. Empty between calls; its memory is used again.
    heads: Vec<Head>,
    /// Latest time stamp that was written.
    newest_ns: u64,
}

#[derive(Default)]
struct Lane {
    /// More than one only while packets are out of order from one chunk to another.
    sequences: Vec<Sequence>,
    /// Chunks added.
    added: u64,
    free: Vec<PacketChunk>,
    counts: LaneCounts,
}

/// Chunks whose packets are in order, within each and from one to the next.
type Sequence = VecDeque<HeldChunk>;

struct HeldChunk {
    chunk: PacketChunk,
    /// Its number in the lane.
    number: u64,
    /// Packets that are written.
    written: usize,
}

/// The oldest packet of a sequence. Packets with the same time stamp are ordered by lane, and within it by chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    time_ns: u64,
    lane: usize,
    chunk: u64,
    sequence: usize,
}

impl ChunkMerge {
    /// A merge of `lanes` lanes.
    pub fn new(lanes: usize) -> Self {
        Self {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            heads: Vec::new(),
            newest_ns: 0,
        }
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
        let heads = &mut self.heads;
        heads.clear();
        for (lane, number) in self.lanes.iter().zip(0..) {
            let sequences = 0..lane.sequences.len();
            heads.extend(sequences.filter_map(|sequence| lane.head(number, sequence, before_ns)));
        }
        heads.sort_unstable_by(|one, other| other.cmp(one));
        while *remaining > 0
            && let Some(head) = heads.pop()
        {
            // Up to the next head, or with it if it comes later among packets with the same time stamp.
            let until_ns = heads.last().map_or(before_ns, |next| {
                let is_first = (head.lane, head.chunk) < (next.lane, next.chunk);
                next.time_ns + u64::from(is_first)
            });
            let lane = &mut self.lanes[head.lane];
            lane.write_run(
                head.sequence,
                until_ns,
                file,
                remaining,
                &mut self.newest_ns,
            )?;
            if let Some(head) = lane.head(head.lane, head.sequence, before_ns) {
                let at = heads.partition_point(|other| *other > head);
                heads.insert(at, head);
            }
        }
        for lane in &mut self.lanes {
            lane.sequences.retain(|sequence| !sequence.is_empty());
        }
        Ok(())
    }

    /// Counts all packets that are not written as discarded, and removes them.
    pub fn discard(&mut self) {
        for lane in &mut self.lanes {
            lane.counts.discarded += lane.waiting() as u64;
            for held in lane.sequences.drain(..).flatten() {
                lane.free.push(held.emptied());
            }
        }
    }

    /// The argument of [`write_before`](Self::write_before) that empties a chunk of `lane`; `None` if the lane has
    /// no chunk.
    pub fn before_to_free(&self, lane: usize) -> Option<u64> {
        let first = self.lanes.get(lane)?.sequences.iter();
        let first = first.filter_map(|sequence| sequence.front());
        let newest_ns = first.map(|held| held.chunk.newest_ns()).min()?;
        Some(newest_ns.saturating_add(1))
    }

    /// A chunk of `lane` all of whose packets have been written or discarded. It is empty.
    pub fn take_free(&mut self, lane: usize) -> Option<PacketChunk> {
        self.lanes.get_mut(lane)?.free.pop()
    }

    /// Packets that are not written.
    pub fn waiting(&self) -> usize {
        self.lanes.iter().map(Lane::waiting).sum()
    }

    /// What became of the packets, by lane.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = LaneCounts> {
        self.lanes.iter().map(|lane| lane.counts)
    }
}

impl Lane {
    fn add(&mut self, mut chunk: PacketChunk) {
        chunk.sort();
        let Some(first) = chunk.index().first() else {
            self.free.push(chunk);
            return;
        };
        let is_followed = |sequence: &Sequence| {
            let last = sequence.back();
            last.is_none_or(|last| last.chunk.newest_ns() <= first.time_ns)
        };
        let place = self.sequences.iter().position(is_followed);
        let place = place.unwrap_or_else(|| {
            self.sequences.push(Sequence::new());
            self.sequences.len() - 1
        });
        self.sequences[place].push_back(HeldChunk {
            chunk,
            number: self.added,
            written: 0,
        });
        self.added += 1;
    }

    fn waiting(&self) -> usize {
        let chunks = self.sequences.iter().flatten();
        chunks.map(|held| held.waiting().len()).sum()
    }

    /// The oldest packet of a sequence, if it is older than `before_ns`; `lane` is the lane's number.
    fn head(&self, lane: usize, sequence: usize, before_ns: u64) -> Option<Head> {
        let held = self.sequences[sequence].front()?;
        let time_ns = held.waiting().first()?.time_ns;
        (time_ns < before_ns).then_some(Head {
            time_ns,
            lane,
            chunk: held.number,
            sequence,
        })
    }

    /// Writes the packets at the head of a sequence that are older than `until_ns`, at least one, as far as they are
    /// in one chunk and their records follow each other.
    fn write_run(
        &mut self,
        sequence: usize,
        until_ns: u64,
        file: &mut CaptureFile,
        remaining: &mut u64,
        newest_ns: &mut u64,
    ) -> Result<(), WriteError> {
        let chunks = &mut self.sequences[sequence];
        let Some(held) = chunks.front_mut() else {
            return Ok(());
        };
        let run = held.run(until_ns, *remaining);
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return Ok(());
        };
        let records = &held.chunk.records()[first.start as usize..last.end as usize];
        let before = file.packets_accepted();
        let packets = run.iter();
        let packets = packets.map(|entry| (entry.time_ns, (entry.end - entry.start) as usize));
        let result = file.write_records(records, packets);
        let accepted = file.packets_accepted() - before;
        self.counts.written += accepted;
        self.counts.discarded += run.len() as u64 - accepted;
        if first.time_ns < *newest_ns {
            let late = run.partition_point(|entry| entry.time_ns < *newest_ns);
            self.counts.late += late as u64;
        }
        *newest_ns = last.time_ns.max(*newest_ns);
        *remaining -= run.len() as u64;
        held.written += run.len();
        if let Some(held) = chunks.pop_front_if(|held| held.waiting().is_empty()) {
            self.free.push(held.emptied());
        }
        result
    }
}

impl HeldChunk {
    /// The packets that are not written, oldest first.
    fn waiting(&self) -> &[IndexEntry] {
        &self.chunk.index()[self.written..]
    }

    /// At most `most` of them that are older than `until_ns` and whose records follow each other.
    fn run(&self, until_ns: u64, most: u64) -> &[IndexEntry] {
        let waiting = self.waiting();
        let most = usize::try_from(most)
            .unwrap_or(usize::MAX)
            .min(waiting.len());
        let Some(mut end) = waiting.first().map(|first| first.start) else {
            return &[];
        };
        let is_in_run = |entry: &&IndexEntry| {
            let is_adjacent = entry.start == end;
            end = entry.end;
            is_adjacent && entry.time_ns < until_ns
        };
        let run = waiting[..most].iter().take_while(is_in_run).count();
        &waiting[..run]
    }

    fn emptied(mut self) -> PacketChunk {
        self.chunk.clear();
        self.chunk
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("waiting", &self.waiting())
            .field("sequences", &self.sequences.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
