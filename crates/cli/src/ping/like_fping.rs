//! Several targets: at the end a line for each, as fping(8) has it, and totals.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use tapline::ping::{Event, Outcome};
use tapline::probe::Prober;

use super::figures::Figures;
use super::lines::Lines;
use super::milliseconds::{of_fping, of_summary};
use super::teller::{End, Start, Teller};
use super::{distribution, figures, sidelines};
use crate::args::PingArgs;
use crate::units::{grouped, span};

/// Reasons for probes that were not sent that are told as they come; the totals have all.
const MOST_REASONS: usize = 8;

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

    fn targets(&self, out: &mut impl Write, prober: &Prober) -> io::Result<()> {
        let all = 0..prober.targets().len();
        let name = if self.args.numeric {
            figures::address
        } else {
            figures::name
        };
        let name = |target| name(prober.targets(), target);
        let width = all.clone().map(|target| name(target).len()).max();
        let width = width.unwrap_or(0);
        for target in all {
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
        Ok(())
    }

    fn totals(out: &mut impl Write, outcome: &Outcome, left_out: usize) -> io::Result<()> {
        let prober = &outcome.prober;
        let all = prober.targets().len();
        let answered = (0..all).filter(|target| prober.counts(*target).received > 0);
        let answered = answered.count() as u64;
        let silent = u64::from(all) - answered;
        write!(
            out,
            "{} targets: {} answered, {} did not",
            grouped(all.into()),
            grouped(answered),
            grouped(silent)
        )?;
        if left_out > 0 {
            write!(out, "; {left_out} left out")?;
        }
        writeln!(out)?;
        let Figures { counts, rtt } = Figures::of_all(prober);
        write!(
            out,
            "{} probes sent = {} received + {} lost + {} late + {} errors",
            grouped(counts.sent),
            grouped(counts.received),
            grouped(counts.lost),
            grouped(counts.late),
            grouped(counts.errors)
        )?;
        match counts.pending() {
            0 => writeln!(out)?,
            pending => writeln!(out, " + {} awaited", grouped(pending))?,
        }
        if counts.duplicate + counts.corrupt > 0 {
            let [duplicate, corrupt] = [counts.duplicate, counts.corrupt].map(grouped);
            writeln!(out, "besides {duplicate} duplicates, {corrupt} corrupted")?;
        }
        if let Some(rtt) = rtt {
            let [median, high] = [rtt.p50_ns, rtt.p99_ns].map(|ns| ns.unwrap_or(rtt.max_ns));
            let times = [
                rtt.min_ns,
                median,
                rtt.mean_ns,
                high,
                rtt.max_ns,
                rtt.stddev_ns,
            ];
            let times = times.map(of_summary).join("/");
            writeln!(out, "rtt min/p50/avg/p99/max/mdev = {times} ms")?;
        }
        sidelines::errors(out, outcome)?;
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
        if self.args.quiet {
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
            self.targets(&mut out, &end.outcome.prober)?;
            writeln!(out)?;
        }
        Self::totals(&mut out, end.outcome, end.left_out)?;
        if self.args.histogram {
            distribution::text(&mut out, end.outcome.prober.histogram())?;
        }
        out.flush()
    }
}
