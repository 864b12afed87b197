//! How soon packets reach a reader, and what that costs: tapline's ways of delivery beside a plain loop
//! of poll(2) over TPACKET_V2, libpcap, tcpdump and dumpcap, in one run.
//!
//! `cargo bench -p tapline-lab --bench latency -- [--rounds N | --quick] [--sparse] [--json]` needs root, two
//! processors and libpcap.
//!
//! ```text
//! processor 0: sender, a frame at a time ─▶ veth ┃ veth ─▶ packet socket     processor 1: the reader
//! ```
//!
//! Readers take turns at every task, several short ones a round, so that whatever else the machine does
//! falls on all of them, and what is compared are medians of the turns. A delay is the time from the kernel's stamp to the moment
//! the reader has the packet; of tcpdump and dumpcap, the moment it comes out of their pipe. The cost is
//! the processor time of the reader's thread or process while frames are sent.

#![forbid(unsafe_code)]

mod kind;
mod options;
mod peer;
mod reader;
mod report;
mod rig;
mod task;

use std::process::ExitCode;
use std::time::Instant;

use options::Options;
use report::Report;
use rig::Rig;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        // `cargo test --benches` starts benches too; they are not tests.
        Ok(None) => return ExitCode::SUCCESS,
        Err(line) => {
            eprintln!("bench: {line}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let rig = Rig::build();
    let mut report = Report::default();
    let (begin, stolen) = (Instant::now(), rig::stolen());
    for round in 1..=options.rounds {
        eprintln!("bench: round {round} of {}", options.rounds);
        for task in options.tasks() {
            for _ in 0..task.turns() {
                for kind in options.kinds().filter(|kind| kind.is_for(task)) {
                    let trial = task::run(&rig, task, kind);
                    if options.json {
                        println!("{}", trial.json(round, task, kind));
                    }
                    report.add(task, kind, trial);
                }
            }
        }
    }
    if !options.json {
        report.print_markdown();
        let stolen = rig::stolen().saturating_sub(stolen);
        let time = begin.elapsed();
        println!("\nA hypervisor took the readers' processor away for {stolen:?} of {time:.0?}.");
    }
    ExitCode::SUCCESS
}
