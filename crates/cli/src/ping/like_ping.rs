//! One target, as ping(8) tells of it.

use std::io::{self, Stdout, Write};
use std::net::IpAddr;
use std::time::Instant;

use tapline::ping::{Event, Outcome};
use tapline::probe::{Probe, Prober, Verdict};

use super::figures::Figures;
use super::flight::Flight;
use super::lines::Lines;
use super::milliseconds::of_summary;
use super::teller::{End, Start, Teller};
use super::{distribution, figures, setup, sidelines};
use crate::args::PingArgs;

/// Bytes of the headers of IPv4 and ICMP.
const HEADERS_BYTES: usize = 28;

pub struct LikePing<'a> {
    args: &'a PingArgs,
    lines: Lines<'a>,
    out: Stdout,
    /// When it began, and when a probe was sent or an answer came last: that is the time of ping's
    /// summary.
    start: Instant,
    last: Instant,
    flight: Flight,
    /// The most probes that were on their way when an answer came.
    pipe: u32,
}

impl<'a> LikePing<'a> {
    pub fn new(args: &'a PingArgs) -> Self {
        let now = Instant::now();
        Self {
            args,
            lines: Lines::new(args),
            out: io::stdout(),
            start: now,
            last: now,
            flight: Flight::new(now),
            pipe: 0,
        }
    }

    fn summary(&self, out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
        let figures = Figures::of_target(&outcome.prober, 0);
        let counts = figures.counts;
        writeln!(out)?;
        let name = figures::name(outcome.prober.targets(), 0);
        writeln!(out, "--- {name} ping statistics ---")?;
        let (sent, received) = (counts.sent, counts.received);
        write!(out, "{sent} packets transmitted, {received} received")?;
        for (count, what) in [
            (counts.duplicate, "duplicates"),
            (counts.corrupt, "corrupted"),
            (counts.errors, "errors"),
        ] {
            if count > 0 {
                write!(out, ", +{count} {what}")?;
            }
        }
        if let Some(percent) = figures.loss_percent() {
            let ms = self.last.duration_since(self.start).as_millis();
            let percent = six_digits(percent);
            write!(out, ", {percent}% packet loss, time {ms}ms")?;
        }
        writeln!(out)?;
        if let Some(rtt) = &figures.rtt {
            let times = [rtt.min_ns, rtt.mean_ns, rtt.max_ns, rtt.stddev_ns].map(of_summary);
            write!(out, "rtt min/avg/max/mdev = {} ms", times.join("/"))?;
        }
        if self.pipe > 1 {
            let comma = if figures.rtt.is_some() { ", " } else { "" };
            write!(out, "{comma}pipe {}", self.pipe)?;
        }
        writeln!(out)?;
        sidelines::rest(out, outcome)?;
        sidelines::sources(out, outcome)
    }
}

impl Teller for LikePing<'_> {
    fn begin(&mut self, start: &Start<'_>) -> io::Result<()> {
        sidelines::metrics(start);
        self.start = Instant::now();
        self.last = self.start;
        let targets = start.prober.targets();
        let bytes = self.args.size;
        let (name, address) = (figures::name(targets, 0), figures::address(targets, 0));
        let from = match setup::source(self.args, targets.address(0)) {
            Some(from) => format!(" from {from}:"),
            None => String::new(),
        };
        match targets.address(0) {
            IpAddr::V4(_) => writeln!(
                self.out,
                "PING {name} ({address}){from} {bytes}({}) bytes of data.",
                bytes + HEADERS_BYTES
            ),
            IpAddr::V6(_) => {
                writeln!(self.out, "PING {name} ({address}){from} {bytes} data bytes")
            }
        }
    }

    fn event(&mut self, event: &Event<'_>, prober: &Prober) -> io::Result<()> {
        match event {
            Event::Sent { probe } => {
                self.last = Instant::now();
                self.flight.sent(probe.number(), self.last);
            }
            Event::Answer { verdict, .. } => {
                let mut came = Instant::now();
                if let Some((probe, rtt_ns)) = answered(verdict) {
                    let arrival = self.flight.arrival(probe.number(), rtt_ns);
                    came = arrival.map_or(came, |arrival| arrival.min(came));
                    self.pipe = self.pipe.max(self.flight.at(probe.number(), came));
                }
                self.last = self.last.max(came);
            }
            _ => {}
        }
        if self.args.quiet || self.args.live {
            return Ok(());
        }
        self.lines.tell(&mut self.out, event, prober)
    }

    fn end(&mut self, end: &End<'_>) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout());
        self.summary(&mut out, end.outcome)?;
        if self.args.histogram {
            distribution::text(&mut out, end.outcome.prober.histogram())?;
        }
        out.flush()
    }
}

/// The probe that an answer or an error shows to be on its way no longer.
///
/// # Source
/// `acknowledge`, ping/ping_common.c of iputils.
fn answered(verdict: &Verdict) -> Option<(Probe, Option<u64>)> {
    match *verdict {
        Verdict::Received { probe, rtt_ns, .. }
        | Verdict::Late { probe, rtt_ns }
        | Verdict::Duplicate { probe, rtt_ns } => Some((probe, rtt_ns)),
        Verdict::Error { probe, .. } => Some((probe, None)),
        _ => None,
    }
}

/// A share in percent with six digits and no zeros at the end, as `%g` has it.
fn six_digits(percent: f64) -> String {
    // Zeros before the first digit that is none are no digits.
    let behind = match percent {
        100.0.. => 3,
        10.0.. => 4,
        1.0.. => 5,
        0.1.. => 6,
        0.01.. => 7,
        0.001.. => 8,
        _ => 9,
    };
    let text = format!("{percent:.behind$}");
    let text = text.trim_end_matches('0');
    text.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What printf(1) makes of `%g`.
    #[test]
    fn shares_have_six_digits() {
        for (percent, text) in [
            (0.0, "0"),
            (100.0, "100"),
            (25.0, "25"),
            (100.0 / 3.0, "33.3333"),
            (200.0 / 3.0, "66.6667"),
            (20.0 / 3.0, "6.66667"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333"),
            (0.012_345_67, "0.0123457"),
        ] {
            assert_eq!(six_digits(percent), text);
        }
    }
}
