//! Cost of a filter in the kernel: compares XDP programs of tapline with an empty one in the kernel's test run.
//!
//! `cargo bench -p tapline-lab --bench filter_kernel -- [--rounds N]` requires root.
//!
//! A trial runs one program a million times on one frame, in ten calls. It keeps the CPU time of the fastest call,
//! divided by its runs. Frame, program and maps are in the CPU's cache. Trials of the programs take turns, so that
//! other load on the machine affects all of them equally. **Cost** is the time beyond the empty program (`return
//! XDP_DROP`) on the same frame in the same round. A matching frame is dropped.
//!
//! Terms with `any` and `inner` are also measured as classic programs of a socket; see `classic.rs`. On packets inside tunnels
//! they are compared with the plain words that have the same verdict there; see `tunnels.rs`. The two filters of a pair
//! take turns.

#![forbid(unsafe_code)]

mod classic;
#[path = "../harness/mod.rs"]
mod harness;
mod tunnels;

use std::net::Ipv4Addr;
use std::process::ExitCode;

use bpf::{FilterMaps, Program, ProgramKind, assemble};
use filter::ebpf::Verdicts;
use filter::{Filter, FilterOptions, FilterTarget, LinkType, NoNames};
use harness::{BenchOptions, Flow, Programs, Report, column, empty_program, fastest_ns, run_once};
use wire::protocol::ip;

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

/// Plain terms, and the same with `any` and `inner`. Measured as XDP programs and as classic programs of a socket.
const LAYERS: [&str; 9] = [
    "port 80",
    "any port 80",
    "port 5555",
    "any port 5555",
    "host 10.9.9.9",
    "any host 10.9.9.9",
    "inner host 10.9.9.9",
    "tcp",
    "any tcp",
];

/// Sizes of the lists of hosts and networks.
const HOSTS: [u32; 4] = [20, 60, 100, 10_000];
const NETWORKS: [u32; 3] = [60, 250, 10_000];

fn main() -> ExitCode {
    harness::run(9, &[], measure)
}

fn measure(_: &BenchOptions, report: &mut Report) {
    // A ping, and a full segment from a web server.
    let ends: [Ipv4Addr; 2] = [[178, 79, 150, 233].into(), [198, 18, 0, 1].into()];
    let frames = [
        ("ICMP, 64 B", Flow::new(ip::ICMPV4, ends, [0, 0]).frame(64)),
        (
            "TCP from port 80, 1514 B",
            Flow::new(ip::TCP, ends, [80, 40_000]).frame(1514),
        ),
        ("TCP from port 80 in VXLAN, 1450 B", tunnels::vxlan()),
    ];
    let mut subjects: Vec<_> = FILTERS.map(|text| load(text, text)).into();
    subjects.extend(LAYERS.map(|text| load(text, text)));
    subjects.extend(HOSTS.map(|count| {
        // Addresses that no frame contains.
        let host = |at| format!("host {}", Ipv4Addr::from(0x0a00_0000 + at * 77));
        load(&format!("{count} hosts"), &list(count, host))
    }));
    subjects.extend(NETWORKS.map(|count| {
        let net = |at| format!("net {}/24", Ipv4Addr::from(0x0a00_0000 + at * 0x300));
        load(&format!("{count} networks"), &list(count, net))
    }));
    let empty = empty_program();
    let own = subjects
        .iter()
        .map(|(name, program)| (name.as_str(), program));
    let programs: Vec<_> = [("(empty program)", &empty)]
        .into_iter()
        .chain(own)
        .collect();
    let result = |place: usize, frame: &[u8]| {
        let (_, program) = programs[place];
        f64::from(run_once(program, frame) == XDP_DROP)
    };
    let measured = Programs {
        all: programs.clone(),
        frames: &frames,
        result: column("dropped", 1.0, 0),
    };
    measured.measure(report, result);
    classic::measure(&LAYERS, &frames, report);
    compare(&empty, report);
}

/// Most that a term with `any` may cost, as a multiple of the plain one.
const LIMIT: f64 = 2.0;

/// Makes the table of the pairs, in XDP and in a socket.
fn compare(empty: &Program, report: &mut Report) {
    let columns = [
        column("no filter, ns", 1.0, 1),
        column("plain, ns", 1.0, 1),
        column("any, ns", 1.0, 1),
        column("ratio", 1.0, 2),
        column("added, ns", 1.0, 1),
    ];
    let pairs = tunnels::pairs();
    let xdp: Vec<_> = (pairs.iter())
        .map(|pair| [pair.plain, pair.any].map(|text| load(text, text).1))
        .collect();
    for (pair, programs) in pairs.iter().zip(&xdp) {
        let [plain, any] = [0, 1].map(|at| run_once(&programs[at], &pair.frame));
        assert_eq!(plain, any, "{}: the filters of a pair agree", pair.name);
    }
    let socket: Vec<_> = (pairs.iter())
        .map(|pair| [pair.plain, pair.any].map(|text| classic::Rejecting::of(text, &pair.frame)))
        .collect();
    let nothing = classic::Rejecting::empty();
    let mut worst: [Vec<f64>; 2] = Default::default();
    for _ in report.rounds("pairs") {
        let mut most = [0.0_f64; 2];
        for (at, pair) in pairs.iter().enumerate() {
            let in_xdp = [empty, &xdp[at][0], &xdp[at][1]];
            let in_socket = [&nothing, &socket[at][0], &socket[at][1]];
            let measured = [
                (
                    "XDP",
                    in_xdp.map(|program| fastest_ns(program, &pair.frame)),
                ),
                (
                    "socket",
                    in_socket.map(|program| program.fastest_ns(&pair.frame)),
                ),
            ];
            for ((place, [none, plain, any]), most) in measured.into_iter().zip(&mut most) {
                let ratio = any / plain;
                *most = most.max(ratio);
                let title = format!("Inside tunnels, {place}: `any` beside plain words");
                let name = format!("{}: `{}`, `{}`", pair.name, pair.plain, pair.any);
                let figures = [none, plain, any, ratio, any - plain];
                report.table(&title, &columns).add(&name, &figures);
            }
        }
        for (all, most) in worst.iter_mut().zip(most) {
            all.push(most);
        }
    }
    for (place, values) in ["XDP", "socket"].into_iter().zip(&worst) {
        let what = format!(
            "`any` inside tunnels, {place}, time by that of the plain word, the worst frame"
        );
        report.at_most(&what, values, LIMIT);
    }
}

fn list(count: u32, term: impl Fn(u32) -> String) -> String {
    (0..count).map(term).collect::<Vec<_>>().join(" or ")
}

/// Loads a filter as a program. Returns it with its name and number of instructions.
fn load(name: &str, text: &str) -> (String, Program) {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = FilterTarget::Xdp;
    let filter = Filter::new(text, &options, &NoNames).expect("a filter");
    let fragment = filter.ebpf().expect("eBPF");
    let maps = FilterMaps::create("tapline_bench", &fragment).expect("maps (bench needs root)");
    let code = fragment.program(Verdicts {
        accept: XDP_DROP,
        reject: XDP_PASS,
    });
    let code = maps.resolve(&code).expect("its own sets");
    let instructions = assemble(&code).expect("labels").len();
    let program = Program::load(ProgramKind::Xdp, "tapline_bench", &code);
    let program = program.expect("the kernel takes the program (bench needs root)");
    (format!("{name} ({instructions} instructions)"), program)
}
