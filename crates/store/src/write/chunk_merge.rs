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

/// When packets are copied, the one this many packets ahead in its input is prefetched.
const COPY_AHEAD: usize = 3;

/// Written, late and discarded packets of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputCounts {
    /// Accepted by the file.
    pub written: u64,
    /// Written after a packet with a later time stamp.
    pub late: u64,
    /// Given to [`ChunkMerge::discard`], or refused by a file that failed.
    pub discarded: u64,
}

/// Merges the chunks of several inputs by time stamp into a [`CaptureFile`].
///
/// ```text
/// encoder 0 ─▶ chunks ─▶ input 0 ┐
/// encoder 1 ─▶ chunks ─▶ input 1 ┼─▶ oldest first, up to a time ─▶ file
/// encoder 2 ─▶ chunks ─▶ input 2 ┘
/// ```
///
/// [`write_before`](Self::write_before) writes the packets before a time up to which the caller has added all of them.
/// A packet that is added later is written nevertheless and counted as [late](InputCounts::late). Packets
/// need not be in order within an input. Those with the same time stamp are written by input.
///
/// Cost: O(log inputs) comparisons for each packet, and fewer if packets come in bursts: the end of a long run of one input is
/// searched for. Packets of an input that no other input's packet separates are written together. A plain pcapng file is written
/// from the chunks by `writev(2)`; for others, packets are copied. A chunk with packets out of order is sorted when it is added.
/// Reads no clock.
#[derive(Debug)]
pub struct ChunkMerge {
    inputs: Vec<Input>,
    order: MergeOrder,
    /// The sequences with packets to write. Empty between calls; its memory is used again.
    cursors: Vec<Cursor>,
    /// Latest time stamp that was written.
    newest_ns: u64,
}

#[derive(Default)]
struct Input {
    /// More than one only while packets are out of order from one chunk to another.
    sequences: Vec<Sequence>,
    /// Chunks added.
    added: u64,
    /// The one that was emptied last comes last.
    free: VecDeque<PacketChunk>,
    counts: InputCounts,
}

/// Chunks whose packets are in order, within each and from one to the next.
type Sequence = VecDeque<HeldChunk>;

struct HeldChunk {
    chunk: PacketChunk,
    /// Its number in the input.
    number: u64,
    /// Packets that are written.
    written: usize,
}

/// A sequence, and what has been written of its first chunk.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    input: usize,
    /// Number of the first chunk.
    chunk: u64,
    sequence: usize,
    /// Packets that are written, discarded or in the batch.
    done: u32,
    /// The packets of `done` that are not only in the batch.
    accepted: u32,
    /// The packets of `done` that the file refused.
    discarded: u32,
    /// The packets of `done` that came late.
    late: u64,
}

impl ChunkMerge {
    /// A merge of `inputs` inputs.
    pub fn new(inputs: usize) -> Self {
        Self {
            inputs: (0..inputs).map(|_| Input::default()).collect(),
            order: MergeOrder::default(),
            cursors: Vec::new(),
            newest_ns: 0,
        }
    }

    /// Adds the packets of `chunk` to `input`.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn add(&mut self, input: usize, chunk: PacketChunk) {
        self.inputs[input].add(chunk);
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
        for input in &mut self.inputs {
            input.sequences.retain(|sequence| !sequence.is_empty());
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
        let sources = find_sources(&self.inputs, &mut self.cursors, before_ns);
        self.order.begin(&sources);
        let result = if file.gathers() {
            gather(
                &mut self.order,
                &sources,
                &mut self.cursors,
                file,
                remaining,
            )
        } else {
            copy(
                &mut self.order,
                &sources,
                &mut self.cursors,
                file,
                remaining,
            )
        };
        let before_ns = self.newest_ns;
        for (source, cursor) in sources.iter().zip(&mut self.cursors) {
            let done = &source.index[..cursor.done as usize];
            // Each source is in order, and so is what was written of all of them.
            if done.first().is_some_and(|first| first.time_ns < before_ns) {
                cursor.late = done.partition_point(|entry| entry.time_ns < before_ns) as u64;
            }
            let newest_ns = done.last().map_or(0, |last| last.time_ns);
            self.newest_ns = self.newest_ns.max(newest_ns);
        }
        let is_any = !sources.is_empty();
        for cursor in &self.cursors {
            self.inputs[cursor.input].advance(cursor);
        }
        result.map(|()| is_any)
    }

    /// Counts all packets that are not written as discarded, and removes them.
    pub fn discard(&mut self) {
        for input in &mut self.inputs {
            input.counts.discarded += input.waiting() as u64;
            for held in input.sequences.drain(..).flatten() {
                input.free.push_back(held.emptied());
            }
        }
    }

    /// The argument of [`write_before`](Self::write_before) that empties a chunk of `input`; `None` if the input has
    /// no chunk.
    pub fn before_to_free(&self, input: usize) -> Option<u64> {
        let first = self.inputs.get(input)?.sequences.iter();
        let first = first.filter_map(|sequence| sequence.front());
        let newest_ns = first.map(|held| held.chunk.newest_ns()).min()?;
        Some(newest_ns.saturating_add(1))
    }

