//! A capture with several readers.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::Duration;

use abi::machine::Machine;
use abi::signal::with_signals_blocked;
use filter::FilterWarning;
use ring::{DeliveryMode, FanoutMode};
use store::model::{Interface as Description, Statistics};
use store::write::{ChunkMerge, PacketChunk, StatisticsSource};

use super::super::account::counters::LiveCounters;
use super::super::account::reader_time::ReaderTime;
use super::super::account::summary::{CaptureSummary, Ended, MergeSummary, OpenInterface};
use super::super::control::handle::Control;
use super::super::control::thread::ControlThread;
use super::super::engine::Engine;
use super::super::error::{CaptureError, run_result};
use super::super::job::run;
use super::super::plan::options::CaptureOptions;
use super::super::read::consumer::{Consumer, FileOwner};
use super::super::read::poller::nanoseconds;
use super::channel::{CHUNKS, ChunkReceiver, ChunkSender, MergerWaker, channel, read};
use super::decoded::Decoded;
use super::files::{self, ReaderFile};
use super::interfaces::{JoinedInterfaces, SharedOpener};
use super::merger::{Merger, MergerTimes};
use super::open::{Opened, open_engines};
use super::options::{OpenReader, ReaderOptions, on_cpu, pin};
use super::pinning::pin_irqs;
use super::summary::{ReaderResult, of_all};
use crate::irq::{IrqPinning, PinnedIrq};
use crate::stop::{Stop, Stopper};

/// Memory for records that wait for older ones, of 4 to 64 readers, bytes. Fewer readers have less, as their chunks are at their
/// largest size; more have up to 1 GiB, as theirs are at their smallest size. At 10 Gbit/s in the shortest packets it holds those
/// of 0.15 s, where a packet waits for 0.05 s and for the merger. At lower rates little of it is used.
const MERGE_BYTES: usize = 256 << 20;

/// The chunks take at most this fraction of the host's memory, unless they are at their smallest size.
const MERGE_PARTS: u64 = 16;

/// Longest time for which a packet waits for older ones, in addition to twice the time of a batch.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// A capture with several readers, each on a CPU of its own, into one file or into a file for each.
///
/// Packet rings share the packets of an interface by `PACKET_FANOUT`. AF_XDP sockets and memory per CPU are dealt out
/// to the readers. Each reader filters and encodes its packets. With one file, the calling thread merges them by time
/// stamp and writes them. It needs no lock. The packets of a single reader are neither merged nor sorted.
///
/// A packet is written when no reader can deliver an older one. A reader without packets says so every 50 ms. If
/// one is held up, the others' packets wait for at most [`max_delay`](Self::max_delay), and for less if
/// [`memory_bytes`](Self::memory_bytes) are full. A packet that comes after younger ones were written counts as late.
///
#[doc(alias = "PACKET_FANOUT")]
#[must_use = "packets gather until the capture is run"]
pub struct ParallelCapture {
    /// Started on demand. Dropped first, so that it does not hold the rings when they are closed.
    control: Option<ControlThread>,
    /// At least one. The first has the losses of the interfaces in its account.
    engines: Vec<Engine>,
    readers: Vec<OpenReader>,
    /// The queues that are not read.
    unread_queues: Vec<u32>,
    distribution: Option<FanoutMode>,
    live: LiveCounters,
    joined: JoinedInterfaces,
    /// Interrupts of the receive queues, on the CPUs of their readers.
    irqs: Option<IrqPinning>,
    /// Size of a chunk of records.
    chunk_bytes: usize,
    /// Stops all readers.
    stop: Stop,
}

