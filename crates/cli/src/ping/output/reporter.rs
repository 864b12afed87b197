//! What a form of output implements.

use std::io;

use tapline::ping::{Backend, Forecast, PingEvent, PingSummary, Prober};
use tapline::send::SendPath;

/// The start of a run.
pub struct RunStart<'a> {
    pub statistics: &'a Prober,
    pub forecast: &'a Forecast,
    pub backend: Backend,
    /// How requests of the XDP back end leave.
    pub send_path: Option<SendPath>,
    /// Whether the run continues an earlier one, whose output it extends.
    pub is_continued: bool,
    /// URL of the metrics.
    pub metrics: Option<&'a str>,
}

/// The end of a run.
pub struct RunEnd<'a> {
    pub summary: &'a PingSummary,
    /// Number of targets that could not be resolved and were skipped.
    pub skipped: usize,
    /// The targets to list; `None` for all.
    pub only: Option<&'a [u32]>,
}

/// A form of output. An error of standard output ends the run.
pub trait Reporter {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()>;
    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()>;
    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()>;
}
