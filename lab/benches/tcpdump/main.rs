//! Compares Debian's tcpdump over libpcap with the same tcpdump over `libtapline_pcap`, in one run.
//!
//! `cargo bench -p tapline-lab --bench tcpdump -- [--rounds N | --quick] [--json] [--only latency|cost|quota]` requires
//! root, two CPUs, tcpdump and the library, which `make pcap-library` builds.
//!
//! ```text
//! CPU 0: sender ─▶ veth ┃ veth ─▶ packet socket     CPU 1: tcpdump ─▶ pipe, or /dev/null
//! ```
//!
//! * **Latency**: from the time stamp of a packet until the line that `tcpdump -l` prints for it leaves the pipe, at
//!   default settings, a packet every 20 to 60 ms.
//! * **Cost**: as in the bench `capture`, both with a ring of the same size. Where no packet is lost at full speed, the rate
//!   there is that of the sender.
//! * **Loss-free rate**: the same in a control group that gets a twentieth of a CPU, so that tcpdump is the limit.

#![forbid(unsafe_code)]

#[path = "../capture/ballast.rs"]
mod ballast;
#[path = "../harness/mod.rs"]
mod harness;
mod latency;
mod quota;
#[allow(dead_code, reason = "each bench uses a part")]
#[path = "../capture/rig.rs"]
mod rig;
#[allow(dead_code, reason = "each bench uses a part")]
#[path = "../capture/tool.rs"]
mod tool;
#[allow(dead_code, reason = "each bench uses a part")]
#[path = "../capture/trial.rs"]
mod trial;

use std::process::ExitCode;

use self::quota::{CpuQuota, PERIOD_US, QUOTA_US};
use harness::{BenchOptions, Column, Report, column, ratios, repository, version_of};
use rig::{FRAME_BYTES, RING_MIB, Rig, SNAPLEN};
use tool::{Kind, Tool};
use trial::{HALVINGS, Outcome, PACED_PPS, Sink};

const LIBPCAP: &str = "tcpdump over libpcap";
const TAPLINE: &str = "tcpdump over libtapline_pcap";

const LATENCY: &str = "From the time stamp to the line of tcpdump -l, sparse packets";
const P50: &str = "p50, us";
const P99: &str = "p99, us";
const LATENCY_COLUMNS: [Column; 3] = [
    column(P50, 1.0, 0),
    column(P99, 1.0, 0),
    column("longest, us", 1.0, 0),
];

const COST: &str = "tcpdump -w /dev/null";
const PACED: &str = "CPU at 500 kpps, ns/packet";
const FULL: &str = "CPU at full speed, ns/packet";
const LOSS_FREE: &str = "loss-free, kpps";
const LIMITED: &str = "The same with a twentieth of a CPU";
const LIMITED_COLUMNS: [Column; 2] = [
    column(LOSS_FREE, 1e3, 0),
    column("lost at full speed, %", 1.0, 2),
];
/// Bisection steps there: the rate is a small part of the sender's.
const LIMITED_HALVINGS: u32 = 9;

const COST_COLUMNS: [Column; 5] = [
    column(PACED, 1.0, 0),
    column(FULL, 1.0, 0),
    column("lost at full speed, %", 1.0, 2),
    column(LOSS_FREE, 1e3, 0),
    column("wakes/s at 500 kpps", 1.0, 0),
];

