//! Comma-separated values: a header, and a line for each target.

use std::io::{self, BufWriter, Write};

use tapline::ping::{PingEvent, Prober};

use super::figures::{self, PingFigures, RttFigures};
use super::reporter::{Reporter, RunEnd, RunStart};
use super::{account, warnings};
use crate::args::PingArgs;
use crate::ping::setup;

const HEADER: &str = "target,address,sent,received,lost,late,duplicate,corrupt,errors,local_drops,\
pending,rtt_min_ns,rtt_p50_ns,rtt_mean_ns,rtt_p99_ns,rtt_max_ns,rtt_stddev_ns,jitter_ns,longest_outage";

/// The last column, if probes are assigned to paths.
const PATH: &str = ",path";
/// The last column of a sweep: the ICMP error in words.
const ERROR: &str = ",error";

pub struct CsvOutput {
    out: BufWriter<io::Stdout>,
    quiet: bool,
    /// Targets are printed as they end.
    is_sweep: bool,
    /// The kernel counts answers without their order.
    has_outages: bool,
}

impl CsvOutput {
    pub fn new(args: &PingArgs) -> Self {
        Self {
            out: BufWriter::new(io::stdout()),
            quiet: args.quiet,
            is_sweep: setup::is_sweep(args),
            has_outages: !setup::is_in_kernel(args),
        }
    }

    fn header(&mut self, statistics: &Prober) -> io::Result<()> {
        let has_paths = statistics.targets().paths() > 0;
        let last = match (self.is_sweep, has_paths) {
            (true, _) => ERROR,
            (false, true) => PATH,
            (false, false) => "",
        };
        writeln!(self.out, "{HEADER}{last}")
    }

    fn row(&mut self, statistics: &Prober, target: u32, figures: &PingFigures) -> io::Result<()> {
        let targets = statistics.targets();
        let out = &mut self.out;
        let name = quoted(&figures::name(targets, target));
        let address = figures::address(targets, target).unwrap_or_default();
        write!(out, "{name},{address}")?;
        let PingFigures { counts, rtt } = figures;
        for count in [
            counts.sent,
            counts.received,
            counts.lost,
            counts.late,
            counts.duplicate,
            counts.corrupt,
            counts.errors,
            counts.local_drops,
            counts.pending(),
        ] {
            write!(out, ",{count}")?;
        }
        let times = rtt.as_ref().map_or([None; 7], RttFigures::in_order);
        for time in times {
            match time {
                Some(ns) => write!(out, ",{ns}")?,
                // An unknown value is empty.
                None => out.write_all(b",")?,
            }
        }
        let outage = self
            .has_outages
            .then(|| statistics.longest_outage(target).to_string());
        write!(out, ",{}", outage.unwrap_or_default())?;
        if self.is_sweep {
            let error = figures::error(statistics, target);
            let words = error.map(|(_, words)| quoted(&words)).unwrap_or_default();
            write!(out, ",{words}")?;
        } else if let Some(path) = targets.path(target) {
            write!(out, ",{}", path.number)?;
        }
        writeln!(out)
    }
}

impl Reporter for CsvOutput {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        warnings::metrics_url(start);
        // A sweep that continues appends to what it has printed before.
        if self.is_sweep && !start.is_continued {
            self.header(start.statistics)?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()> {
        match event {
            PingEvent::Ended { target } => self.row(
                statistics,
                *target,
                &PingFigures::of_target(statistics, *target),
            ),
            PingEvent::Tick { .. } if self.is_sweep => self.out.flush(),
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        let statistics = &end.summary.statistics;
        if !self.is_sweep {
            self.header(statistics)?;
            for target in statistics.targets().indices() {
                self.row(
                    statistics,
                    target,
                    &PingFigures::of_target(statistics, target),
                )?;
            }
        }
        self.out.flush()?;
        if !self.quiet {
            // If standard error is closed, the lines are lost.
            let _ = account::other_counters(&mut io::stderr(), end.summary);
            let _ = account::rate(&mut io::stderr(), end.summary);
            let _ = account::sources(&mut io::stderr(), end.summary);
        }
        Ok(())
    }
}

/// A field, quoted as in RFC 4180.
fn quoted(field: &str) -> String {
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
