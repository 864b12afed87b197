//! The read job.

use std::time::Instant;

use rustix::event::Timespec;
use store::block::{ByteOrder, Options};
use store::model::Interface;
use store::read::Item;
use store::write::CaptureFileOptions;

use super::copy::{CopyDestination, FileCopy};
use super::delivery::{
    ClosureConsumer, ConsumerDestination, Delivery, Destination, ItemReceiver, PacketCounts,
    ReadConsumer, Snaplen, StopCheck, TICK,
};
use super::edit::{EditCounts, EditedCopy, Edits};
use super::error::{BrokenInputs, ConsumerError, InputError, ReadError};
use super::flows::FlowCopy;
use super::indexed::IndexUse;
use super::input::{CopiedSection, InputKind, InputSource, Inputs, total_bytes};
use super::parallel::{ParallelPlan, ParallelReader};
use super::progress::ReadProgress;
use super::selection::Selection;
use super::sort::SortedCopy;
use super::summary::{InputSummary, ReadSummary, WrittenFiles};
use crate::analysis::Analysis;
use crate::{Packet, Stop, Stopper};

/// The options of a job, checked.
pub(super) struct JobOptions {
    pub inputs: Vec<InputSource>,
    pub selection: Selection,
    pub snaplen: Snaplen,
    pub limit: u64,
    pub threads: Option<usize>,
    pub stop: Stop,
    pub edits: Edits,
    pub uses_indexes: bool,
}

/// How long to wait for a stream before the next tick.
const TICK_WAIT: Timespec = Timespec {
    tv_sec: TICK.as_secs().cast_signed(),
    tv_nsec: TICK.subsec_nanos() as i64,
};

/// Items between two updates of the progress.
const PROGRESS_ITEMS: u32 = 4096;

/// What became of an item.
enum Step {
    /// It is a selected packet.
    Selected,
    /// It is something else.
    PassedOver,
    /// There is none: all inputs have been read, the limit is reached, or the job is stopped.
    End,
}

/// An open read job. Made by [`ReadBuilder::open`](super::ReadBuilder::open).
///
/// Packets come one by one from [`Self::next`], or all at once from [`Self::run`] and
/// [`Self::write_to`].
pub struct Read {
    inputs: Inputs,
    copied: CopiedSection,
    selection: Selection,
    snaplen: Snaplen,
    limit: u64,
    plan: ParallelPlan,
    stop: StopCheck,
    /// The interfaces that [`Self::next`] read.
    interfaces: Vec<Interface>,
    counts: PacketCounts,
    lost: u64,
    written: WrittenFiles,
    input_summaries: Vec<InputSummary>,
    /// Whether all inputs were read.
    is_complete: bool,
    progress: ReadProgress,
    edits: Edits,
    edited: EditCounts,
    /// Packets that sorting could not put into their place.
    unsorted: u64,
    index: Option<IndexUse>,
}

impl Read {
    pub(super) fn open(options: JobOptions) -> Result<Self, ReadError> {
        let mut inputs = Vec::with_capacity(options.inputs.len());
        let is_merged = options.inputs.len() > 1;
        let query = options
            .uses_indexes
            .then(|| options.selection.index_query());
        let mut index = query.as_ref().map(|_| IndexUse::default());
        let last = options.inputs.len() - 1;
        for (number, source) in options.inputs.into_iter().enumerate() {
            // One input is read even if nothing in it can be selected: a copy of none has no header.
            let is_needed = number == last && inputs.is_empty();
            let opened = match (&query, &mut index) {
                (Some(query), Some(used)) => {
                    source.open_parts(number, &options.stop, query, used, is_needed)?
                }
                _ => Some(source.open(number, &options.stop)?),
            };
            let Some(mut input) = opened else {
                continue;
            };
            if is_merged {
                input.reader.close_if_buffered();
            }
            inputs.push(input);
        }
        let summary = |name: &String| InputSummary {
            name: name.clone(),
            error: None,
        };
        let copied = CopiedSection::of(&inputs);
        let progress = ReadProgress::new(total_bytes(&inputs));
        let inputs = Inputs::new(inputs);
        Ok(Self {
            copied,
            input_summaries: inputs.names.iter().map(summary).collect(),
            inputs,
            selection: options.selection,
            snaplen: options.snaplen,
            limit: options.limit,
            plan: ParallelPlan::new(options.threads),
            stop: StopCheck::new(options.stop),
            interfaces: Vec::new(),
            counts: PacketCounts::default(),
            lost: 0,
            written: WrittenFiles::default(),
            is_complete: false,
            progress,
            edits: options.edits,
            edited: EditCounts::default(),
            unsorted: 0,
            index,
        })
    }

