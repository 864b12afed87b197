//! Chunks of several encoders, written as one file in the order of the time stamps.

use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;

use super::chunk::{IndexEntry, PacketChunk};
use super::merge_order::{MergeOrder, Source};
use super::{CaptureFile, WriteError};

/// Ranges of memory that are written together. The kernel takes at most 1024 (`UIO_MAXIOV`); it copies their list, which is
/// more expensive from 16 KiB on.
const RANGES: usize = 512;

/// When packets are copied, the one this many places ahead in its lane is prefetched.
const COPY_AHEAD: usize = 3;

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
/// Cost: O(log lanes) comparisons for each packet, and fewer if packets come in bursts: the end of a long run of one lane is
/// searched for. Packets of a lane that no other lane's packet separates are written together. A plain pcapng file is written
/// from the chunks by `writev(2)`; for others, packets are copied. A chunk with packets out of order is sorted when it is added.
/// Reads no clock.
#[derive(Debug)]
pub struct ChunkMerge {
    lanes: Vec<Lane>,
    order: MergeOrder,
    /// The sequences with packets to write. Empty between calls; its memory is used again.
    places: Vec<Place>,
    /// Latest time stamp that was written.
    newest_ns: u64,
}

#[derive(Default)]
struct Lane {
    /// More than one only while packets are out of order from one chunk to another.
    sequences: Vec<Sequence>,
    /// Chunks added.
    added: u64,
    /// The one that was emptied last comes last.
    free: VecDeque<PacketChunk>,
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

/// A sequence, and what has been written of its first chunk.
#[derive(Clone, Copy, Debug)]
struct Place {
    lane: usize,
    /// Number of the first chunk.
    chunk: u64,
    sequence: usize,
    /// Packets that are written, discarded or gathered.
    done: u32,
    /// The packets of `done` that are not only gathered.
    accepted: u32,
    /// The packets of `done` that the file refused.
    discarded: u32,
    /// The packets of `done` that came late.
    late: u64,
}

impl ChunkMerge {
    /// A merge of `lanes` lanes.
    pub fn new(lanes: usize) -> Self {
        Self {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            order: MergeOrder::default(),
            places: Vec::new(),
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
        // Bound: each round writes a packet or more.
        while *remaining > 0 && self.write_some(before_ns, file, remaining)? {}
        for lane in &mut self.lanes {
            lane.sequences.retain(|sequence| !sequence.is_empty());
        }
        Ok(())
    }

    /// Writes packets, up to the end of a chunk at most. Returns whether there were any.
    fn write_some(
        &mut self,
        before_ns: u64,
        file: &mut CaptureFile,
        remaining: &mut u64,
    ) -> Result<bool, WriteError> {
        let sources = find_sources(&self.lanes, &mut self.places, before_ns);
        self.order.begin(&sources);
        let result = if file.gathers() {
            gather(&mut self.order, &sources, &mut self.places, file, remaining)
        } else {
            copy(&mut self.order, &sources, &mut self.places, file, remaining)
        };
        let before_ns = self.newest_ns;
        for (source, place) in sources.iter().zip(&mut self.places) {
            let done = &source.index[..place.done as usize];
            // Each source is in order, and so is what was written of all of them.
            if done.first().is_some_and(|first| first.time_ns < before_ns) {
                place.late = done.partition_point(|entry| entry.time_ns < before_ns) as u64;
            }
            let newest_ns = done.last().map_or(0, |last| last.time_ns);
            self.newest_ns = self.newest_ns.max(newest_ns);
        }
        let is_any = !sources.is_empty();
        for place in &self.places {
            self.lanes[place.lane].advance(place);
        }
        result.map(|()| is_any)
    }

    /// Counts all packets that are not written as discarded, and removes them.
    pub fn discard(&mut self) {
        for lane in &mut self.lanes {
            lane.counts.discarded += lane.waiting() as u64;
            for held in lane.sequences.drain(..).flatten() {
                lane.free.push_back(held.emptied());
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

    /// A chunk of `lane` all of whose packets have been written or discarded. It is empty. The one that was filled first comes
    /// first.
    pub fn take_free(&mut self, lane: usize) -> Option<PacketChunk> {
        self.lanes.get_mut(lane)?.free.pop_front()
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
            self.free.push_back(chunk);
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

    /// Counts what has been written of the first chunk of a sequence.
    fn advance(&mut self, place: &Place) {
        self.counts.written += u64::from(place.done - place.discarded);
        self.counts.late += place.late;
        self.counts.discarded += u64::from(place.discarded);
        let sequence = &mut self.sequences[place.sequence];
        if let Some(held) = sequence.front_mut() {
            held.written += place.done as usize;
        }
        if let Some(held) = sequence.pop_front_if(|held| held.waiting().is_empty()) {
            self.free.push_back(held.emptied());
        }
    }
}

/// The packets below `before_ns` in the first chunk of each sequence, by lane and chunk; `places` says where.
fn find_sources<'l>(lanes: &'l [Lane], places: &mut Vec<Place>, before_ns: u64) -> Vec<Source<'l>> {
    places.clear();
    for (number, lane) in lanes.iter().enumerate() {
        let sequences = lane.sequences.iter().enumerate();
        places.extend(sequences.filter_map(|(sequence, chunks)| {
            let held = chunks.front()?;
            (held.waiting().first()?.time_ns < before_ns).then_some(Place {
                lane: number,
                chunk: held.number,
                sequence,
                done: 0,
                accepted: 0,
                discarded: 0,
                late: 0,
            })
        }));
    }
    places.sort_unstable_by_key(|place| (place.lane, place.chunk));
    let source = |place: &Place| {
        let chunks = &lanes[place.lane].sequences[place.sequence];
        let held = &chunks[0];
        let waiting = held.waiting();
        let ready = waiting.partition_point(|entry| entry.time_ns < before_ns);
        Source {
            index: &waiting[..ready],
            records: held.chunk.records(),
            is_adjacent: held.chunk.is_adjacent(),
            continues: ready == waiting.len() && chunks.len() > 1,
        }
    };
    places.iter().map(source).collect()
}

/// Writes what is planned, from where it is.
fn gather(
    order: &mut MergeOrder,
    sources: &[Source<'_>],
    places: &mut [Place],
    file: &mut CaptureFile,
    remaining: &mut u64,
) -> Result<(), WriteError> {
    let mut gathered = Gathered::new();
    loop {
        let runs = order.plan(sources, *remaining);
        if runs.is_empty() {
            return gathered.write(places, file);
        }
        for run in runs {
            let source = &sources[run.source as usize];
            let first = places[run.source as usize].done;
            let entries = &source.index[first as usize..run.end as usize];
            *remaining -= entries.len() as u64;
            let mut rest = entries;
            while !rest.is_empty() {
                let (part, after) = source.adjacent(rest);
                rest = after;
                if gathered.count == RANGES {
                    gathered.write(places, file)?;
                }
                gathered.add(source.bytes(part), part.len());
                places[run.source as usize].done += part.len() as u32;
            }
        }
    }
}

/// Copies what is planned into the buffer of the file.
fn copy(
    order: &mut MergeOrder,
    sources: &[Source<'_>],
    places: &mut [Place],
    file: &mut CaptureFile,
    remaining: &mut u64,
) -> Result<(), WriteError> {
    loop {
        let runs = order.plan(sources, *remaining);
        if runs.is_empty() {
            return Ok(());
        }
        for run in runs {
            let source = &sources[run.source as usize];
            let place = &mut places[run.source as usize];
            let entries = &source.index[place.done as usize..run.end as usize];
            if let Some(later) = source.index.get(run.end as usize + COPY_AHEAD) {
                abi::prefetch::prefetch(source.bytes(std::slice::from_ref(later)));
            }
            let count = entries.len() as u64;
            *remaining -= count;
            place.done = run.end;
            let before = file.packets_accepted();
            let mut rest = entries;
            while !rest.is_empty() {
                let (part, after) = source.adjacent(rest);
                rest = after;
                let packets = part.iter();
                let packets =
                    packets.map(|entry| (entry.time_ns, (entry.end - entry.start) as usize));
                if let Err(error) = file.write_records(source.bytes(part), packets) {
                    let accepted = file.packets_accepted() - before;
                    place.discarded += (count - accepted) as u32;
                    return Err(error);
                }
            }
        }
    }
}

/// Packets that are written together.
struct Gathered<'c> {
    ranges: [IoSlice<'c>; RANGES],
    /// Number of ranges.
    count: usize,
    bytes: usize,
    packets: u64,
}

impl<'c> Gathered<'c> {
    fn new() -> Self {
        Self {
            ranges: [IoSlice::new(&[]); RANGES],
            count: 0,
            bytes: 0,
            packets: 0,
        }
    }

    #[inline]
    fn add(&mut self, bytes: &'c [u8], packets: usize) {
        self.ranges[self.count] = IoSlice::new(bytes);
        self.count += 1;
        self.bytes += bytes.len();
        self.packets += packets as u64;
    }

    /// Writes and removes all packets, which are those between `accepted` and `done` of all `places`.
    fn write(&mut self, places: &mut [Place], file: &mut CaptureFile) -> Result<(), WriteError> {
        if self.count == 0 {
            return Ok(());
        }
        let before = file.packets_accepted();
        let result = file.write_ranges(&mut self.ranges[..self.count], self.bytes, self.packets);
        let is_refused = file.packets_accepted() == before;
        for place in places {
            if is_refused {
                place.discarded += place.done - place.accepted;
            }
            place.accepted = place.done;
        }
        (self.count, self.bytes, self.packets) = (0, 0, 0);
        result
    }
}

impl HeldChunk {
    /// The packets that are not written, oldest first.
    fn waiting(&self) -> &[IndexEntry] {
        &self.chunk.index()[self.written..]
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
