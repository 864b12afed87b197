//! Delivery latency and its cost: compares tapline's delivery modes with a plain loop of poll(2) over TPACKET_V2,
//! libpcap, tcpdump and dumpcap, in one run.
//!
//! `cargo bench -p tapline-lab --bench latency -- [--rounds N | --quick] [--only sparse|dense|stall|jump]
//! [--json]` requires root, two CPUs and libpcap. `--only sparse` measures the readers that wake for each packet: many
//! turns in little time.
//!
//! ```text
//! CPU 0: sender, a frame at a time ─▶ veth ┃ veth ─▶ packet socket     CPU 1: the reader
//! ```
//!
//! Readers take turns at every task, several short ones per round, so that other load on the machine affects all of
//! them equally. The bench compares medians of the turns. It repeats a turn with steal time on the readers' CPU, a few
//! times at most. A delay is the time from the kernel's time stamp until the reader has the packet; for tcpdump and
//! dumpcap, until the packet leaves their pipe. The cost is the CPU time of the reader's thread or process while frames
//! are sent.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod peer;
mod promises;
mod reader;
mod task;

use std::process::ExitCode;

use harness::{BenchOptions, Report};
use reader::READERS;
use tapline_lab::tool;
use task::{COLUMNS, Rig, TASKS};

fn main() -> ExitCode {
    harness::run(3, &["sparse", "dense", "stall", "jump"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let rig = Rig::build();
    let is_short = options.has("sparse") && !options.has("dense");
    for _ in report.rounds("delays") {
        for task in TASKS.iter().filter(|task| options.has(task.part)) {
            for _ in 0..task.turns {
                let readers = READERS
                    .iter()
                    .filter(|reader| reader.tasks.contains(&task.part));
                for reader in readers.filter(|reader| !is_short || reader.wakes_for_each) {
                    let figures = report.undisturbed(task::READER, || rig.trial(task, reader));
                    report
                        .table(task.title, &COLUMNS)
                        .add(reader.name, &figures);
                }
            }
        }
    }
    promises::judge(report);
    for name in ["tcpdump", "dumpcap"] {
        if tool::find(name).is_none() {
            let package = tool::package(name);
            report.note(format!(
                "{name} is not installed and not measured ({package})"
            ));
        }
    }
}
