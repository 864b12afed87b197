//! What is known of all targets, in words.

use tapline::probe::{Counts, Prober};

use super::figures::Times;
use super::milliseconds::of_summary;
use crate::units::grouped;

/// How many targets answered; `left_out` names were not asked.
pub fn targets(prober: &Prober, left_out: usize) -> String {
    let all = prober.targets().len();
    let (mut answered, mut unasked) = (0, 0);
    for counts in (0..all).map(|target| prober.counts(target)) {
        answered += u64::from(counts.received > 0);
        unasked += u64::from(counts.sent + counts.local_drops == 0);
    }
    let noun = if all == 1 { "target" } else { "targets" };
    let silent = u64::from(all) - answered - unasked;
    let [answered, silent, all] = [answered, silent, all.into()].map(grouped);
    let mut line = format!("{all} {noun}: {answered} answered, {silent} did not");
    if unasked > 0 {
        line = format!("{line}, {} were not asked", grouped(unasked));
    }
    match left_out {
        0 => line,
        left_out => format!("{line}; {left_out} left out"),
    }
}

/// What became of the probes, as a sum.
pub fn account(counts: &Counts) -> String {
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
        pending => format!("{line} + {} awaited", grouped(pending)),
    }
}

/// Answers that ended no probe, if there were any.
pub fn besides(counts: &Counts) -> Option<String> {
    let [duplicate, corrupt] = [counts.duplicate, counts.corrupt].map(grouped);
    let line = format!("besides {duplicate} duplicates, {corrupt} corrupted");
    (counts.duplicate + counts.corrupt > 0).then_some(line)
}

/// How long answers took.
pub fn times(rtt: &Times) -> String {
    let [median, high] = [rtt.p50_ns, rtt.p99_ns].map(|ns| ns.unwrap_or(rtt.max_ns));
    let times = [
        rtt.min_ns,
        median,
        rtt.mean_ns,
        high,
        rtt.max_ns,
        rtt.stddev_ns,
    ];
    // To the nearest, as the lines of the targets above are.
    let times = times.map(|ns| of_summary(ns + 500)).join("/");
    format!("rtt min/p50/avg/p99/max/mdev = {times} ms")
}
