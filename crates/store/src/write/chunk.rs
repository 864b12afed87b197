//! Packets that one thread encodes and another one writes.

use std::fmt;

use super::buffer::Buffer;
use super::encoder::Encoder;
use super::{WriteError, pcap, pcapng};
use crate::block::Options;
use crate::model::{Interface, Packet};

/// Bytes of a chunk for each packet of the index: a pcapng block with a packet of 60 bytes.
const PACKET_BYTES: usize = 96;

/// Encoded packets, each with its time stamp. The memory is allocated once and used again.
pub struct PacketChunk {
    buffer: Buffer,
    /// At most its capacity.
    index: Vec<IndexEntry>,
    /// Latest time stamp.
    newest_ns: u64,
    /// The index is in the order of the time stamps.
    is_sorted: bool,
    /// The records follow each other in the order of the index.
    is_adjacent: bool,
}

/// A packet of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexEntry {
    pub time_ns: u64,
    /// Where its record begins.
    pub start: u32,
    /// Where its record ends.
    pub end: u32,
}

impl PacketChunk {
    /// A chunk for `bytes` bytes of records.
    pub fn new(bytes: usize) -> Self {
        Self::of(Buffer::new(bytes), bytes)
    }

    /// Chunks for `bytes` bytes of records each, in memory that is used for the first time at less cost than that of as
    /// many single chunks.
    pub fn several(count: usize, bytes: usize) -> Vec<Self> {
        let buffers = Buffer::several(count, bytes).into_iter();
        buffers.map(|buffer| Self::of(buffer, bytes)).collect()
    }

    fn of(buffer: Buffer, bytes: usize) -> Self {
        Self {
            buffer,
            index: Vec::with_capacity(Self::most_packets(bytes)),
            newest_ns: 0,
            is_sorted: true,
            is_adjacent: true,
        }
    }

    /// Memory of a chunk for `bytes` bytes of records.
    pub fn memory_bytes(bytes: usize) -> usize {
        bytes + Self::most_packets(bytes) * size_of::<IndexEntry>()
    }

    /// Most packets in a chunk for `bytes` bytes of records.
    fn most_packets(bytes: usize) -> usize {
        bytes / PACKET_BYTES + 1
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.index.clear();
        (self.newest_ns, self.is_sorted, self.is_adjacent) = (0, true, true);
    }

    /// Sorts the index by time stamp. Packets with the same one keep their order.
    pub(super) fn sort(&mut self) {
        if !self.is_sorted {
            self.index.sort_by_key(|entry| entry.time_ns);
            (self.is_sorted, self.is_adjacent) = (true, false);
        }
    }

    /// Whether the records follow each other in the order of the index.
    pub(super) fn is_adjacent(&self) -> bool {
        self.is_adjacent
    }

    pub(super) fn index(&self) -> &[IndexEntry] {
        &self.index
    }

    /// Latest time stamp; 0 without packets.
    pub fn newest_ns(&self) -> u64 {
        self.newest_ns
    }

    pub(super) fn records(&self) -> &[u8] {
        self.buffer.filled()
    }

    /// Room for a record of `length` bytes; `None` if there is none. An empty chunk grows for it.
    fn claim(&mut self, length: usize, time_ns: u64) -> Option<&mut [u8]> {
        if self.index.is_empty() {
            self.buffer.grow(length);
        }
        self.try_claim(length, time_ns)
    }

    /// As [`claim`](Self::claim). An empty chunk does not grow.
    #[inline]
    fn try_claim(&mut self, length: usize, time_ns: u64) -> Option<&mut [u8]> {
        if self.index.len() == self.index.capacity() {
            return None;
        }
        let start = self.buffer.end() as u32;
        let claimed = self.buffer.try_claim(length)?;
        self.index.push(IndexEntry {
            time_ns,
            start,
            end: start + length as u32,
        });
        self.is_sorted &= time_ns >= self.newest_ns;
        self.newest_ns = self.newest_ns.max(time_ns);
        Some(claimed)
    }
}

impl fmt::Debug for PacketChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketChunk")
            .field("packets", &self.index.len())
            .field("bytes", &self.buffer.filled().len())
            .finish_non_exhaustive()
    }
}

/// Encodes packets as their [`CaptureFile`](super::CaptureFile) does, on any thread.
#[derive(Clone, Debug)]
pub struct ChunkEncoder(Encoder);

impl ChunkEncoder {
    pub(super) fn new(encoder: Encoder) -> Self {
        Self(encoder)
    }

    /// Adds an interface, by the next number. The file must get it before packets that refer to it
    /// ([`CaptureFile::add_interface`](super::CaptureFile::add_interface)).
    ///
    /// # Errors
    /// `LinkTypeDiffers` for a pcap file.
    pub fn add_interface(&mut self, interface: Interface) -> Result<(), WriteError> {
        self.0.describe(&interface, Options::NONE)?;
        self.0.add(interface, Options::NONE);
        Ok(())
    }

    /// Adds a packet to `chunk`; `false` if it has no room for it. An empty chunk has room for every packet.
    ///
    /// Cost: one copy, no allocation unless an empty chunk has to grow.
    ///
    /// # Errors
    /// `UnknownInterface`, `PacketTooLong` and `TimeOutOfRange`: the packet cannot be written.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to chunk"
    )]
    pub fn encode(&self, packet: &Packet<'_>, chunk: &mut PacketChunk) -> Result<bool, WriteError> {
        if self.encode_fast(packet, chunk).is_some() {
            return Ok(true);
        }
        // Copied only here: a packet whose address is taken cannot stay in registers.
        let packet = *packet;
        self.encode_any(&packet, chunk)
    }

    /// The fast path for typical packets. Returns `None` and does nothing for other packets, and if the chunk is full.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to chunk"
    )]
    fn encode_fast(&self, packet: &Packet<'_>, chunk: &mut PacketChunk) -> Option<()> {
        if self.0.unit().is_some() {
            return None;
        }
        let block = pcapng::FastPacketBlock::new(packet, self.0.cut(packet)?)?;
        block.encode(chunk.try_claim(block.length(), packet.timestamp_ns?)?);
        Some(())
    }

    #[inline(never)]
    fn encode_any(&self, packet: &Packet<'_>, chunk: &mut PacketChunk) -> Result<bool, WriteError> {
        let bytes = self.0.kept(packet)?;
        let time_ns = packet.timestamp_ns.unwrap_or(0);
        if let Some(unit) = self.0.unit() {
            if !pcap::time_fits(time_ns) {
                return Err(WriteError::TimeOutOfRange {
                    timestamp_ns: time_ns,
                });
            }
            let out = chunk.claim(pcap::RECORD_HEADER + bytes.len(), time_ns);
            return Ok(out.is_some_and(|out| {
                pcap::encode(out, unit, time_ns, bytes, packet.original_len);
                true
            }));
        }
        let block = pcapng::EnhancedPacketBlock::new(packet, bytes);
        let out = chunk.claim(block.length(), time_ns);
        Ok(out.is_some_and(|out| {
            block.encode(out);
            true
        }))
    }
}
