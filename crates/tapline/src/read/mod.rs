//! Reading capture files: filter, merge, convert and summarise.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/corpus/captures/icmpv6.pcap");
//! let mut read = tapline::read(path).filter("icmp6")?.open()?;
//! while let Some(packet) = read.next()? {
//!     println!("{} {}", packet.time(), packet.len());
//! }
//! println!("{}", read.finish()?);
//! # Ok(()) }
//! ```
//!
//! [`read`] opens pcap and pcapng files, also compressed ones, and pipes. Several inputs are merged by
//! time. A single regular file with a filter is read by all CPUs when the job delivers to a closure
//! ([`Read::run`]) or to a file ([`Read::write_to`]); the packets keep their order.
//!
//! [`ReadBuilder::inspect`] describes files instead: format, interfaces, times and rates.

mod anonymize;
mod copy;
mod delivery;
mod duplicates;
mod edit;
mod error;
mod flows;
mod indexed;
mod input;
mod inspect;
mod job;
mod left_out;
mod numbers;
mod parallel;
mod progress;
mod selection;
mod sort;
mod summary;

use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::path::Path;

use filter::FilterWarning;

use crate::{Filter, Stop};
use delivery::Snaplen;
use input::InputSource;
use job::JobOptions;
use selection::{Conditions, Selection};

pub use crate::key_log::{KeyLog, KeyLogError};
pub use anonymize::{AnonymizationKey, AnonymizationKeyError, Anonymizer};
pub use delivery::ReadConsumer;
pub use duplicates::DuplicateWindow;
pub use edit::Edits;
pub use error::{BrokenInputs, ConsumerError, InputError, ReadError};
pub use indexed::IndexUse;
pub use inspect::{FileReport, FileTraffic, Inspection, ReportedInterface};
pub use job::Read;
pub use left_out::LeftOut;
pub use numbers::PacketNumbers;
pub use progress::ReadProgress;
pub use summary::{InputSummary, ReadSummary, WrittenFiles};

/// Reads the capture file at `path`. See the [module](mod@crate::read).
pub fn read(path: impl AsRef<Path>) -> ReadBuilder {
    ReadBuilder::new().file(path)
}

/// Options of a read job.
#[must_use]
#[derive(Default)]
pub struct ReadBuilder {
    inputs: Vec<InputSource>,
    conditions: Conditions,
    snaplen: u32,
    count: Option<NonZeroU64>,
    threads: Option<usize>,
    stop: Option<Stop>,
    edits: Edits,
    uses_indexes: bool,
}

impl ReadBuilder {
    /// A job without inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Several inputs are merged by time.
    ///
    /// If a regular file is truncated while it is read, the job reports an error behind the last
    /// complete packet.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        self.inputs.push(InputSource::Path(path));
        self
    }

    /// Adds a pipe or another blocking stream. `name` is its name in errors.
    pub fn stream(mut self, name: impl Into<String>, stream: impl Into<OwnedFd>) -> Self {
        self.inputs.push(InputSource::Stream {
            name: name.into(),
            file: File::from(stream.into()),
        });
        self
    }

    /// Delivers only packets that the filter accepts. Default: all.
    ///
    /// An expression and a program can be combined.
    ///
    /// # Errors
    /// That of the conversion, if `filter` is text with a syntax error.
    pub fn filter<F: TryInto<Filter>>(mut self, filter: F) -> Result<Self, F::Error> {
        match filter.try_into()? {
            Filter::Expression(expression) => self.conditions.expression = Some(expression),
            Filter::Program(program) => self.conditions.program = Some(program),
        }
        Ok(self)
    }

    /// Calls `handler` with the warnings about the filter expression when it is compiled.
    pub fn on_filter_warnings(
        mut self,
        handler: impl FnMut(&[FilterWarning]) + Send + 'static,
    ) -> Self {
        self.conditions.on_warnings = Some(Box::new(handler));
        self
    }

    /// Delivers only packets of the interface `name`. Can be called several times. Default: all.
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.conditions.interfaces.push(name.into());
        self
    }

    /// Delivers only packets of this time or later, in nanoseconds since 1970 UTC.
    pub fn from_ns(mut self, time_ns: u64) -> Self {
        self.conditions.from_ns = Some(time_ns);
        self
    }

    /// Delivers only packets before this time, in nanoseconds since 1970 UTC.
    pub fn to_ns(mut self, time_ns: u64) -> Self {
        self.conditions.to_ns = Some(time_ns);
        self
    }

    /// Delivers only packets with these numbers. Other conditions do not change the numbers. Several inputs are numbered after they
    /// are merged; packets that [`Self::indexes`] passes over have no number. One thread reads the input. Default: all.
    pub fn numbers(mut self, numbers: PacketNumbers) -> Self {
        self.conditions.numbers = Some(numbers);
        self
    }

    /// Truncates packets to `bytes`. Default: 0, no limit.
    pub fn snaplen(mut self, bytes: u32) -> Self {
        self.snaplen = bytes;
        self
    }

    /// Ends the job after `packets` packets were delivered. Default: no limit.
    pub fn count(mut self, packets: NonZeroU64) -> Self {
        self.count = Some(packets);
        self
    }

    /// Threads that filter a single regular file, at most 64. Default: one per CPU.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Reads of each file that has an index only the parts that may have selected packets. An index says so of addresses and
    /// ports that the filter needs, and of times; a file without an index is read as a whole. See [`store::index`]. Default: no.
    ///
    /// The counters of the summary are of the packets that were read.
    pub fn indexes(mut self, uses_indexes: bool) -> Self {
        self.uses_indexes = uses_indexes;
        self
    }

    /// Changes packets and blocks that [`Read::write_to`] writes. Default: nothing.
    pub fn edits(mut self, edits: Edits) -> Self {
        self.edits = edits;
        self
    }

    /// Ends the job when `stop` is requested. Default: a stop of its own (see [`Read::stopper`]).
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Opens the inputs.
    ///
    /// # Errors
    /// [`ReadError::Open`] and [`ReadError::Input`] for a file that cannot be read;
    /// [`ReadError::NoInput`] and [`ReadError::EmptyTimeRange`] for these options.
    pub fn open(self) -> Result<Read, ReadError> {
        let job = self.job()?;
        Read::open(job)
    }

    /// Describes each input instead of delivering packets. The filter, the interfaces and the times
    /// select the packets that are counted; the other options are ignored.
    ///
    /// # Errors
    /// As [`Self::open`], except that files are opened one after another.
    pub fn inspect(self) -> Result<Inspection, ReadError> {
        Ok(Inspection::new(self.job()?))
    }

    fn job(self) -> Result<JobOptions, ReadError> {
        if self.inputs.is_empty() {
            return Err(ReadError::NoInput);
        }
        Ok(JobOptions {
            inputs: self.inputs,
            selection: Selection::new(self.conditions)?,
            snaplen: Snaplen::new(self.snaplen),
            limit: self.count.map_or(u64::MAX, u64::from),
            threads: self.threads,
            edits: self.edits,
            uses_indexes: self.uses_indexes,
            stop: match self.stop {
                Some(stop) => stop,
                None => Stop::new()?,
            },
        })
    }
}
