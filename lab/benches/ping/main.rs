//! Asking hosts for echoes: tapline's pinger beside ping of iputils, fping and bpfpinger, in one run.
//!
//! `cargo bench -p tapline-lab --bench ping -- [--rounds N | --quick] [--tapline FILE]
//! [--only delay|flood|rate|many|counts]` needs root, two processors, libpcap and the release build of
//! the program.
//!
//! ```text
//! processor 0: who is measured, the link, the peer's kernel, the link back     processor 1: the bench
//! ```
//!
//! Each part takes turns among its subjects, so that whatever else the machine does falls on all of
//! them; a figure is the median over the rounds, with the least and the most.
//!
//! **Round trips** stand beside the kernel's, from its stamp of the request on the way out of the
//! interface to that of the answer on its way in, by libpcap; what lies beyond it is taken probe by
//! probe. tapline's are those of its library, the others' those of their lines. **CPU** is the processor
//! time of a process without its start and end. Rates stand beside the probes for a second of processor
//! time, to which the kernel adds its answering, done within the sender's system calls; others on the
//! machine take nothing from that. bpfpinger is measured where Go can build it; the
//! environment variable `BPFPINGER` may name a folder with its source.

#![forbid(unsafe_code)]

mod bound;
mod counts;
mod delay;
mod flood;
#[path = "../harness/mod.rs"]
mod harness;
mod many;
mod peer;
mod rate;
mod rig;
mod table;
mod tool;
mod truth;

use std::process::ExitCode;

use harness::{BenchOptions, Machine};
use rig::Rig;
use tool::Tool;

/// What `--only` can select.
const PARTS: [&str; 5] = ["delay", "flood", "rate", "many", "counts"];

fn main() -> ExitCode {
    harness::run(3, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    if let Some(part) = options.unknown_part(&PARTS) {
        eprintln!(
            "bench: --only takes one of {}, not {part}",
            PARTS.join(", ")
        );
        return ExitCode::from(2);
    }
    let rounds = options.rounds;
    println!("{}; {rounds} rounds\n", Machine::find().line());
    let tools = Tool::all(options);
    let versions: Vec<String> = tools.iter().filter_map(Tool::version).collect();
    println!("{}", versions.join("; "));
    let rig = Rig::build();
    if options.has("delay") {
        delay::run(&rig, &tools, rounds);
    }
    if options.has("flood") {
        flood::run(&rig, &tools, rounds);
    }
    if options.has("rate") {
        rate::run(&rig, &tools, rounds);
    }
    if options.has("many") {
        many::run(&rig, &tools, rounds);
    }
    if options.has("counts") {
        counts::run(&rig, &tools[0], !options.quick);
    }
    ExitCode::SUCCESS
}
