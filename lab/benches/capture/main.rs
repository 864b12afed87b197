//! Cost of capturing: compares tapline with the installed capture programs in one run.
//!
//! `cargo bench -p tapline-lab --bench capture -- [--rounds N | --quick] [--json] [--tapline FILE]…
//! [--without TOOL]… [--only null|tmpfs|sandbox|buffer]` requires root, two CPUs and a release build of tapline.
//!
//! ```text
//! CPU 0: Generator ─▶ veth ┃ veth ─▶ stack, packet socket        CPU 1: the reader
//!        128-byte frames             keeps 96 bytes of each             ─▶ file
//! ```
//!
//! Each trial starts a reader, waits until it sleeps on its packet socket, and sends a known number of frames. It then
//! records the reader's counts, its output file and its cost. Trials of the readers take turns, so that other load on
//! the machine affects all of them equally.
//!
//! * **Cost**: CPU time of the reader, user and system, from its first wait for packets to its exit, per captured
//!   packet.
//! * **Loss-free rate**: full speed if nothing is lost there, otherwise the highest rate without loss that bisection
//!   finds.
//! * **Sandbox**: the cost of the same capture with and without it, and its start until it waits for packets.
//! * **Buffer**: what drop mode loses with the buffer that it chooses itself.

#![forbid(unsafe_code)]

mod ballast;
#[path = "../harness/mod.rs"]
mod harness;
mod rig;
mod tool;
mod trial;

use std::process::ExitCode;
use std::time::Duration;

use harness::{BenchOptions, Column, Report, Spread, Table, column};
use rig::{Arrival, DROP_FRAMES, DROP_RING_MIB, FRAME_BYTES, MOST_FRAMES, RING_MIB, Rig, SNAPLEN};
use tool::{Kind, Tool};
use trial::{ALL_CPUS, HALVINGS, Outcome, PACED_PPS, Sink, Start, Trial, per_second};

const PACED: &str = "reader CPU at 500 kpps, ns/packet";
const FULL: &str = "reader CPU at full speed, ns/packet";
const LOSS_FREE: &str = "loss-free, kpps";

const COLUMNS: [Column; 7] = [
    column(PACED, 1.0, 0),
    column(FULL, 1.0, 0),
    column("sender and stack, ns/packet", 1.0, 0),
    column("lost at full speed, %", 1.0, 2),
    column("of kpps", 1e3, 0),
    column(LOSS_FREE, 1e3, 0),
    column("wakes/s at 500 kpps", 1.0, 0),
];

const DROP_COLUMNS: [Column; 2] = [column("kpps", 1e3, 0), column("% of the first", 1.0, 0)];

const SANDBOX_COLUMNS: [Column; 4] = [
    column(PACED, 1.0, 1),
    column(FULL, 1.0, 1),
    column("CPU of the start, ms", 1.0, 2),
    column("fastest start, ms", 1.0, 2),
];

const ADDED_COLUMNS: [Column; 4] = [
    column("CPU at 500 kpps, %", 1.0, 1),
    column("CPU at full speed, %", 1.0, 1),
    column("CPU of the start, ms", 1.0, 2),
    column("fastest start, ms", 1.0, 2),
];

const BUFFER_COLUMNS: [Column; 2] = [column("kpps", 1e3, 0), column("packets lost", 1.0, 0)];

