//! Cost of running a filter: compares native code with libpcap's interpreter and bpfjit in one run.
//!
//! `cargo bench -p tapline-lab --bench filter -- [--rounds N | --quick] [--json] [--without ENGINE]…`
//! requires no privileges.
//!
//! One thread walks a trace in memory and runs each engine on it. The engines take turns in every round, and must agree
//! on the number of matching packets. libpcap and bpfjit run libpcap's optimised program. The figure is the thread's
//! CPU time.
//!
//! * **Mixed web**: 19,589 frames, 40 % of 66 bytes, 48 % of 1514, the rest from 200 to 1399; 98 % TCP, 2 % UDP;
//!   between one host, 178.79.150.233, and 200 peers; its port is 80 (60 %) or 443.
//! * **Web in VXLAN**: the same frames in VXLAN. Terms with `any` are compared with plain words that find the same.
//! * **Ping flood**: 961,180 ICMP frames of 64 bytes, in slots of 80.
//! * **One frame**: a TCP frame of 64 bytes, 200,000 times.
//!
//! The hosts in the lists appear in no frame.

#![forbid(unsafe_code)]

mod compile;
mod engine;
#[path = "../harness/mod.rs"]
mod harness;
mod trace;

use std::net::Ipv4Addr;
use std::process::ExitCode;

use harness::{BenchOptions, Report};
use trace::{Random, Trace};

struct Row {
    name: String,
    text: String,
    /// Whether libpcap compiles it within a few seconds.
    is_for_libpcap: bool,
}

/// Size of the longest host list that libpcap compiles within a few seconds.
const MOST_FOR_LIBPCAP: usize = 400;

const PAYLOAD: &str = "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)";

const EXPRESSIONS: [(&str, &str); 11] = [
    ("accept", ""),
    ("ip", "ip"),
    ("tcp", "tcp"),
    ("icmp", "icmp"),
    ("tcp port 5555", "tcp port 5555"),
    ("tcp src port 80", "tcp src port 80"),
    ("src net 178.79.150.0/24", "src net 178.79.150.0/24"),
    ("host 178.79.150.233", "host 178.79.150.233"),
    ("portrange 0-6000", "portrange 0-6000"),
    ("TCP port 80 with payload", PAYLOAD),
    (
        "udp port 53 or tcp port 443 or icmp",
        "udp port 53 or tcp port 443 or icmp",
    ),
];

/// Plain terms, and the same with `any` and `inner`, which libpcap does not have.
const LAYERS: [(&str, bool); 9] = [
    ("port 80", true),
    ("any port 80", false),
    ("port 5555", true),
    ("any port 5555", false),
    ("host 10.9.9.9", true),
    ("any host 10.9.9.9", false),
    ("inner host 10.9.9.9", false),
    ("tcp", true),
    ("any tcp", false),
];

/// Plain words that look into VXLAN, and terms with `any` that find the same.
const PAIRS: [[&str; 2]; 3] = [
    ["vxlan and port 80", "any port 80"],
    ["vxlan and port 5555", "any port 5555"],
    ["vxlan and host 10.9.9.9", "any host 10.9.9.9"],
];

/// Most that a term with `any` may cost, as a multiple of the plain one.
const LIMIT: f64 = 2.0;

const LISTS: [usize; 4] = [100, 400, 800, 10_000];

fn main() -> ExitCode {
    let parts = &["mixed-web", "vxlan", "ping-flood", "one-frame", "compile"];
    harness::run(5, parts, measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let expressions = || EXPRESSIONS.into_iter().map(expression);
    let lists = || LISTS.into_iter().map(list);
    if options.has("mixed-web") {
        let trace = Trace::mixed_web();
        let rows = expressions().chain(lists());
        engine::measure(&trace, false, rows, options, report);
        let layers = LAYERS.into_iter().map(|(text, is_for_libpcap)| Row {
            is_for_libpcap,
            ..expression((text, text))
        });
        engine::measure(&trace, true, layers, options, report);
    }
    if options.has("vxlan") {
        compare(options, report);
    }
    if options.has("ping-flood") {
        engine::measure(&Trace::ping_flood(), false, expressions(), options, report);
    }
    if options.has("one-frame") {
        engine::measure(&Trace::one_frame(), false, lists(), options, report);
    }
    if options.has("compile") {
        let expressions = [4, 9, 10].map(|at| expression(EXPRESSIONS[at]));
        let lists = [100, 400, 10_000].map(list);
        for row in expressions.into_iter().chain(lists) {
            compile::measure(&row, report);
        }
    }
}

/// Measures the pairs on packets in VXLAN.
fn compare(options: &BenchOptions, report: &mut Report) {
    let trace = Trace::vxlan();
    let rows = PAIRS.into_iter().flatten().map(|text| Row {
        is_for_libpcap: false,
        ..expression((text, text))
    });
    let title = engine::measure(&trace, true, rows, options, report);
    for engine in ["native", "native batch", "interpreter"] {
        for [plain, any] in PAIRS {
            let [plain_ns, any_ns] = [plain, any].map(|text| report.of(&title, text, engine));
            let what = format!("`{any}` in VXLAN, {engine}, time by that of `{plain}`");
            report.at_most(&what, &harness::ratios(&any_ns, &plain_ns), LIMIT);
        }
    }
}

fn expression((name, text): (&str, &str)) -> Row {
    Row {
        name: name.into(),
        text: text.into(),
        is_for_libpcap: true,
    }
}

/// Hosts in 128.0.0.0/3, which contains only one host of the traces.
fn list(hosts: usize) -> Row {
    let mut random = Random(hosts as u64 + 1);
    let mut host = || Ipv4Addr::from(0x8000_0000 | random.next() as u32 & 0x1fff_ffff);
    let terms: Vec<_> = (0..hosts).map(|_| format!("host {}", host())).collect();
    Row {
        name: format!("{hosts} hosts"),
        text: terms.join(" or "),
        is_for_libpcap: hosts <= MOST_FOR_LIBPCAP,
    }
}
