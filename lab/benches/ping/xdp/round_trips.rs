//! Reported round trips beside the kernel's: the time at the other host, and the time on the link.
//!
//! Packet sockets of this host see neither the requests, which are XDP frames, nor the replies, which the program drops. So
//! the time stamps of the other host's kernel give the time from the arrival of a request to the departure of its reply,
//! for the same packets. The time on the link, there and back, comes from packets of the raw back end on the same link:
//! their round trips by a packet socket here, less those by one at the other host. Both add up to the kernel's round
//! trip: the first probe's time there with the first raw one's on the link, and so on, since the one does not depend on the
//! other.

use std::collections::HashMap;

use super::command;
use super::far_end::FarEnd;
use crate::harness::{Column, Report, column};
use crate::rig::{PEER, PEER_IPV6, Rig, on_subject_cpu};
use crate::tool::{Tool, summary};
use crate::truth;

/// One every millisecond.
const PROBES: u32 = 2000;

const TITLE: &str = "Round trips by XDP: a probe every ms";
const P50: &str = "beyond the kernel's p50";
const P99: &str = "beyond its p99";

const COLUMNS: [Column; 8] = [
    column("other host p50, us", 1.0, 2),
    column("link p50", 1.0, 2),
    column("kernel p50", 1.0, 2),
    column("kernel p99", 1.0, 2),
    column("told p50", 1.0, 2),
    column("told p99", 1.0, 2),
    column(P50, 1.0, 2),
    column(P99, 1.0, 2),
];

const ROWS: [(&str, &str); 2] = [("tapline, xdp", PEER), ("tapline, xdp, IPv6", PEER_IPV6)];

pub fn measure(rig: &Rig, tool: &Tool, report: &mut Report) {
    let _far_end = FarEnd::Kernel.start(rig, true);
    for _ in report.rounds("round trips by XDP") {
        for (name, peer) in ROWS {
            let arguments = command(rig, &format!("-c {PROBES} -i 1ms {peer}"));
            let (truth, text) = truth::at(&rig.right, || {
                on_subject_cpu(|| tool.start(&rig.left, &arguments))
                    .finish()
                    .text
            });
            if truth.len() != PROBES as usize {
                report.fail(format!("{name}: the kernel saw {} probes", truth.len()));
            }
            let summary = summary(&text);
            let us = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN) / 1000.0;
            let told = [us("rtt_p50_ns"), us("rtt_p99_ns")];
            let there = by_number(truth);
            let link = link_us(rig, tool, peer);
            let sums = there
                .iter()
                .filter_map(|(number, us)| Some(us + link.get(number)?));
            let kernel = truth::quantiles(sums.collect());
            let [there, link] =
                [there, link].map(|of| truth::quantiles(of.into_values().collect())[0]);
            let beyond = [0, 1].map(|at| told[at] - kernel[at]);
            let figures = [[there, link], kernel, told, beyond].concat();
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    for (name, _) in ROWS {
        let [p50, p99] = [P50, P99].map(|head| report.of(TITLE, name, head));
        report.at_most(&format!("{name}: beyond the kernel's p50, us"), &p50, 1.0);
        report.at_most(&format!("{name}: beyond its p99, us"), &p99, 5.0);
    }
}

/// The time that packets of the raw back end spend on the link, there and back, in microseconds, by number.
fn link_us(rig: &Rig, tool: &Tool, peer: &str) -> HashMap<u32, f64> {
    let arguments = format!("ping --backend raw --json -q -s 16 -c {PROBES} -i 1ms {peer}");
    let (here, (there, _)) = truth::at(&rig.left, || {
        truth::at(&rig.right, || {
            on_subject_cpu(|| tool.start(&rig.left, &arguments)).finish()
        })
    });
    let (here, there) = (by_number(here), by_number(there));
    let on_link = here
        .into_iter()
        .filter_map(|(number, us)| Some((number, us - there.get(&number)?)));
    on_link.collect()
}

/// The times to the only host, in microseconds.
fn by_number(truth: truth::Truth) -> HashMap<u32, f64> {
    let times = truth.into_iter();
    times
        .map(|((_, number), ns)| (number, ns as f64 / 1000.0))
        .collect()
}
