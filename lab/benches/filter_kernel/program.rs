//! The programs that are measured.

use std::net::Ipv4Addr;

use abi::bpf::TestRun;
use bpf::{FilterMaps, Insn, Program, ProgramKind, Reg, assemble};
use filter::ebpf::Verdicts;
use filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};
use rustix::time::{ClockId, clock_gettime};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

const FILTERS: [&str; 13] = [
    "ip",
    "tcp",
    "icmp",
    "tcp port 5555",
    "tcp src port 80",
    "src net 178.79.150.0/24",
    "host 178.79.150.233",
    "portrange 0-6000",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "udp port 53 or tcp port 443 or icmp",
    "tcp[tcpflags] & tcp-syn != 0",
    "vlan and ip",
    "ether[12:2] = 0x0800 and ip[8] < 64",
];

/// Lists of so many hosts, and of so many networks.
const HOSTS: [u32; 4] = [20, 60, 100, 10_000];
const NETWORKS: [u32; 3] = [60, 250, 10_000];

/// Calls of a trial, and runs of a call: short enough that most calls are not interrupted.
const CALLS: u32 = 10;
const RUNS: u32 = 100_000;

/// A program in the kernel.
pub struct Subject {
    pub name: String,
    pub instructions: usize,
    program: Program,
}

impl Subject {
    /// The empty program, then all filters.
    pub fn all() -> Vec<Self> {
        let mut subjects = vec![Self::empty()];
        subjects.extend(FILTERS.map(|text| Self::filter(text, text)));
        subjects.extend(HOSTS.map(|count| {
            // Addresses that no frame has.
            let host = |at: u32| format!("host {}", Ipv4Addr::from(0x0a00_0000 + at * 77));
            let list: Vec<String> = (0..count).map(host).collect();
            Self::filter(&format!("{count} hosts"), &list.join(" or "))
        }));
        subjects.extend(NETWORKS.map(|count| {
            let net = |at: u32| format!("net {}/24", Ipv4Addr::from(0x0a00_0000 + at * 0x300));
            let list: Vec<String> = (0..count).map(net).collect();
            Self::filter(&format!("{count} networks"), &list.join(" or "))
        }));
        subjects
    }

    fn empty() -> Self {
        let code = [Insn::mov32(Reg::R0, XDP_DROP.cast_signed()), Insn::Exit];
        Self::load("(empty program)", &code)
    }

    fn filter(name: &str, text: &str) -> Self {
        let mut options = FilterOptions::new(LinkType::Ethernet);
        options.target = FilterTarget::Xdp;
        let filter = Filter::new(text, &options, &NoNames).expect("a filter");
        let fragment = filter.ebpf().expect("eBPF");
        let maps = FilterMaps::create("tapline_bench", &fragment).expect("maps (bench needs root)");
        let code = fragment.program(Verdicts {
            accept: XDP_DROP,
            reject: XDP_PASS,
        });
        Self::load(name, &maps.resolve(&code).expect("its own sets"))
    }

    fn load(name: &str, code: &[Insn<'_>]) -> Self {
        let program = Program::load(ProgramKind::Xdp, "tapline_bench", code);
        Self {
            name: name.replace('|', "\\|"),
            instructions: assemble(code).expect("labels").len(),
            program: program.expect("the kernel takes the program (bench needs root)"),
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

    /// What becomes of the frame.
    pub fn verdict(&self, frame: &[u8]) -> &'static str {
        match self.run(frame, 1) {
            XDP_DROP => "drop",
            _ => "pass",
        }
    }

    fn run(&self, frame: &[u8], repeat: u32) -> u32 {
        let run = TestRun {
            data: frame,
            repeat,
            ..TestRun::default()
        };
        let result = self.program.test_run(&run, &mut []);
        result.expect("a test-run").return_value
    }
}

/// Nanoseconds that this thread has been on a processor.
fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
