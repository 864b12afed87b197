//! A capture file, or the files that rotation creates.

mod copied;
mod gathered;
mod indexes;
mod rotate;

use std::collections::VecDeque;
use std::path::PathBuf;

use super::buffer::Buffer;
use super::chunk::ChunkEncoder;
use super::encoder::Encoder;
use super::options::{CaptureFileOptions, Compression, Output, SecretsSource, StatisticsSource};
use super::preface::{PROCESSES_MAX, Preface};
use super::rotation::Budget;
use super::sink::{Failure, Frames, Sink};
use super::{WriteError, pcap, pcapng};
use crate::block::Options;
use crate::model::{Interface, Packet, Process, Statistics};
use indexes::Indexes;

pub use indexes::IndexCounts;

/// Longer native blocks are written without a copy into the buffer.
const DIRECT_BYTES_MIN: usize = 64 << 10;

/// A file that was created and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreatedFile {
    /// Its name.
    pub path: PathBuf,
    /// Packets written to it.
    pub packets: u64,
    /// Bytes written to it.
    pub bytes: u64,
}

/// The files that were removed because of the limit of files to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// Number of files.
    pub files: u64,
    /// Their packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Writes packets to a capture file, or to several files with rotation.
///
/// Cost: a packet is encoded into the buffer, with one copy, no allocation and no system call. A full
/// buffer is compressed if requested, and written, which can block. `Send`.
///
/// Dropping it flushes the buffer and ignores errors; [`close`](Self::close) returns them.
///
/// ```
/// use tapline_store::model::{Interface, LinkType, Packet};
/// use tapline_store::write::{CaptureFile, CaptureFileOptions, Output};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let output = Output::Path(dir.path().join("capture.pcapng"));
/// let eth0 = Interface::new(LinkType::ETHERNET, 0);
/// let mut file = CaptureFile::create(CaptureFileOptions::new(output, vec![eth0]), 0)?;
/// file.write(&Packet::new(1_700_000_000_123_456_789, &[0; 60]))?;
/// file.close(&[])?;
/// assert_eq!(file.packets_written(), 1);
/// # Ok(()) }
/// ```
pub struct CaptureFile {
    encoder: Encoder,
    buffer: Buffer,
    budget: Budget,
    /// The open file. `None` after `close`, and if the next file could not be created.
    sink: Option<Sink>,
    frames: Option<Frames>,
    /// Whether a pcapng file is open.
    is_pcapng: bool,
    /// Whether a pcapng file without rotation is open.
    is_plain: bool,
    /// The name of a single file, or the pattern of the names.
    path: PathBuf,
    statistics: StatisticsSource,
    secrets: Option<SecretsSource>,
    indexes: Indexes,
    files: VecDeque<CreatedFile>,
    files_created: u64,
    removed: Removed,
    is_closed: bool,
    accepted: u64,
    /// Accepted packets that are no longer in the buffer: written or lost.
    settled: u64,
    lost: u64,
    /// `accepted` when the open file was created.
    accepted_before: u64,
    /// `settled - lost` when the open file was created.
    written_before: u64,
    /// Bytes of all closed files.
    bytes_before: u64,
}

impl CaptureFile {
    /// Processes that each file of a rotation describes at its beginning: those [added](Self::add_process) last.
    pub const REPEATED_PROCESSES: usize = PROCESSES_MAX;

