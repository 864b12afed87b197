//! The seven cases of bpfpinger's README with published figures. Three run times are here: 1000 probes, one every 10 ms, by
//! bpfpinger and by pinger; and 200 probes to each of two hosts, one every 15 ms. Here to the other host, there to hosts on
//! the Internet, where some probes were lost. Four CPU times are among the tables of the floods: both, alone and beside
//! a flood.

use std::time::Instant;

use crate::harness::{Column, Report, column};
use crate::rig::{PEER, Rig, on_subject_cpu};
use crate::steady::BY_XDP;
use crate::tool::{Kind, Tool};
use crate::xdp::attach_pass;

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
    let is_measured =
        |tool: &&Tool| matches!(tool.kind, Kind::Tapline | Kind::Bpfpinger | Kind::Pinger);
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
        by_xdp(
            rig,
            &tools[0],
            TITLE,
            PEER,
            [PROBES, INTERVAL_MS, 1],
            report,
        );
        for (name, figures) in PUBLISHED {
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    two_hosts(rig, tools, report);
    let own = report.of(TITLE, tools[0].name, "seconds");
    // Count times interval, and a second for the start on a busy machine.
    report.at_most("1000 probes, one every 10 ms: seconds", &own, 11.0);
}

/// Adds a row for tapline's XDP back end.
fn by_xdp(
    rig: &Rig,
    tool: &Tool,
    title: &str,
    hosts: &str,
    [probes, interval_ms, targets]: [u32; 3],
    report: &mut Report,
) {
    let _takes = attach_pass(&rig.right);
    let arguments = Tool::steady_by_xdp(rig, hosts, probes, interval_ms);
    let start = Instant::now();
    let running = on_subject_cpu(|| tool.start(&rig.left, &arguments));
    let text = running.finish().text;
    let seconds = start.elapsed().as_secs_f64();
    let received = tool.counted(&text, probes * targets).received;
    report
        .table(title, &COLUMNS)
        .add(BY_XDP, &[seconds, received]);
}

const TWO: &str =
    "200 probes to each of two hosts, one every 15 ms, and what bpfpinger's README says";
const TWO_HOSTS: [&str; 2] = ["10.2.0.1", "10.2.0.2"];
const TWO_PROBES: u32 = 200;
const TWO_MS: u32 = 15;
/// Seconds and replies.
///
/// # Source
/// The same README, "Example".
const TWO_PUBLISHED: [f64; 2] = [3.484, 400.0];

fn two_hosts(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let all = 2 * TWO_PROBES;
    for _ in report.rounds("the example of bpfpinger's README") {
        for tool in tools {
            let hosts = match tool.kind {
                Kind::Tapline => TWO_HOSTS.join(" "),
                Kind::Bpfpinger => TWO_HOSTS.join(","),
                _ => continue,
            };
            let arguments = tool.steady(&hosts, TWO_PROBES, TWO_MS);
            let start = Instant::now();
            let running = on_subject_cpu(|| tool.start(&rig.left, &arguments));
            let text = running.finish().text;
            let seconds = start.elapsed().as_secs_f64();
            let received = tool.counted(&text, all).received;
            report
                .table(TWO, &COLUMNS)
                .add(tool.name, &[seconds, received]);
        }
        let hosts = TWO_HOSTS.join(" ");
        by_xdp(rig, &tools[0], TWO, &hosts, [TWO_PROBES, TWO_MS, 2], report);
        report
            .table(TWO, &COLUMNS)
            .add("(bpfpinger, published)", &TWO_PUBLISHED);
    }
    let own = report.of(TWO, tools[0].name, "seconds");
    report.at_most("two hosts, one every 15 ms: seconds", &own, 4.0);
}
