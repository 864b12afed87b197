//! What asking a filter costs: native code beside libpcap's interpreter and bpfjit, in one run.
//!
//! `cargo bench -p tapline-lab --bench filter -- [--rounds N | --quick] [--json] [--without ENGINE]…`
//! needs no privileges.
//!
//! One thread walks a trace in memory and asks each engine; the engines take turns in every round, and
//! must agree on how many packets match. libpcap and bpfjit run libpcap's optimised program. What
//! counts is the thread's processor time.
//!
//! * **Mixed web**: 19,589 frames, 40 % of 66 bytes, 48 % of 1514, the rest from 200 to 1399; 98 % TCP,
//!   2 % UDP; between one host, 178.79.150.233, and 200 peers; its port is 80 (60 %) or 443.
//! * **Ping flood**: 961,180 ICMP frames of 64 bytes, in slots of 80.
//! * **One frame**: a TCP frame of 64 bytes, 200,000 times.
//!
//! The lists are of hosts that no frame comes from or goes to.

#![forbid(unsafe_code)]

mod clock;
mod compile;
mod engine;
#[path = "../harness/mod.rs"]
mod harness;
mod report;
mod rows;
mod trace;

use std::process::ExitCode;

use harness::BenchOptions;
use report::Report;
use trace::Trace;

fn main() -> ExitCode {
    harness::run(5, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    let mut report = Report::new(harness::Machine::find(), options);
    for trace in [Trace::mixed_web(), Trace::ping_flood(), Trace::one_frame()] {
        for row in rows::rows(&trace) {
            eprintln!("bench: {}, {}", trace.name, row.name);
            let engines = engine::engines(&row, &options.without);
            report.add(
                &trace,
                &row,
                engine::measure(&engines, &trace, options.rounds),
            );
        }
    }
    for row in rows::to_compile() {
        eprintln!("bench: compile {}", row.name);
        report.add_compile(&row, compile::measure(&row, options.rounds));
    }
    if options.json {
        report.print_json();
    } else {
        report.print_markdown();
    }
    if report.engines_agree() {
        ExitCode::SUCCESS
    } else {
        eprintln!("bench: the engines do not agree on what matches");
        ExitCode::FAILURE
    }
}
