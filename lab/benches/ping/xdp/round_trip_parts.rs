//! Where the time goes that tapline reports beyond the kernel's, for each probe.
//!
//! ```text
//! tapline's stamp ─ at sending ─▶ xdp_redirect … napi_poll ─ driver ─▶ XDP hook ─ at receiving ─▶ tapline's clock
//! ```
//!
//! A [`ReplyHook`] in front of tapline's program notes when the driver hands over each reply. Stamp and round trip give both of
//! tapline's clock reads, in the time of the run. Its beginning is not known, but no clock is read before what it follows:
//! the stamp before `xdp_redirect`, and the hook's before tapline's. Over all probes, these bounds lie close together. The
//! middle is taken, and half of their distance is the column of what is not known.

use std::collections::HashMap;
use std::net::IpAddr;

use super::command;
use super::driver_stamps::{DriverStamps, DriverTrace};
use super::far_end::FarEnd;
use super::reply_hook::ReplyHook;
use super::round_trips::{MAX_UNKNOWN, PROBES, TARGETS, TARGETS_IPV6, reported};
use crate::harness::{Column, Report, column};
use crate::rig::{Rig, on_subject_cpu};
use crate::tool::Tool;
use crate::truth::quantiles;

/// Most probes that are sent before the hook is in front of tapline's program: it has to be attached first.
const BEFORE_HOOK: usize = 100;

const TITLE: &str = "Round trips by XDP, part by part: reported minus the kernel's";
const P50: &str = "both, without the driver, p50";
const P99: &str = "both, without the driver, p99";

const COLUMNS: [Column; 9] = [
    column("at sending p50, us", 1.0, 2),
    column("its p99", 1.0, 2),
    column("driver, on the reply p50", 1.0, 2),
    column("the driver's p99", 1.0, 2),
    column("at receiving p50", 1.0, 2),
    column("at receiving p99", 1.0, 2),
    column(P50, 1.0, 2),
    column(P99, 1.0, 2),
    column("not known, +-", 1.0, 2),
];

const ROWS: [(&str, FarEnd, bool); 3] = [
    ("tapline, xdp, the kernel answers", FarEnd::Kernel, false),
    (
        "tapline, xdp, IPv6, the kernel answers",
        FarEnd::Kernel,
        true,
    ),
    (
        "tapline, xdp, a responder answers",
        FarEnd::Responder,
        false,
    ),
];

pub fn measure(rig: &Rig, tool: &Tool, report: &mut Report) {
    for _ in report.rounds("parts of round trips by XDP") {
        for (name, far_end, is_ipv6) in ROWS {
            let _far_end = far_end.start(rig, true);
            let targets = if is_ipv6 { TARGETS_IPV6 } else { TARGETS };
            let arguments = format!("-c 1 -i {PROBES}ms --gather 0 -W 10s {targets}");
            let arguments = command(rig, &arguments);
            let trace = DriverTrace::start();
            let hook = ReplyHook::load(&trace, is_ipv6);
            let running = on_subject_cpu(|| tool.start(&rig.left, &arguments));
            hook.insert(&running);
            let reported = reported(&running.finish().text);
            let rows = rows(&trace.finish(), &reported);
            match rows {
                Some((rows, unknown_ns)) if rows.len() + BEFORE_HOOK + MAX_UNKNOWN >= PROBES => {
                    let figures = figures(&rows, unknown_ns);
                    report.table(TITLE, &COLUMNS).add(name, &figures);
                }
                rows => report.fail(format!(
                    "{name}: {} probes have all times; the bounds of the beginning of the run are in order: {}",
                    rows.as_ref().map_or(0, |(rows, _)| rows.len()),
                    rows.is_some()
                )),
            }
        }
    }
    for (name, ..) in ROWS {
        let [p50, p99] = [P50, P99].map(|head| report.of(TITLE, name, head));
        let what = |which| format!("{name}: beyond xdp_redirect to the XDP hook, {which}, us");
        report.at_most(&what("p50"), &p50, 1.0);
        report.at_most(&what("p99"), &p99, 5.0);
    }
    report.note(
        "Round trips by XDP, part by part: at sending is from tapline's stamp to xdp_redirect, where the kernel hands the request \
         to the driver. The driver's part is from the end of the poll that made the reply to the XDP hook, where the driver hands \
         it over; it is its conversion of the reply's socket buffer, for a responder's reply only its queue, and the bench's \
         program in front of tapline's. At receiving is from the end of that program to tapline's clock read. Up to 100 probes are sent before the \
         hook is attached, and are left out. They find cold caches, so the 99th percentiles are those of the other probes. Beyond xdp_redirect to \
         the end of the poll, tapline reports the sum of all three.",
    );
}

/// The parts of a probe, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Parts {
    sending: i64,
    driver: i64,
    receiving: i64,
}

/// The parts of all probes with all times, and half of the distance of the bounds. `None` if these are in no order.
fn rows(
    stamps: &[Option<DriverStamps>],
    reported: &HashMap<IpAddr, u64>,
) -> Option<(Vec<Parts>, u64)> {
    let by_source: HashMap<[u8; 4], u64> = reported
        .iter()
        .map(|(address, ns)| (last_bytes(*address), *ns))
        .collect();
    let probes: Vec<_> = stamps
        .iter()
        .flatten()
        .filter_map(|stamps| {
            let arrival = stamps.arrival?;
            let read_ns = arrival.sent_ns + by_source.get(&arrival.source)?;
            Some((*stamps, arrival, read_ns))
        })
        .collect();
    let least = probes
        .iter()
        .map(|(_, arrival, read)| arrival.ns.saturating_sub(*read));
    let most = probes
        .iter()
        .map(|(stamps, arrival, _)| stamps.handed_ns.saturating_sub(arrival.sent_ns));
    let (least, most) = (least.max()?, most.min()?);
    let unknown_ns = most.checked_sub(least)? / 2;
    let start = least + unknown_ns;
    let difference = |later: u64, earlier: u64| later.wrapping_sub(earlier).cast_signed();
    let parts = probes.iter().map(|(stamps, arrival, read)| Parts {
        sending: difference(stamps.handed_ns, start + arrival.sent_ns),
        driver: difference(arrival.ns, stamps.replied_ns),
        receiving: difference(start + read, arrival.ns),
    });
    Some((parts.collect(), unknown_ns))
}

fn last_bytes(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => (address.to_bits() as u32).to_be_bytes(),
    }
}

fn figures(rows: &[Parts], unknown_ns: u64) -> Vec<f64> {
    let us = |part: fn(&Parts) -> i64| {
        let values = rows.iter().map(|row| part(row) as f64 / 1000.0);
        quantiles(values.collect())
    };
    let quantiles = [
        us(|row| row.sending),
        us(|row| row.driver),
        us(|row| row.receiving),
        us(|row| row.sending + row.receiving),
    ];
    [quantiles.concat(), vec![unknown_ns as f64 / 1000.0]].concat()
}