fn main() -> ExitCode {
    harness::run(5, &["null", "tmpfs", "sandbox", "buffer"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let mut tools = Tool::all(&options.tapline());
    tools.retain(|tool| !options.is_without(&tool.name));
    let rig = Rig::build();
    report.note(format!(
        "Capture of {FRAME_BYTES}-byte frames, {SNAPLEN} bytes kept of each, over veth; ring {RING_MIB} MiB, in drop \
         mode {DROP_RING_MIB}; sender on CPU 0, reader on CPU 1; × is the ratio to the best peer's median."
    ));
    for tool in &tools {
        report.note(tool.description(&rig));
    }
    tools.retain(|tool| tool.program.is_some());
    for _ in report.rounds("captures") {
        if options.has("null") || options.has("tmpfs") {
            round(&rig, &tools, options, report);
        }
        if let Some(tapline) = tools.iter().find(|tool| tool.kind == Kind::Tapline) {
            if options.has("sandbox") {
                sandbox(&rig, tapline, report);
            }
            if options.has("buffer") {
                chosen_buffer(&rig, tapline, report);
            }
        }
    }
    let peers: Vec<_> = tools.iter().filter(|tool| tool.is_peer()).collect();
    for sink in Sink::ALL
        .into_iter()
        .filter(|sink| options.has(sink.part()))
    {
        let table = report.table(sink.title(), &COLUMNS);
        derive_ratio(table, &peers, "× paced", PACED, f64::min);
        derive_ratio(table, &peers, "× full speed", FULL, f64::min);
        derive_ratio(table, &peers, "× loss-free", LOSS_FREE, f64::max);
    }
    notes(report);
}

/// Runs every tool once in every configuration.
fn round(rig: &Rig, tools: &[Tool], options: &BenchOptions, report: &mut Report) {
    // The drop rate varies with the machine: measured before and after the figures that it is compared with.
    let mut drop_pps = Vec::new();
    let mut results: Vec<(&Tool, Sink, Outcome)> = Vec::new();
    for sink in Sink::ALL
        .into_iter()
        .filter(|sink| options.has(sink.part()))
    {
        if sink == Sink::Tmpfs {
            drop_pps.push(dropped_per_second(rig, report));
        }
        let paced = tools.iter().map(|tool| {
            let trial = trial::run(rig, tool, sink, PACED_PPS.into(), report);
            (tool, trial)
        });
        let paced: Vec<_> = paced.collect();
        let full = tools
            .iter()
            .map(|tool| trial::run(rig, tool, sink, None, report));
        let full: Vec<_> = full.collect();
        for ((tool, paced), full) in paced.into_iter().zip(full) {
            let outcome = Outcome::search(paced, full, HALVINGS, |rate| {
                trial::run(rig, tool, sink, Some(rate), report)
            });
            results.push((tool, sink, outcome));
        }
        if sink == Sink::Tmpfs {
            drop_pps.push(dropped_per_second(rig, report));
        }
    }
    let most = drop_pps.iter().sum::<u64>() as f64 / drop_pps.len() as f64;
    let drops = "Drop mode to tmpfs without a loss, beside an XDP program that only drops";
    if !drop_pps.is_empty() {
        report
            .table(drops, &DROP_COLUMNS)
            .add("XDP program", &[most]);
    }
    for (tool, sink, outcome) in results {
        for trial in outcome.miscounted() {
            let (counted, in_file) = (trial.counted.captured, trial.in_file.unwrap_or_default());
            let complaint = format!(
                "{} counted {counted} packets and its file holds {in_file}",
                tool.name
            );
            if tool.is_peer() {
                report.note(complaint);
            } else {
                report.fail(complaint);
            }
        }
        let loss_free = outcome.loss_free_pps() as f64;
        let Outcome { paced, full, .. } = outcome;
        let figures = [
            paced.cost_ns(),
            full.cost_ns(),
            full.sender_ns(),
            full.lost() as f64 * 100.0 / full.offered as f64,
            full.offered_pps as f64,
            loss_free,
            paced.used.waits as f64 / paced.seconds,
        ];
        report
            .table(sink.title(), &COLUMNS)
            .add(&tool.name, &figures);
        if tool.kind == Kind::TaplineDrop && sink == Sink::Tmpfs {
            let figures = [loss_free, loss_free * 100.0 / most];
            report.table(drops, &DROP_COLUMNS).add(&tool.name, &figures);
        }
    }
}

/// Starts of each reader in a round.
const STARTS: u32 = 20;

/// The same capture with and without the sandbox, in turns.
fn sandbox(rig: &Rig, tapline: &Tool, report: &mut Report) {
    let open = tapline.with(Kind::TaplineNoSandbox, "--no-sandbox");
    let tools = [tapline.with(Kind::Tapline, "with the sandbox"), open];
    let paced = tools
        .each_ref()
        .map(|tool| trial::run(rig, tool, Sink::Null, PACED_PPS.into(), report));
    let full = tools
        .each_ref()
        .map(|tool| trial::run(rig, tool, Sink::Null, None, report));
    let mut starts = tools.each_ref().map(|tool| trial::start(rig, tool));
    for _ in 1..STARTS {
        for (tool, fastest) in tools.iter().zip(&mut starts) {
            *fastest = fastest.or_faster(trial::start(rig, tool));
        }
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let table = report.table("Sandbox, to /dev/null", &SANDBOX_COLUMNS);
    for (at, tool) in tools.iter().enumerate() {
        let start = starts[at];
        let figures = [
            paced[at].cost_ns(),
            full[at].cost_ns(),
            ms(start.cpu),
            ms(start.time),
        ];
        table.add(&tool.name, &figures);
    }
    let share = |trials: &[Trial; 2]| (trials[0].cost_ns() / trials[1].cost_ns() - 1.0) * 100.0;
    let more = |of: fn(&Start) -> Duration| ms(of(&starts[0])) - ms(of(&starts[1]));
    let figures = [
        share(&paced),
        share(&full),
        more(|start| start.cpu),
        more(|start| start.time),
    ];
    let table = report.table("What the sandbox adds", &ADDED_COLUMNS);
    table.add("capture", &figures);
}

/// Drop mode to tmpfs at full speed, with the buffer that it chooses itself.
fn chosen_buffer(rig: &Rig, tapline: &Tool, report: &mut Report) {
    let tool = tapline.with(Kind::TaplineDropAuto, "tapline --mode drop");
    for rate in [PACED_PPS.into(), None] {
        let trial = trial::run(rig, &tool, Sink::Tmpfs, rate, report);
        let name = if rate.is_some() {
            "500 kpps"
        } else {
            "full speed"
        };
        let figures = [trial.offered_pps as f64, trial.lost() as f64];
        let title = "Drop mode to tmpfs with the default buffer";
        report.table(title, &BUFFER_COLUMNS).add(name, &figures);
    }
}

/// The maximum rate of the rig, without a reader.
fn dropped_per_second(rig: &Rig, report: &mut Report) -> u64 {
    let mut traffic = rig.traffic(Arrival::Reader);
    let _attached = rig.drop_all();
    let (sent, _) = report.undisturbed(ALL_CPUS, || traffic.deliver(DROP_FRAMES, None));
    per_second(sent.delivered, sent.duration)
}

/// The ratio of a median to that of the best peer.
fn derive_ratio(
    table: &mut Table,
    peers: &[&Tool],
    head: &'static str,
    of: &str,
    better: fn(f64, f64) -> f64,
) {
    let median = |table: &Table, name: &str| Some(Spread::of(table.of(name, of))?.median);
    let medians = peers.iter().filter_map(|peer| median(table, &peer.name));
    let best = medians.reduce(better);
    table.derive(column(head, 1.0, 2), |table, name| {
        let ratio = median(table, name).zip(best).map(|(own, best)| own / best);
        ratio.into_iter().collect()
    });
}

fn notes(report: &mut Report) {
    report.note(
        "CPU is the reader's user and system time from its first wait for packets to its end, by captured packets. \
         Sender and stack is the sender's CPU time at full speed, by offered packets: sending, and what the \
         receiver's driver, programs and stack do.",
    );
    report.note(format!(
        "Full speed is as fast as the sender goes beside this reader. A loss-free rate equal to it was limited by the \
         sender. N is the number of frames of a trial: a million at the paced rate, up to {MOST_FRAMES} at others, in \
         drop mode {DROP_FRAMES}. Every file on tmpfs is read, and its packets are counted."
    ));
    report.note(format!(
        "netsniff-ng has no flag for the bytes to keep: its filter, `{}`, does that; it hands ring memory to the \
         kernel, so to /dev/null it touches no packet.",
        rig::snaplen_program().trim_end()
    ));
}
