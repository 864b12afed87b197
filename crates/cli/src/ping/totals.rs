//! What is known of all targets, in words.

use tapline::probe::{Counts, Prober};

use super::figures::Times;
use super::milliseconds::of_summary;
use crate::units::grouped;

/// How many targets answered; `left_out` names were not asked.
pub fn targets(prober: &Prober, left_out: usize) -> String {
    let all = prober.targets().len();
    let answered = (0..all).filter(|target| prober.counts(*target).received > 0);
    let answered = answered.count() as u64;
    let (noun, [answered, silent, all]) = (
        if all == 1 { "target" } else { "targets" },
        [answered, u64::from(all) - answered, all.into()].map(grouped),
    );
    let line = format!("{all} {noun}: {answered} answered, {silent} did not");
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
    let times = times.map(of_summary).join("/");
    format!("rtt min/p50/avg/p99/max/mdev = {times} ms")
}
