//! Asking hosts for echoes: tapline's pinger beside ping of iputils, fping and bpfpinger, in one run.
//!
//! `cargo bench -p tapline-lab --bench ping -- [--rounds N | --quick] [--program PATH]
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
#[path = "../capture/machine.rs"]
mod machine;
mod many;
mod options;
mod peer;
mod rate;
mod rig;
#[path = "../capture/spread.rs"]
mod spread;
mod table;
mod tool;
mod truth;

use std::process::ExitCode;

use machine::Machine;
use options::Options;
use rig::Rig;
use tool::Tool;

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
    let rounds = options.rounds;
    println!("{}; {rounds} rounds\n", Machine::find().line());
    let tools = Tool::all(&options);
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