impl ParallelCapture {
    /// Opens the rings of all readers, and starts no thread.
    ///
    /// # Errors
    /// As [`Capture::open`](super::super::Capture::open); [`CaptureError::Cpu`]; [`CaptureError::Readers`].
    /// # Privileges
    /// As [`Capture::open`](super::super::Capture::open).
    /// # Kernel
    /// Linux 4.20 (`PACKET_FANOUT_FLAG_UNIQUEID` is of 4.12); 5.9 in drop mode.
    pub fn open(options: CaptureOptions, readers: &ReaderOptions) -> Result<Self, CaptureError> {
        let opened = match options.namespace.clone() {
            Some(namespace) => namespace.run(|| open_engines(options, readers))??,
            None => open_engines(options, readers)?,
        };
        let Opened {
            engines,
            distribution,
            queues,
            unread_queues,
        } = opened;
        if engines.len() > 1 && engines.iter().any(Engine::has_unconverted_stamps) {
            return Err(CaptureError::Readers {
                reason: "the clock of the interface cannot be read, and a silent queue tells the time of day: \
                         use --timestamp software",
            });
        }
        let wait = |source| CaptureError::Wait { source };
        let stop = Stop::new().map_err(wait)?;
        let cpus = readers.place(engines.len())?;
        let mut open = Vec::with_capacity(engines.len());
        for (number, (engine, cpu)) in engines.iter().zip(cpus).enumerate() {
            engine.poller.add_stop(&stop).map_err(wait)?;
            let queue = queues.get(number).copied().or_else(|| engine.only_queue());
            open.push(OpenReader { queue, cpu });
        }
        // Without sysinfo(2), do not limit by memory.
        let host_bytes = Machine::read().map_or(u64::MAX, |machine| machine.memory_bytes);
        let mut parallel = Self {
            control: None,
            chunk_bytes: chunk_bytes(engines.len(), host_bytes),
            engines,
            readers: open,
            unread_queues,
            distribution,
            live: LiveCounters::default(),
            joined: JoinedInterfaces::default(),
            irqs: None,
            stop,
        };
        if !readers.cpus.is_empty() {
            parallel.irqs = pin_irqs(parallel.options(), &parallel.readers);
        }
        let lives: Vec<_> = parallel.engines.iter_mut().map(Engine::live).collect();
        parallel.live = LiveCounters::shared(&lives);
        Ok(parallel)
    }

    /// The interfaces as a capture file describes them.
    pub fn interfaces(&self) -> &[Description] {
        self.engines[0].descriptions()
    }

