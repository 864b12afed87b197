//! The account of a run in text: targets, probes, round trips, errors, and how they were obtained.

use std::io::{self, Write};

use tapline::ping::{
    Backend, NetworkError, NetworkErrors, PingSummary, ProbeCounts, Prober, RateLimit,
    TimestampCounts, TimestampSource,
};

use super::figures::RttFigures;
use super::icmp_text::describe;
use super::milliseconds::summary_ms;
use super::warnings::reason;
use crate::values::units::{amount, counted, grouped};

/// Maximum ICMP errors that summaries list.
pub const MOST_ERRORS: usize = 10;

/// How many targets answered; `skipped` could not be resolved.
pub fn targets(statistics: &Prober, skipped: usize) -> String {
    let targets = statistics.targets();
    let (mut all, mut answered, mut unsent) = (0, 0, 0);
    for counts in targets.indices().map(|target| statistics.counts(target)) {
        all += 1;
        answered += u64::from(counts.received > 0);
        unsent += u64::from(counts.sent + counts.local_drops == 0);
    }
    let silent = all - answered - unsent;
    let [answered, silent] = [answered, silent].map(grouped);
    let who = who(statistics);
    let mut line = format!("{who}: {answered} answered, {silent} did not");
    if unsent > 0 {
        let were = if unsent == 1 { "was" } else { "were" };
        line = format!("{line}, {} {were} not pinged", grouped(unsent));
    }
    let removed = statistics.removed();
    if removed.hosts > 0 {
        let (hosts, sent) = (
            counted(removed.hosts, "target"),
            grouped(removed.counts.sent),
        );
        line = format!("{line}; {hosts} removed after {sent} probes");
    }
    match skipped {
        0 => line,
        skipped => format!("{line}; {skipped} skipped"),
    }
}

/// What is pinged: `3 targets`, or `8 paths to 2 targets`.
pub fn who(statistics: &Prober) -> String {
    let targets = statistics.targets();
    let all = targets.indices().count() as u64;
    match targets.paths() {
        0 => counted(all, "target"),
        paths => {
            let hosts = counted(all / u64::from(paths), "target");
            format!("{} to {hosts}", counted(all, "path"))
        }
    }
}

/// The probe counters as a sum.
pub fn probes(counts: &ProbeCounts) -> String {
    let [sent, received, lost, late, errors] = [
        counts.sent,
        counts.received,
        counts.lost,
        counts.late,
        counts.errors,
    ]
    .map(grouped);
    let line = format!(
        "{sent} probes sent = {received} received + {lost} lost + {late} late + {errors} errors"
    );
    match counts.pending() {
        0 => line,
        pending => format!("{line} + {} in flight", grouped(pending)),
    }
}

/// Answers that ended no probe, if there were any.
pub fn extra_answers(counts: &ProbeCounts) -> Option<String> {
    let [duplicate, corrupt] = [counts.duplicate, counts.corrupt].map(grouped);
    let line = format!("plus {duplicate} duplicates, {corrupt} corrupted");
    (counts.duplicate + counts.corrupt > 0).then_some(line)
}

/// The round-trip times.
pub fn round_trips(rtt: &RttFigures) -> String {
    let [median, high] = [rtt.p50_ns, rtt.p99_ns].map(|ns| ns.unwrap_or(rtt.max_ns));
    let times = [
        rtt.min_ns,
        median,
        rtt.mean_ns,
        high,
        rtt.max_ns,
        rtt.stddev_ns,
    ];
    // Rounded to the nearest, as in the lines of the targets.
    let times = times.map(|ns| summary_ms(ns + 500)).join("/");
    format!("rtt min/p50/avg/p99/max/mdev = {times} ms")
}

