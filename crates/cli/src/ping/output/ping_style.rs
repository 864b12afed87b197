//! One target, in the style of ping(8).

use std::io::{self, Stdout, Write};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tapline::ping::{Backend, Classification, PingEvent, PingSummary, Probe, Prober};

use super::figures::PingFigures;
use super::fping_style::FpingStyle;
use super::lines::AnswerLines;
use super::milliseconds::summary_ms;
use super::reporter::{Reporter, RunEnd, RunStart};
use super::{account, distribution, figures, warnings};
use crate::args::PingArgs;
use crate::ping::setup;

/// Bytes of the headers of IPv4 and ICMP.
const HEADERS_BYTES: usize = 28;

pub struct PingStyle<'a> {
    args: &'a PingArgs,
    lines: AnswerLines<'a>,
    out: Stdout,
    /// The start, and the last time a probe was sent or an answer arrived. Ping's summary prints the difference.
    start: Instant,
    last: Instant,
    in_flight: InFlight,
    /// Maximum number of probes in flight when an answer arrived.
    pipe: u32,
}

impl<'a> PingStyle<'a> {
    pub fn new(args: &'a PingArgs) -> Self {
        let now = Instant::now();
        Self {
            args,
            lines: AnswerLines::new(args),
            out: io::stdout(),
            start: now,
            last: now,
            in_flight: InFlight::new(now),
            pipe: 0,
        }
    }

    fn summary(&self, out: &mut impl Write, summary: &PingSummary) -> io::Result<()> {
        let figures = PingFigures::of_target(&summary.statistics, 0);
        let counts = figures.counts;
        writeln!(out)?;
        let name = figures::name(summary.statistics.targets(), 0);
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
            let ms = if summary.backend == Backend::Xdp {
                // No event says when the last answer arrived.
                summary.duration.as_millis()
            } else {
                self.last.duration_since(self.start).as_millis()
            };
            let percent = six_digits(percent);
            write!(out, ", {percent}% packet loss, time {ms}ms")?;
        }
        writeln!(out)?;
        if let Some(rtt) = &figures.rtt {
            let times = [rtt.min_ns, rtt.mean_ns, rtt.max_ns, rtt.stddev_ns].map(summary_ms);
            write!(out, "rtt min/avg/max/mdev = {} ms", times.join("/"))?;
        }
        if self.pipe > 1 {
            let comma = if figures.rtt.is_some() { ", " } else { "" };
            write!(out, "{comma}pipe {}", self.pipe)?;
        }
        writeln!(out)?;
        // Otherwise each had a line, and these are ping's.
        if self.args.quiet || self.args.live {
            for line in account::error_lines(summary.statistics.errors(), account::MOST_ERRORS) {
                writeln!(out, "{line}")?;
            }
        }
        account::other_counters(out, summary)?;
        account::rate(out, summary)?;
        account::sources(out, summary)
    }
}

impl Reporter for PingStyle<'_> {
    fn begin(&mut self, start: &RunStart<'_>) -> io::Result<()> {
        warnings::metrics_url(start);
        self.start = Instant::now();
        self.last = self.start;
        let targets = start.statistics.targets();
        let bytes = self.args.size;
        let (name, address) = (
            figures::name(targets, 0),
            figures::shown_address(targets, 0),
        );
        let from = targets
            .address(0)
            .and_then(|to| setup::source(self.args, to));
        let from = from.map_or_else(String::new, |from| format!(" from {from}:"));
        match targets.address(0) {
            Some(IpAddr::V4(_)) => writeln!(
                self.out,
                "PING {name} ({address}){from} {bytes}({}) bytes of data.",
                bytes + HEADERS_BYTES
            ),
            _ => {
                writeln!(self.out, "PING {name} ({address}){from} {bytes} data bytes")
            }
        }
    }

    fn event(&mut self, event: &PingEvent, statistics: &Prober) -> io::Result<()> {
        match event {
            PingEvent::Sent { probe } => {
                self.last = Instant::now();
                self.in_flight.sent(probe.number(), self.last);
            }
            PingEvent::Answer { class, .. } => {
                let mut arrived = Instant::now();
                if let Some((probe, rtt_ns)) = answered(class) {
                    let arrival = self.in_flight.arrival(probe.number(), rtt_ns);
                    arrived = arrival.map_or(arrived, |arrival| arrival.min(arrived));
                    self.pipe = self
                        .pipe
                        .max(self.in_flight.count_at(probe.number(), arrived));
                }
                self.last = self.last.max(arrived);
            }
            _ => {}
        }
        if self.args.quiet || self.args.live {
            return Ok(());
        }
        self.lines.print(&mut self.out, event, statistics)
    }

    fn end(&mut self, end: &RunEnd<'_>) -> io::Result<()> {
        let statistics = &end.summary.statistics;
        if statistics.targets().len() != 1 || statistics.removed().hosts > 0 {
            // The list has changed.
            return FpingStyle::new(self.args).end(end);
        }
        let mut out = io::BufWriter::new(io::stdout());
        self.summary(&mut out, end.summary)?;
        if self.args.histogram {
            distribution::text(&mut out, end.summary.statistics.histogram())?;
        }
        out.flush()
    }
}

