//! The targets: medians of the turns and of ratios within a turn. For losses the worst turn counts. The report shows
//! the peers' figures for comparison.

use crate::harness::{Report, Spread, ratios};
use crate::reader::{
    ADAPTIVE_200, ADAPTIVE_500, ADAPTIVE_1000, ADAPTIVE_FULL, ADAPTIVE_LONG, DUMPCAP, IMMEDIATE,
    LIBPCAP_IMMEDIATE, TCPDUMP, V2_POLL, V3,
};
use crate::task::{CPU, LOST, MAX, P50, P99, TASKS};

/// Computes a figure of a reader for each turn.
type Figure = fn(&Report, &str) -> Vec<f64>;

/// Target, reader, limit, and how to compute the figure.
const PROMISES: [(&str, &str, f64, Figure); 14] = [
    (
        "sparse: p50 to that of V2 with poll",
        ADAPTIVE_200,
        1.3,
        sparse,
    ),
    ("the same, immediate", IMMEDIATE, 1.1, sparse),
    (
        "dense, 200 us: p99, ms",
        ADAPTIVE_200,
        0.3,
        |report, name| ms(report, name, P99),
    ),
    (
        "dense, 200 us: CPU to V2 with poll",
        ADAPTIVE_200,
        0.25,
        |report, name| cpu_to(report, name, V2_POLL),
    ),
    (
        "dense, 500 us: p50, ms",
        ADAPTIVE_500,
        0.3,
        |report, name| ms(report, name, P50),
    ),
    (
        "dense, 500 us: CPU to V3, 1 ms",
        ADAPTIVE_500,
        2.5,
        |report, name| cpu_to(report, name, V3),
    ),
    (
        "dense, 1 ms: CPU to V3, 1 ms",
        ADAPTIVE_1000,
        1.1,
        |report, name| cpu_to(report, name, V3),
    ),
    ("stall: lost, -s 96", ADAPTIVE_200, 0.0, stalled),
    ("stall: lost, -s 1518", ADAPTIVE_FULL, 0.0, stalled),
    ("stall: lost, -s 9018", ADAPTIVE_LONG, 0.0, stalled),
    (
        "jump: longest wait beyond that of V2 with poll, ms",
        ADAPTIVE_200,
        2.0,
        longest_beyond,
    ),
    ("the same, V3", ADAPTIVE_LONG, 2.0, longest_beyond),
    (
        "jump: lost, beyond what V3, 1 ms loses",
        ADAPTIVE_200,
        0.0,
        lost_beyond,
    ),
    ("the same, V3", ADAPTIVE_LONG, 0.0, lost_beyond),
];

pub fn judge(report: &mut Report) {
    for (what, name, limit, figure) in PROMISES {
        let values = figure(report, name);
        let peers = [LIBPCAP_IMMEDIATE, TCPDUMP, DUMPCAP]
            .into_iter()
            .filter_map(|peer| {
                let median = Spread::of(&figure(report, peer))?.median;
                Some(format!("{peer} {median:.2}"))
            });
        let peers: Vec<_> = peers.collect();
        let what = match peers.join(", ") {
            peers if peers.is_empty() => what.to_owned(),
            peers => format!("{what} ({peers})"),
        };
        report.at_most(&what, &values, limit);
    }
}

fn of(report: &Report, part: &str, name: &str, head: &str) -> Vec<f64> {
    let task = TASKS.iter().find(|task| task.part == part);
    task.map_or(Vec::new(), |task| report.of(task.title, name, head))
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

fn sparse(report: &Report, name: &str) -> Vec<f64> {
    ratios(
        &of(report, "sparse", name, P50),
        &of(report, "sparse", V2_POLL, P50),
    )
}

fn ms(report: &Report, name: &str, head: &str) -> Vec<f64> {
    let us = of(report, "dense", name, head);
    us.iter().map(|us| us / 1000.0).collect()
}

fn cpu_to(report: &Report, name: &str, other: &str) -> Vec<f64> {
    ratios(
        &of(report, "dense", name, CPU),
        &of(report, "dense", other, CPU),
    )
}

fn stalled(report: &Report, name: &str) -> Vec<f64> {
    most(&of(report, "stall", name, LOST)).into_iter().collect()
}

/// The reader that only sleeps shows the scheduling delay that affects every reader.
fn longest_beyond(report: &Report, name: &str) -> Vec<f64> {
    let Some(poll) = Spread::of(&of(report, "jump", V2_POLL, MAX)) else {
        return Vec::new();
    };
    let us = of(report, "jump", name, MAX).into_iter();
    us.map(|us| ((us - poll.median) / 1000.0).max(0.0))
        .collect()
}

fn lost_beyond(report: &Report, name: &str) -> Vec<f64> {
    let [own, v3] = [name, V3].map(|name| most(&of(report, "jump", name, LOST)));
    let beyond = own.zip(v3).map(|(own, v3)| (own - v3).max(0.0));
    beyond.into_iter().collect()
}
