//! A capture file, or the row of files that rotation makes of it.

mod made;
mod succession;
mod whole;

use std::collections::VecDeque;
use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::buffer::Buffer;
use super::encoder::Encoder;
use super::frame::Frames;
use super::options::{Compression, Options, Output, StatisticsSource};
use super::rotation::Budget;
use super::sink::Sink;
use super::{WriteError, pcap, pcapng};
use crate::model::{Interface, Packet, Statistics};

pub use made::{FileMade, Removed};

/// Writes packets to a capture file, or to a row of them.
///
/// Cost: a packet is encoded into the buffer, one copy, no allocation and no system call. When the
/// buffer is full it is compressed if asked for and written, which blocks as `write(2)` does. `Send`.
///
/// Dropping it writes what is in the buffer and ignores errors; [`close`](Self::close) does not.
///
/// ```
/// use tapline_store::model::{Interface, LinkType, Packet};
/// use tapline_store::write::{CaptureFile, Options, Output};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let output = Output::Path(dir.path().join("capture.pcapng"));
/// let eth0 = Interface::new(LinkType::ETHERNET, 0);
/// let mut file = CaptureFile::create(Options::new(output, vec![eth0]), 0)?;
/// file.write(&Packet::new(1_700_000_000_123_456_789, &[0; 60]))?;
/// file.close(&[])?;
/// assert_eq!(file.packets_written(), 1);
/// # Ok(()) }
/// ```
pub struct CaptureFile {
    encoder: Encoder,
    buffer: Buffer,
    budget: Budget,
    /// The open file; `None` after `close`, and while the next one could not be made.
    sink: Option<Sink>,
    frames: Option<Frames>,
    /// Whether a pcapng file is open and nothing but its buffer is ever full.
    is_plain: bool,
    /// What names are made of; the name itself where there is but one file.
    path: PathBuf,
    zone: TimeZone,
    statistics: StatisticsSource,
    files: VecDeque<FileMade>,
    files_made: u64,
    removed: Removed,
    is_closed: bool,
    accepted: u64,
    /// How many of `accepted` are no longer in the buffer: written or lost.
    settled: u64,
    lost: u64,
    /// `accepted` when the open file was begun.
    accepted_before: u64,
    /// `settled - lost` when the open file was begun.
    written_before: u64,
    /// Bytes of all files but the open one.
    bytes_before: u64,
}

impl CaptureFile {
    /// Makes the file, or the first of them, and writes what it begins with.
    ///
    /// `now_ns` is the time in nanoseconds since 1970 UTC by the clock of the packets: the present
    /// of a capture, the first packet's time when files are converted. It names the first file and
    /// places it in its interval. It is not used without rotation.
    ///
    /// # Errors
    /// [`WriteError::CannotRotate`] and [`WriteError::LinkTypeDiffers`] if the options do not fit
    /// together; `Create`, `Write`, `Compressor` if the file cannot be made or takes nothing.
    pub fn create(options: Options, now_ns: u64) -> Result<Self, WriteError> {
        let Options {
            output,
            format,
            section,
            interfaces,
            cut_to_snaplen,
            compression,
            rotation,
            ..
        } = options;
        let encoder = Encoder::new(format, section, interfaces, cut_to_snaplen)?;
        let buffer = Buffer::new(options.buffer_bytes.min(1 << 30));
        let frames = match compression {
            Compression::None => None,
            Compression::Zstd { level } => {
                let frames = Frames::new(level, buffer.room());
                Some(frames.map_err(|source| WriteError::Compressor { source })?)
            }
        };
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
            is_plain: false,
            path,
            zone: TimeZone::system(),
            statistics: options.statistics,
            files: VecDeque::new(),
            files_made: 0,
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

    /// Adds an interface, which packets name by the number this returns.
    ///
    /// In pcapng it is written at once, after what is in the buffer; files that rotation begins
    /// later have it from their start. A pcap file has told its snaplen already, and libpcap cuts
    /// packets to it.
    ///
    /// # Errors
    /// [`WriteError::LinkTypeDiffers`] for a pcap file; `Write` if it or what is in the buffer could
    /// not be written. It is then not added.
    pub fn add_interface(&mut self, interface: Interface) -> Result<u32, WriteError> {
        let block = self.encoder.describe(&interface)?;
        if self.sink.is_some() && !block.is_empty() {
            // Alone in the buffer: it cannot be among what is lost while packets still refer to it.
            self.flush()?;
            self.append(&block)?;
            self.flush()?;
            self.budget
                .reserve(block.len() as u64 + Encoder::STATISTICS_BYTES);
        }
        Ok(self.encoder.add(interface))
    }

    /// Adds a packet to the file, cut to its interface's snaplen unless the options say otherwise.
    ///
    /// pcapng keeps all that [`Packet`] says; pcap keeps time, bytes and length. A packet
    /// without a time becomes a Simple Packet Block if that can say the rest, otherwise its time
    /// is 1970-01-01.
    ///
    /// # Errors
    /// The packet is then not accepted. `UnknownInterface`, `PacketTooLong` and `TimeOutOfRange`
    /// concern this packet alone; `Write`, `Create` and `Remove` come from making room for it and
    /// say what happened to others. After any of them the next packet may be tried.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<(), WriteError> {
        if self.is_plain && self.write_usual(packet).is_some() {
            return Ok(());
        }
        // A copy, made here only: a packet whose address is taken would lie in memory always.
        let packet = *packet;
        self.write_any(&packet)
    }

