//! Several targets: at the end a line for each, as fping(8) has it, and totals.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use tapline::ping::{Event, Outcome};
use tapline::probe::Prober;

use super::figures::Figures;
use super::lines::Lines;
use super::milliseconds::of_fping;
use super::teller::{End, Start, Teller};
use super::{distribution, figures, sidelines, totals};
use crate::args::PingArgs;
use crate::units::{grouped, span};

/// Reasons for probes that were not sent that are told as they come; the totals have all.
const MOST_REASONS: usize = 8;

/// ICMP errors that the totals name; how many more there are is said.
const MOST_ERRORS: usize = 10;

pub struct LikeFping<'a> {
    args: &'a PingArgs,
    lines: Lines<'a>,
    out: Stdout,
    /// Reasons told.
    reasons: Vec<Option<i32>>,
}

impl<'a> LikeFping<'a> {
    pub fn new(args: &'a PingArgs) -> Self {
        Self {
            args,
            lines: Lines::new(args),
            out: io::stdout(),
            reasons: Vec::new(),
        }
    }

    /// A line for each target, or for those in `only`.
    fn targets(
        &self,
        out: &mut impl Write,
        prober: &Prober,
        only: Option<&[u32]>,
    ) -> io::Result<()> {
        let all = prober.targets().len();
        let count = only.map_or(all as usize, <[u32]>::len);
        let target = |index: usize| only.map_or(index as u32, |only| only[index]);
        let name = if self.args.numeric {
            figures::address
        } else {
            figures::name
        };
        let name = |target| name(prober.targets(), target);
        let width = (0..count).map(|index| name(target(index)).len()).max();
        let width = width.unwrap_or(0);
        for target in (0..count).map(target) {
            let figures = Figures::of_target(prober, target);
            let counts = figures.counts;
            let percent = figures.loss_percent();
            let loss = percent.map_or("-".to_owned(), |percent| format!("{percent:.0}%"));
            let (name, sent, received) = (name(target), counts.sent, counts.received);
            write!(
                out,
                "{name:width$} : xmt/rcv/%loss = {sent}/{received}/{loss}"
            )?;
            if let Some(rtt) = &figures.rtt {
                let times = [rtt.min_ns, rtt.mean_ns, rtt.max_ns].map(of_fping);
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
            writeln!(out)?;
        }
        match all as usize - count {
            0 => Ok(()),
            more => writeln!(out, "({} more targets)", grouped(more as u64)),
        }
    }

    fn totals(out: &mut impl Write, outcome: &Outcome, left_out: usize) -> io::Result<()> {
        let prober = &outcome.prober;
        let Figures { counts, rtt } = Figures::of_all(prober);
        let lines = [
            Some(totals::targets(prober, left_out)),
            Some(totals::account(&counts)),
            totals::besides(&counts),
            rtt.as_ref().map(totals::times),
        ];
        for line in lines.into_iter().flatten() {
            writeln!(out, "{line}")?;
        }
        for line in sidelines::error_lines(prober.errors(), MOST_ERRORS) {
            writeln!(out, "{line}")?;
        }
        sidelines::rest(out, outcome)?;
        write!(out, "{}, ", span(outcome.duration))?;
        sidelines::sources(out, outcome)
    }
}

impl Teller for LikeFping<'_> {
    fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        sidelines::metrics(start);
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
        // A closed standard error ends nothing.
        let _ = writeln!(
            io::stderr(),
            "pinging {} targets, {pace}{by_rate} ({}){end}",
            grouped(start.forecast.targets.into()),
            start.backend.name()
        );
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, prober: &Prober) -> io::Result<()> {
        if self.args.quiet || self.args.live {
            return Ok(());
        }
        if self.args.verbose {
            return self.lines.tell(&mut self.out, event, prober);
        }
        if let Event::Dropped { probe, error } = event {
            let code = error.raw_os_error();
            if self.reasons.len() < MOST_REASONS && !self.reasons.contains(&code) {
                self.reasons.push(code);
                let name = figures::name(prober.targets(), probe.target);
                sidelines::not_sent(&name, None, error);
            }
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout());
        if !self.args.quiet {
            self.targets(&mut out, &end.outcome.prober, end.only)?;
            writeln!(out)?;
        }
        Self::totals(&mut out, end.outcome, end.left_out)?;
        if self.args.histogram {
            distribution::text(&mut out, end.outcome.prober.histogram())?;
        }
        out.flush()
    }
}