    /// Creates the (first) file and writes its header.
    ///
    /// `now_ns` is the time in nanoseconds since 1970 UTC by the clock of the packets: the current time
    /// for a capture, the time of the first packet for a conversion. It determines the first file's
    /// name and interval. It is not used without rotation.
    ///
    /// # Errors
    /// [`WriteError::CannotRotate`], [`WriteError::CannotIndex`] and [`WriteError::LinkTypeDiffers`] if the options
    /// contradict each other; `Create`, `Write` and `Compressor` if the file cannot be created or written.
    pub fn create(options: CaptureFileOptions, now_ns: u64) -> Result<Self, WriteError> {
        let CaptureFileOptions {
            output,
            format,
            section,
            interfaces,
            preface,
            cut_to_snaplen,
            compression,
            rotation,
            ..
        } = options;
        let preface = preface.unwrap_or_else(|| {
            let mut preface = Preface::new(&section, Options::NONE);
            for interface in interfaces {
                preface.add_interface(interface, Options::NONE);
            }
            preface
        });
        let mut encoder = Encoder::new(format, preface, cut_to_snaplen)?;
        encoder.statistics_blocks = options.statistics_blocks;
        let buffer = Buffer::new(options.buffer_bytes.min(1 << 30));
        let frames = match compression {
            Compression::None => None,
            Compression::Zstd { level } => {
                let frames = Frames::new(level, buffer.room());
                Some(frames.map_err(|source| WriteError::Compressor { source })?)
            }
        };
        if options.index {
            indexes::check(&output, compression)?;
        }
        let (path, open) = match output {
            Output::Path(path) => (path, None),
            _ if rotation.is_any() => return Err(WriteError::CannotRotate),
            Output::Descriptor { ref name, .. } | Output::Stream { ref name, .. } => {
                (name.clone(), Some(output))
            }
        };
        let mut file = Self {
            encoder,
            buffer,
            budget: Budget::new(rotation, frames.is_some(), now_ns, 0),
            sink: None,
            frames,
            is_pcapng: false,
            is_plain: false,
            path,
            statistics: options.statistics,
            secrets: options.secrets,
            indexes: Indexes::new(options.index),
            files: VecDeque::new(),
            files_created: 0,
            removed: Removed::default(),
            is_closed: false,
            accepted: 0,
            settled: 0,
            lost: 0,
            accepted_before: 0,
            written_before: 0,
            bytes_before: 0,
        };
        file.open(open, now_ns)?;
        Ok(file)
    }

    /// Adds an interface. Returns its number, by which packets refer to it.
    ///
    /// In pcapng its description is written at once, after the buffer; later files of a rotation begin
    /// with it. The snaplen in the header of a pcap file does not change, and libpcap truncates packets
    /// to it.
    ///
    /// # Errors
    /// [`WriteError::LinkTypeDiffers`] for a pcap file; `Write` if the description or the buffer could
    /// not be written. The interface is then not added.
    pub fn add_interface(&mut self, interface: Interface) -> Result<u32, WriteError> {
        self.copy_interface(interface, Options::NONE)
    }

    /// Adds the description of a process, by whose number packets refer to it. Later files of a rotation begin with the
    /// descriptions of the last 1024 processes. Does nothing in a pcap file.
    ///
    /// # Errors
    /// As for [`write`](Self::write), about the files.
    pub fn add_process(&mut self, process: &Process) -> Result<(), WriteError> {
        let block = self.encoder.add_process(process).to_vec();
        // A file that is opened now begins with it.
        if block.is_empty() || self.sink.is_none() {
            return Ok(());
        }
        self.append(&block)?;
        self.budget.reserve(block.len() as u64);
        Ok(())
    }

