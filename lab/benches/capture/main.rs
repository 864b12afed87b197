//! What capturing costs: tapline beside the programs that are installed, in one run.
//!
//! `cargo bench -p tapline-lab --bench capture -- [--rounds N | --quick] [--json] [--tapline FILE]…
//! [--without TOOL]…` needs root, two processors and a release build of tapline.
//!
//! ```text
//! processor 0: Generator ─▶ veth ┃ veth ─▶ stack, packet socket        processor 1: the reader
//!              128-byte frames             keeps 96 bytes of each                   ─▶ file
//! ```
//!
//! Each trial starts a reader, waits until it sleeps on its packet socket, sends a known number of
//! frames, and reads off what the reader counted, what it wrote and what it cost. Trials of the
//! readers take turns, so that whatever else the machine does falls on all of them.
//!
//! * **Cost**: processor time of the reader, user and system, from the moment it waits for packets
//!   to its end, divided by the packets it captured.
//! * **Loss-free rate**: full speed if nothing is lost there, otherwise the highest rate without a
//!   loss that halving the interval finds.

#![forbid(unsafe_code)]

mod ballast;
#[path = "../harness/mod.rs"]
mod harness;
mod reader;
mod report;
mod rig;
mod round;
mod tool;

use std::process::ExitCode;

use harness::{BenchOptions, Machine};
use report::Report;
use rig::Rig;
use tool::Tool;

fn main() -> ExitCode {
    harness::run(5, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    let mut tools = Tool::all(&options.tapline);
    tools.retain(|tool| !options.without.contains(&tool.name));
    let machine = Machine::find();
    let rig = Rig::build();
    let mut report = Report::new(machine, &tools, &rig);
    for number in options.each_round() {
        let round = round::run(&rig, &tools);
        if options.json {
            round.print_json(number);
        }
        report.add(round);
    }
    if options.json {
        report.print_json();
    } else {
        report.print_markdown();
    }
    if report.tapline_counts_right() {
        ExitCode::SUCCESS
    } else {
        eprintln!("bench: tapline's count and its file differ");
        ExitCode::FAILURE
    }
}
