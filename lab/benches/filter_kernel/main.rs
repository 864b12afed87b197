//! What a filter costs in the kernel: XDP programs of tapline beside an empty one, by the kernel's
//! test-run.
//!
//! `cargo bench -p tapline-lab --bench filter_kernel -- [--rounds N]` needs root.
//!
//! A trial runs one program a million times on one frame, in ten calls, and keeps the processor time of
//! the fastest call, divided by its runs. Frame, program and maps are in the processor's cache. Trials
//! of the programs take turns, so that whatever else the machine does falls on all of them. **Cost** is
//! a program's median less that of the empty program (`return XDP_DROP`) on the same frame.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod program;
mod traffic;

use std::process::ExitCode;

use harness::{BenchOptions, Machine, Spread};
use program::Subject;

fn main() -> ExitCode {
    harness::run(9, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    let frames = traffic::frames();
    let subjects = Subject::all();
    // By subject and frame.
    let mut times = vec![vec![Vec::new(); frames.len()]; subjects.len()];
    for _ in options.each_round() {
        for (subject, times) in subjects.iter().zip(&mut times) {
            for (frame, times) in frames.iter().zip(times) {
                times.push(subject.time(&frame.bytes));
            }
        }
    }
    println!("{}; {} rounds\n", Machine::find().line(), options.rounds);
    print!("| filter | instructions |");
    for frame in &frames {
        print!(" {}: ns per run, cost, verdict |", frame.name);
    }
    println!("\n|---|---|{}", "---|".repeat(frames.len()));
    let empty: Vec<f64> = times[0].iter().map(|times| spread(times).median).collect();
    for (subject, times) in subjects.iter().zip(&times) {
        print!("| {} | {} |", subject.name, subject.instructions);
        for ((times, frame), empty) in times.iter().zip(&frames).zip(&empty) {
            let spread = spread(times);
            let verdict = subject.verdict(&frame.bytes);
            let cost = spread.median - empty;
            print!(" {}, {cost:+.1}, {verdict} |", spread.show(1.0, 1));
        }
        println!();
    }
    ExitCode::SUCCESS
}

fn spread(times: &[f64]) -> Spread {
    Spread::of(times.iter().copied()).expect("at least one round")
}
