//! A table of flows in the kernel, with sums alone: what it takes for each packet, beside [`super::live`].
//!
//! A tc program at the ingress of the interface looks up the 5-tuple of each packet in a per-CPU hash table, inserts it if it is new,
//! and adds a packet and its bytes. It has neither directions nor the state of TCP, and no flow ever ends. The kernel measures the time
//! of each run (`kernel.bpf_stats_enabled`); the time of an empty program on the same packets is subtracted.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use bpf::{
    Condition, CounterTable, FullTablePolicy, Helper, Insn, Label, Program, ProgramKind, Reg, Size,
    TableOptions, TcHook, TcLink,
};
use tapline_lab::Host;

use crate::harness::{thread_time, thread_time_since};

const NAME: &str = "tapline_bench";

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// Addresses, ports, and the protocol in four bytes.
const KEY_BYTES: u32 = 16;

/// Room for flows: the default of `tapline flows`.
const MOST_FLOWS: u32 = 1 << 18;

/// Bytes of an Ethernet header, and of an IPv4 header without options with the ports behind it.
const ETHERNET_BYTES: i32 = 14;
const HEADER_BYTES: i32 = 24;

/// Places on the stack.
const HEADER: i16 = -24;
const KEY: i16 = -40;
const VALUE: i16 = -56;

/// Offset in `struct __sk_buff`.
const LENGTH: i16 = 0;

const BPF_NOEXIST: i32 = 1;

/// The packet goes to the next program, or to the stack.
const NEXT: i32 = -1;

/// Has the kernel measure the runs of programs until it is dropped.
struct Statistics(String);

impl Statistics {
    fn enable() -> Self {
        let before = fs::read_to_string(STATISTICS).expect("statistics of programs");
        fs::write(STATISTICS, "1").expect("bench needs root");
        Self(before)
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        // If this fails, programs are a little slower until somebody disables the statistics.
        let _ = fs::write(STATISTICS, &self.0);
    }
}

/// The table, its program and an empty one, attached.
pub struct KernelTable {
    table: CounterTable<2>,
    empty: Program,
    program: Program,
    _links: [TcLink; 2],
    _statistics: Statistics,
}

/// What the program did.
pub struct Counted {
    pub flows: u64,
    pub packets: u64,
    /// CPU time of the program, beyond that of an empty one, and of reading the table once; for each packet.
    pub cpu_s: f64,
}

impl KernelTable {
    /// On the interface of `host`.
    pub fn attach(host: &Host) -> Self {
        let options = TableOptions {
            key_bytes: KEY_BYTES,
            max_entries: MOST_FLOWS,
            when_full: FullTablePolicy::Refuse,
        };
        let table = CounterTable::<2>::create(NAME, options).expect("a table (bench needs root)");
        let empty = [Insn::mov32(Reg::R0, NEXT), Insn::Exit];
        let empty = Program::load(ProgramKind::Tc, NAME, &empty);
        let empty = empty.expect("the kernel takes the program");
        let program = Program::load(ProgramKind::Tc, NAME, &code(table.as_fd()));
        let program = program.expect("the kernel takes the program");
        let index = host.interface().index.0;
        let links = host.run(|| {
            [&empty, &program].map(|program| {
                let link = TcLink::attach(program, index, TcHook::Ingress);
                link.expect("it is attached")
            })
        });
        Self {
            table,
            empty,
            program,
            _links: links,
            _statistics: Statistics::enable(),
        }
    }

    /// What it did so far.
    pub fn counted(&mut self) -> Counted {
        let [empty_ns, program_ns] = [&self.empty, &self.program].map(mean_ns);
        let (mut flows, mut packets) = (0_u64, 0_u64);
        let start = thread_time();
        let read = self.table.read(|_, [of_flow, _]| {
            flows += 1;
            packets += of_flow;
        });
        let reading = thread_time_since(start).as_secs_f64();
        read.expect("the table");
        Counted {
            flows,
            packets,
            cpu_s: (program_ns - empty_ns) / 1e9 + reading / packets.max(1) as f64,
        }
    }
}

/// Mean time of a run, nanoseconds.
fn mean_ns(program: &Program) -> f64 {
    let descriptor = program.as_fd().as_raw_fd();
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).expect("procfs");
    let figure = |name: &str| -> f64 {
        let line = about.lines().find_map(|line| line.strip_prefix(name));
        let figure = line.and_then(|figure| figure.trim().parse().ok());
        figure.expect("the statistics of a program")
    };
    figure("run_time_ns:") / figure("run_cnt:").max(1.0)
}

fn code(table: BorrowedFd<'_>) -> Vec<Insn<'_>> {
    let [known, next] = [Label(0), Label(1)];
    let arguments = [
        Insn::LoadMap {
            dst: Reg::R1,
            map: table,
        },
        Insn::mov(Reg::R2, Reg::R10),
        Insn::add(Reg::R2, i32::from(KEY)),
    ];
    let mut code = vec![
        // The context, which is the first argument, too.
        Insn::mov(Reg::R6, Reg::R1),
        Insn::mov32(Reg::R2, ETHERNET_BYTES),
        Insn::mov(Reg::R3, Reg::R10),
        Insn::add(Reg::R3, i32::from(HEADER)),
        Insn::mov32(Reg::R4, HEADER_BYTES),
        Insn::Call(Helper::SkbLoadBytes),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, next),
        // IPv4 without options: all packets of the bench.
        Insn::load(Size::Byte, Reg::R1, Reg::R10, HEADER),
        Insn::jump_if(Condition::NotEqual, Reg::R1, 0x45, next),
    ];
    // Source, destination and ports, as they are in the packet.
    for (place, at) in [(KEY, 12), (KEY + 4, 16), (KEY + 8, 20)] {
        code.push(Insn::load(Size::Word, Reg::R1, Reg::R10, HEADER + at));
        code.push(Insn::store(Size::Word, Reg::R10, place, Reg::R1));
    }
    code.extend([
        Insn::load(Size::Byte, Reg::R1, Reg::R10, HEADER + 9),
        Insn::store(Size::Word, Reg::R10, KEY + 12, Reg::R1),
    ]);
    code.extend(arguments);
    code.extend([
        Insn::Call(Helper::MapLookupElem),
        Insn::jump_if(Condition::NotEqual, Reg::R0, 0, known),
        Insn::store(Size::Double, Reg::R10, VALUE, 1),
        Insn::load(Size::Word, Reg::R1, Reg::R6, LENGTH),
        Insn::store(Size::Double, Reg::R10, VALUE + 8, Reg::R1),
    ]);
    code.extend(arguments);
    code.extend([
        Insn::mov(Reg::R3, Reg::R10),
        Insn::add(Reg::R3, i32::from(VALUE)),
        Insn::mov32(Reg::R4, BPF_NOEXIST),
        Insn::Call(Helper::MapUpdateElem),
        Insn::Jump { target: next },
        Insn::Place(known),
        Insn::load(Size::Double, Reg::R2, Reg::R0, 0),
        Insn::add(Reg::R2, 1),
        Insn::store(Size::Double, Reg::R0, 0, Reg::R2),
        Insn::load(Size::Double, Reg::R2, Reg::R0, 8),
        Insn::load(Size::Word, Reg::R3, Reg::R6, LENGTH),
        Insn::add(Reg::R2, Reg::R3),
        Insn::store(Size::Double, Reg::R0, 8, Reg::R2),
        Insn::Place(next),
        Insn::mov32(Reg::R0, NEXT),
        Insn::Exit,
    ]);
    code
}
