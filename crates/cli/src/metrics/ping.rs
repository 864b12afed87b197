//! The counters of probes.

use tapline::probe::{Counts, Histogram, Prober};

use super::family::{Durations, Family, Sample, Samples};
use crate::ping::{address, name};

/// Targets that have counters of their own; of more there are only the sums, since each would be
/// several series for ever.
const MOST_TARGETS: u32 = 1000;

/// Upper bounds of round trips are 1, 2 and 5 times these, in nanoseconds: 10 us to 50 s.
const DECADES: std::ops::Range<u32> = 4..11;

/// The name of a state, and how many there are in it.
type State = (&'static str, fn(&Counts) -> u64);

/// Probes by what became of them, for each target or in all, the round trips of all, and the answers that the kernel
/// dropped unread.
pub fn families(prober: &Prober, overruns: Option<u64>) -> Vec<Family> {
    let targets = prober.targets();
    let rows: Vec<(Vec<(&'static str, String)>, Counts)> = if targets.len() <= MOST_TARGETS {
        let labels = |target| {
            vec![
                ("target", name(targets, target)),
                ("address", address(targets, target)),
            ]
        };
        let row = |target| (labels(target), prober.counts(target));
        (0..targets.len()).map(row).collect()
    } else {
        vec![(Vec::new(), prober.total())]
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
            name: "ping_overruns",
            help: "Answers that the kernel dropped because they were not read in time; none where it does not say",
            is_bytes: false,
            samples: Samples::Counters(overruns.map(unlabelled).into_iter().collect()),
        },
        Family {
            name: "ping_rtt",
            help: "Round trips of all targets, of answers in time",
            is_bytes: false,
            samples: Samples::Durations(durations(prober.histogram())),
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
        ("stale", others.stale),
    ];
    let sample = |(state, value): (&str, u64)| Sample {
        labels: vec![("state", state.to_owned())],
        value,
    };
    states.map(sample).into()
}

fn durations(histogram: &Histogram) -> Durations {
    let bounds = DECADES.flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let mut before = 0;
    let mut buckets: Vec<(f64, u64)> = bounds
        .map(|bound_ns| {
            let below = histogram.at_most(bound_ns);
            let count = below - before;
            before = below;
            (bound_ns as f64 / 1e9, count)
        })
        .collect();
    buckets.push((f64::INFINITY, histogram.count() - before));
    Durations {
        sum_seconds: histogram.sum_ns() as f64 / 1e9,
        count: histogram.count(),
        buckets,
    }
}
