//! Compares tapline's pinger with iputils ping, fping, zmap, masscan, bpfpinger and pinger in one run.
//!
//! `cargo bench -p tapline-lab --bench ping -- [--rounds N | --quick] [--tapline FILE]
//! [--only delay|flood|rate|many|counts|xdp]` requires root, two CPUs, libpcap and the release build of the program.
//!
//! ```text
//! CPU 0: who is measured, the link, the peer's kernel, the link back     CPU 1: the bench
//! ```
//!
//! The subjects of each part take turns, so that other load on the machine affects all of them equally. A figure is the
//! median over the rounds, with minimum and maximum.
//!
//! **Round trips** are compared with the kernel's, probe by probe. libpcap measures the kernel's on the interface, from
//! the time stamp of the outgoing request to that of the incoming reply. tapline's values come from its library, the
//! others' from their output lines. **CPU** is the CPU time of a process without its start and exit. Rates are also
//! given per second of CPU time. It includes the kernel's replies, which are processed within the sender's system
//! calls, and is not affected by other load on the machine. bpfpinger and pinger are measured if Go can build them. The
//! environment variables `BPFPINGER` and `PINGER` may name folders with their source.

#![forbid(unsafe_code)]

mod bound;
mod delay;
#[path = "../harness/mod.rs"]
mod harness;
mod peer;
mod published;
mod rate;
mod rig;
mod steady;
mod tool;
mod truth;
mod xdp;

use std::process::ExitCode;

use harness::{BenchOptions, Report};
use rig::Rig;
use tool::Tool;

fn main() -> ExitCode {
    let parts = &["delay", "flood", "rate", "many", "counts", "xdp"];
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
        published::measure(&rig, &tools, report);
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
    if options.has("xdp") {
        xdp::measure(&rig, &tools, options, report);
    }
}