    /// The interfaces as they were opened, with the rings of all readers.
    pub fn links(&self) -> Vec<OpenInterface<'_>> {
        let mut links: Vec<_> = self.engines[0].interfaces().collect();
        for engine in &self.engines[1..] {
            for (link, part) in links.iter_mut().zip(engine.interfaces()) {
                link.rings += part.rings;
                link.buffer_bytes += part.buffer_bytes;
            }
        }
        links
    }

    /// The readers.
    pub fn readers(&self) -> &[OpenReader] {
        &self.readers
    }

    /// The interrupts that were pinned to the CPUs of the readers, if the options named these. The setting is restored when
    /// the capture ends.
    pub fn pinned_irqs(&self) -> &[PinnedIrq] {
        self.irqs.as_ref().map_or(&[], IrqPinning::pinned)
    }

    /// The receive queues that are not read: those that [`Queues::Only`](super::Queues::Only) leaves out.
    pub fn unread_queues(&self) -> &[u32] {
        &self.unread_queues
    }

    /// How the kernel distributes packets among packet rings; `None` for other back ends and a single reader.
    pub fn distribution(&self) -> Option<FanoutMode> {
        self.distribution
    }

    /// Most memory for packets that wait to be merged, bytes; 0 for a single reader. A packet that is longer than a chunk, of
    /// at least 64 KiB, takes more.
    pub fn memory_bytes(&self) -> usize {
        if self.engines.len() == 1 {
            return 0;
        }
        self.engines.len() * CHUNKS * PacketChunk::memory_bytes(self.chunk_bytes)
    }

    /// Longest time for which a packet waits for older ones. It grows if packets are to gather for longer while the capture
    /// runs, and never shrinks.
    pub fn max_delay(&self) -> Duration {
        MAX_DELAY + 2 * Duration::from_nanos(self.engines[0].batch_ns())
    }

    fn options(&self) -> &CaptureOptions {
        &self.engines[0].options
    }

    /// Warnings of the filter compiler, for any of the interfaces.
    pub fn filter_warnings(&self) -> &[FilterWarning] {
        self.engines[0].warnings()
    }

    /// Stops the capture from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// Changes the capture while it runs, as [`Capture::control`](super::super::Capture::control) does.
    pub fn control(&mut self) -> Control {
        let pending = self.engines.iter().map(Engine::pending).collect();
        let messages = if let Some(control) = &self.control {
            control.messages()
        } else {
            let members = self.engines.iter_mut().map(Engine::member).collect();
            let opener = SharedOpener {
                queues: self.readers.iter().map(|reader| reader.queue).collect(),
                is_list: self.options().queues.is_some(),
                distribution: self.distribution.unwrap_or(FanoutMode::Hash),
                live: self.live.clone(),
                joined: self.joined.clone(),
            };
            let mut options = self.options().clone();
            if self.distribution.is_some() {
                // They have a part of it each.
                options.buffer_bytes *= self.readers.len();
            }
            let control = ControlThread::begin(members, options, Box::new(opener));
            self.control.insert(control).messages()
        };
        Control::new(pending, messages)
    }

    /// Counters for capture files that end while the capture continues: of each reader, then of the interface, for each
    /// interface.
    pub fn statistics_source(&self) -> StatisticsSource {
        let (live, parts) = (self.live.clone(), self.parts());
        Box::new(move || live.statistics_by_reader(&parts))
    }

    /// Whose packets each reader counts; empty for a single reader.
    fn parts(&self) -> Vec<String> {
        let part = |(number, reader): (usize, &OpenReader)| match reader.queue {
            Some(queue) => format!("receive queue {queue}"),
            None => format!("reader {number}"),
        };
        let mut parts: Vec<_> = self.readers.iter().enumerate().map(part).collect();
        if parts.len() == 1 {
            parts.clear();
        }
        parts
    }

    /// The counters by interface, for other threads.
    pub fn live(&self) -> LiveCounters {
        self.live.clone()
    }

    /// Captures into the file of `consumer` until a limit, `stop`, an interface or an error ends the capture. Then
    /// writes the packets left and closes the account. [`Consumer::packet`] is not called. The readers identify packets if
    /// the consumer [does](FileOwner::identified). The calling thread merges. If there is a single reader, the calling thread is
    /// that one, and calls [`Consumer::packet`].
    ///
    /// # Errors
    /// [`CaptureError::Run`] if the consumer failed or waiting did; it holds the summary.
    pub fn run_file<C: FileOwner>(
        self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        if self.engines.len() == 1 {
            return self.run_alone(consumer, stop);
        }
        let memory_bytes = self.memory_bytes();
        self.merge_into(consumer, stop, memory_bytes)
    }

    /// As [`run_file`](Self::run_file), with each packet passed to [`Consumer::packet`], in the order of the time
    /// stamps and by the calling thread.
    ///
    /// Cost: beside that of [`run_file`](Self::run_file) each packet is decoded again. The packets that are ready
    /// together take as much memory as [`memory_bytes`](Self::memory_bytes) again.
    ///
    /// # Errors
    /// [`CaptureError::Run`] if the consumer failed or waiting did; it holds the summary.
    pub fn run_consumer<C: Consumer>(
        self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        if self.engines.len() == 1 {
            return self.run_alone(consumer, stop);
        }
        let decoded = Decoded::new(consumer, self.interfaces());
        let mut decoded = decoded.map_err(|error| CaptureError::Wait {
            source: io::Error::other(error),
        })?;
        let memory_bytes = 2 * self.memory_bytes();
        self.merge_into(&mut decoded, stop, memory_bytes)
    }

    /// The calling thread is the only reader.
    fn run_alone<C: Consumer>(
        mut self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        let wait = |source| CaptureError::Wait { source };
        let either = self.stop.or(stop).map_err(wait)?;
        let (engine, reader) = (&mut self.engines[0], self.readers[0]);
        engine.poller.remove_stop(&self.stop);
        engine.poller.add_stop(&either).map_err(wait)?;
        let mut file = ReaderFile {
            file: consumer,
            queue: reader.queue,
        };
        let summary = on_cpu(reader.cpu, || run(engine, &mut file, &either));
        let result = ReaderResult {
            reader,
            summary,
            late: 0,
            discarded: 0,
        };
        let summary = of_all(vec![result], None, None, 0);
        run_result(self.with_unread(summary))
    }

    fn merge_into<C: FileOwner>(
        mut self,
        consumer: &mut C,
        stop: &Stop,
        memory_bytes: usize,
    ) -> Result<CaptureSummary, CaptureError> {
        let at_start = ReaderTime::now();
        let wait = |source| CaptureError::Wait { source };
        let waker = Arc::new(MergerWaker::new().map_err(wait)?);
        let encoder = consumer.file().chunk_encoder();
        let channels = self.readers.iter();
        let channels = channels.map(|reader| {
            let chunk_bytes = self.chunk_bytes;
            let (mut sender, receiver) =
                channel(encoder.clone(), waker.clone(), chunk_bytes, reader.queue);
            if let Some(link_types) = consumer.identified() {
                sender.identify_packets(link_types);
            }
            (sender, receiver)
        });
        let (senders, channels): (Vec<ChunkSender>, Vec<ChunkReceiver>) = channels.unzip();
        let times = self.merger_times();
        let mut merger = Merger {
            merge: ChunkMerge::new(channels.len()),
            channels,
            consumer,
            waker,
            remaining: self.options().limits.packets.unwrap_or(u64::MAX),
            joined: self.joined.clone(),
            stopper: self.stop.stopper(),
            ended: None,
        };
        let Self {
            engines,
            readers,
            live,
            stop: own_stop,
            ..
        } = &mut self;
        let own_stop = &*own_stop;
        let (summaries, max_delay_ns) = scope(|scope| {
            let work = engines.iter_mut().zip(senders);
            let jobs = work.map(|(engine, mut sender)| move || read(engine, &mut sender, own_stop));
            let started = start(scope, readers, jobs.collect());
            if let Err(error) = &started.1 {
                merger.ended = Some(Ended::Wait(io::Error::from(error.kind())));
                merger.stopper.stop();
            }
            let max_delay_ns = merger.run(times, stop, live);
            (join(started.0), max_delay_ns)
        });
        let Merger {
            merge,
            consumer,
            ended,
            ..
        } = merger;
        if let (true, Some(Ended::Wait(source))) = (summaries.is_empty(), &ended) {
            let source = io::Error::from(source.kind());
            return Err(CaptureError::Wait { source });
        }
        let counts: Vec<_> = merge.counts().collect();
        let results = readers.iter().zip(summaries).zip(&counts);
        let results: Vec<_> = results
            .map(|((&reader, summary), counts)| ReaderResult {
                reader,
                summary,
                late: counts.late,
                discarded: counts.discarded,
            })
            .collect();
        let discarded: Vec<u64> = counts.iter().map(|channel| channel.discarded).collect();
        let finished = consumer.finish(&self.final_statistics(&discarded));
        let ended = match (ended, finished) {
            (Some(ended), _) if ended.is_failure() => Some(ended),
            (_, Err(error)) => Some(Ended::Consumer(error)),
            (ended, Ok(())) => ended,
        };
        let merged = MergeSummary {
            late: counts.iter().map(|channel| channel.late).sum(),
            memory_bytes,
            max_delay: Duration::from_nanos(max_delay_ns),
            time: at_start.and_then(|start| ReaderTime::now()?.since(start)),
        };
        let summary = of_all(results, ended, Some(merged), consumer.lost());
        run_result(self.with_unread(summary))
    }

    /// Captures into `files`, such as a [`FileConsumer`](super::super::FileConsumer) or a
    /// [`Recorder`](super::super::Recorder) for each of [`readers`](Self::readers), until `stop`, a time limit, an interface or
    /// an error ends the capture. `observer` gets the ticks and the end, and no packets. A packet limit is ignored.
    ///
    /// # Errors
    /// [`CaptureError::Run`] if a file failed or waiting did; it holds the summary.
    /// # Panics
    /// If there are not as many files as readers.
    pub fn run_files<F: Consumer + Send, C: Consumer>(
        mut self,
        files: &mut [F],
        observer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        assert_eq!(files.len(), self.readers.len(), "a file for each reader");
        let tick_ns = nanoseconds(self.options().tick).max(1);
        for engine in &mut self.engines {
            engine.options.limits.packets = None;
        }
        let Self {
            engines,
            readers,
            live,
            stop: own_stop,
            ..
        } = &mut self;
        let (stopper, own_stop) = (own_stop.stopper(), &*own_stop);
        let (summaries, ended) = scope(|scope| {
            let files = files.iter_mut().zip(readers.iter());
            let files = files.map(|(file, reader)| ReaderFile {
                file,
                queue: reader.queue,
            });
            let work = engines.iter_mut().zip(files);
            let jobs = work.map(|(engine, mut file)| move || run(engine, &mut file, own_stop));
            let started = start(scope, readers, jobs.collect());
            let failed = started.1.err().map(|error| {
                stopper.stop();
                Ended::Wait(error)
            });
            let ended = files::watch(&started.0, observer, (stop, &stopper), live, tick_ns);
            (join(started.0), failed.or(ended))
        });
        if let (true, Some(Ended::Wait(source))) = (summaries.is_empty(), &ended) {
            let source = io::Error::from(source.kind());
            return Err(CaptureError::Wait { source });
        }
        let finished = observer.finish(&self.final_statistics(&[]));
        let ended = ended.or(finished.err().map(Ended::Consumer));
        let results = (self.readers.iter().zip(summaries)).map(|(&reader, summary)| ReaderResult {
            reader,
            summary,
            late: 0,
            discarded: 0,
        });
        let summary = of_all(results.collect(), ended, None, 0);
        run_result(self.with_unread(summary))
    }

    fn with_unread(self, summary: CaptureSummary) -> CaptureSummary {
        CaptureSummary {
            unread_queues: self.unread_queues,
            ..summary
        }
    }

    /// The counters of the readers and interfaces at the end; `discarded` packets of each reader were not written.
    fn final_statistics(&self, discarded: &[u64]) -> Vec<Statistics> {
        let parts = self.parts();
        let mut statistics = (self.live).statistics_by_reader(&parts);
        if self.live.accounts().len() == 1 {
            let all = discarded.iter().sum();
            let of_parts = discarded.iter().take(parts.len()).copied();
            for (one, discarded) in statistics.iter_mut().zip(of_parts.chain([all])) {
                one.delivered = one.delivered.map(|count| count.saturating_sub(discarded));
            }
        }
        statistics
    }

    fn merger_times(&self) -> MergerTimes {
        let period = match self.options().delivery {
            DeliveryMode::Batch { timeout, .. } | DeliveryMode::Blocks { timeout, .. } => timeout,
            _ => Duration::ZERO,
        };
        MergerTimes {
            period: period.clamp(Duration::from_millis(10), Duration::from_millis(100)),
            max_delay_ns: nanoseconds(MAX_DELAY),
            tick_ns: nanoseconds(self.options().tick).max(1),
        }
    }
}

