//! Reported round trips beside those that the time stamps of the other host's kernel give: from the arrival of a request
//! to the departure of its reply. What is beyond that is the time on the link, there and back.

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

const COLUMNS: [Column; 6] = [
    column("kernel p50, us", 1.0, 2),
    column("p99", 1.0, 2),
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
            let kernel = truth.values().map(|&ns| ns as f64 / 1000.0);
            let kernel = truth::quantiles(kernel.collect());
            let beyond = [told[0] - kernel[0], told[1] - kernel[1]];
            let figures = [kernel, told, beyond].concat();
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    for (name, _) in ROWS {
        let [p50, p99] = [P50, P99].map(|head| report.of(TITLE, name, head));
        report.at_most(&format!("{name}: beyond the kernel's p50, us"), &p50, 1.0);
        report.at_most(&format!("{name}: beyond its p99, us"), &p99, 5.0);
    }
}
