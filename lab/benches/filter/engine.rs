//! The filter engines to compare.

use std::hint::black_box;

use bpfjit_sys::{BpfJit, Opcode};
use filter::classic::Ancillary;
use filter::native::{NativePacket, NativeProgram};
use filter::{Filter, FilterOptions, LinkType, NoNames};
use pcap::{BpfProgram, Capture, Linktype};

use crate::Row;
use crate::harness::{BenchOptions, Column, Report, column, thread_time, thread_time_since};
use crate::trace::Trace;

/// Packets per call to the batch engine.
const BATCH: usize = 256;

/// Names of the engines. The interpreter, the reference in tests, is measured for `any` and `inner` only.
const NAMES: [&str; 5] = ["libpcap", "bpfjit", "native", "native batch", "interpreter"];

const COLUMNS: [Column; 6] = [
    column("matches", 1.0, 0),
    column(NAMES[0], 1.0, 2),
    column(NAMES[1], 1.0, 2),
    column(NAMES[2], 1.0, 2),
    column(NAMES[3], 1.0, 2),
    column(NAMES[4], 1.0, 2),
];

enum Engine {
    Libpcap(BpfProgram),
    Bpfjit(Box<BpfJit>),
    Native(Box<NativeProgram>),
    Batch(Box<NativeProgram>),
    Interpreter(Box<Filter>),
}

pub fn ours(row: &Row) -> Filter {
    Filter::new(&row.text, &FilterOptions::new(LinkType::Ethernet), &NoNames).expect("a filter")
}

pub fn libpcap(row: &Row) -> BpfProgram {
    let capture = Capture::dead(Linktype::ETHERNET).expect("libpcap");
    capture.compile(&row.text, true).expect("a filter")
}

/// Measures the engines in turn; the interpreter too if `interprets`. Returns the title of the table.
pub fn measure(
    trace: &Trace,
    interprets: bool,
    rows: impl Iterator<Item = Row>,
    options: &BenchOptions,
    report: &mut Report,
) -> String {
    let words = if interprets { " any and inner," } else { "" };
    let title = format!(
        "{},{words} {} frames, ns of CPU time per packet",
        trace.name,
        trace.len()
    );
    let packets = trace.len() as f64 * f64::from(trace.passes);
    for row in rows {
        let engines = NAMES.map(|name| {
            let is_measured = interprets || name != "interpreter";
            (is_measured.then(|| Engine::new(name, &row, options))).flatten()
        });
        // The first pass warms up and is not measured.
        let warm_up = engines.iter().flatten().map(|engine| engine.walk(trace));
        let mut counts: Vec<_> = warm_up.collect();
        for _ in report.rounds(&format!("{}, {}", trace.name, row.name)) {
            let mut figures = [f64::NAN; COLUMNS.len()];
            for (engine, figure) in engines.iter().zip(&mut figures[1..]) {
                let Some(engine) = engine else { continue };
                let start = thread_time();
                counts.extend((0..trace.passes).map(|_| engine.walk(trace)));
                *figure = thread_time_since(start).as_nanos() as f64 / packets;
            }
            figures[0] = counts.first().map_or(f64::NAN, |&count| count as f64);
            let columns = COLUMNS.len() - usize::from(!interprets);
            let table = report.table(&title, &COLUMNS[..columns]);
            table.add(&row.name, &figures[..columns]);
        }
        counts.dedup();
        if counts.len() > 1 {
            let name = &row.name;
            report.fail(format!(
                "the engines do not agree on what matches {name}: {counts:?}"
            ));
        }
    }
    title
}

impl Engine {
    /// Returns `None` if the engine does not support the filter or is skipped.
    fn new(name: &str, row: &Row, options: &BenchOptions) -> Option<Self> {
        let is_ours = name.starts_with("native") || name == "interpreter";
        if options.is_without(name) || !(is_ours || row.is_for_libpcap) {
            return None;
        }
        Some(match name {
            "libpcap" => Self::Libpcap(libpcap(row)),
            "bpfjit" => {
                let program = libpcap(row);
                let opcodes = program.get_instructions().iter();
                let opcodes: Vec<Opcode> = opcodes
                    .map(|instruction| instruction.to_string().parse().expect("an instruction"))
                    .collect();
                Self::Bpfjit(Box::new(BpfJit::raw(&opcodes).expect("code")))
            }
            "native" => Self::Native(Box::new(ours(row).native().expect("code"))),
            "interpreter" => Self::Interpreter(Box::new(ours(row))),
            _ => Self::Batch(Box::new(ours(row).native().expect("code"))),
        })
    }

    /// Runs the filter on each frame. Returns the number of matches.
    fn walk(&self, trace: &Trace) -> u64 {
        match self {
            Self::Libpcap(program) => count(trace, |frame| program.filter(frame)),
            Self::Bpfjit(program) => count(trace, |frame| program.value(frame) != 0),
            Self::Native(program) => {
                count(trace, |frame| program.run(frame, frame.len() as u32) != 0)
            }
            Self::Batch(program) => batches(trace, program),
            Self::Interpreter(filter) => count(trace, |frame| {
                filter.run(frame, frame.len() as u32, &Ancillary::default()) != 0
            }),
        }
    }
}

#[inline]
fn count(trace: &Trace, matches: impl Fn(&[u8]) -> bool) -> u64 {
    let frames = trace.frames();
    frames
        .map(|frame| u64::from(matches(black_box(frame))))
        .sum()
}

/// Collects frames in batches and filters each batch. The measured time includes collecting them.
fn batches(trace: &Trace, program: &NativeProgram) -> u64 {
    let mut matches = 0;
    let mut packets = Vec::with_capacity(BATCH);
    let mut verdicts = [0; BATCH];
    let mut frames = trace.frames();
    loop {
        packets.clear();
        let some = frames.by_ref().take(BATCH);
        packets.extend(some.map(|frame| NativePacket::new(frame, frame.len() as u32)));
        if packets.is_empty() {
            return matches;
        }
        let verdicts = &mut verdicts[..packets.len()];
        program.run_batch(&packets, verdicts);
        matches += verdicts.iter().filter(|verdict| **verdict != 0).count() as u64;
    }
}