    /// The short way to the same octets, of the packets that captures consist of. `None`: not one
    /// of these, or no room for it; nothing is done.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn write_usual(&mut self, packet: &Packet<'_>) -> Option<()> {
        let block = pcapng::Usual::new(packet, self.encoder.cut(packet)?)?;
        block.encode(self.buffer.try_claim(block.length())?);
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
            let block = pcapng::Enhanced::new(packet, bytes);
            block.encode(self.claim(block.length(), time_ns)?);
        }
        Ok(())
    }

    /// Room for a packet of `length` octets in the file it belongs to; counts it.
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

    /// Writes what is in the buffer to the file.
    ///
    /// # Errors
    /// [`WriteError::Write`]: part of the buffer is lost.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        let data = self.buffer.filled();
        if data.is_empty() {
            return Ok(());
        }
        let begins = sink.bytes() == 0;
        let result = match &mut self.frames {
            Some(frames) => frames.write(data, sink),
            // What a file begins with is written whole or not at all.
            None if begins => sink.write(data, |_| (0, 0)),
            None => sink.write(data, |part| self.encoder.whole_records(part)),
        };
        self.buffer.clear();
        let pending = self.accepted - self.settled;
        self.settled = self.accepted;
        self.budget.settle(sink.bytes());
        let bytes_written = sink.bytes();
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

    /// Begins the next file if the present one's interval is over at `now_ns`, nanoseconds since
    /// 1970 UTC. Call it now and then while no packets come; it is cheap when nothing is due.
    ///
    /// If the clock has been set back by more than an interval, a new file begins as well.
    ///
    /// # Errors
    /// As for [`write`](Self::write), of the files.
    pub fn tick(&mut self, now_ns: u64) -> Result<(), WriteError> {
        if self.sink.is_some() && self.budget.is_over_at(now_ns) {
            return self.rotate(self.budget.interval_start(now_ns));
        }
        Ok(())
    }

    /// Ends the file with `statistics` and closes it. Closing again does nothing.
    ///
    /// # Errors
    /// [`WriteError::Write`]: part of the buffer or the statistics could not be written. The file
    /// is closed nevertheless and the counters are final.
    pub fn close(&mut self, statistics: &[Statistics]) -> Result<(), WriteError> {
        self.is_closed = true;
        let result = self.finish(statistics);
        self.end_file();
        result
    }

    /// Packets that [`write`](Self::write) took.
    pub fn packets_accepted(&self) -> u64 {
        self.accepted
    }

    /// Packets in the hands of the operating system, in whole: those in files since removed included.
    pub fn packets_written(&self) -> u64 {
        self.settled - self.lost
    }

    /// Packets that were accepted and could not be written.
    pub fn packets_lost(&self) -> u64 {
        self.lost
    }

    /// Bytes written to all files, as they lie on disk.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_before + self.sink.as_ref().map_or(0, Sink::bytes)
    }

    /// The files made and not removed, oldest first; the last is the one being written, its
    /// counters as of the last time the buffer was written.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &FileMade> + DoubleEndedIterator {
        self.files.iter()
    }

    /// What was removed. Only its sum is kept: a capture that keeps ten files may make a million.
    pub fn removed(&self) -> Removed {
        self.removed
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.flush();
    }
}
