//! How soon packets reach a reader, and what that costs: tapline's ways of delivery beside a plain loop
//! of poll(2) over TPACKET_V2, libpcap, tcpdump and dumpcap, in one run.
//!
//! `cargo bench -p tapline-lab --bench latency -- [--rounds N | --quick] [--sparse] [--dense] [--json]` needs root, two
//! processors and libpcap.
//!
//! ```text
//! processor 0: sender, a frame at a time ─▶ veth ┃ veth ─▶ packet socket     processor 1: the reader
//! ```
//!
//! Readers take turns at every task, several short ones a round, so that whatever else the machine does
//! falls on all of them, and what is compared are medians of the turns. A turn in which a hypervisor took the
//! readers' processor away is taken again, a few times at most; how often is told. A delay is the time from the kernel's stamp to the moment
//! the reader has the packet; of tcpdump and dumpcap, the moment it comes out of their pipe. The cost is
//! the processor time of the reader's thread or process while frames are sent.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod kind;
mod peer;
mod reader;
mod report;
mod rig;
mod task;

use std::process::ExitCode;
use std::time::Instant;

use harness::{BenchOptions, TRIES, undisturbed};
use kind::Kind;
use report::Report;
use rig::Rig;
use task::Task;

fn main() -> ExitCode {
    harness::run(3, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    let rig = Rig::build();
    let mut report = Report::default();
    let begin = Instant::now();
    let (mut turns, mut repeated, mut disturbed) = (0, 0, 0);
    for round in options.each_round() {
        for task in tasks(options) {
            for _ in 0..task.turns() {
                for kind in kinds(options).filter(|kind| kind.is_for(task)) {
                    let (trial, tries) = undisturbed(rig::READER, || task::run(&rig, task, kind));
                    turns += 1;
                    repeated += usize::from(tries > 1);
                    disturbed += usize::from(tries > TRIES);
                    if options.json {
                        println!("{}", trial.json(round, task, kind, tries));
                    }
                    report.add(task, kind, trial);
                }
            }
        }
    }
    if !options.json {
        report.print_markdown();
        println!(
            "\nA hypervisor took the readers' processor away in {repeated} of {turns} turns, which were taken again, \
             up to {} times; in {disturbed} of them it still did. The whole took {:.0?}.",
            TRIES - 1,
            begin.elapsed()
        );
    }
    ExitCode::SUCCESS
}

/// With `--sparse` those that wake for each packet: many turns in little time.
fn kinds(options: &BenchOptions) -> impl Iterator<Item = Kind> + use<> {
    let sparse = options.sparse;
    Kind::ALL
        .into_iter()
        .filter(move |kind| !sparse || kind.wakes_for_each())
}

fn tasks(options: &BenchOptions) -> impl Iterator<Item = Task> + use<> {
    let (sparse, dense) = (options.sparse, options.dense);
    let all = !sparse && !dense;
    Task::ALL
        .into_iter()
        .filter(move |&task| all || sparse && task == Task::Sparse || dense && task == Task::Dense)
}
