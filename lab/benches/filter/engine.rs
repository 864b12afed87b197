//! What answers.

use std::hint::black_box;

use bpfjit_sys::{BpfJit, Opcode};
use filter::{Filter, FilterOptions, LinkType, NoNames, native};
use pcap::{BpfProgram, Capture, Linktype};

use crate::clock;
use crate::rows::Row;
use crate::trace::Trace;

/// Packets that are handed over at once to the engine that takes many.
const BATCH: usize = 256;
/// Names of the engines in the order of the table.
pub const NAMES: [&str; 4] = ["libpcap", "bpfjit", "native", "native batch"];

pub enum Engine {
    Libpcap(BpfProgram),
    Bpfjit(Box<BpfJit>),
    Native(Box<native::NativeProgram>),
    Batch(Box<native::NativeProgram>),
}

/// What an engine gave in one round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub engine: usize,
    pub ns: f64,
    pub matches: u64,
}

pub fn ours(row: &Row) -> Filter {
    Filter::new(&row.text, &FilterOptions::new(LinkType::Ethernet), &NoNames).expect("a filter")
}

pub fn libpcap(row: &Row) -> BpfProgram {
    let capture = Capture::dead(Linktype::ETHERNET).expect("libpcap");
    capture.compile(&row.text, true).expect("a filter")
}

/// The engines that can answer, by their place in [`NAMES`].
pub fn engines(row: &Row, without: &[String]) -> Vec<(usize, Engine)> {
    let make = |number: usize| match number {
        0 => Engine::Libpcap(libpcap(row)),
        1 => {
            let program = libpcap(row);
            let opcodes = program.get_instructions().iter();
            let opcodes: Vec<Opcode> = opcodes
                .map(|instruction| instruction.to_string().parse().expect("an instruction"))
                .collect();
            Engine::Bpfjit(Box::new(BpfJit::raw(&opcodes).expect("code")))
        }
        2 => Engine::Native(Box::new(ours(row).native().expect("code"))),
        _ => Engine::Batch(Box::new(ours(row).native().expect("code"))),
    };
    let is_wanted = |number: &usize| {
        let can = *number >= 2 || row.is_for_libpcap;
        can && !without.iter().any(|name| name == NAMES[*number])
    };
    let wanted = (0..NAMES.len()).filter(is_wanted);
    wanted.map(|number| (number, make(number))).collect()
}

/// Lets the engines take turns.
pub fn measure(engines: &[(usize, Engine)], trace: &Trace, rounds: u32) -> Vec<Round> {
    let mut results = Vec::new();
    // The first round warms up and is not counted.
    for round in 0..=rounds {
        for (number, engine) in engines {
            let start = clock::now_ns();
            let mut matches = 0;
            for _ in 0..trace.passes {
                matches += engine.walk(trace);
            }
            let packets = trace.len() as f64 * f64::from(trace.passes);
            if round > 0 {
                results.push(Round {
                    engine: *number,
                    ns: (clock::now_ns() - start) as f64 / packets,
                    matches: matches / u64::from(trace.passes),
                });
            }
        }
    }
    results
}

impl Engine {
    /// Asks about each frame, and gives how many match.
    fn walk(&self, trace: &Trace) -> u64 {
        match self {
            Self::Libpcap(program) => count(trace, |frame| program.filter(frame)),
            Self::Bpfjit(program) => count(trace, |frame| program.value(frame) != 0),
            Self::Native(program) => {
                count(trace, |frame| program.run(frame, frame.len() as u32) != 0)
            }
            Self::Batch(program) => batches(trace, program),
        }
    }
}

#[inline]
fn count(trace: &Trace, matches: impl Fn(&[u8]) -> bool) -> u64 {
    trace
        .frames()
        .map(|frame| u64::from(matches(black_box(frame))))
        .sum()
}

/// Gathers frames and asks about them together; the gathering is part of the time.
fn batches(trace: &Trace, program: &native::NativeProgram) -> u64 {
    let mut matches = 0;
    let mut packets = Vec::with_capacity(BATCH);
    let mut verdicts = [0; BATCH];
    let mut frames = trace.frames();
    loop {
        packets.clear();
        let some = frames.by_ref().take(BATCH);
        packets.extend(some.map(|frame| native::NativePacket::new(frame, frame.len() as u32)));
        if packets.is_empty() {
            return matches;
        }
        let verdicts = &mut verdicts[..packets.len()];
        program.run_batch(&packets, verdicts);
        matches += verdicts.iter().filter(|verdict| **verdict != 0).count() as u64;
    }
}
