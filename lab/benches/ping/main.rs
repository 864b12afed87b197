//! Asking hosts for echoes: tapline's pinger beside ping of iputils, fping and bpfpinger, in one run.
//!
//! `cargo bench -p tapline-lab --bench ping -- [--rounds N | --quick] [--tapline FILE]
//! [--only delay|flood|rate|many|counts]` needs root, two CPUs, libpcap and the release build of
//! the program.
//!
//! ```text
//! CPU 0: who is measured, the link, the peer's kernel, the link back     CPU 1: the bench
//! ```
//!
//! Each part takes turns among its subjects, so that whatever else the machine does falls on all of
//! them; a figure is the median over the rounds, with the least and the most.
//!
//! **Round trips** stand beside the kernel's, from its stamp of the request on the way out of the
//! interface to that of the answer on its way in, by libpcap; what lies beyond it is taken probe by
//! probe. tapline's are those of its library, the others' those of their lines. **CPU** is the CPU
//! time of a process without its start and end. Rates stand beside the probes for a second of CPU
//! time, to which the kernel adds its answering, done within the sender's system calls; others on the
//! machine take nothing from that. bpfpinger is measured where Go can build it; the
//! environment variable `BPFPINGER` may name a folder with its source.

#![forbid(unsafe_code)]

mod bound;
mod delay;
#[path = "../harness/mod.rs"]
mod harness;
mod peer;
mod rate;
mod rig;
mod steady;
mod tool;
mod truth;

use std::process::ExitCode;

use harness::{BenchOptions, Report};
use rig::Rig;
use tool::Tool;

fn main() -> ExitCode {
    let parts = &["delay", "flood", "rate", "many", "counts"];
    harness::run(3, parts, measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let tools = Tool::all(options, report);
    let rig = Rig::build();
    if options.has("delay") {
        delay::measure(&rig, &tools, report);
    }
    if options.has("flood") {
        steady::flood(&rig, &tools, report);
    }
    if options.has("rate") {
        rate::measure(&rig, &tools, report);
    }
    if options.has("many") {
        steady::many(&rig, &tools, report);
    }
    if options.has("counts") {
        rate::counts(&rig, &tools[0], !options.quick, report);
    }
}