/// Size of a chunk for `readers` readers of a host with `host_bytes` bytes of memory.
fn chunk_bytes(readers: usize, host_bytes: u64) -> usize {
    let bytes = usize::try_from(host_bytes / MERGE_PARTS).unwrap_or(usize::MAX);
    (bytes.min(MERGE_BYTES) / (readers * CHUNKS)).clamp(64 << 10, 1 << 20)
}

type Readers<'s> = Vec<ScopedJoinHandle<'s, CaptureSummary>>;

/// Starts a thread for each reader. If one cannot be started, those before it run.
fn start<'s, F>(
    scope: &'s Scope<'s, '_>,
    readers: &[OpenReader],
    jobs: Vec<F>,
) -> (Readers<'s>, io::Result<()>)
where
    F: FnOnce() -> CaptureSummary + Send + 's,
{
    let mut started = Vec::with_capacity(jobs.len());
    for (number, (reader, job)) in readers.iter().zip(jobs).enumerate() {
        let cpu = reader.cpu;
        let pinned = move || {
            pin(cpu);
            job()
        };
        let thread = Builder::new().name(format!("reader-{number}"));
        match with_signals_blocked(|| thread.spawn_scoped(scope, pinned)) {
            Ok(thread) => started.push(thread),
            Err(error) => return (started, Err(error)),
        }
    }
    (started, Ok(()))
}

fn join(readers: Readers<'_>) -> Vec<CaptureSummary> {
    let summary = |reader: ScopedJoinHandle<'_, CaptureSummary>| match reader.join() {
        Ok(summary) => summary,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    readers.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_smaller_for_more_readers_and_for_less_memory() {
        let chunks = [2, 8, 64, 255].map(|readers| chunk_bytes(readers, 64 << 30) >> 10);
        assert_eq!(chunks, [1024, 512, 64, 64]);
        let chunks = [2, 8].map(|readers| chunk_bytes(readers, 1 << 30) >> 10);
        assert_eq!(chunks, [512, 128]);
        assert_eq!(chunk_bytes(1, u64::MAX), 1 << 20);
    }
}
