//! Parts of a mapped capture, read side by side.

use std::ops::Range;
use std::sync::Arc;

use abi::file::Mapping;

use super::event::{Event, Reached};
use super::reader::{Reader, State};
use super::source::Source;
use crate::model::Packet;

/// A block's header and those of the packet in it span two of them.
const CACHE_LINE_BYTES: usize = 64;

/// Longer blocks are not written as they are: no reader takes the longest.
const BLOCK_BYTES_AS_IS: usize = 1 << 20;

/// A place in a capture, where a block or record begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the capture before it.
    pub offset: u64,
    /// Blocks or records before it, which errors count.
    pub blocks: u64,
}

impl Reader {
    /// The place that has been reached.
    pub fn mark(&mut self) -> Mark {
        Mark {
            offset: self.source.offset(),
            blocks: *self.format.blocks(),
        }
    }

    /// Reads on at `mark`, backwards or forwards, with the interfaces that are known.
    ///
    /// Only of a capture that has [`Self::parts`]; of others nothing is changed. A place where no
    /// block begins reads as damage. After an end or an error nothing is read any more.
    #[inline]
    pub fn return_to(&mut self, mark: Mark) {
        if self.source.mapping().is_some() {
            self.source.seek(mark.offset);
            *self.format.blocks() = mark.blocks;
        }
    }

    /// For threads that read other parts of this capture, as it is understood at the place reached:
    /// with the byte order and the interfaces of the section that is being read.
    ///
    /// `None` if it is not a mapped file, or compressed.
    pub fn parts(&self) -> Option<Parts> {
        Some(Parts {
            mapping: Arc::clone(self.source.mapping()?),
            state: self.format.clone(),
            has_native_blocks: match &self.format {
                State::Pcap(_) => false,
                State::Pcapng(pcapng) => pcapng.has_native_blocks(),
            },
        })
    }
}

/// Where a packet is that was seen in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// A place from which the [`Reader`] finds the packet next.
    pub offset: u64,
    /// If a pcapng file that has the same interfaces could have the packet's block as it is: how many
    /// bytes that has, at `offset`. Otherwise 0.
    ///
    /// That is so for an Enhanced Packet Block without options, in this machine's byte order, of the
    /// first section, where time stamps are nanoseconds.
    pub block_bytes: u32,
}

/// Reads the packets of any part of a mapped capture; made by [`Reader::parts`].
///
/// A part begins where a packet seems to begin; nothing but the part before it can prove that.
/// Reading stops at everything that is no packet and may change how packets are understood (a new
/// interface or section), at statistics, at damage: these are for the [`Reader`]. `Send` and `Sync`.
#[derive(Clone)]
pub struct Parts {
    mapping: Arc<Mapping>,
    state: State,
    /// Whether plain blocks are as this machine would write them.
    has_native_blocks: bool,
}

/// What was read of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where its first block begins. It is proven if the part before ends there.
    pub start: u64,
    /// Where the block behind its last one begins.
    pub end: u64,
    /// Blocks or records in it.
    pub blocks: u64,
    /// Packets in it.
    pub packets: u64,
    /// Whether it ends before its bound, at something that is for the [`Reader`].
    pub is_cut: bool,
}

