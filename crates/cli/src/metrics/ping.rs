//! The counters of probes.

use tapline::ping::{
    AddressAccount, NetworkError, ProbeCounts, Prober, RttStatistics, TargetChange,
};

use super::family::{Durations, Family, Sample, Samples};
use super::histogram::{buckets, durations};
use crate::ping::{address, name};

/// Maximum targets with metrics of their own. More targets are summed, because each adds several time series.
pub const MOST_TARGETS: u32 = 1000;

/// Bucket bounds are 1, 2 and 5 times these powers of ten, in nanoseconds: 10 us to 50 s.
const DECADES: std::ops::Range<u32> = 4..11;

/// The label `address` of the sum of the oldest addresses of a name.
const EARLIER: &str = "earlier";

/// Label names and values.
type Labels = Vec<(&'static str, String)>;

/// The value of the label `state`, and the counter.
type CountState = (&'static str, fn(&ProbeCounts) -> u64);

/// Probes by result and round trips, per target or summed; ICMP errors, and replies that the kernel dropped.
pub fn families(statistics: &Prober, overruns: Option<u64>, changes: &ChangeCounts) -> Vec<Family> {
    let (rows, durations) = rows(statistics);
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
    let family = |name, help, states: &[CountState]| Family::counters(name, help, samples(states));
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
        Family::gauges(
            "ping_lost_probes",
            "Probes that timed out; a late answer removes its probe from this number",
            samples(&[("", |counts| counts.lost)]),
        ),
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
        Family::counters(
            "ping_stray_answers",
            "Answers that belong to no target",
            strays(statistics),
        ),
        Family::counters(
            "ping_network_errors",
            "ICMP errors and notices about probes; those beyond 1024 kinds are other",
            network_errors(statistics),
        ),
        Family::counters(
            "ping_overruns",
            "Answers that the kernel dropped because the buffer was full; absent if unknown",
            overruns
                .map(|value| Sample::new([], value))
                .into_iter()
                .collect::<Vec<_>>(),
        ),
        Family::gauges(
            "ping_targets",
            "Targets that are pinged, and names that have no address; each path is one",
            states(statistics),
        ),
        Family::counters(
            "ping_target_changes",
            "Changes of the targets",
            changes.samples(),
        ),
        Family {
            name: "ping_rtt",
            help: "Round-trip times of answers in time",
            is_bytes: false,
            samples: Samples::Durations(durations),
        },
    ]
}

/// The counters with their labels, and the round trips: per target, or summed if there are too many.
fn rows(statistics: &Prober) -> (Vec<(Labels, ProbeCounts)>, Vec<Durations>) {
    let targets = statistics.targets();
    if targets.len() > MOST_TARGETS {
        let durations = durations(Vec::new(), statistics.histogram(), DECADES);
        return (vec![(Vec::new(), statistics.total())], vec![durations]);
    }
    let labels = |target, address: String| {
        let mut labels = vec![("target", name(targets, target)), ("address", address)];
        let path = targets.path(target);
        labels.extend(path.map(|path| ("path", path.number.to_string())));
        labels
    };
    let current = |target| address(targets, target).unwrap_or_default();
    // A name whose address changed has counters for each address.
    let rows = |target| {
        let accounts = statistics.accounts(target);
        if accounts.len() <= 1 {
            return vec![(labels(target, current(target)), statistics.counts(target))];
        }
        let row = |account: &AddressAccount| {
            let address = account.address.map(|address| address.to_string());
            let address = address.unwrap_or_else(|| EARLIER.to_owned());
            (labels(target, address), account.counts)
        };
        accounts.iter().map(row).collect()
    };
    let durations = |target| durations_of(statistics, target, labels(target, current(target)));
    let all = || targets.indices();
    (
        all().flat_map(rows).collect(),
        all().map(durations).collect(),
    )
}

/// Changes of the targets so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeCounts {
    added: u64,
    removed: u64,
    resolved: u64,
    address: u64,
    unresolved: u64,
    lookup_failed: u64,
}

impl ChangeCounts {
    pub fn count(&mut self, change: &TargetChange) {
        let counter = match change {
            TargetChange::Added => &mut self.added,
            TargetChange::Removed { .. } => &mut self.removed,
            TargetChange::Address { to: None, .. } => &mut self.unresolved,
            TargetChange::Address { from: None, .. } => &mut self.resolved,
            TargetChange::Address { .. } => &mut self.address,
            _ => &mut self.lookup_failed,
        };
        *counter += 1;
    }

    fn samples(&self) -> Vec<Sample> {
        let sample = |(change, value)| Sample::new([("change", change)], value);
        let all = [
            ("added", self.added),
            ("removed", self.removed),
            ("resolved", self.resolved),
            ("address", self.address),
            ("unresolved", self.unresolved),
            ("lookup_failed", self.lookup_failed),
        ];
        all.map(sample).into()
    }
}

/// Targets by state.
fn states(statistics: &Prober) -> Vec<Sample> {
    let targets = statistics.targets();
    let (resolved, unresolved): (Vec<u32>, Vec<u32>) =
        (targets.indices()).partition(|target| targets.address(*target).is_some());
    let sample =
        |(state, targets): (&str, Vec<u32>)| Sample::new([("state", state)], targets.len() as u64);
    [("pinged", resolved), ("unresolved", unresolved)]
        .map(sample)
        .into()
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
    let sample = |(state, value)| Sample::new([("state", state)], value);
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
    let errors = statistics.errors();
    let labels = ["router", "type", "code"].map(|label| (label, "other"));
    let others = Sample::new(labels, errors.others());
    let others = (others.value > 0).then_some(others);
    errors.iter().map(sample).chain(others).collect()
}

fn durations_of(statistics: &Prober, target: u32, labels: Labels) -> Durations {
    let rtt = statistics.rtt(target);
    let sum_ns = |rtt: &RttStatistics| rtt.mean_ns * rtt.count as f64;
    Durations {
        labels,
        sum_seconds: rtt.as_ref().map_or(0.0, sum_ns) / 1e9,
        count: rtt.map_or(0, |rtt| rtt.count),
        buckets: buckets(statistics.buckets(target), DECADES),
    }
}
