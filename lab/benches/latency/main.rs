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

mod kind;
mod options;
mod peer;
mod reader;
mod report;
mod rig;
#[path = "../capture/steal.rs"]
mod steal;
mod task;

use std::process::ExitCode;
use std::time::Instant;

use options::Options;
use report::Report;
use rig::Rig;
use steal::{TRIES, undisturbed};

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
    let begin = Instant::now();
    let (mut turns, mut repeated, mut disturbed) = (0, 0, 0);
    for round in 1..=options.rounds {
        eprintln!("bench: round {round} of {}", options.rounds);
        for task in options.tasks() {
            for _ in 0..task.turns() {
                for kind in options.kinds().filter(|kind| kind.is_for(task)) {
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
