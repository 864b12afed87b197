//! Reported round trips beside the kernel's, packet by packet.
//!
//! Each probe goes to a target of its own, so that its round trip is in the row of the target. Packet sockets of this host
//! see neither the requests, which are XDP frames, nor the replies, which the program drops. So there are two measures of
//! the same packets:
//!
//! - the time at the other host, by a packet socket there: from the time stamp of the request to that of the reply. No round
//!   trip is shorter.
//! - from the driver to the driver, by two tracepoints of the kernel ([`DriverTrace`]): from where the driver is handed the
//!   request, as a packet socket stamps what leaves, to the end of the poll that made the reply, after which the driver here
//!   begins to take it. What tapline reports beyond that is from its stamp until the driver is handed the request, and from
//!   that poll until it reads the clock again: its own instructions, and the driver's work on the reply. A packet socket
//!   stamps a reply after that work.

use std::collections::HashMap;
use std::net::IpAddr;

use serde_json::Value;

use super::command;
use super::driver_stamps::{DriverStamps, DriverTrace};
use super::far_end::FarEnd;
use crate::harness::{Column, Report, column};
use crate::rig::{Rig, on_subject_cpu};
use crate::tool::Tool;
use crate::truth::{self, Truth};

/// One every millisecond.
pub const PROBES: usize = 2000;

/// Most probes without a time of the driver.
pub const MAX_UNKNOWN: usize = PROBES / 50;

const TITLE: &str = "Round trips by XDP: a probe every ms";
const SHORTER: &str = "shorter than at the other host";

const COLUMNS: [Column; 9] = [
    column("other host p50, us", 1.0, 2),
    column("p99", 1.0, 2),
    column("driver to driver p50", 1.0, 2),
    column("its p99", 1.0, 2),
    column("reported p50", 1.0, 2),
    column("reported p99", 1.0, 2),
    column("reported minus driver to driver, p50", 1.0, 2),
    column("reported minus driver to driver, p99", 1.0, 2),
    column(SHORTER, 1.0, 0),
];

pub const TARGETS: &str = "10.2.0.1-10.2.7.208";
pub const TARGETS_IPV6: &str = "fd00:2::1-fd00:2::7d0";

const ROWS: [(&str, &str); 2] = [
    ("tapline, xdp", TARGETS),
    ("tapline, xdp, IPv6", TARGETS_IPV6),
];

pub fn measure(rig: &Rig, tool: &Tool, report: &mut Report) {
    let _far_end = FarEnd::Kernel.start(rig, true);
    for _ in report.rounds("round trips by XDP") {
        for (name, targets) in ROWS {
            // No row is printed before all probes are sent.
            let arguments = format!("-c 1 -i {PROBES}ms --gather 0 -W 10s {targets}");
            let arguments = command(rig, &arguments);
            let (truth, (stamps, text)) = truth::at(&rig.right, || {
                let trace = DriverTrace::start();
                let text = on_subject_cpu(|| tool.start(&rig.left, &arguments))
                    .finish()
                    .text;
                (trace.finish(), text)
            });
            let reported = reported(&text);
            let counts = [truth.len(), stamps.len(), reported.len()];
            let unknown = stamps.iter().filter(|stamp| stamp.is_none()).count();
            if counts != [PROBES; 3] || unknown > MAX_UNKNOWN {
                report.fail(format!(
                    "{name}: probes that the kernel saw, that its driver took, and that tapline reported: {counts:?}; without a time \
                     of the driver {unknown}"
                ));
                continue;
            }
            let figures = figures(&truth, &stamps, &reported);
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    for (name, _) in ROWS {
        let shorter = report.of(TITLE, name, SHORTER);
        report.at_most(&format!("{name}: {SHORTER}"), &shorter, 0.0);
    }
    report.note(
        "Round trips by XDP: a packet socket beside the pinger sees neither its requests, which are XDP frames, nor the replies, \
         which its program drops. So the kernel's time stamps are those of two tracepoints: xdp_redirect, where the kernel hands \
         the request to the driver, and napi_poll, at the end of the poll that made the reply, before the driver takes it. A \
         packet socket, too, stamps a request before the driver takes it, but a reply after the driver has worked on it: the \
         copying of the reply's socket buffer for the program is part of what is reported beyond the two. So the goals, 1 us at \
         the median and 5 us at the 99th percentile, are for the time beyond xdp_redirect to the XDP hook, where the driver is \
         done and which is before a packet socket's stamp: see the table of the parts.",
    );
}

/// The round trip of each target, nanoseconds.
pub fn reported(text: &str) -> HashMap<IpAddr, u64> {
    let rows = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let targets = rows.filter(|row| row["event"] == "target");
    let times = targets.filter_map(|row| {
        let address = row["address"].as_str()?.parse().ok()?;
        Some((address, row["rtt_min_ns"].as_u64()?))
    });
    times.collect()
}

/// The kernel's times of each probe beside the one that tapline reported.
fn figures(
    truth: &Truth,
    stamps: &[Option<DriverStamps>],
    reported: &HashMap<IpAddr, u64>,
) -> Vec<f64> {
    let mut in_order: Vec<_> = truth.iter().collect();
    in_order.sort_by_key(|(_, trip)| trip.sent_ns);
    let us = |ns: u64| ns as f64 / 1000.0;
    let rows = in_order.into_iter().zip(stamps);
    let rows = rows.filter_map(|(((host, _), trip), stamps)| {
        let driver_ns = stamps.map(|stamps| stamps.replied_ns - stamps.handed_ns)?;
        let (there, driver, reported) = (us(trip.ns), us(driver_ns), us(*reported.get(host)?));
        Some([there, driver, reported, reported - driver, reported - there])
    });
    let rows: Vec<_> = rows.collect();
    let column = |at: usize| rows.iter().map(|row| row[at]).collect();
    let quantiles = [0, 1, 2, 3].map(|at| truth::quantiles(column(at)));
    let shorter = rows.iter().filter(|row| row[4] < 0.0).count();
    [quantiles.concat(), vec![shorter as f64]].concat()
}
