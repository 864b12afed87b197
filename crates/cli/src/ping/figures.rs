//! What is known of a target, or of all of them, as every form of output has it.

use std::fmt::Write as _;

use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};
use tapline::probe::targets::Targets;
use tapline::probe::{Counts, Prober};

/// Counts and round trips.
pub struct Figures {
    pub counts: Counts,
    /// None without an answer in time.
    pub rtt: Option<Times>,
}

/// Round trips in nanoseconds. What is not kept is unknown.
#[expect(
    clippy::struct_field_names,
    reason = "each is a duration and says its unit"
)]
pub struct Times {
    pub min_ns: u64,
    pub p50_ns: Option<u64>,
    pub mean_ns: u64,
    pub p99_ns: Option<u64>,
    pub max_ns: u64,
    pub stddev_ns: u64,
    pub jitter_ns: Option<u64>,
}

impl Figures {
    pub fn of_target(prober: &Prober, target: u32) -> Self {
        // What is kept of all is finer, and of one target the same.
        let quantile = |share| match prober.targets().len() {
            1 => prober.histogram().quantile(share),
            _ => prober.quantile(target, share),
        };
        let rtt = prober.rtt(target).map(|rtt| Times {
            min_ns: rtt.min_ns,
            p50_ns: within(quantile(0.5), rtt.min_ns, rtt.max_ns),
            mean_ns: whole(rtt.mean_ns),
            p99_ns: within(quantile(0.99), rtt.min_ns, rtt.max_ns),
            max_ns: rtt.max_ns,
            stddev_ns: whole(rtt.stddev_ns),
            jitter_ns: Some(whole(rtt.jitter_ns)),
        });
        let counts = prober.counts(target);
        Self { counts, rtt }
    }

    pub fn of_all(prober: &Prober) -> Self {
        let histogram = prober.histogram();
        let spread = histogram.range_ns().zip(histogram.mean_and_stddev_ns());
        let rtt = spread.map(|((min_ns, max_ns), (mean, stddev))| Times {
            min_ns,
            p50_ns: within(histogram.quantile(0.5), min_ns, max_ns),
            mean_ns: whole(mean),
            p99_ns: within(histogram.quantile(0.99), min_ns, max_ns),
            max_ns,
            stddev_ns: whole(stddev),
            // One answer after another of different targets has none.
            jitter_ns: None,
        });
        let counts = prober.total();
        Self { counts, rtt }
    }

    /// The share of probes without an answer in time, in percent; those still waited for are left out
    /// while there are others. None when nothing was sent.
    pub fn loss_percent(&self) -> Option<f64> {
        let Counts { sent, received, .. } = self.counts;
        let settled = match sent - self.counts.pending() {
            0 => sent,
            settled => settled,
        };
        (settled > 0).then(|| (settled - received) as f64 * 100.0 / settled as f64)
    }
}

impl Times {
    /// In the order of the keys of JSON and CSV.
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

/// A percentile is known to the width of its bucket, which reaches beyond the ends.
fn within(percentile_ns: Option<u64>, min_ns: u64, max_ns: u64) -> Option<u64> {
    percentile_ns.map(|ns| ns.max(min_ns).min(max_ns))
}

/// The nearest number of nanoseconds.
#[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// What a target is called: as it was named, or else its address.
pub fn name(targets: &Targets, target: u32) -> String {
    match targets.name(target) {
        Some(name) => name.replace(char::is_control, "?"),
        None => address(targets, target),
    }
}

/// The address of a target, with its zone if it has one.
pub fn address(targets: &Targets, target: u32) -> String {
    let mut text = targets.address(target).to_string();
    if let Some(index) = targets.zone(target) {
        let any = socket(AddressFamily::INET, SocketType::DGRAM, None);
        let name = any.and_then(|any| index_to_name(any, index));
        // A String takes whatever is written to it.
        let _ = match name {
            Ok(name) => write!(text, "%{name}"),
            Err(_) => write!(text, "%{index}"),
        };
    }
    text
}