    /// A chunk of `input` all of whose packets have been written or discarded. It is empty. The one that was filled first comes
    /// first.
    pub fn take_free(&mut self, input: usize) -> Option<PacketChunk> {
        self.inputs.get_mut(input)?.free.pop_front()
    }

    /// Packets that are not written.
    pub fn waiting(&self) -> usize {
        self.inputs.iter().map(Input::waiting).sum()
    }

    /// Written, late and discarded packets, by input.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = InputCounts> {
        self.inputs.iter().map(|input| input.counts)
    }
}

impl Input {
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
        let position = self.sequences.iter().position(is_followed);
        let position = position.unwrap_or_else(|| {
            self.sequences.push(Sequence::new());
            self.sequences.len() - 1
        });
        self.sequences[position].push_back(HeldChunk {
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
    fn advance(&mut self, cursor: &Cursor) {
        self.counts.written += u64::from(cursor.done - cursor.discarded);
        self.counts.late += cursor.late;
        self.counts.discarded += u64::from(cursor.discarded);
        let sequence = &mut self.sequences[cursor.sequence];
        if let Some(held) = sequence.front_mut() {
            held.written += cursor.done as usize;
        }
        if let Some(held) = sequence.pop_front_if(|held| held.waiting().is_empty()) {
            self.free.push_back(held.emptied());
        }
    }
}

/// The packets below `before_ns` in the first chunk of each sequence, by input and chunk. Writes their positions into `cursors`.
fn find_sources<'l>(
    inputs: &'l [Input],
    cursors: &mut Vec<Cursor>,
    before_ns: u64,
) -> Vec<Source<'l>> {
    cursors.clear();
    for (number, input) in inputs.iter().enumerate() {
        let sequences = input.sequences.iter().enumerate();
        cursors.extend(sequences.filter_map(|(sequence, chunks)| {
            let held = chunks.front()?;
            (held.waiting().first()?.time_ns < before_ns).then_some(Cursor {
                input: number,
                chunk: held.number,
                sequence,
                done: 0,
                accepted: 0,
                discarded: 0,
                late: 0,
            })
        }));
    }
    cursors.sort_unstable_by_key(|cursor| (cursor.input, cursor.chunk));
    let source = |cursor: &Cursor| {
        let chunks = &inputs[cursor.input].sequences[cursor.sequence];
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
    cursors.iter().map(source).collect()
}

/// Writes the planned packets from their chunks, without copying them.
fn gather(
    order: &mut MergeOrder,
    sources: &[Source<'_>],
    cursors: &mut [Cursor],
    file: &mut CaptureFile,
    remaining: &mut u64,
) -> Result<(), WriteError> {
    let mut batch = WriteBatch::new();
    loop {
        let runs = order.plan(sources, *remaining);
        if runs.is_empty() {
            return batch.write(cursors, file);
        }
        for run in runs {
            let source = &sources[run.source as usize];
            let first = cursors[run.source as usize].done;
            let entries = &source.index[first as usize..run.end as usize];
            *remaining -= entries.len() as u64;
            let mut rest = entries;
            while !rest.is_empty() {
                let (part, after) = source.adjacent(rest);
                rest = after;
                if batch.count == RANGES {
                    batch.write(cursors, file)?;
                }
                batch.add(source.bytes(part), part.len());
                cursors[run.source as usize].done += part.len() as u32;
            }
        }
    }
}

/// Copies the planned packets into the buffer of the file.
fn copy(
    order: &mut MergeOrder,
    sources: &[Source<'_>],
    cursors: &mut [Cursor],
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
            let cursor = &mut cursors[run.source as usize];
            let entries = &source.index[cursor.done as usize..run.end as usize];
            if let Some(later) = source.index.get(run.end as usize + COPY_AHEAD) {
                abi::prefetch::prefetch(source.bytes(std::slice::from_ref(later)));
            }
            let count = entries.len() as u64;
            *remaining -= count;
            cursor.done = run.end;
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
                    cursor.discarded += (count - accepted) as u32;
                    return Err(error);
                }
            }
        }
    }
}

/// Packets that are written together.
struct WriteBatch<'c> {
    ranges: [IoSlice<'c>; RANGES],
    /// Number of ranges.
    count: usize,
    bytes: usize,
    packets: u64,
}

impl<'c> WriteBatch<'c> {
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

    /// Writes and removes all packets, which are those between `accepted` and `done` of all `cursors`.
    fn write(&mut self, cursors: &mut [Cursor], file: &mut CaptureFile) -> Result<(), WriteError> {
        if self.count == 0 {
            return Ok(());
        }
        let before = file.packets_accepted();
        let result = file.write_ranges(&mut self.ranges[..self.count], self.bytes, self.packets);
        let is_refused = file.packets_accepted() == before;
        for cursor in cursors {
            if is_refused {
                cursor.discarded += cursor.done - cursor.accepted;
            }
            cursor.accepted = cursor.done;
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

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("waiting", &self.waiting())
            .field("sequences", &self.sequences.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
