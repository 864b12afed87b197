//! The case of bpfpinger's README whose figures are published: 1000 probes, one every 10 ms. Here to the other host, there to
//! a host on the Internet, where one and two probes were lost.

use std::time::Instant;

use crate::harness::{Column, Report, column};
use crate::rig::{PEER, Rig, on_subject_cpu};
use crate::tool::{Kind, Tool};

const PROBES: u32 = 1000;
const INTERVAL_MS: u32 = 10;

const TITLE: &str = "1000 probes, one every 10 ms, and what bpfpinger's README says";
const COLUMNS: [Column; 2] = [column("seconds", 1.0, 2), column("received", 1.0, 0)];

/// Seconds and replies of a run, as published.
///
/// # Source
/// README.md of github.com/chenjiandongx/bpfpinger, 8c63213, "pinger vs bpfpinger".
const PUBLISHED: [(&str, [f64; 2]); 2] = [
    ("(bpfpinger, published)", [13.013, 998.0]),
    ("(pinger with 20 goroutines, published)", [29.999, 999.0]),
];

pub fn measure(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let is_measured = |tool: &&Tool| matches!(tool.kind, Kind::Tapline | Kind::Bpfpinger);
    for _ in report.rounds("the case that bpfpinger publishes") {
        for tool in tools.iter().filter(is_measured) {
            let arguments = tool.steady(PEER, PROBES, INTERVAL_MS);
            let start = Instant::now();
            let running = on_subject_cpu(|| tool.start(&rig.left, &arguments));
            let text = running.finish().text;
            let seconds = start.elapsed().as_secs_f64();
            let received = tool.counted(&text, PROBES).received;
            let table = report.table(TITLE, &COLUMNS);
            table.add(tool.name, &[seconds, received]);
        }
        for (name, figures) in PUBLISHED {
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    report.note(
        "bpfpinger's README says of a probe every 50 ms: about 2 % of a CPU, alone and beside 20 million ICMP packets to \
         its host; pinger takes about 2 % alone and over 50 % beside them"
            .to_owned(),
    );
    let own = report.of(TITLE, tools[0].name, "seconds");
    // Count times interval, and a second for the start on a busy machine.
    report.at_most("1000 probes, one every 10 ms: seconds", &own, 11.0);
}
