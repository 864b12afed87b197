//! Several targets, in the style of fping(8): at the end a line for each, and totals.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use tapline::ping::{PingEvent, PingSummary, Prober};

use super::figures::PingFigures;
use super::lines::AnswerLines;
use super::milliseconds::fping_ms;
use super::reporter::{Reporter, RunEnd, RunStart};
use super::{account, distribution, figures, warnings};
use crate::args::PingArgs;
use crate::ping::setup;
use crate::values::units::{grouped, span};

/// Maximum local errors that are printed at once; the totals have all.
const MOST_REASONS: usize = 8;

pub struct FpingStyle<'a> {
    args: &'a PingArgs,
    lines: AnswerLines<'a>,
    out: Stdout,
    /// Local errors that were printed.
    reasons: Vec<Option<i32>>,
}

impl<'a> FpingStyle<'a> {
    pub fn new(args: &'a PingArgs) -> Self {
        Self {
            args,
            lines: AnswerLines::new(args),
            out: io::stdout(),
            reasons: Vec::new(),
        }
    }

    /// Prints a line for each target, or for those in `only`.
    fn targets(
        &self,
        out: &mut impl Write,
        statistics: &Prober,
        only: Option<&[u32]>,
    ) -> io::Result<()> {
        let targets = statistics.targets();
        let all = targets.indices().count();
        let shown: Vec<u32> = match only {
            Some(only) => only.to_vec(),
            None => targets
                .indices()
                .filter(|target| !self.is_of_other_run(statistics, *target))
                .collect(),
        };
        let name = if self.args.numeric {
            figures::shown_address
        } else {
            figures::name
        };
        let name = |target| name(targets, target) + &figures::path(targets, target);
        let width = shown.iter().map(|target| name(*target).len()).max();
        let width = width.unwrap_or(0);
        let count = shown.len();
        for target in shown {
            let figures = PingFigures::of_target(statistics, target);
            let counts = figures.counts;
            let percent = figures.loss_percent();
            let loss = percent.map_or("-".to_owned(), whole_percent);
            let (name, sent, received) = (name(target), counts.sent, counts.received);
            write!(
                out,
                "{name:width$} : xmt/rcv/%loss = {sent}/{received}/{loss}"
            )?;
            if let Some(rtt) = &figures.rtt {
                let times = [rtt.min_ns, rtt.mean_ns, rtt.max_ns].map(fping_ms);
                write!(out, ", min/avg/max = {}", times.join("/"))?;
            }
            for (count, what) in [
                (counts.late, "late"),
                (counts.duplicate, "duplicates"),
                (counts.corrupt, "corrupted"),
                (counts.errors, "errors"),
                (counts.local_drops, "not sent"),
            ] {
                if count > 0 {
                    write!(out, ", {count} {what}")?;
                }
            }
            if let Some((_, words)) = figures::error(statistics, target) {
                write!(out, " ({words})")?;
            }
            writeln!(out)?;
        }
        match all - count {
            0 => Ok(()),
            more => writeln!(out, "({} more targets)", grouped(more as u64)),
        }
    }

    /// Whether a sweep that continues has not probed a target: an earlier run has, or a later one will.
    fn is_of_other_run(&self, statistics: &Prober, target: u32) -> bool {
        self.args.state.is_some() && {
            let counts = statistics.counts(target);
            counts.sent + counts.local_drops == 0
        }
    }

    fn totals(out: &mut impl Write, summary: &PingSummary, skipped: usize) -> io::Result<()> {
        let statistics = &summary.statistics;
        let PingFigures { counts, rtt } = PingFigures::of_all(statistics);
        let lines = [
            Some(account::targets(statistics, skipped)),
            Some(account::probes(&counts)),
            account::extra_answers(&counts),
            rtt.as_ref().map(account::round_trips),
        ];
        for line in lines.into_iter().flatten() {
            writeln!(out, "{line}")?;
        }
        for line in account::error_lines(statistics.errors(), account::MOST_ERRORS) {
            writeln!(out, "{line}")?;
        }
        account::other_counters(out, summary)?;
        account::rate(out, summary)?;
        write!(out, "{}, ", span(summary.duration))?;
        account::sources(out, summary)
    }
}

/// A percentage without its decimals, as fping prints it: 100 % only if nothing was received.
///
/// # Source
/// `print_per_system_stats`, src/fping.c of fping.
fn whole_percent(percent: f64) -> String {
    format!("{:.0}%", percent.floor())
}

impl Reporter for FpingStyle<'_> {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        warnings::metrics_url(start);
        if self.args.quiet {
            return Ok(());
        }
        let round = std::time::Duration::from_nanos(start.forecast.round_ns);
        let pace = if round.is_zero() {
            "as fast as this host can".to_owned()
        } else {
            format!("each every {round:?}")
        };
        let by_rate = if round > self.args.interval {
            ", because of --rate"
        } else {
            ""
        };
        let end = match (start.forecast.duration_ns(), self.args.duration) {
            (Some(_), _) | (_, Some(_)) => "",
            _ if io::stderr().is_terminal() => ", Ctrl-C ends",
            _ => ", until stopped",
        };
        // If standard error is closed, the line is lost.
        let _ = writeln!(
            io::stderr(),
            "pinging {}, {pace}{by_rate} ({}){end}",
            account::who(start.statistics),
            start.backend.name()
        );
        Ok(())
    }

    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()> {
        if self.args.quiet || self.args.live {
            return Ok(());
        }
        if self.args.verbose {
            return self.lines.print(&mut self.out, event, statistics);
        }
        if let PingEvent::NotSent { probe, error } = event {
            let code = error.raw_os_error();
            if self.reasons.len() < MOST_REASONS && !self.reasons.contains(&code) {
                self.reasons.push(code);
                let name = figures::name(statistics.targets(), probe.target);
                let is_in_kernel = setup::is_in_kernel(self.args);
                warnings::not_sent(&name, None, error, is_in_kernel);
            }
        }
        Ok(())
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout());
        if !self.args.quiet {
            self.targets(&mut out, &end.summary.statistics, end.only)?;
            writeln!(out)?;
        }
        Self::totals(&mut out, end.summary, end.skipped)?;
        if self.args.histogram {
            distribution::text(&mut out, end.summary.statistics.histogram())?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapline::ping::ProbeCounts;

    /// The formula of fping, in whole numbers.
    #[test]
    fn percentages_are_those_of_fping() {
        for sent in 1..500_u64 {
            for received in 0..=sent {
                let mut counts = ProbeCounts::default();
                (counts.sent, counts.received) = (sent, received);
                counts.lost = sent - received;
                let percent = figures::loss_percent(&counts).expect("some were sent");
                let expected = format!("{}%", (sent - received) * 100 / sent);
                assert_eq!(whole_percent(percent), expected, "{received} of {sent}");
            }
        }
    }
}
