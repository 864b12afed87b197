//! Sweeps of a million targets, a probe and a row for each.
//!
//! Rows go to a file in memory. tapline's have the counters and the round trip of every target, zmap's the addresses of those
//! that answered.

use std::time::Instant;

use super::far_end::FarEnd;
use crate::harness::{Column, Report, column, ratios};
use crate::rig::{Rig, on_subject_cpu};
use crate::tool::{Kind, Tool};

const TARGETS: u32 = 1_000_000;

const TITLE: &str = "A sweep of 1 000 000 targets that answer by XDP, a row for each, on one CPU";
const FOR_CPU: &str = "rows for a second of CPU time";

const COLUMNS: [Column; 4] = [
    column("rows", 1.0, 0),
    column("rows/s", 1.0, 0),
    column(FOR_CPU, 1.0, 0),
    column("s", 1.0, 1),
];

const CSV: &str = "tapline ping --backend xdp --csv";
const ZMAP: &str = "zmap";

pub fn measure(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let link = rig.interface();
    let sweep = |form: &str| {
        format!(
            "ping --backend xdp {form} -s 16 -I {link} -c 1 -i 0 --rate max 10.64.0.0-10.79.66.63"
        )
    };
    let zmap = tools.iter().find(|tool| tool.kind == Kind::Zmap);
    // With the number of lines that are no rows: the header, or the start and the summary.
    let ways = [
        (CSV, Some((&tools[0], sweep("--csv -q"))), 1),
        (
            "tapline ping --backend xdp --json",
            Some((&tools[0], sweep("--json -q"))),
            2,
        ),
        (
            ZMAP,
            zmap.map(|tool| (tool, tool.sweep(rig, TARGETS.into()))),
            0,
        ),
    ];
    for _ in report.rounds("sweeps by XDP") {
        for (name, way, others) in &ways {
            let Some((tool, arguments)) = way else {
                continue;
            };
            let _far_end = FarEnd::Responder.start(rig, tool.kind == Kind::Tapline);
            let start = Instant::now();
            let finished = on_subject_cpu(|| tool.start(&rig.left, arguments)).finish();
            let seconds = start.elapsed().as_secs_f64();
            let rows = finished.text.lines().count().saturating_sub(*others);
            if tool.kind == Kind::Tapline && rows != TARGETS as usize {
                report.fail(format!("{name}: {rows} rows"));
            }
            let rows = rows as f64;
            let cpu = finished.used.cpu.as_secs_f64();
            let figures = [rows, rows / seconds, rows / cpu, seconds];
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    let [ours, theirs] = [CSV, ZMAP].map(|name| report.of(TITLE, name, FOR_CPU));
    report.at_least(
        "a sweep with a row for each target: rows for a second of CPU time, by zmap's",
        &ratios(&ours, &theirs),
        1.0,
    );
}