    /// Lends the next selected packet. Returns `None` at the end of all inputs, at the limit of
    /// [`ReadBuilder::count`](super::ReadBuilder::count), and after a stop.
    ///
    /// Blocks while a pipe has no data.
    ///
    /// # Errors
    /// [`ReadError::Input`], once for each input that cannot be read to its end: the next call continues
    /// with the others. Errors about the filter, for example [`ReadError::Filter`].
    #[expect(
        clippy::should_implement_trait,
        reason = "the packet borrows from the job, which Iterator does not allow"
    )]
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        loop {
            match self.step()? {
                Step::Selected => return Ok(self.lend_selected()),
                Step::PassedOver => {}
                Step::End => return Ok(None),
            }
        }
    }

    /// As [`Self::next`], for a reader that gathers packets: also returns `None` where [`Self::next`] would wait for a pipe.
    ///
    /// Waits for a compressed pipe nevertheless, because it is not known what has arrived there.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn next_ready(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        while !self.must_wait() {
            match self.step()? {
                Step::Selected => return Ok(self.lend_selected()),
                Step::PassedOver => {}
                Step::End => break,
            }
        }
        Ok(None)
    }

    /// Reads the next item.
    #[inline]
    fn step(&mut self) -> Result<Step, ReadError> {
        if self.counts.selected == self.limit
            || self.counts.received >= self.selection.last_number()
            || self.stop.is_stopped()
        {
            return Ok(Step::End);
        }
        if self.counts.received.is_multiple_of(PROGRESS_ITEMS.into()) {
            self.progress.shared.store(
                self.inputs.offset(),
                self.counts.received,
                self.counts.selected,
            );
        }
        match self.inputs.next_item() {
            Ok(Some(Item::Packet(packet))) => {
                self.counts.received += 1;
                if self.selection.accepts(self.counts.received, &packet) {
                    return Ok(Step::Selected);
                }
            }
            Ok(Some(Item::Interface { interface, .. })) => {
                self.selection.add_interface(interface)?;
                self.interfaces.push(interface.clone());
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                self.is_complete = true;
                return Ok(Step::End);
            }
            // A stop ends streams in the middle of a packet.
            Err(_) if self.stop.check() => return Ok(Step::End),
            Err(error) => {
                note(&mut self.input_summaries, &error);
                return Err(error.into());
            }
        }
        Ok(Step::PassedOver)
    }

    /// Lends the packet that [`Self::step`] has selected.
    #[inline]
    fn lend_selected(&mut self) -> Option<Packet<'_>> {
        self.counts.selected += 1;
        let packet = self.inputs.last_packet();
        packet.map(|packet| self.snaplen.packet(packet).into())
    }

    /// Whether [`Self::next`] may have to wait for a stream.
    #[inline]
    pub(crate) fn must_wait(&self) -> bool {
        self.inputs.must_wait()
    }

    /// The interfaces of the packets that [`Self::next`] returned so far.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Calls `take` for each selected packet, in order. Returns as [`Self::run_consumer`].
    ///
    /// # Errors
    /// As [`Self::run_consumer`]; [`ReadError::Consumer`] with the error of `take`.
    pub fn run<E: Into<ConsumerError>>(
        &mut self,
        take: impl FnMut(&Packet<'_>) -> Result<(), E>,
    ) -> Result<(), ReadError> {
        self.run_consumer(&mut ClosureConsumer(take))
    }

    /// Delivers all selected packets to `consumer`, in order. Returns at the end of all inputs, at the
    /// limit of [`ReadBuilder::count`](super::ReadBuilder::count), and after a stop.
    ///
    /// # Errors
    /// [`ReadError::Incomplete`] if inputs could not be read to their end: everything else was
    /// delivered. [`ReadError::Consumer`], and errors about the filter and the interfaces.
    pub fn run_consumer<C: ReadConsumer>(&mut self, consumer: &mut C) -> Result<(), ReadError> {
        let mut destination = ConsumerDestination(consumer);
        let result = self.deliver(&mut destination);
        let finished = destination.0.finish().map_err(ReadError::Consumer);
        self.lost = destination.0.lost();
        let broken = result.and_then(|broken| finished.map(|()| broken));
        incomplete(broken?)
    }

    /// Adds all selected packets, the interfaces and their statistics to `analysis`. Returns as [`Self::run_consumer`].
    ///
    /// # Errors
    /// As [`Self::run_consumer`].
    pub fn analyze(&mut self, analysis: &mut Analysis) -> Result<(), ReadError> {
        incomplete(self.deliver(analysis)?)
    }

    /// Writes all selected packets to a capture file. Returns as [`Self::run_consumer`].
    ///
    /// A pcapng file keeps all blocks and options of the inputs, except the name of the application and the unit of
    /// time, which is nanoseconds. A single input keeps its sections; several become one section, with the options of the
    /// headers on which all agree and the comments of all. A pcap file can hold only one link type.
    /// [`WrittenFiles::left_out`] says what else was left out. The file is created with the first packet, or at the end.
    ///
    /// # Errors
    /// [`ReadError::Write`] if the file cannot be written; otherwise as [`Self::run_consumer`].
    pub fn write_to(&mut self, options: CaptureFileOptions) -> Result<(), ReadError> {
        let (bytes, order) = &self.copied.options;
        let all = Options {
            bytes,
            order: *order,
        };
        let edits = std::mem::take(&mut self.edits);
        let comments = &edits.section_comments;
        let (section, bytes) = edits.section(&self.copied.section, all, comments);
        let edited = Options {
            bytes: &bytes,
            order: ByteOrder::NATIVE,
        };
        let result = if let Some(most) = edits.flow_files_max {
            let copy = FlowCopy::new(options, section, edited, most);
            copy.map_err(ReadError::from)
                .and_then(|copy| self.write_copy(&edits, copy))
        } else {
            let copy = FileCopy::new(options, section, edited, edits.split_ns);
            self.write_copy(&edits, copy)
        };
        self.edits = edits;
        result
    }

    fn write_copy<C: CopyDestination>(
        &mut self,
        edits: &Edits,
        mut copy: C,
    ) -> Result<(), ReadError> {
        let result = if edits.is_empty() {
            self.deliver_sorted(edits, &mut copy)
        } else {
            self.deliver_edited(edits, &mut copy)
        };
        let closed = copy.close(result.is_err());
        self.written = copy.written();
        if edits.anonymize.is_none() {
            self.written.left_out.merged_options =
                self.copied.left_out + self.inputs.left_out_options();
        }
        self.lost = self.counts.selected - self.edited.duplicates - self.written.packets;
        let broken = result.and_then(|broken| closed.map(|()| broken));
        incomplete(broken?)
    }

    /// How far the job is, for another thread; with [`Self::next`] to within 4096 packets.
    pub fn progress(&self) -> ReadProgress {
        self.progress.clone()
    }

    /// A handle that ends the job from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stop().stopper()
    }

    /// The counters so far.
    pub fn summary(&self) -> ReadSummary {
        ReadSummary {
            received: self.counts.received,
            delivered: self.counts.selected - self.edited.duplicates - self.lost,
            duplicates: self.edited.duplicates,
            emptied: self.edited.emptied,
            limited_times: self.edited.limited_times,
            unsorted: self.unsorted,
            unused_comments: self.edited.unused_comments,
            filtered: self.counts.received - self.counts.selected,
            lost: self.lost,
            inputs: self.input_summaries.clone(),
            written: self.written.clone(),
            index: self.index,
        }
    }

    /// Ends the job.
    ///
    /// # Errors
    /// [`ReadError::UnknownInterfaces`] and [`ReadError::FilterRejectsAll`] if all inputs were read, none was
    /// skipped because of its index, and the selection cannot match.
    pub fn finish(self) -> Result<ReadSummary, ReadError> {
        if self.is_complete {
            self.check_selection()?;
        }
        Ok(self.summary())
    }

    /// Fails if the selection cannot match. What interfaces a skipped input has is not known.
    fn check_selection(&self) -> Result<(), ReadError> {
        if self.index.is_some_and(|used| used.skipped > 0) {
            return Ok(());
        }
        self.selection.check()
    }

    fn deliver_edited<C: CopyDestination>(
        &mut self,
        edits: &Edits,
        copy: &mut C,
    ) -> Result<Vec<InputError>, ReadError> {
        let mut edited = EditedCopy::new(edits, copy)?;
        let result = self.deliver_sorted(edits, &mut edited);
        self.edited = edited.counts();
        result
    }

    /// Delivers everything, sorted by time if the edits say so.
    fn deliver_sorted<D: Destination>(
        &mut self,
        edits: &Edits,
        destination: &mut D,
    ) -> Result<Vec<InputError>, ReadError> {
        let Some(bytes_max) = edits.sort_bytes else {
            return self.deliver(destination);
        };
        let mut sorted = SortedCopy::new(bytes_max, destination);
        let result = self.deliver(&mut sorted);
        // A destination that failed takes nothing more.
        let finished = match &result {
            Err(ReadError::Write(_)) => Ok(()),
            _ => sorted.finish(),
        };
        self.unsorted = sorted.unsorted();
        result.and_then(|broken| finished.map(|()| broken))
    }

    /// Delivers everything. Returns the inputs that could not be read to their end.
    fn deliver<D: Destination>(
        &mut self,
        destination: &mut D,
    ) -> Result<Vec<InputError>, ReadError> {
        let mut delivery = Delivery {
            last_number: self.selection.last_number(),
            selection: &mut self.selection,
            counts: &mut self.counts,
            destination,
            snaplen: self.snaplen,
            limit: self.limit,
            stop: &mut self.stop,
            shared: &self.progress.shared,
            ticked: Instant::now(),
        };
        let mut broken = Vec::new();
        match &mut self.inputs.kind {
            // The threads do not know the numbers of packets.
            InputKind::One(input)
                if delivery.selection.is_any()
                    && delivery.selection.numbers.is_none()
                    && input.received.is_none() =>
            {
                let mut parallel = ParallelReader::new(&mut input.reader, &mut delivery, self.plan);
                if let Some(source) = parallel.run()? {
                    let name = input.name.clone();
                    broken.push(InputError {
                        input: 0,
                        name,
                        source: Box::new(source),
                    });
                }
            }
            _ => broken = deliver_in_order(&mut self.inputs, &mut delivery)?,
        }
        for error in &broken {
            note(&mut self.input_summaries, error);
        }
        let is_done = delivery.is_done();
        self.progress.shared.store(
            self.inputs.offset(),
            self.counts.received,
            self.counts.selected,
        );
        if !is_done {
            self.is_complete = true;
            self.check_selection()?;
        }
        Ok(broken)
    }
}

