//! The programs that are measured by the kernel's test-run.

use std::os::fd::AsFd;

use abi::bpf::TestRun;
use bpf::count::{
    COUNTERS_PER_SLOT, ClassSlot, CountedClass, CountedFilter, CounterArray, CountingHook,
    CountingOptions, CountingProgram, Overhead,
};
use bpf::{Insn, Program, ProgramKind, Reg};
use filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};
use rustix::time::{ClockId, clock_gettime};

use crate::classes::Row;

const XDP_DROP: i32 = 1;
/// Calls of a trial, and runs of a call: short enough that most calls are not interrupted.
const CALLS: u32 = 10;
const RUNS: u32 = 100_000;

/// A program in the kernel.
pub struct Subject {
    pub name: String,
    filters: Vec<Option<Filter>>,
    counters: Option<CounterArray>,
    program: Program,
}

impl Subject {
    /// Drops each frame and does nothing else.
    pub fn empty() -> Self {
        let code = [Insn::mov32(Reg::R0, XDP_DROP), Insn::Exit];
        let program = Program::load(ProgramKind::Xdp, "tapline_bench", &code);
        Self {
            name: "(empty program)".into(),
            filters: Vec::new(),
            counters: None,
            program: program.expect("the kernel takes the program (bench needs root)"),
        }
    }

    pub fn of(row: &Row) -> Self {
        let place = CountingHook::new(FilterTarget::Xdp, LinkType::Ethernet);
        let mut options = FilterOptions::new(LinkType::Ethernet);
        options.target = place.filters_at();
        let filter = |text: &String| {
            let filter = Filter::new(text, &options, &NoNames);
            (!text.is_empty()).then(|| filter.expect("a filter"))
        };
        let filters: Vec<_> = row.filters.iter().map(filter).collect();
        let count = |filter: &Filter| {
            let written = CountedFilter::write(filter, place).expect("eBPF");
            written.with_maps("tapline_bench").expect("maps")
        };
        let counted: Vec<_> = (filters.iter())
            .map(|filter| filter.as_ref().map(count))
            .collect();
        let counters = COUNTERS_PER_SLOT * filters.len() as u32;
        let counters = CounterArray::create("tapline_bench", counters).expect("a map");
        let classes: Vec<_> = (0..)
            .zip(&counted)
            .map(|(number, filter)| CountedClass {
                slot: ClassSlot { number, serial: 0 },
                filter: filter.as_ref(),
            })
            .collect();
        let options = CountingOptions {
            place,
            overhead: Overhead::default(),
            counters: counters.as_fd(),
            groups: None,
        };
        let program = CountingProgram::load("tapline_bench", &options, &classes);
        let program = program.expect("the kernel takes the program");
        Self {
            name: row.name.into(),
            filters,
            counters: Some(counters),
            program,
        }
    }

    /// Nanoseconds of processor time of a run, in the fastest of the calls.
    pub fn time(&self, frame: &[u8]) -> f64 {
        let calls = (0..CALLS).map(|_| {
            let start = processor_time();
            self.run(frame, RUNS);
            (processor_time() - start) / f64::from(RUNS)
        });
        calls.fold(f64::INFINITY, f64::min)
    }

    /// In how many classes the frame is counted; the filters, walked in this process, agree. `None`
    /// for the empty program.
    pub fn classes_of(&self, frame: &[u8]) -> Option<usize> {
        let counters = self.counters.as_ref()?;
        let before = counters.read().expect("counters");
        self.run(frame, 1);
        let after = counters.read().expect("counters");
        let slot = COUNTERS_PER_SLOT as usize;
        let counted: Vec<bool> = (before.iter().zip(&after).step_by(slot))
            .map(|(before, after)| after > before)
            .collect();
        // Where the tag is beside the bytes.
        let is_tagged = frame[12..14] == [0x81, 0];
        let (bytes, vlan_tag) = if is_tagged {
            let tag = u16::from_be_bytes([frame[14], frame[15]]);
            ([&frame[..12], &frame[16..]].concat(), Some(tag))
        } else {
            (frame.to_vec(), None)
        };
        let ancillary = filter::classic::Ancillary {
            vlan_tag,
            ..Default::default()
        };
        let accepts = |filter: &Option<Filter>| {
            let len = bytes.len() as u32;
            (filter.as_ref()).is_none_or(|filter| filter.run(&bytes, len, &ancillary) > 0)
        };
        let expected: Vec<bool> = self.filters.iter().map(accepts).collect();
        assert_eq!(counted, expected, "{}", self.name);
        Some(counted.into_iter().filter(|&is_in| is_in).count())
    }

    fn run(&self, frame: &[u8], repeat: u32) {
        let run = TestRun {
            data: frame,
            repeat,
            ..TestRun::default()
        };
        self.program.test_run(&run, &mut []).expect("a test-run");
    }
}

/// Nanoseconds that this thread has been on a processor.
fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
