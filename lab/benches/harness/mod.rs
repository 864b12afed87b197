//! Shared by all benches: the command line, the report, and functions to start and measure programs.

#![allow(dead_code, unused_imports, reason = "each bench uses a part")]

mod c_library;
mod capturer;
mod frame;
mod full_ring;
mod libpcap;
mod machine;
mod options;
mod process;
mod report;
mod table;
mod test_run;

use std::process::ExitCode;

pub use c_library::{c_compiler, install_c_library, repository, succeed};
pub use capturer::{Capturer, Counted, has_packet_socket, packets_in, wait_for_capture};
pub use frame::Flow;
pub use full_ring::{FullRing, read_with_next};
pub use libpcap::each_packet;
pub use options::BenchOptions;
pub use process::{
    Running, Used, cpu_of, on_cpu, pause, softirq_thread, softirq_time, thread_time,
    thread_time_since, version, version_of,
};
pub use report::Report;
pub use table::{Column, Table, column, ratios};
pub use tapline_lab::benchmarks::Spread;
pub use test_run::{Programs, empty_program, fastest_ns, run_once};

/// The `main` of every bench: runs `measure` with the options of the command line. `rounds` is the default number;
/// `parts` are the values of `--only`.
pub fn run(
    rounds: u32,
    parts: &'static [&'static str],
    measure: impl FnOnce(&BenchOptions, &mut Report),
) -> ExitCode {
    // `cargo test --benches` starts benches too; they are not tests.
    let Some(options) = BenchOptions::parse(rounds, parts) else {
        return ExitCode::SUCCESS;
    };
    let mut report = Report::new(&options);
    measure(&options, &mut report);
    report.print()
}
