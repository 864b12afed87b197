//! Whether the account adds up over many probes, beside the counters of the host that answers.

use std::time::Instant;

use super::command;
use super::far_end::FarEnd;
use crate::harness::{Column, Report, column};
use crate::rig::{PEER, Rig};
use crate::tool::{Tool, summary};

const TITLE: &str = "Account check, by XDP";

const COLUMNS: [Column; 7] = [
    column("sent", 1.0, 0),
    column("answered, by the responder", 1.0, 0),
    column("received", 1.0, 0),
    column("late", 1.0, 0),
    column("lost", 1.0, 0),
    column("errors", 1.0, 0),
    column("s", 1.0, 1),
];

pub fn measure(rig: &Rig, tool: &Tool, is_long: bool, report: &mut Report) {
    let many = "-c 1 -i 0 --rate max 10.64.0.0-10.79.66.63".to_owned();
    let one = |probes: u64| format!("-c {probes} -i 0 --rate max {PEER}");
    let mut cases = vec![
        ("1 000 000 targets", many, 1_000_000),
        ("1 000 000 probes to one target", one(1_000_000), 1_000_000),
    ];
    if is_long {
        let name = "10 000 000 probes to one target";
        cases.push((name, one(10_000_000), 10_000_000));
    }
    let mut wrong = 0;
    for (name, arguments, probes) in cases {
        eprintln!("bench: {name} by XDP");
        let mut far_end = FarEnd::Responder.start(rig, true);
        let start = Instant::now();
        let finished = tool.start(&rig.left, &command(rig, &arguments)).finish();
        let seconds = start.elapsed().as_secs_f64();
        let responder = far_end.responder.take().expect("it answers");
        let counts = responder.finish().expect("its counters").counts;
        let summary = summary(&finished.text);
        let [sent, received, late, lost, errors] = ["sent", "received", "late", "lost", "errors"]
            .map(|key| summary[key].as_u64().unwrap_or(u64::MAX));
        let is_right = sent == probes
            && counts.answered == sent
            && received.saturating_add(late) == counts.answered
            && sent == received + late + lost + errors;
        wrong += u32::from(!is_right);
        let figures = [sent, counts.answered, received, late, lost, errors];
        let figures = figures.map(|count| count as f64);
        let row = [&figures[..], &[seconds]].concat();
        report.table(TITLE, &COLUMNS).add(name, &row);
    }
    report.at_most("cases by XDP that do not add up", &[f64::from(wrong)], 0.0);
}
