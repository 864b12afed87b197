//! Indexing a capture file while it is written.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::build::{self, FINGERPRINT_BYTES, index_path};
use super::builder::Builder;
use super::layout::{Encoder, MAGIC, crc_of};
use crate::read::{ReadError, Reader};

/// Writes the index of a capture file: an extent as soon as it is complete. It is the index that [`Index::build`] makes.
///
/// Cost: the blocks are decoded; a set is built for each extent. Memory: at most 12 MiB.
///
/// [`Index::build`]: super::Index::build
pub(crate) struct LiveIndex {
    file: File,
    reader: Reader,
    builder: Builder,
    encoder: Encoder,
    edges: Edges,
    /// Bytes of the index so far.
    bytes: u64,
    /// Encoded extents; empty between calls. Its memory is used again.
    encoded: Vec<u8>,
}

impl LiveIndex {
    /// Creates the index of the capture at `path`, which begins with `header`. `builder` is new or that of another index.
    pub(crate) fn create(path: &Path, header: &[u8], mut builder: Builder) -> io::Result<Self> {
        builder.begin_capture();
        let reader = Reader::from_bytes(header.to_vec()).map_err(invalid)?;
        let mut file = build::create(&index_path(path), path)?;
        // Valid from the start: of an empty capture.
        file.write_all(MAGIC)?;
        let mut index = Self {
            file,
            reader,
            builder,
            encoder: Encoder::default(),
            edges: Edges::default(),
            bytes: MAGIC.len() as u64,
            encoded: Vec::new(),
        };
        index.read(header)?;
        Ok(index)
    }

    /// Bytes of the index so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The builder, whose memory the index of another file can use.
    pub(crate) fn into_builder(self) -> Builder {
        self.builder
    }

    /// Adds whole blocks that were written to the capture.
    pub(crate) fn add(&mut self, blocks: &[u8]) -> io::Result<()> {
        // Packets first, where they are. A copy of the rest has to be decoded by the reader.
        let packets = self.builder.add_packets(&mut self.reader, blocks);
        self.reader.continue_with(&blocks[packets..]);
        self.read(blocks)
    }

    /// Writes the last extent.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.builder.finish();
        self.write(&[])
    }

    /// Indexes the end of `blocks`, which the reader has.
    fn read(&mut self, blocks: &[u8]) -> io::Result<()> {
        while self.builder.add_items(&mut self.reader).map_err(invalid)? {}
        if self.builder.end() != self.edges.bytes + blocks.len() as u64 {
            let reason = "the capture ends within a block";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        self.write(blocks)?;
        self.edges.pass(blocks);
        Ok(())
    }

    /// Writes the extents that have ended, within `blocks`.
    fn write(&mut self, blocks: &[u8]) -> io::Result<()> {
        for mut extent in self.builder.take_ended() {
            extent.fingerprint = self.edges.fingerprint(extent.offset + extent.bytes, blocks);
            self.encoder.append(&extent, &mut self.encoded);
        }
        let result = self.file.write_all(&self.encoded);
        self.bytes += self.encoded.len() as u64;
        self.encoded.clear();
        result
    }
}

/// Blocks that a reader would refuse.
fn invalid(error: ReadError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The first and the last bytes of what was written before.
#[derive(Default)]
struct Edges {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Bytes written.
    bytes: u64,
}

impl Edges {
    /// The checksum of the first and the last bytes before `end`, which is within `blocks` or at their start.
    fn fingerprint(&self, end: u64, blocks: &[u8]) -> u32 {
        let length = end.min(FINGERPRINT_BYTES as u64) as usize;
        let passed = (end - self.bytes) as usize;
        let of_blocks = passed.min(length);
        let rest_of_first = length - self.first.len().min(length);
        crc_of(&[
            &self.first[..length - rest_of_first],
            &blocks[..rest_of_first],
            &self.last[self.last.len() - (length - of_blocks)..],
            &blocks[passed - of_blocks..passed],
        ])
    }

    /// Goes on to what follows `blocks`.
    fn pass(&mut self, blocks: &[u8]) {
        let missing = FINGERPRINT_BYTES - self.first.len();
        self.first.extend(blocks.iter().take(missing));
        let kept = &blocks[blocks.len().saturating_sub(FINGERPRINT_BYTES)..];
        let of_last = FINGERPRINT_BYTES - kept.len();
        let forgotten = self.last.len().saturating_sub(of_last);
        self.last.drain(..forgotten);
        self.last.extend(kept);
        self.bytes += blocks.len() as u64;
    }
}
