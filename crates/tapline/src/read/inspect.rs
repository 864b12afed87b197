//! Describes capture files: format, interfaces, times and rates.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use store::model::{Interface, Packet, Statistics};
use store::read::{self, DetectedCompression, Header, Item, Reader};

use super::delivery::{ItemReceiver, StopCheck};
use super::error::ReadError;
use super::input::{Input, InputSource};
use super::job::JobOptions;
use super::parallel::{ParallelPlan, ParallelReader};
use super::selection::{PacketMatcher, Selection};
use crate::capture::sampling_rate;

/// Describes the inputs one after another. Made by
/// [`ReadBuilder::inspect`](super::ReadBuilder::inspect).
pub struct Inspection {
    inputs: VecDeque<InputSource>,
    next: usize,
    selection: Selection,
    plan: ParallelPlan,
    stop: StopCheck,
}

/// A capture file and the selected packets in it.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Bytes on disk, or received from a stream.
    pub size_bytes: u64,
    /// The header of the file or of its first section.
    pub header: Header,
    /// Its compression.
    pub compression: DetectedCompression,
    /// The selected packets.
    pub traffic: FileTraffic,
    /// Its interfaces.
    pub interfaces: Vec<ReportedInterface>,
    /// Why it could not be read to its end.
    pub error: Option<read::ReadError>,
    /// Memory of statistics with comments so far.
    commented_bytes: usize,
}

/// The packets of a file, counted.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FileTraffic {
    /// Number of packets.
    pub packets: u64,
    /// Captured bytes.
    pub bytes: u64,
    /// Bytes on the wire.
    pub original_bytes: u64,
    /// The earliest time, in nanoseconds since 1970 UTC.
    pub first_ns: Option<u64>,
    /// The latest time.
    pub last_ns: Option<u64>,
    /// Time of the previous packet.
    previous_ns: u64,
    untimed: u64,
    out_of_order: u64,
}

/// An interface of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReportedInterface {
    /// Its description.
    pub interface: Interface,
    /// Its selected packets.
    pub packets: u64,
    /// Its last statistics. Without their comment if the file has too many comments to keep.
    pub statistics: Option<Statistics>,
    /// Number of its statistics blocks.
    pub statistics_blocks: u64,
    /// Its last statistics of each [part](Statistics::part) of its packets, e.g. of a receive queue: the first 1024.
    pub parts: Vec<Statistics>,
    /// Earlier statistics with a comment, such as the notes of changes during a capture: the first 10 000, as far as the comments
    /// of a file take no more than 16 MiB.
    pub notes: Vec<Statistics>,
}

/// Parts kept of an interface.
const PARTS_MAX: usize = 1024;

/// Notes kept of an interface.
const NOTES_MAX: usize = 10_000;

/// Memory for statistics with comments in one file.
const COMMENTED_BYTES_MAX: usize = 16 << 20;

impl Inspection {
    pub(super) fn new(options: JobOptions) -> Self {
        Self {
            inputs: options.inputs.into(),
            next: 0,
            selection: options.selection,
            plan: ParallelPlan::new(options.threads),
            stop: StopCheck::new(options.stop),
        }
    }

    /// Reads the next file to its end, or to an error in it. Returns `None` after the last file and
    /// after a stop.
    ///
    /// # Errors
    /// [`ReadError::Open`] and [`ReadError::Input`] if the file cannot be opened, and errors about the
    /// selection, for example [`ReadError::Filter`]. The next call continues with the next file.
    pub fn next_file(&mut self) -> Option<Result<FileReport, ReadError>> {
        if self.stop.check() {
            return None;
        }
        let source = self.inputs.pop_front()?;
        self.next += 1;
        Some(self.report(source))
    }

    /// Ends the inspection.
    ///
    /// # Errors
    /// [`ReadError::UnknownInterfaces`] and [`ReadError::FilterRejectsAll`] if the selection matches in
    /// none of the files.
    pub fn finish(self) -> Result<(), ReadError> {
        self.selection.check()
    }

    fn report(&mut self, source: InputSource) -> Result<FileReport, ReadError> {
        let Input {
            name,
            mut reader,
            received,
            file_bytes,
            ..
        } = source.open(self.next - 1, self.stop.stop())?;
        self.selection.begin_file();
        let mut counter = PacketCounter {
            stop: &mut self.stop,
            report: FileReport::new(name, &reader),
            selection: &mut self.selection,
        };
        let error = if received.is_none() && counter.selection.is_any() {
            ParallelReader::new(&mut reader, &mut counter, self.plan).run()?
        } else {
            counter.read_in_order(&mut reader)?
        };
        let mut report = counter.report;
        report.error = error;
        report.size_bytes = received.map_or(file_bytes, |bytes| bytes.load(Ordering::Relaxed));
        Ok(report)
    }
}

/// Counts the packets of a file.
struct PacketCounter<'a> {
    stop: &'a mut StopCheck,
    selection: &'a mut Selection,
    report: FileReport,
}

