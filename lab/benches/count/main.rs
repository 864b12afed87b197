//! What counting costs: counting programs beside an empty one by the kernel's test-run, and on a veth
//! pair beside the ways that others count.
//!
//! `cargo bench -p tapline-lab --bench count -- [--rounds N] [--packets N] [--only test-run|load]` needs root.
//!
//! A trial runs one program a million times on one frame, in ten calls, and keeps the CPU time of
//! the fastest call, divided by its runs. Trials of the programs take turns, so that whatever else the
//! machine does falls on all of them. **Cost** is what a program takes beyond the empty program
//! (`return XDP_DROP`) on the same frame in the same round. The classes that count a frame are compared
//! with the filters walked in this process.
//!
//! On the veth pair each way of counting has packets sent to it at full speed, in turn. **Passed** is
//! the rate at which they still come through; **counted** is how many of one million that did were
//! counted; **sender and kernel** is the CPU time of the thread that sends and of its CPU's
//! softirq thread, in which the receiver's driver, programs and stack do their work, and **programs** that
//! of what runs in user space to count and to read the counters once, both for each packet that came
//! through.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod load;
mod program;

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
        .map(|subject| (subject.name, &subject.program));
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

/// In turn a host, a TCP port, a UDP port, and a network with a port. The frames belong to a few.
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