impl Parts {
    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.mapping.len() as u64
    }

    /// The bytes of the file in `range`, e.g. of blocks that are written as they are; fewer where it
    /// ends before.
    pub fn slice(&self, range: Range<u64>) -> &[u8] {
        let end = range.end.min(self.bytes()) as usize;
        self.mapping
            .get(range.start as usize..end)
            .unwrap_or_default()
    }

    /// Says that `range` is read soon, all of it.
    pub fn expect(&self, range: Range<u64>) {
        self.mapping
            .populate(range.start as usize..range.end as usize);
    }

    /// Says that little of `range` is read again.
    pub fn forget(&self, range: Range<u64>) {
        self.mapping
            .release(range.start as usize..range.end as usize);
    }

    /// Reads neighbouring parts in turns, a packet of each: part `n` begins at the first place in
    /// `bounds[n]..bounds[n + 1]` where a packet seems to begin, and ends with the block that reaches
    /// the second bound.
    ///
    /// `see` is given the part's number, the packet and where it is. In turns, because then the memory
    /// that one part waits for arrives while the others are read. Never allocates for a packet.
    pub fn walk(&self, bounds: &[u64], mut see: impl FnMut(usize, Spot, &Packet<'_>)) -> Vec<Part> {
        let cursor = |bounds: &[u64; 2]| {
            let [from, to] = *bounds;
            let start = self.plausible(from, to).unwrap_or(to);
            Cursor::new(self, start, to)
        };
        let mut cursors: Vec<_> = bounds.array_windows().map(cursor).collect();
        // Bound: each round moves a cursor on by a block, or is the last.
        while cursors
            .iter_mut()
            .enumerate()
            .fold(false, |any, (number, cursor)| {
                any | cursor.step(|spot, packet| see(number, spot, packet))
            })
        {}
        cursors.into_iter().map(|cursor| cursor.part).collect()
    }

    /// Reads the part that begins at `start` and ends with the block that reaches `bound`.
    pub fn walk_from(
        &self,
        start: u64,
        bound: u64,
        mut see: impl FnMut(Spot, &Packet<'_>),
    ) -> Part {
        let mut cursor = Cursor::new(self, start, bound);
        while cursor.step(&mut see) {}
        cursor.part
    }

    fn plausible(&self, from: u64, to: u64) -> Option<u64> {
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        let to = to.min(self.mapping.len());
        let place = match &self.state {
            State::Pcap(pcap) => pcap.plausible(&self.mapping, from, to),
            State::Pcapng(pcapng) => pcapng.plausible(&self.mapping, from, to),
        };
        place.map(|place| place as u64)
    }
}

/// A reader of one part.
struct Cursor<'a> {
    parts: &'a Parts,
    /// Reads what is not plain.
    source: Source,
    state: State,
    reached: Reached,
    /// Bytes of the file before the block that comes next.
    at: usize,
    bound: u64,
    part: Part,
}

impl<'a> Cursor<'a> {
    fn new(parts: &'a Parts, start: u64, bound: u64) -> Self {
        Self {
            parts,
            source: Source::mapped(Arc::clone(&parts.mapping)),
            state: parts.state.clone(),
            reached: Reached::nothing(),
            at: usize::try_from(start).unwrap_or(usize::MAX),
            bound,
            part: Part {
                start,
                end: start,
                blocks: 0,
                packets: 0,
                is_cut: false,
            },
        }
    }

    /// Reads a packet; `false` at the end of the part.
    #[inline]
    fn step(&mut self, see: impl FnOnce(Spot, &Packet<'_>)) -> bool {
        if self.part.end >= self.bound || self.part.is_cut {
            return false;
        }
        let bytes: &[u8] = &self.parts.mapping;
        let plain = match &self.parts.state {
            State::Pcap(pcap) => pcap.plain(bytes, self.at),
            State::Pcapng(pcapng) => pcapng.plain(bytes, self.at),
        };
        let Some((packet, length)) = plain else {
            return self.step_slowly(see);
        };
        self.at += length;
        self.prefetch();
        let spot = Spot {
            offset: self.part.end,
            block_bytes: if self.parts.has_native_blocks && length <= BLOCK_BYTES_AS_IS {
                length as u32
            } else {
                0
            },
        };
        see(spot, &packet);
        self.part.packets += 1;
        self.part.blocks += 1;
        self.part.end = self.at as u64;
        true
    }

    /// As [`Self::step`], for what is not plain, in the way of [`Reader`].
    fn step_slowly(&mut self, see: impl FnOnce(Spot, &Packet<'_>)) -> bool {
        let blocks_before = *self.state.blocks();
        self.source.seek(self.part.end);
        let event = self.state.advance(&mut self.source, &mut self.reached);
        let Ok(Event::Packet) = event else {
            // Also where the file ends: the reader is to find out.
            self.part.is_cut = true;
            return false;
        };
        self.at = self.source.mark();
        self.prefetch();
        let spot = Spot {
            offset: self.part.end,
            block_bytes: 0,
        };
        see(spot, &self.reached.found.lend(&self.source));
        self.part.packets += 1;
        self.part.blocks += *self.state.blocks() - blocks_before;
        self.part.end = self.source.offset();
        true
    }

    /// Has fetched what the next step needs and is not there yet: the end of the block reached, with
    /// the beginning of the block behind it.
    #[inline]
    fn prefetch(&self) {
        let mapping = &self.parts.mapping;
        let block = mapping.get(self.at..).unwrap_or_default();
        let ahead = match &self.parts.state {
            State::Pcap(pcap) => pcap.next_record(block),
            State::Pcapng(pcapng) => pcapng.next_trailer(block),
        };
        if let Some(next) = ahead.and_then(|ahead| self.at.checked_add(ahead)) {
            mapping.prefetch(next);
            mapping.prefetch(next.saturating_add(CACHE_LINE_BYTES));
        }
    }
}