impl PacketCounter<'_> {
    fn read_in_order(&mut self, reader: &mut Reader) -> Result<Option<read::ReadError>, ReadError> {
        while !self.is_done() {
            match reader.next_item() {
                Ok(Some(item)) => self.item(item)?,
                Ok(None) => break,
                Err(error) => return Ok(Some(error)),
            }
        }
        Ok(None)
    }
}

impl ItemReceiver for PacketCounter<'_> {
    fn is_done(&mut self) -> bool {
        self.stop.is_stopped()
    }

    fn matcher(&self) -> &PacketMatcher {
        self.selection.matcher()
    }

    #[inline]
    fn item(&mut self, item: Item<'_>) -> Result<(), ReadError> {
        match item {
            Item::Packet(packet) if self.selection.matcher().accepts(&packet) => {
                self.report.add_packet(&packet);
            }
            Item::Interface { interface, .. } => {
                self.selection.add_interface(interface)?;
                self.report.interfaces.push(ReportedInterface {
                    interface: interface.clone(),
                    packets: 0,
                    statistics: None,
                    statistics_blocks: 0,
                    parts: Vec::new(),
                    notes: Vec::new(),
                });
            }
            Item::Statistics { statistics, .. } => self.report.add_statistics(statistics),
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn accepted(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        self.report.add_packet(packet);
        Ok(())
    }

    fn rejected(&mut self, _packets: u64) {}
}

impl FileReport {
    fn new(name: String, reader: &Reader) -> Self {
        Self {
            name,
            size_bytes: 0,
            header: reader.header().clone(),
            compression: reader.compression(),
            traffic: FileTraffic::default(),
            interfaces: Vec::new(),
            error: None,
            commented_bytes: 0,
        }
    }

    /// The largest snaplen of its interfaces. 0 means no limit; `None` without interfaces.
    pub fn snaplen(&self) -> Option<u32> {
        let snaplens = self.interfaces.iter().map(|one| one.interface.snaplen);
        snaplens.max_by_key(|snaplen| snaplen.wrapping_sub(1))
    }

    #[inline]
    fn add_packet(&mut self, packet: &Packet<'_>) {
        self.traffic.add(packet);
        self.interfaces[packet.interface as usize].packets += 1;
    }

    fn add_statistics(&mut self, statistics: &Statistics) {
        let interface = &mut self.interfaces[statistics.interface as usize];
        interface.statistics_blocks += 1;
        let is_part = statistics.part().is_some();
        if is_part {
            let is_same = |one: &&mut Statistics| one.part() == statistics.part();
            if let Some(known) = interface.parts.iter_mut().find(is_same) {
                known.clone_from(statistics);
                return;
            }
            if interface.parts.len() == PARTS_MAX {
                return;
            }
        }
        let mut kept = statistics.clone();
        if let Some(comment) = &kept.comment {
            self.commented_bytes += size_of::<Statistics>() + comment.len();
            if self.commented_bytes > COMMENTED_BYTES_MAX {
                kept.comment = None;
            }
        }
        if is_part {
            interface
                .parts
                .extend(Some(kept).filter(|kept| kept.comment.is_some()));
            return;
        }
        let before = interface.statistics.replace(kept);
        let note = before.filter(|before| before.comment.is_some());
        if interface.notes.len() < NOTES_MAX {
            interface.notes.extend(note);
        }
    }
}

impl ReportedInterface {
    /// The sampling rate of its packets, if the file records one.
    pub fn sampling(&self) -> Option<&str> {
        sampling_rate(self.interface.comment.as_deref()?)
    }
}

impl FileTraffic {
    #[inline]
    fn add(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
        self.original_bytes += u64::from(packet.original_len);
        let Some(ns) = packet.timestamp_ns else {
            self.untimed += 1;
            return;
        };
        self.out_of_order += u64::from(ns < self.previous_ns);
        self.previous_ns = ns;
        self.first_ns = Some(self.first_ns.map_or(ns, |first| first.min(ns)));
        self.last_ns = Some(self.last_ns.map_or(ns, |last| last.max(ns)));
    }

    /// Whether the packets are in time order. `None` if some have no time.
    pub fn is_in_order(&self) -> Option<bool> {
        match (self.out_of_order, self.untimed) {
            (0, 0) => Some(true),
            (0, _) => None,
            _ => Some(false),
        }
    }

    /// Time from the earliest packet to the latest.
    pub fn duration_ns(&self) -> Option<u64> {
        Some(self.last_ns? - self.first_ns?)
    }

    /// `count` divided by the duration, per second. `None` if the duration is 0.
    pub fn rate(&self, count: u64) -> Option<f64> {
        let duration_ns = self.duration_ns().filter(|&ns| ns > 0)?;
        Some(count as f64 * 1e9 / duration_ns as f64)
    }

    /// Average bytes on the wire of a packet.
    pub fn mean_packet_bytes(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.original_bytes as f64 / self.packets as f64)
    }
}
