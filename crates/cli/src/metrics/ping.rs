//! The counters of probes.

use tapline::probe::{Counts, Histogram, NetworkError, Prober, Rtt};

use super::family::{Durations, Family, Sample, Samples};
use crate::ping::{address, name};

/// Targets that have counters and round trips of their own; of more there are only the sums, since each would be
/// several series for ever.
pub const MOST_TARGETS: u32 = 1000;

/// Upper bounds of round trips are 1, 2 and 5 times these, in nanoseconds: 10 us to 50 s.
const DECADES: std::ops::Range<u32> = 4..11;

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

/// The name of a state, and how many there are in it.
type State = (&'static str, fn(&Counts) -> u64);

/// Probes by what became of them and the round trips, for each target or in all; what routers said, and the answers
/// that the kernel dropped unread.
pub fn families(prober: &Prober, overruns: Option<u64>) -> Vec<Family> {
    let targets = prober.targets();
    let (rows, durations): (Vec<(Labels, Counts)>, _) = if targets.len() <= MOST_TARGETS {
        let labels = |target| {
            vec![
                ("target", name(targets, target)),
                ("address", address(targets, target)),
            ]
        };
        let row = |target| (labels(target), prober.counts(target));
        let durations = |target| durations_of(prober, target, labels(target));
        let all = || 0..targets.len();
        (all().map(row).collect(), all().map(durations).collect())
    } else {
        let durations = durations_of_all(prober.histogram());
        (vec![(Vec::new(), prober.total())], vec![durations])
    };
    let samples = |states: &[State]| {
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
    let family = |name, help, states: &[State]| Family {
        name,
        help,
        is_bytes: false,
        samples: Samples::Counters(samples(states)),
    };
    vec![
        family(
            "ping_sent_probes",
            "Probes handed over to the kernel",
            &[("", |counts| counts.sent)],
        ),
        family(
            "ping_answered_probes",
            "Probes that were answered, by how",
            &[
                ("received", |counts| counts.received),
                ("late", |counts| counts.late),
                ("error", |counts| counts.errors),
            ],
        ),
        Family {
            name: "ping_lost_probes",
            help: "Probes without an answer by now; one that comes late takes its probe away from these",
            is_bytes: false,
            samples: Samples::Gauges(samples(&[("", |counts| counts.lost)])),
        },
        family(
            "ping_unsent_probes",
            "Probes that this host refused to send",
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
            help: "Answers that belong to no target, of the whole run",
            is_bytes: false,
            samples: Samples::Counters(strays(prober)),
        },
        Family {
            name: "ping_network_errors",
            help: "ICMP errors and notices about probes, of the whole run",
            is_bytes: false,
            samples: Samples::Counters(network_errors(prober)),
        },
        Family {
            name: "ping_overruns",
            help: "Answers that the kernel dropped because they were not read in time; none where it does not say",
            is_bytes: false,
            samples: Samples::Counters(overruns.map(unlabelled).into_iter().collect()),
        },
        Family {
            name: "ping_rtt",
            help: "Round trips, of answers in time",
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

fn strays(prober: &Prober) -> Vec<Sample> {
    let others = prober.others();
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

fn network_errors(prober: &Prober) -> Vec<Sample> {
    let sample = |(error, value): (NetworkError, u64)| Sample {
        labels: vec![
            ("router", error.router.to_string()),
            ("type", error.kind.to_string()),
            ("code", error.code.to_string()),
        ],
        value,
    };
    prober.errors().iter().map(sample).collect()
}

fn durations_of_all(histogram: &Histogram) -> Durations {
    Durations {
        labels: Vec::new(),
        sum_seconds: histogram.sum_ns() as f64 / 1e9,
        count: histogram.count(),
        buckets: buckets(histogram.buckets()),
    }
}

fn durations_of(prober: &Prober, target: u32, labels: Labels) -> Durations {
    let rtt = prober.rtt(target);
    let sum_ns = |rtt: &Rtt| rtt.mean_ns * rtt.count as f64;
    Durations {
        labels,
        sum_seconds: rtt.as_ref().map_or(0.0, sum_ns) / 1e9,
        count: rtt.map_or(0, |rtt| rtt.count),
        buckets: buckets(prober.buckets(target)),
    }
}

/// Sorts finer buckets (lowest, highest, how many) into those that are told, by their lowest duration.
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
