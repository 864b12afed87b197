//! What is captured from: fixed interfaces of one namespace, or interfaces that come and go.

use std::io;

use tapline::Stop;
use tapline::capture::{
    Capture, CaptureError, CaptureOptions, CaptureSummary, Consumer, Control, FanoutMode,
    FileOwner, HotplugCapture, LiveCounters, Namespaces, OpenInterface, OpenReader,
    ParallelCapture, ReaderOptions,
};
use tapline::file::model::Interface;
use tapline::file::write::StatisticsSource;
use tapline::irq::PinnedIrq;

use crate::failure::Failure;

/// The name that stands for every interface.
pub const ANY: &str = "any";

/// The name that stands for every named namespace.
pub const ALL: &str = "all";

/// An open capture.
pub enum Source {
    Fixed(Capture),
    Hotplug(HotplugCapture),
    Parallel(ParallelCapture),
}

/// The namespaces of `--netns`, or the current one for `-i any`; `None` if the interfaces are fixed.
pub fn namespaces(netns: &[String], interfaces: &[String]) -> Option<Namespaces> {
    if netns.iter().any(|name| name == ALL) {
        return Some(Namespaces::All);
    }
    if !netns.is_empty() {
        return Some(Namespaces::Named(netns.to_vec()));
    }
    let is_any = interfaces.iter().any(|name| name == ANY);
    is_any.then_some(Namespaces::Current)
}

impl Source {
    /// Opens a capture and prints the warnings about its filter.
    pub fn open(
        options: CaptureOptions,
        namespaces: Option<Namespaces>,
        readers: Option<&ReaderOptions>,
    ) -> Result<Self, Failure> {
        let text = options.filter.as_ref().and_then(|filter| filter.text());
        let text = text.unwrap_or_default().to_owned();
        let opened = match (namespaces, readers) {
            (_, Some(readers)) => ParallelCapture::open(options, readers).map(Self::Parallel),
            (None, None) => options.open().map(Self::Fixed),
            (Some(namespaces), None) => {
                HotplugCapture::open(options, namespaces).map(Self::Hotplug)
            }
        };
        let source = opened.map_err(|error| refused(&text, error))?;
        let warnings = match &source {
            Self::Fixed(capture) => capture.filter_warnings(),
            Self::Hotplug(capture) => capture.filter_warnings(),
            Self::Parallel(parallel) => parallel.filter_warnings(),
        };
        crate::filter::warn(&text, warnings);
        Ok(source)
    }

    /// The interfaces as a capture file describes them.
    pub fn interfaces(&self) -> &[Interface] {
        match self {
            Self::Fixed(capture) => capture.interfaces(),
            Self::Hotplug(capture) => capture.interfaces(),
            Self::Parallel(parallel) => parallel.interfaces(),
        }
    }

    /// The interfaces as they were opened.
    pub fn links(&self) -> Vec<OpenInterface<'_>> {
        match self {
            Self::Fixed(capture) => capture.links().collect(),
            Self::Hotplug(capture) => capture.links().collect(),
            Self::Parallel(parallel) => parallel.links(),
        }
    }

    /// Whether interfaces can join while the capture runs.
    pub fn is_hotplug(&self) -> bool {
        matches!(self, Self::Hotplug(_))
    }

    /// Starts the thread that captures from interfaces that come up and changes those that are captured, with the privileges of the
    /// calling thread. Does nothing if the interfaces are fixed.
    pub fn follow(&mut self) -> io::Result<()> {
        match self {
            Self::Hotplug(capture) => capture.follow(),
            Self::Fixed(_) | Self::Parallel(_) => Ok(()),
        }
    }

    /// The readers, if there are several.
    pub fn readers(&self) -> &[OpenReader] {
        match self {
            Self::Parallel(parallel) => parallel.readers(),
            _ => &[],
        }
    }

    /// The receive queues that are not read, if only some are.
    pub fn unread_queues(&self) -> &[u32] {
        match self {
            Self::Parallel(parallel) => parallel.unread_queues(),
            _ => &[],
        }
    }

    /// The interrupts that were pinned to the CPUs of the readers.
    pub fn pinned_irqs(&self) -> &[PinnedIrq] {
        match self {
            Self::Parallel(parallel) => parallel.pinned_irqs(),
            _ => &[],
        }
    }

    /// How the kernel distributes packets among them.
    pub fn distribution(&self) -> Option<FanoutMode> {
        match self {
            Self::Parallel(parallel) => parallel.distribution(),
            _ => None,
        }
    }

    /// Changes the capture while it runs.
    pub fn control(&mut self) -> io::Result<Control> {
        match self {
            Self::Fixed(capture) => Ok(capture.control()),
            Self::Parallel(parallel) => Ok(parallel.control()),
            Self::Hotplug(capture) => capture.control(),
        }
    }

    pub fn statistics_source(&self) -> StatisticsSource {
        match self {
            Self::Fixed(capture) => capture.statistics_source(),
            Self::Hotplug(capture) => capture.statistics_source(),
            Self::Parallel(parallel) => parallel.statistics_source(),
        }
    }

    pub fn live(&mut self) -> LiveCounters {
        match self {
            Self::Fixed(capture) => capture.live(),
            Self::Hotplug(capture) => capture.live(),
            Self::Parallel(parallel) => parallel.live(),
        }
    }

    /// Captures into the file of `consumer`, which adds nothing to the packets but identifiers.
    pub fn run_file<C: FileOwner>(
        self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        match self {
            Self::Parallel(parallel) => parallel.run_file(consumer, stop),
            capture => capture.run_consumer(consumer, stop),
        }
    }

    /// Captures into a file for each of [`readers`](Self::readers). A capture without these has no files.
    pub fn run_files<F: Consumer + Send, C: Consumer>(
        self,
        files: &mut [F],
        observer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        match self {
            Self::Parallel(parallel) => parallel.run_files(files, observer, stop),
            capture => capture.run_consumer(observer, stop),
        }
    }

    /// Passes each packet to `consumer`.
    pub fn run_consumer<C: Consumer>(
        self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        match self {
            Self::Fixed(capture) => capture.run_consumer(consumer, stop),
            Self::Hotplug(capture) => capture.run_consumer(consumer, stop),
            Self::Parallel(parallel) => parallel.run_consumer(consumer, stop),
        }
    }
}

/// Why a capture with filter `text` cannot be opened. Errors in the filter are shown with their position.
pub fn refused(text: &str, error: CaptureError) -> Failure {
    let below = match &error {
        CaptureError::Filter { error, .. } => crate::filter::shown(text, error),
        _ => String::new(),
    };
    Failure {
        below,
        ..error.into()
    }
}
