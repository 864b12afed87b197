//! Counters and round trips of a target or of all, in the form that all outputs share.

use std::fmt::Write as _;

use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};
use tapline::ping::targets::Targets;
use tapline::ping::{IcmpErrorKind, ProbeCounts, Prober};

use super::icmp_text::words;
use crate::screen::printable;

/// Probe counters and round-trip times of one target, or of all.
pub struct PingFigures {
    pub counts: ProbeCounts,
    /// `None` without an answer in time.
    pub rtt: Option<RttFigures>,
}

/// Round trips in nanoseconds; `None` if not recorded.
#[expect(
    clippy::struct_field_names,
    reason = "each is a duration and says its unit"
)]
pub struct RttFigures {
    pub min_ns: u64,
    pub p50_ns: Option<u64>,
    pub mean_ns: u64,
    pub p99_ns: Option<u64>,
    pub max_ns: u64,
    pub stddev_ns: u64,
    pub jitter_ns: Option<u64>,
}

impl PingFigures {
    pub fn of_target(statistics: &Prober, target: u32) -> Self {
        // The histogram of the run is finer; with one target both cover the same probes.
        let is_only = statistics.targets().len() == 1 && statistics.removed().hosts == 0;
        let quantile = |share| {
            if is_only {
                statistics.histogram().quantile(share)
            } else {
                statistics.quantile(target, share)
            }
        };
        let rtt = statistics.rtt(target).map(|rtt| RttFigures {
            min_ns: rtt.min_ns,
            p50_ns: within(quantile(0.5), rtt.min_ns, rtt.max_ns),
            mean_ns: whole(rtt.mean_ns),
            p99_ns: within(quantile(0.99), rtt.min_ns, rtt.max_ns),
            max_ns: rtt.max_ns,
            stddev_ns: whole(rtt.stddev_ns),
            jitter_ns: Some(whole(rtt.jitter_ns)),
        });
        let counts = statistics.counts(target);
        Self { counts, rtt }
    }

    pub fn of_all(statistics: &Prober) -> Self {
        let histogram = statistics.histogram();
        let spread = histogram.range_ns().zip(histogram.mean_and_stddev_ns());
        let rtt = spread.map(|((min_ns, max_ns), (mean, stddev))| RttFigures {
            min_ns,
            p50_ns: within(histogram.quantile(0.5), min_ns, max_ns),
            mean_ns: whole(mean),
            p99_ns: within(histogram.quantile(0.99), min_ns, max_ns),
            max_ns,
            stddev_ns: whole(stddev),
            // Jitter is not defined across targets.
            jitter_ns: None,
        });
        let counts = statistics.total();
        Self { counts, rtt }
    }

    /// Percentage of probes without an answer in time. Ignores probes in flight if others have ended. `None` if nothing
    /// was sent.
    pub fn loss_percent(&self) -> Option<f64> {
        loss_percent(&self.counts)
    }
}

/// As [`PingFigures::loss_percent`].
pub fn loss_percent(counts: &ProbeCounts) -> Option<f64> {
    let ProbeCounts { sent, received, .. } = *counts;
    let settled = match sent - counts.pending() {
        0 => sent,
        settled => settled,
    };
    (settled > 0).then(|| (settled - received) as f64 * 100.0 / settled as f64)
}

impl RttFigures {
    /// In the order of the JSON keys and CSV columns.
    pub fn in_order(&self) -> [Option<u64>; 7] {
        [
            Some(self.min_ns),
            self.p50_ns,
            Some(self.mean_ns),
            self.p99_ns,
            Some(self.max_ns),
            Some(self.stddev_ns),
            self.jitter_ns,
        ]
    }
}

/// Limits a percentile, which is precise to its bucket, to the range of values.
fn within(percentile_ns: Option<u64>, min_ns: u64, max_ns: u64) -> Option<u64> {
    percentile_ns.map(|ns| ns.max(min_ns).min(max_ns))
}

/// Rounds to whole nanoseconds.
#[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// The name of a target as given, or its address.
pub fn name(targets: &Targets, target: u32) -> String {
    match targets.name(target) {
        Some(name) => printable(name),
        None => shown_address(targets, target),
    }
}

/// The words in front of the number of a path.
pub fn path(targets: &Targets, target: u32) -> String {
    let path = targets.path(target);
    path.map_or_else(String::new, |path| format!(" path {}", path.number))
}

/// The ICMP error that was the answer to the only probe to a target, and its words.
pub fn error(statistics: &Prober, target: u32) -> Option<(IcmpErrorKind, String)> {
    let error = statistics.answered_by_error(target)?;
    let address = statistics.targets().address(target)?;
    Some((error, words(error, address.is_ipv6())))
}

/// The address of a target, or that it has none.
pub fn shown_address(targets: &Targets, target: u32) -> String {
    address(targets, target).unwrap_or_else(|| "no address".to_owned())
}

/// The address of a target, with its zone if it has one; `None` if its name has no address.
pub fn address(targets: &Targets, target: u32) -> Option<String> {
    let mut text = targets.address(target)?.to_string();
    if let Some(index) = targets.zone(target) {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None);
        let name = any.and_then(|any| index_to_name(any, index));
        // A String takes whatever is written to it.
        let _ = match name {
            Ok(name) => write!(text, "%{}", printable(&name)),
            Err(_) => write!(text, "%{index}"),
        };
    }
    Some(text)
}
