//! Measures the cost of counting: counting programs compared with an empty one in the kernel's test run, and compared
//! with other ways to count on a veth pair.
//!
//! `cargo bench -p tapline-lab --bench count -- [--rounds N] [--packets N] [--only test-run|load]` requires root.
//!
//! A trial runs one program a million times on one frame, in ten calls. It keeps the CPU time of the fastest call,
//! divided by its runs. Trials of the programs take turns, so that other load on the machine affects all of them
//! equally. **Cost** is the time beyond the empty program (`return XDP_DROP`) on the same frame in the same round. The
//! classes that count a frame are compared with the result of the interpreter.
//!
//! On the veth pair, each way of counting receives packets sent at full speed, in turn. **Passed** is the rate of
//! packets that still pass. **Counted** is how many of one million passed packets were counted. **Sender and kernel**
//! is the CPU time of the sending thread and of its CPU's softirq thread, which run the receiver's driver, programs and
//! stack. **Programs** is the CPU time of user-space programs that count, including one read of the counters. Both
//! times are per passed packet.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod load;
mod program;
mod way;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;

use harness::{BenchOptions, Flow, Programs, Report, column, empty_program};
use program::CountingSubject;
use wire::protocol::ip::{ICMPV4 as ICMP, TCP, UDP};

/// From 10.1.0.1 to 10.2.0.2.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 2)];
const ENDS_IPV6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
    Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0),
];

fn main() -> ExitCode {
    harness::run(9, &["test-run", "load"], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    if options.has("test-run") {
        test_runs(report);
    }
    if options.has("load") && options.packets > 0 {
        load::measure(options.packets, report);
    }
}

fn test_runs(report: &mut Report) {
    let web = Flow::new(TCP, ENDS, [40_000, 443]);
    let frames = [
        ("TCP to 443, 1514 B", web.frame(1514)),
        (
            "UDP to 53, 64 B",
            Flow::new(UDP, ENDS, [40_000, 53]).frame(64),
        ),
        (
            "IPv6 TCP, 1514 B",
            Flow::new(TCP, ENDS_IPV6, [40_000, 443]).frame(1514),
        ),
        ("ICMP, 64 B", Flow::new(ICMP, ENDS, [1, 1]).frame(64)),
        ("VLAN, TCP, 1518 B", web.frame_in(Some(7), 1518)),
    ];
    let subjects = [
        ("1 class: all packets", vec![String::new()]),
        ("1 class: tcp port 443", vec!["tcp port 443".into()]),
        ("1 class: host", vec!["host 10.1.0.1".into()]),
        (
            "2 classes",
            vec!["tcp port 443".into(), "host 10.1.0.1".into()],
        ),
        ("16 classes of hosts and ports", hosts_and_ports(16)),
        ("64 classes of hosts and ports", hosts_and_ports(64)),
    ]
    .map(|(name, filters)| CountingSubject::load(name, &filters));
    let empty = empty_program();
    let own = subjects
        .iter()
        .map(|subject| (subject.name, subject.program.program()));
    let programs = Programs {
        all: [("(empty program)", &empty)]
            .into_iter()
            .chain(own)
            .collect(),
        frames: &frames,
        result: column("classes", 1.0, 0),
    };
    programs.measure(report, |place, frame| match place {
        0 => f64::NAN,
        _ => subjects[place - 1].classes_of(frame) as f64,
    });
}

/// Filters in rotation: a host, a TCP port, a UDP port, and a network with a port. The frames match a few of them.
pub fn hosts_and_ports(count: usize) -> Vec<String> {
    let filter = |number: usize| {
        let port = 443 + number / 4;
        match number % 4 {
            0 => format!("host 10.1.0.{}", number + 1),
            1 => format!("tcp port {port}"),
            2 => format!("udp port {}", port - 390),
            _ => format!("src net 10.{number}.0.0/16 and port {port}"),
        }
    };
    (0..count).map(filter).collect()
}