    /// Adds a packet, truncated to its interface's snaplen unless the options disable that.
    ///
    /// pcapng stores everything in [`Packet`]; pcap stores time, bytes and length. A packet without a
    /// time becomes a Simple Packet Block if that can store the rest; otherwise its time is 1970-01-01.
    ///
    /// # Errors
    /// The packet is not accepted. `UnknownInterface`, `PacketTooLong` and `TimeOutOfRange` concern
    /// only this packet; `Write`, `Create` and `Remove` come from making room for it and concern
    /// earlier packets. In all cases further packets can be written.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<(), WriteError> {
        if self.is_pcapng && self.write_fast(packet).is_some() {
            return Ok(());
        }
        // Copied only here: a packet whose address is taken cannot stay in registers.
        let packet = *packet;
        self.write_any(&packet)
    }

    /// The fast path for typical packets, with the same bytes as [`Self::write_any`]. Returns `None` and
    /// does nothing for other packets, for those of the next file, and if the buffer is full.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn write_fast(&mut self, packet: &Packet<'_>) -> Option<()> {
        let block = pcapng::FastPacketBlock::new(packet, self.encoder.cut(packet)?)?;
        let length = block.length();
        if !self.is_plain && self.budget.is_over(packet.timestamp_ns?, length) {
            return None;
        }
        block.encode(self.buffer.try_claim(length)?);
        if !self.is_plain {
            self.budget.spend(length);
        }
        self.accepted += 1;
        Some(())
    }

    #[inline(never)]
    fn write_any(&mut self, packet: &Packet<'_>) -> Result<(), WriteError> {
        let bytes = self.encoder.kept(packet)?;
        let time_ns = packet.timestamp_ns.unwrap_or(0);
        if let Some(unit) = self.encoder.unit() {
            if !pcap::time_fits(time_ns) {
                return Err(WriteError::TimeOutOfRange {
                    timestamp_ns: time_ns,
                });
            }
            let out = self.claim(pcap::RECORD_HEADER + bytes.len(), time_ns)?;
            pcap::encode(out, unit, time_ns, bytes, packet.original_len);
        } else if packet.timestamp_ns.is_none() && self.encoder.is_simple(packet, bytes) {
            let block = pcapng::simple(bytes, packet.original_len);
            self.claim(block.len(), time_ns)?.copy_from_slice(&block);
        } else {
            let block = pcapng::EnhancedPacketBlock::new(packet, bytes);
            block.encode(self.claim(block.length(), time_ns)?);
        }
        Ok(())
    }

    /// Claims room for a packet of `length` bytes in its file, and counts it.
    #[inline]
    fn claim(&mut self, length: usize, time_ns: u64) -> Result<&mut [u8], WriteError> {
        if length > self.buffer.room()
            || self.budget.is_over(time_ns, length)
            || self.sink.is_none()
        {
            self.make_way(length, time_ns)?;
        }
        self.budget.spend(length);
        self.accepted += 1;
        Ok(self.buffer.claim(length))
    }

    #[cold]
    #[inline(never)]
    fn make_way(&mut self, length: usize, time_ns: u64) -> Result<(), WriteError> {
        if self.is_closed {
            return Err(WriteError::Closed);
        }
        self.make_room(length)?;
        if self.sink.is_none() {
            self.open(None, self.budget.next_start(time_ns))?;
        } else if self.budget.is_over(time_ns, length)
            && (self.budget.is_past(time_ns) || self.accepted > self.accepted_before)
        {
            self.rotate(self.budget.next_start(time_ns))?;
        }
        self.make_room(length)
    }

    /// Writes the buffer to the file.
    ///
    /// # Errors
    /// [`WriteError::Write`]: part of the buffer is lost.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.write_out(None)
    }

    /// Writes `blocks`, or else the buffer, to the file.
    fn write_out(&mut self, blocks: Option<&[u8]>) -> Result<(), WriteError> {
        let secrets = self.new_secrets(blocks);
        let blocks = secrets.as_deref().or(blocks);
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        let data = blocks.unwrap_or_else(|| self.buffer.filled());
        if data.is_empty() {
            return Ok(());
        }
        let before = sink.bytes();
        let begins = before == 0;
        let result = match &mut self.frames {
            Some(frames) => frames.write(data, sink),
            // A file header is written whole or not at all.
            None if begins => sink.write(data, |_| (0, 0)),
            None => sink.write(data, |part| self.encoder.whole_records(part)),
        };
        let kept = usize::try_from(sink.bytes() - before).unwrap_or(usize::MAX);
        self.indexes.add(data.get(..kept).unwrap_or_default());
        self.buffer.clear();
        self.settle(result)
    }

    /// Accounts for all accepted packets, which were written with this result.
    fn settle(&mut self, result: Result<(), Failure>) -> Result<(), WriteError> {
        let bytes_written = self.sink.as_ref().map_or(0, Sink::bytes);
        let pending = self.accepted - self.settled;
        self.settled = self.accepted;
        self.budget.settle(bytes_written);
        let result = result.map_err(|failure| {
            let packets_lost = pending - failure.packets_written;
            self.lost += packets_lost;
            let file = self
                .files
                .back()
                .map_or(&self.path, |file| &file.path)
                .clone();
            WriteError::Write {
                file,
                bytes_written,
                packets_lost,
                source: failure.source,
            }
        });
        let packets = self.packets_written() - self.written_before;
        if let Some(file) = self.files.back_mut() {
            (file.packets, file.bytes) = (packets, bytes_written);
        }
        result
    }

    /// Whether [`Self::write_blocks`] can be used: for a single pcapng file without rotation.
    pub fn takes_blocks(&self) -> bool {
        self.encoder.unit().is_none() && !self.budget.rules().is_any()
    }

    /// Adds `packets` packets as native `blocks` of another file, unchanged.
    ///
    /// They must be whole (see [`PacketBlock::is_native`](crate::read::PacketBlock::is_native)) and use
    /// the interface numbers of this file; otherwise the file becomes corrupt. They are not truncated
    /// to a snaplen.
    ///
    /// Cost: one copy, or a `write(2)` if they are long and the file is not compressed.
    ///
    /// # Errors
    /// As [`Self::write`], for making room: none of the packets is accepted then.
    /// [`WriteError::Write`] counts those lost of long blocks, which are accepted.
    pub fn write_blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), WriteError> {
        if blocks.len() >= DIRECT_BYTES_MIN && self.frames.is_none() && self.is_plain {
            self.flush()?;
            self.accepted += packets;
            return self.write_out(Some(blocks));
        }
        if blocks.len() > self.buffer.room() || self.sink.is_none() {
            self.make_way(blocks.len(), 0)?;
        }
        self.accepted += packets;
        self.buffer.claim(blocks.len()).copy_from_slice(blocks);
        Ok(())
    }

    /// Encodes packets of this file on other threads.
    pub fn chunk_encoder(&self) -> ChunkEncoder {
        ChunkEncoder::new(self.encoder.clone())
    }

    /// Adds packets that follow each other in a chunk, whose `records` have these times and lengths. Without
    /// rotation they are copied together.
    pub(super) fn write_records(
        &mut self,
        mut records: &[u8],
        packets: impl ExactSizeIterator<Item = (u64, usize)>,
    ) -> Result<(), WriteError> {
        if !self.budget.rules().is_any() {
            return self.write_blocks(records, packets.len() as u64);
        }
        for (time_ns, length) in packets {
            let (record, rest) = records.split_at(length);
            self.claim(length, time_ns)?.copy_from_slice(record);
            records = rest;
        }
        Ok(())
    }

    /// Starts the next file if the interval of the current one has ended at `now_ns`, nanoseconds since
    /// 1970 UTC. Call it regularly while no packets arrive; it is cheap if nothing is due.
    ///
    /// A new file also starts if the clock was set back by more than an interval.
    ///
    /// # Errors
    /// As for [`write`](Self::write), about the files.
    pub fn tick(&mut self, now_ns: u64) -> Result<(), WriteError> {
        if self.sink.is_some() && self.budget.is_over_at(now_ns) {
            return self.rotate(self.budget.interval_start(now_ns));
        }
        Ok(())
    }

    /// Starts the next file now. The file name and the interval are those of time `now_ns`, nanoseconds since
    /// 1970 UTC.
    ///
    /// # Errors
    /// [`WriteError::NoRotation`] without rotation in the options; `Closed`; otherwise as for
    /// [`write`](Self::write), about the files.
    pub fn start_next(&mut self, now_ns: u64) -> Result<(), WriteError> {
        if self.is_closed {
            return Err(WriteError::Closed);
        }
        if !self.budget.rules().is_any() {
            return Err(WriteError::NoRotation);
        }
        self.rotate(self.budget.next_start(now_ns))
    }

    /// Adds a note about the capture: an Interface Statistics Block of the first interface with the counters as
    /// of now and the note as its comment. Does nothing in a pcap file, which has no place for it.
    ///
    /// # Errors
    /// As for [`write`](Self::write), about the files.
    pub fn note(&mut self, text: &str, now_ns: u64) -> Result<(), WriteError> {
        let all = (self.statistics)();
        let known = all.into_iter().find(|one| one.part().is_none());
        let statistics = Statistics {
            timestamp_ns: Some(now_ns),
            comment: Some(text.to_owned()),
            ..known.unwrap_or_default()
        };
        let block = self.encoder.epilogue(&[statistics]);
        if block.is_empty() {
            return Ok(());
        }
        if self.sink.is_none() {
            self.make_way(block.len(), now_ns)?;
        }
        self.append(&block)?;
        self.budget.reserve(block.len() as u64);
        Ok(())
    }

    /// Writes `statistics`, and closes the file. Closing again does nothing.
    ///
    /// # Errors
    /// [`WriteError::Write`]: part of the buffer or the statistics could not be written. The file
    /// is closed anyway, and the counters are final.
    pub fn close(&mut self, statistics: &[Statistics]) -> Result<(), WriteError> {
        self.is_closed = true;
        let result = self.finish(statistics);
        self.end_file();
        result
    }

    /// Packets that [`write`](Self::write) accepted.
    pub fn packets_accepted(&self) -> u64 {
        self.accepted
    }

    /// Packets that were written completely, including those in removed files.
    pub fn packets_written(&self) -> u64 {
        self.settled - self.lost
    }

    /// Accepted packets that could not be written.
    pub fn packets_lost(&self) -> u64 {
        self.lost
    }

    /// Bytes written to all files, as on disk.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_before + self.sink.as_ref().map_or(0, Sink::bytes)
    }

    /// The files that were created and kept, oldest first. The last is the current one, with the counters
    /// of the last flush.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &CreatedFile> + DoubleEndedIterator {
        self.files.iter()
    }

    /// The indexes written beside the files. `None` without [`CaptureFileOptions::index`].
    pub fn indexes(&self) -> Option<IndexCounts> {
        self.indexes.counts()
    }

    /// The files that were removed, as a sum: a capture that keeps ten files can create a million.
    pub fn removed(&self) -> Removed {
        self.removed
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        // Drop cannot return an error.
        let _ = self.flush();
        self.indexes.end();
    }
}