/// The probe that an answer or error shows to be in flight no longer.
///
/// # Source
/// `acknowledge`, ping/ping_common.c of iputils.
fn answered(class: &Classification) -> Option<(Probe, Option<u64>)> {
    match *class {
        Classification::Received { probe, rtt_ns, .. }
        | Classification::Late { probe, rtt_ns }
        | Classification::Duplicate { probe, rtt_ns } => Some((probe, rtt_ns)),
        Classification::Error { probe, .. } => Some((probe, None)),
        _ => None,
    }
}

/// A percentage with six significant digits and no trailing zeros, as `%g` prints it.
fn six_digits(percent: f64) -> String {
    // Leading zeros are not significant.
    let decimals = match percent {
        100.0.. => 3,
        10.0.. => 4,
        1.0.. => 5,
        0.1.. => 6,
        0.01.. => 7,
        0.001.. => 8,
        _ => 9,
    };
    let text = format!("{percent:.decimals$}");
    let text = text.trim_end_matches('0');
    text.trim_end_matches('.').to_owned()
}

/// Number of latest probes kept: more than may be sent between two reads of replies (`PingOptions::max_wait`).
const KEPT: usize = 32;

/// Send times of the latest probes to a target: how many were in flight when an answer arrived.
struct InFlight {
    latest: u32,
    /// By probe number.
    sent: [Instant; KEPT],
}

impl InFlight {
    /// For a run that starts `now`.
    fn new(now: Instant) -> Self {
        Self {
            latest: 0,
            sent: [now; KEPT],
        }
    }

    fn sent(&mut self, number: u32, at: Instant) {
        self.latest = number;
        self.sent[number as usize % KEPT] = at;
    }

    /// When the answer to probe `number` arrived, after a round trip of `rtt_ns`; `None` if the probe is not kept.
    fn arrival(&self, number: u32, rtt_ns: Option<u64>) -> Option<Instant> {
        let age = self.latest.checked_sub(number)?;
        let sent = self.sent[number as usize % KEPT];
        let rtt = Duration::from_nanos(rtt_ns?);
        ((age as usize) < KEPT).then(|| sent + rtt)
    }

    /// Number of probes from `number` on that had been sent when its answer `arrived`.
    fn count_at(&self, number: u32, arrived: Instant) -> u32 {
        let in_flight = (self.latest + 1).saturating_sub(number);
        let later = in_flight.saturating_sub(1).min(KEPT as u32);
        let was_not_sent = |back: &u32| self.sent[(self.latest - back) as usize % KEPT] > arrived;
        in_flight - (0..later).filter(was_not_sent).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with `%g` of printf(1).
    #[test]
    fn percentages_have_six_digits() {
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

    #[test]
    fn probes_sent_after_the_arrival_were_not_in_flight() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let mut flight = InFlight::new(start);
        for number in 1..=100 {
            flight.sent(number, ms(10 * u64::from(number)));
        }
        for (number, rtt_ms, in_flight) in [
            (100, 1, 1),
            (95, 1, 1),
            (95, 15, 2),
            (95, 51, 6),
            (70, 301, 31),
        ] {
            let arrived = flight.arrival(number, Some(rtt_ms * 1_000_000)).unwrap();
            assert_eq!(arrived, ms(10 * u64::from(number) + rtt_ms));
            assert_eq!(flight.count_at(number, arrived), in_flight, "{number}");
        }
        // Probes that are not kept.
        assert_eq!(flight.arrival(60, Some(1)), None);
        assert_eq!(flight.arrival(99, None), None);
        assert_eq!(flight.count_at(60, ms(2000)), 41);
    }
}