fn main() -> ExitCode {
    harness::run(9, &["latency", "cost", "quota"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let rig = Rig::new(None);
    let tools = tools();
    if options.has("latency") {
        for round in report.rounds("latency") {
            for tool in in_turn(&tools, round) {
                let figures = latency::of(&rig, tool, report);
                report
                    .table(LATENCY, &LATENCY_COLUMNS)
                    .add(&tool.name, &figures);
            }
        }
    }
    if options.has("cost") {
        for round in report.rounds("cost") {
            cost(&rig, in_turn(&tools, round), report);
        }
    }
    if options.has("quota") {
        let quota = CpuQuota::new();
        let tools = tools.clone().map(|tool| Tool {
            group: Some(quota.processes()),
            ..tool
        });
        for round in report.rounds("quota") {
            loss_free(&rig, in_turn(&tools, round), report);
        }
    }
    judge(report);
    notes(&rig, &tools, report);
}

/// tcpdump with each of the libraries.
fn tools() -> [Tool; 2] {
    let library = repository().join("target/c-library/libtapline_pcap.so");
    assert!(
        library.exists(),
        "{} is missing: run `make pcap-library`",
        library.display()
    );
    let tcpdump = Tool::peer(Kind::Tcpdump, "tcpdump");
    [(LIBPCAP, None), (TAPLINE, Some(library))].map(|(name, preload)| Tool {
        name: name.into(),
        preload,
        ..tcpdump.clone()
    })
}

/// They take turns to go first.
fn in_turn(tools: &[Tool; 2], round: u32) -> [&Tool; 2] {
    let [one, other] = tools;
    if round.is_multiple_of(2) {
        [other, one]
    } else {
        [one, other]
    }
}

fn cost(rig: &Rig, tools: [&Tool; 2], report: &mut Report) {
    let paced = tools.map(|tool| trial::run(rig, tool, Sink::Null, Some(PACED_PPS), report));
    let full = tools.map(|tool| trial::run(rig, tool, Sink::Null, None, report));
    for (tool, (paced, full)) in tools.into_iter().zip(paced.into_iter().zip(full)) {
        let outcome = Outcome::search(paced, full, HALVINGS, |rate| {
            trial::run(rig, tool, Sink::Null, Some(rate), report)
        });
        let loss_free = outcome.loss_free_pps() as f64;
        let Outcome { paced, full, .. } = outcome;
        let figures = [
            paced.cost_ns(),
            full.cost_ns(),
            full.lost() as f64 * 100.0 / full.offered as f64,
            loss_free,
            paced.used.waits as f64 / paced.seconds,
        ];
        report.table(COST, &COST_COLUMNS).add(&tool.name, &figures);
    }
}

/// The highest rate without loss of a reader that is slower than the sender.
fn loss_free(rig: &Rig, tools: [&Tool; 2], report: &mut Report) {
    for tool in tools {
        let [paced, full] =
            [Some(PACED_PPS), None].map(|rate| trial::run(rig, tool, Sink::Null, rate, report));
        let outcome = Outcome::search(paced, full, LIMITED_HALVINGS, |rate| {
            trial::run(rig, tool, Sink::Null, Some(rate), report)
        });
        let loss_free = outcome.loss_free_pps() as f64;
        let full = outcome.full;
        // Where only tapline keeps up with the sender, the ratio is a lower bound.
        if full.lost() == 0 && tool.name == LIBPCAP {
            report.fail(format!("{}: the sender is the limit", tool.name));
        }
        let lost = full.lost() as f64 * 100.0 / full.offered as f64;
        report
            .table(LIMITED, &LIMITED_COLUMNS)
            .add(&tool.name, &[loss_free, lost]);
    }
}

fn judge(report: &mut Report) {
    let ratio = |report: &Report, table: &str, head: &str| {
        ratios(
            &report.of(table, TAPLINE, head),
            &report.of(table, LIBPCAP, head),
        )
    };
    for (what, table, head, limit) in [
        ("latency, p50, to that over libpcap", LATENCY, P50, 0.1),
        ("the same, p99", LATENCY, P99, 0.1),
        ("CPU at 500 kpps to that over libpcap", COST, PACED, 1.0),
        ("CPU at full speed to that over libpcap", COST, FULL, 1.0),
    ] {
        let values = ratio(report, table, head);
        report.at_most(what, &values, limit);
    }
    let values = ratio(report, LIMITED, LOSS_FREE);
    let what = "loss-free rate with a twentieth of a CPU to that over libpcap";
    report.at_least(what, &values, 1.0);
}

fn notes(rig: &Rig, tools: &[Tool; 2], report: &mut Report) {
    for tool in tools {
        let version = version_of(&mut tool.command(rig), "--version", 2).unwrap_or_default();
        report.note(format!("{}: {version}", tool.name));
    }
    report.note(format!(
        "Latency: `tcpdump -i IF -l -n -tt`, {} packets a round. Cost: `tcpdump -i IF -n -s {SNAPLEN} -B {} -w \
         /dev/null`, frames of {FRAME_BYTES} bytes; CPU is user and system time of the process from its first wait for \
         packets to its end. Where nothing is lost at full speed, the loss-free rate is that of the sender. With a twentieth of a \
         CPU: a control group whose processes get {QUOTA_US} us of CPU time every {PERIOD_US} us. Each round gives one ratio.",
        latency::PACKETS,
        RING_MIB * 1024,
    ));
}
