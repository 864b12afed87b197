//! The counters of probes.

use tapline::ping::{Histogram, NetworkError, ProbeCounts, Prober, RttStatistics};

use super::family::{Durations, Family, Sample, Samples};
use crate::ping::{address, name};

/// Maximum targets with metrics of their own. More targets are summed, because each adds several time series.
pub const MOST_TARGETS: u32 = 1000;

/// Bucket bounds are 1, 2 and 5 times these powers of ten, in nanoseconds: 10 us to 50 s.
const DECADES: std::ops::Range<u32> = 4..11;

/// Label names and values.
type Labels = Vec<(&'static str, String)>;

/// The value of the label `state`, and the counter.
type CountState = (&'static str, fn(&ProbeCounts) -> u64);

/// Probes by result and round trips, per target or summed; ICMP errors, and replies that the kernel dropped.
pub fn families(statistics: &Prober, overruns: Option<u64>) -> Vec<Family> {
    let targets = statistics.targets();
    let (rows, durations): (Vec<(Labels, ProbeCounts)>, _) = if targets.len() <= MOST_TARGETS {
        let labels = |target| {
            vec![
                ("target", name(targets, target)),
                ("address", address(targets, target)),
            ]
        };
        let row = |target| (labels(target), statistics.counts(target));
        let durations = |target| durations_of(statistics, target, labels(target));
        let all = || 0..targets.len();
        (all().map(row).collect(), all().map(durations).collect())
    } else {
        let durations = durations_of_all(statistics.histogram());
        (vec![(Vec::new(), statistics.total())], vec![durations])
    };
    let samples = |states: &[CountState]| {
        let mut samples = Vec::with_capacity(rows.len() * states.len());
        for (labels, counts) in &rows {
            for (state, pick) in states {
                let mut labels = labels.clone();
                if !state.is_empty() {
                    labels.push(("state", (*state).to_owned()));
                }
                let value = pick(counts);
                samples.push(Sample { labels, value });
            }
        }
        samples
    };
    let family = |name, help, states: &[CountState]| Family {
        name,
        help,
        is_bytes: false,
        samples: Samples::Counters(samples(states)),
    };
    vec![
        family(
            "ping_sent_probes",
            "Probes passed to the kernel",
            &[("", |counts| counts.sent)],
        ),
        family(
            "ping_answered_probes",
            "Answered probes by kind of answer",
            &[
                ("received", |counts| counts.received),
                ("late", |counts| counts.late),
                ("error", |counts| counts.errors),
            ],
        ),
        Family {
            name: "ping_lost_probes",
            help: "Probes that timed out; a late answer removes its probe from this number",
            is_bytes: false,
            samples: Samples::Gauges(samples(&[("", |counts| counts.lost)])),
        },
        family(
            "ping_unsent_probes",
            "Probes that this host could not send",
            &[("", |counts| counts.local_drops)],
        ),
        family(
            "ping_other_answers",
            "Answers that ended no probe",
            &[
                ("duplicate", |counts| counts.duplicate),
                ("corrupt", |counts| counts.corrupt),
            ],
        ),
        Family {
            name: "ping_stray_answers",
            help: "Answers that belong to no target",
            is_bytes: false,
            samples: Samples::Counters(strays(statistics)),
        },
        Family {
            name: "ping_network_errors",
            help: "ICMP errors and notices about probes",
            is_bytes: false,
            samples: Samples::Counters(network_errors(statistics)),
        },
        Family {
            name: "ping_overruns",
            help: "Answers that the kernel dropped because the buffer was full; absent if unknown",
            is_bytes: false,
            samples: Samples::Counters(overruns.map(unlabelled).into_iter().collect()),
        },
        Family {
            name: "ping_rtt",
            help: "Round-trip times of answers in time",
            is_bytes: false,
            samples: Samples::Durations(durations),
        },
    ]
}

fn unlabelled(value: u64) -> Sample {
    Sample {
        labels: Vec::new(),
        value,
    }
}

fn strays(statistics: &Prober) -> Vec<Sample> {
    let others = statistics.other_counts();
    let states = [
        ("wrong_source", others.wrong_source),
        ("forged", others.forged),
        ("cut_short", others.cut_short),
        ("foreign", others.foreign),
        ("stale", others.stale),
    ];
    let sample = |(state, value): (&str, u64)| Sample {
        labels: vec![("state", state.to_owned())],
        value,
    };
    states.map(sample).into()
}

fn network_errors(statistics: &Prober) -> Vec<Sample> {
    let sample = |(error, value): (NetworkError, u64)| Sample {
        labels: vec![
            ("router", error.router.to_string()),
            ("type", error.kind.to_string()),
            ("code", error.code.to_string()),
        ],
        value,
    };
    statistics.errors().iter().map(sample).collect()
}

fn durations_of_all(histogram: &Histogram) -> Durations {
    Durations {
        labels: Vec::new(),
        sum_seconds: histogram.sum_ns() as f64 / 1e9,
        count: histogram.count(),
        buckets: buckets(histogram.buckets()),
    }
}

fn durations_of(statistics: &Prober, target: u32, labels: Labels) -> Durations {
    let rtt = statistics.rtt(target);
    let sum_ns = |rtt: &RttStatistics| rtt.mean_ns * rtt.count as f64;
    Durations {
        labels,
        sum_seconds: rtt.as_ref().map_or(0.0, sum_ns) / 1e9,
        count: rtt.map_or(0, |rtt| rtt.count),
        buckets: buckets(statistics.buckets(target)),
    }
}

/// Sums fine buckets (lowest, highest, count) into the exported ones, by their lowest duration.
fn buckets(fine: impl Iterator<Item = (u64, u64, u64)>) -> Vec<(f64, u64)> {
    let bounds = DECADES.flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let bounds: Vec<u64> = bounds.chain([u64::MAX]).collect();
    let mut counts = vec![0; bounds.len()];
    for (low, _, count) in fine {
        counts[bounds.partition_point(|bound| *bound < low)] += count;
    }
    let seconds = |bound| match bound {
        u64::MAX => f64::INFINITY,
        bound => bound as f64 / 1e9,
    };
    bounds.into_iter().map(seconds).zip(counts).collect()
}