/// Other counters that are not zero.
pub fn other_counters(out: &mut impl Write, summary: &PingSummary) -> io::Result<()> {
    let statistics = &summary.statistics;
    let (total, others) = (statistics.total(), statistics.other_counts());
    let counters: Vec<String> = [
        (total.late, "late"),
        (total.pending(), "in flight"),
        (others.reordered, "reordered"),
        (others.wrong_source, "from other addresses"),
        (others.forged, "forged"),
        (others.cut_short, "cut short"),
        (others.foreign, "to other programs' probes"),
        (others.stale, "too late to classify"),
        (others.untimed, "without a time stamp"),
        (others.notices, "ICMP notices"),
        (
            summary.overruns.unwrap_or(0),
            "dropped by this host (buffer full)",
        ),
        (
            summary.checksum_drops.unwrap_or(0),
            "dropped by this host (wrong checksum)",
        ),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", grouped(count)))
    .collect();
    if !counters.is_empty() {
        writeln!(out, "answers: {}", counters.join(", "))?;
    }
    for (error, count) in summary.local_drops.iter() {
        let is_in_kernel = summary.backend == Backend::Xdp;
        let reason = reason(&error, is_in_kernel);
        writeln!(out, "not sent: {} ({reason})", grouped(count))?;
    }
    let more = summary.local_drops.others();
    if more > 0 {
        writeln!(out, "not sent: {} (other reasons)", grouped(more))?;
    }
    if summary.clock_steps > 0 {
        let steps = summary.clock_steps;
        writeln!(out, "the clock was set {steps} times during the run")?;
    }
    Ok(())
}

/// ICMP errors by router: a line for each of the first `most`, and the number of further ones.
pub fn error_lines(errors: &NetworkErrors, most: usize) -> Vec<String> {
    let line = |(error, count): (NetworkError, u64)| {
        let (router, text) = (error.router, describe(&error));
        format!("errors: {} from {router}: {text}", grouped(count))
    };
    let mut lines: Vec<String> = errors.iter().take(most).map(line).collect();
    let more = errors.iter().skip(most).map(|(_, count)| count);
    let more = more.sum::<u64>() + errors.others();
    if more > 0 {
        lines.push(format!("errors: {} more (--json lists all)", grouped(more)));
    }
    lines
}

/// The rate, if it stayed below what was asked for by more than a tenth, or was limited by the probes in flight.
pub fn rate(out: &mut impl Write, summary: &PingSummary) -> io::Result<()> {
    let missed = summary
        .rate
        .filter(|rate| !rate.is_reached() || rate.limit.is_some());
    let Some(rate) = missed else {
        return Ok(());
    };
    let reached = amount(rate.reached_pps.unwrap_or(0.0));
    let asked = rate.asked_pps.map(|pps| format!(" of {}pps", amount(pps)));
    let asked = asked.unwrap_or_default();
    let why = match rate.limit {
        Some(RateLimit::Neighbours) => ": neighbours are resolved at a limited pace",
        Some(RateLimit::InFlight) => {
            ": probes wait for answers or the timeout of others (a shorter -W raises it)"
        }
        Some(RateLimit::Interface) => ": the interface took no more",
        Some(RateLimit::PrefixRate) => ": --prefix-rate allows no more",
        Some(RateLimit::Uplink) => {
            ": the interface has become an uplink (--yes-on-uplink permits more)"
        }
        Some(RateLimit::Cpu) => ": sending took a whole CPU",
        _ => "",
    };
    writeln!(out, "rate: {reached}pps{asked} were reached{why}")
}

/// The back end and the sources of the time stamps.
pub fn sources(out: &mut impl Write, summary: &PingSummary) -> io::Result<()> {
    let backend = match summary.send_path {
        None => format!("{} back end", summary.backend.name()),
        Some(path) => format!(
            "{} back end, requests by path {}",
            summary.backend.name(),
            path.name()
        ),
    };
    let (Some(tx), Some(rx)) = (
        stamped_by(summary.tx_timestamps),
        stamped_by(summary.rx_timestamps),
    ) else {
        return writeln!(out, "{backend}");
    };
    writeln!(out, "{backend}, probes stamped by {tx}, answers by {rx}")
}

/// The clock that made time stamps; `None` if there are none.
fn stamped_by(counts: TimestampCounts) -> Option<String> {
    Some(match counts.source()? {
        TimestampSource::Kernel => "the kernel".to_owned(),
        TimestampSource::Mixed => format!(
            "the kernel ({} of {})",
            grouped(counts.kernel),
            grouped(counts.kernel + counts.user)
        ),
        _ => "tapline".to_owned(),
    })
}
