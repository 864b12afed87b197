//! Time per run of an XDP program, by `BPF_PROG_TEST_RUN`.

use abi::bpf::TestRun;
use bpf::{Insn, Program, ProgramKind, Reg};

use super::report::Report;
use super::table::column;
use super::{Column, thread_time, thread_time_since};

/// Calls per trial, and runs per call: short enough that most calls are not interrupted.
const CALLS: u32 = 10;
const RUNS: u32 = 100_000;

const XDP_DROP: i32 = 1;

/// A program that only drops each frame.
pub fn empty_program() -> Program {
    let code = [Insn::mov32(Reg::R0, XDP_DROP), Insn::Exit];
    let program = Program::load(ProgramKind::Xdp, "tapline_bench", &code);
    program.expect("the kernel takes the program (bench needs root)")
}

/// Nanoseconds of CPU time per run, in the fastest of the calls.
pub fn fastest_ns(program: &Program, frame: &[u8]) -> f64 {
    let calls = (0..CALLS).map(|_| {
        let start = thread_time();
        test_run(program, frame, RUNS);
        thread_time_since(start).as_nanos() as f64 / f64::from(RUNS)
    });
    calls.fold(f64::INFINITY, f64::min)
}

/// Runs a program once; returns its verdict.
pub fn run_once(program: &Program, frame: &[u8]) -> u32 {
    test_run(program, frame, 1)
}

fn test_run(program: &Program, frame: &[u8], repeat: u32) -> u32 {
    let run = TestRun {
        data: frame,
        repeat,
        ..TestRun::default()
    };
    let result = program.test_run(&run, &mut []);
    result.expect("a test-run").return_value
}

/// Programs to measure with the kernel's test run, relative to the empty program.
pub struct Programs<'p> {
    /// The first is the empty program.
    pub all: Vec<(&'p str, &'p Program)>,
    pub frames: &'p [(&'static str, Vec<u8>)],
    /// Another column: computed from a program's index and a frame.
    pub result: Column,
}

impl Programs<'_> {
    /// Makes one table per frame. **Cost** is a program's time beyond the empty one in the same round.
    pub fn measure(&self, report: &mut Report, result: impl Fn(usize, &[u8]) -> f64) {
        let columns = [
            column("ns per run", 1.0, 1),
            column("cost, ns", 1.0, 1),
            self.result,
        ];
        for _ in report.rounds("test runs") {
            let mut empty_ns = vec![0.0; self.frames.len()];
            for (place, (name, program)) in self.all.iter().enumerate() {
                for ((title, frame), empty_ns) in self.frames.iter().zip(&mut empty_ns) {
                    let ns = fastest_ns(program, frame);
                    if place == 0 {
                        *empty_ns = ns;
                    }
                    let figures = [ns, ns - *empty_ns, result(place, frame)];
                    report
                        .table(&format!("Test run, {title}"), &columns)
                        .add(name, &figures);
                }
            }
        }
    }
}