fn deliver_in_order<D: Destination>(
    inputs: &mut Inputs,
    delivery: &mut Delivery<'_, D>,
) -> Result<Vec<InputError>, ReadError> {
    let mut broken = Vec::new();
    let (mut items, mut shown) = (0, 0);
    while !delivery.is_done() {
        items += 1;
        if items - shown >= u64::from(PROGRESS_ITEMS) {
            shown = items;
            delivery.read_to(inputs.offset())?;
        }
        let buffered = inputs.take_buffered(|packet| {
            delivery.packet(packet)?;
            Ok::<_, ReadError>(!delivery.is_done())
        })?;
        if buffered > 0 {
            items += buffered;
            continue;
        }
        if inputs.must_wait() {
            delivery.destination.flush()?;
            delivery.read_to(inputs.offset())?;
            // Bound: it ends with the stream, or when the job is stopped.
            while !inputs.wait(delivery.stop.stop(), &TICK_WAIT) {
                delivery.destination.tick()?;
            }
        }
        match inputs.next_item() {
            Ok(Some(item)) => delivery.item(item)?,
            Ok(None) => break,
            // A stop ends streams in the middle of a packet.
            Err(_) if delivery.stop.check() => {}
            Err(error) => broken.push(error),
        }
    }
    Ok(broken)
}

fn incomplete(broken: Vec<InputError>) -> Result<(), ReadError> {
    if broken.is_empty() {
        Ok(())
    } else {
        Err(ReadError::Incomplete(BrokenInputs(broken)))
    }
}

/// Adds an error to the summary of its input.
fn note(inputs: &mut [InputSummary], error: &InputError) {
    if let Some(input) = inputs.get_mut(error.input) {
        input.error = Some(error.source.to_string());
    }
}
