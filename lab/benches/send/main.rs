//! Compares tapline's sender with tcpreplay, trafgen and two programs in C, in one run.
//!
//! `cargo bench -p tapline-lab --bench send -- [--rounds N | --quick] [--tapline FILE] [--file-gb N]
//! [--only generator|rate|pacing|limit|recorded|memory]` requires root, two CPUs, a C compiler and the release build of the program.
//!
//! ```text
//! sender ─▶ veth ┃ veth ─▶ XDP program that counts and drops, or the kernel's stack
//!                     └──── the bench reads the counter every millisecond
//! ```
//!
//! The senders take turns, so that other load on the machine affects all of them equally. A figure is the median over the
//! rounds, with minimum and maximum.
//!
//! * **Rate**: packets that arrived, never those that the sender says it sent, between the first and the last look at the
//!   counter that saw more packets. Start and end of the sender do not count.
//! * **CPU**: user and system time of the sender from start to exit, and that of the kernel's softirq threads, per packet
//!   that arrived. The kernel receives the packet within the sender's system call, and adds that time to the sender.
//! * **Pacing**: a packet socket at the far end stamps the packets. A packet is late against the ideal schedule: one
//!   packet per gap, moved so that the earliest packet is on time. The first twentieth of the packets is left out.
//! * **Generator**: packets that the library builds into a queue, without an interface.
//! * **Memory**: the most resident memory (`VmHWM`) of the sender.

#![forbid(unsafe_code)]

mod arrivals;
mod generator;
#[path = "../harness/mod.rs"]
mod harness;
mod limit;
mod memory;
mod pacing;
mod rate;
mod recorded;
mod sending;
#[path = "../read/trace.rs"]
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;

use harness::{BenchOptions, Report};
use sending::Peers;

fn main() -> ExitCode {
    let parts = &["generator", "rate", "pacing", "limit", "recorded", "memory"];
    harness::run(3, parts, measure)
}

/// What all parts use.
struct Programs {
    tapline: PathBuf,
    peers: Peers,
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let mut builds = options.tapline();
    let programs = Programs {
        tapline: builds.swap_remove(0),
        peers: Peers::build(),
    };
    if options.has("generator") {
        generator::measure(report);
    }
    if options.has("rate") {
        rate::measure(&programs, report);
    }
    if options.has("pacing") {
        pacing::measure(&programs, report);
    }
    if options.has("limit") {
        limit::measure(&programs, report);
    }
    if options.has("recorded") {
        recorded::measure(&programs, report);
    }
    if options.has("memory") {
        memory::measure(&programs, options, report);
    }
}
