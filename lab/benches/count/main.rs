//! What counting costs: counting programs beside an empty one by the kernel's test-run, and on a veth
//! pair beside the ways that others count.
//!
//! `cargo bench -p tapline-lab --bench count -- [--rounds N] [--packets N]` needs root.
//!
//! A trial runs one program a million times on one frame, in ten calls, and keeps the processor time of
//! the fastest call, divided by its runs. Trials of the programs take turns, so that whatever else the
//! machine does falls on all of them. **Cost** is a program's median less that of the empty program
//! (`return XDP_DROP`) on the same frame. Before, each program counts each frame once, and the classes
//! are compared with the filters walked in this process.
//!
//! On the veth pair each way of counting has packets sent to it at full speed, in turn. **Passed** is
//! the rate at which they still come through; **counted** is how many of one million that did were
//! counted; **sender and kernel** is the processor time of the thread that sends and of its processor's
//! softirq thread, in which the receiver's driver, programs and stack do their work, and **programs** that
//! of what runs in user space to count and to read the counters once, both for each packet that came
//! through.

#![forbid(unsafe_code)]

mod classes;
mod frames;
#[path = "../harness/mod.rs"]
mod harness;
mod load;
mod program;

use std::process::ExitCode;

use harness::{BenchOptions, Machine, Spread};
use load::{Rig, Trial, Way};
use program::Subject;
use tapline::count::IngressHook;

fn main() -> ExitCode {
    harness::run(9, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    println!("{}; {} rounds\n", Machine::find().line(), options.rounds);
    test_runs(options.rounds);
    if options.packets > 0 {
        under_load(options.rounds, options.packets);
    }
    ExitCode::SUCCESS
}

fn test_runs(rounds: u32) {
    let frames = frames::frames();
    let rows = classes::rows();
    let mut subjects = vec![Subject::empty()];
    subjects.extend(rows.iter().map(Subject::of));
    // By subject and frame.
    let mut times = vec![vec![Vec::new(); frames.len()]; subjects.len()];
    for number in 1..=rounds {
        eprintln!("bench: round {number} of {rounds}");
        for (subject, times) in subjects.iter().zip(&mut times) {
            for (frame, times) in frames.iter().zip(times) {
                times.push(subject.time(&frame.bytes));
            }
        }
    }
    print!("| program |");
    for frame in &frames {
        print!(" {}: ns per run, cost, classes |", frame.name);
    }
    println!("\n|---|{}", "---|".repeat(frames.len()));
    let empty: Vec<f64> = times[0].iter().map(|times| spread(times).median).collect();
    for (subject, times) in subjects.iter().zip(&times) {
        print!("| {} |", subject.name);
        for ((times, frame), empty) in times.iter().zip(&frames).zip(&empty) {
            let spread = spread(times);
            let cost = spread.median - empty;
            let classes = subject.classes_of(&frame.bytes);
            let classes = classes.map_or_else(|| "-".into(), |classes| classes.to_string());
            print!(" {}, {cost:+.1}, {classes} |", spread.show(1.0, 1));
        }
        println!();
    }
}

fn under_load(rounds: u32, packets: u64) {
    let seventeen = || {
        let mut filters = classes::hosts_and_ports(16);
        filters.push(SENT.into());
        filters
    };
    let (xdp, tc) = (IngressHook::Auto, IngressHook::Tc);
    let ways = [
        ("nothing counts", Way::Nothing),
        (
            "tapline, XDP, 1 class: all packets",
            Way::Tapline(xdp, vec![String::new()]),
        ),
        (
            "tapline, XDP, 1 class: udp port 53",
            Way::Tapline(xdp, vec![SENT.into()]),
        ),
        ("tapline, XDP, 17 classes", Way::Tapline(xdp, seventeen())),
        ("tapline, tc, 17 classes", Way::Tapline(tc, seventeen())),
        ("nftables, 1 counter: all packets", Way::Nftables("")),
        (
            "nftables, 1 counter: udp dport 53",
            Way::Nftables("udp dport 53"),
        ),
        ("tcpdump -s 68 -w - udp port 53 \\| wc -c", Way::Tcpdump),
    ];
    let mut rig = Rig::build();
    let mut trials: Vec<Vec<Trial>> = ways.iter().map(|_| Vec::new()).collect();
    for number in 1..=rounds {
        eprintln!("bench: under load, round {number} of {rounds}");
        for ((_, way), trials) in ways.iter().zip(&mut trials) {
            trials.extend(rig.trial(way, packets));
        }
    }
    println!(
        "\n| way | passed, packets/s | counted, ppm | sender and kernel, ns a packet | programs, ns a \
         packet | sum |"
    );
    println!("|---|---|---|---|---|---|");
    for ((name, _), trials) in ways.iter().zip(&trials) {
        let show = |digits, figure: fn(&Trial) -> Option<f64>| {
            let spread = Spread::of(trials.iter().filter_map(figure));
            spread.map_or_else(|| "-".to_owned(), |spread| spread.show(1.0, digits))
        };
        if trials.is_empty() {
            println!("| {name} | not installed | - | - | - | - |");
            continue;
        }
        let passed = show(0, |trial| Some(trial.passed_pps));
        let counted = show(0, |trial| trial.counted_ppm);
        let kernel = show(0, |trial| Some(trial.kernel_ns));
        let programs = show(1, |trial| Some(trial.programs_ns));
        let sum = show(0, |trial| Some(trial.kernel_ns + trial.programs_ns));
        println!("| {name} | {passed} | {counted} | {kernel} | {programs} | {sum} |");
    }
}

/// The filter that every packet of the load passes.
const SENT: &str = "udp port 53";

fn spread(times: &[f64]) -> Spread {
    Spread::of(times.iter().copied()).expect("at least one round")
}
