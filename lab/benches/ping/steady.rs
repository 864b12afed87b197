//! Cost of probes at a steady rate: a few probes while a flood of replies arrives for other processes, and a thousand
//! targets, each probed once a second.

use std::fs;
use std::net::Ipv4Addr;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::bound;
use crate::harness::{Column, Report, Spread, column, pause, ratios};
use crate::rig::{PEER, Rig, on_subject_cpu};
use crate::tool::{Kind, Tool};
use crate::xdp::attach_pass;

pub const COLUMNS: [Column; 3] = [
    column("CPU, %", 1.0, 2),
    column("probes lost", 1.0, 0),
    column("packets/s received", 1.0, 0),
];

/// Runs a tool for `probes` probes. Measures CPU time in %, and received packets per second, in a window that starts
/// `before` after the tool. The probes continue beyond the window.
pub fn figures(
    rig: &Rig,
    tool: &Tool,
    arguments: &str,
    probes: u32,
    times: [Duration; 2],
) -> [f64; 3] {
    figures_and_text(rig, tool, arguments, probes, times).0
}

/// The same, with what the tool printed.
pub fn figures_and_text(
    rig: &Rig,
    tool: &Tool,
    arguments: &str,
    probes: u32,
    [before, measured]: [Duration; 2],
) -> ([f64; 3], String) {
    let running = on_subject_cpu(|| tool.start(&rig.left, arguments));
    pause(before);
    let (start, arrived, used) = (Instant::now(), rig.arrived(), running.used());
    pause(measured);
    let cpu = running.used().since(used).cpu.as_secs_f64();
    let seconds = start.elapsed().as_secs_f64();
    let arrived = (rig.arrived() - arrived) as f64;
    let text = running.finish().text;
    let counted = tool.counted(&text, probes);
    let figures = [
        100.0 * cpu / seconds,
        f64::from(probes) - counted.received,
        arrived / seconds,
    ];
    (figures, text)
}

/// Probes per trial during a flood, and milliseconds between them.
const PROBES: u32 = 36;
const INTERVAL_MS: u32 = 50;
const FLOOD_TIMES: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1400)];

/// The same for the XDP back end, which loads programs before.
const XDP_PROBES: u32 = 60;
const XDP_TIMES: [Duration; 2] = [Duration::from_millis(1200), Duration::from_millis(1400)];

/// The row of the XDP back end.
pub const BY_XDP: &str = "tapline ping --backend xdp";

/// Payload sizes of the flood; `None` for no flood.
const FLOODS: [Option<u32>; 3] = [None, Some(56), Some(3)];

/// CPU in % without a flood, and beside one of 20 million packets.
///
/// # Source
/// README-CN.md of github.com/chenjiandongx/bpfpinger, 8c63213: "about ~2 %", the same beside the flood, and "over 50 %" for
/// pinger.
const PUBLISHED: [(&str, [f64; 2]); 2] = [
    ("(bpfpinger, published)", [2.0, 2.0]),
    ("(pinger, published)", [2.0, 50.0]),
];

/// Minimum rate of a flood, packets per second.
const FLOOD_PPS: f64 = 100_000.0;

/// How long to measure a single flooding process, and by how much it must exceed the minimum rate. It is slower while
/// other processes run.
const TRIED: Duration = Duration::from_millis(300);
const ENOUGH: f64 = 1.3;

pub fn flood(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let count = needed(rig, tools);
    let title = |flood| match flood {
        None => "A probe every 50 ms, nobody else".to_owned(),
        Some(bytes) => format!("A probe every 50 ms beside {count} ping -f -s {bytes}"),
    };
    for _ in report.rounds("floods") {
        for payload in FLOODS {
            let _flood = payload.and_then(|bytes| Flood::start(rig, tools, bytes, count));
            for tool in tools.iter().filter(|tool| !tool.is_scanner()) {
                let arguments = tool.steady(PEER, PROBES, INTERVAL_MS);
                let figures = figures(rig, tool, &arguments, PROBES, FLOOD_TIMES);
                report
                    .table(&title(payload), &COLUMNS)
                    .add(tool.name, &figures);
            }
            let arguments = Tool::steady_by_xdp(rig, PEER, XDP_PROBES, INTERVAL_MS);
            let takes = attach_pass(&rig.right);
            let figures = figures(rig, &tools[0], &arguments, XDP_PROBES, XDP_TIMES);
            drop(takes);
            report
                .table(&title(payload), &COLUMNS)
                .add(BY_XDP, &figures);
            let published = usize::from(payload.is_some());
            for (name, cpu) in PUBLISHED {
                let table = report.table(&title(payload), &COLUMNS);
                table.add(name, &cpu[published..=published]);
            }
        }
    }
    for bytes in FLOODS.into_iter().flatten() {
        let of = |name, head| report.of(&title(Some(bytes)), name, head);
        let [arrived, cpu, lost] =
            ["packets/s received", "CPU, %", "probes lost"].map(|head| of(tools[0].name, head));
        let by_xdp = ["CPU, %", "probes lost"].map(|head| of(BY_XDP, head));
        let alone = report.of(&title(None), BY_XDP, "CPU, %");
        let more = by_xdp[0].iter().zip(&alone);
        let more: Vec<_> = more.map(|(beside, alone)| beside - alone).collect();
        let theirs = Spread::of(&of("ping", "CPU, %"));
        let limit = theirs.map_or(0.2, |spread| spread.median.max(0.2));
        let what = |figure| format!("flood of {bytes} bytes: {figure}");
        report.at_least(&what("packets/s received"), &arrived, FLOOD_PPS);
        report.at_most(&what("CPU, %"), &cpu, limit);
        report.at_most(&what("probes lost"), &lost, 0.0);
        report.at_most(&what("more CPU by XDP than alone, %"), &more, 0.1);
        report.at_most(&what("probes by XDP lost"), &by_xdp[1], 0.0);
    }
}

/// Number of ping(8) processes for a flood: two if a single one is not fast enough beside other processes.
fn needed(rig: &Rig, tools: &[Tool]) -> usize {
    let _flood = Flood::start(rig, tools, 56, 1);
    let before = rig.arrived();
    pause(TRIED);
    let pps = (rig.arrived() - before) as f64 / TRIED.as_secs_f64();
    if pps < ENOUGH * FLOOD_PPS { 2 } else { 1 }
}

/// Flooding ping(8) processes, killed on drop.
struct Flood(Vec<Child>);

impl Flood {
    /// The first process has the CPU of the bench, which sleeps; the second shares that of the measured processes.
    fn start(rig: &Rig, tools: &[Tool], bytes: u32, count: usize) -> Option<Self> {
        let ping = tools.iter().find(|tool| tool.kind == Kind::Ping)?;
        let program = ping.program.to_str()?;
        let spawn = || {
            let mut command = rig.left.command(program);
            command.args(["-f", "-q", "-s", &bytes.to_string(), PEER]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        };
        let mut flood = Self(vec![spawn()]);
        flood.0.extend((1..count).map(|_| on_subject_cpu(spawn)));
        Some(flood)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        for ping in &mut self.0 {
            ping.kill().expect("it floods");
            ping.wait().expect("it ends");
        }
    }
}

/// Number of targets, each probed once a second.
pub const TARGETS: u32 = 1000;
const ROUNDS: u32 = 4;
const MANY_TIMES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3)];
const MANY: &str = "1000 targets, once a second each";

pub fn many(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let list = NamedTempFile::new().expect("a file");
    let [targets, nowhere] = [2, 3].map(|network| {
        let host =
            |number| Ipv4Addr::new(10, network, (number / 250) as u8, (number % 250 + 1) as u8);
        (0..TARGETS).map(host).collect::<Vec<_>>()
    });
    let lines = targets.iter().map(|target| format!("{target}\n"));
    fs::write(&list, lines.collect::<String>()).expect("a list");
    let list = list.path().display();
    let mut ways: Vec<(&Tool, String, String)> = Vec::new();
    for tool in tools {
        let name = tool.name;
        match tool.kind {
            Kind::Tapline => {
                let common = format!("ping --json -q -c {ROUNDS}");
                ways.push((tool, name.into(), format!("{common} -f {list}")));
                let range = format!("fd00:2::1-fd00:2::{TARGETS:x}");
                ways.push((tool, format!("{name}, IPv6"), format!("{common} {range}")));
            }
            // One millisecond between two probes: a thousand per second.
            Kind::Fping => {
                let arguments = format!("-q -c {ROUNDS} -p 1000 -i 1 -f {list}");
                ways.push((tool, name.into(), arguments));
            }
            _ => {}
        }
    }
    let probes = ROUNDS * TARGETS;
    let bare = "(raw socket, which reads)";
    for _ in report.rounds("a thousand targets") {
        let table = report.table(MANY, &COLUMNS[..2]);
        let frames = bound::steady_frames(rig, &targets, ROUNDS);
        table.add("(packet socket, nothing read)", &[frames]);
        let (share, read) = bound::steady(rig, &targets, ROUNDS);
        table.add(bare, &[share, f64::from(probes) - read as f64]);
        let (share, _) = bound::steady(rig, &nowhere, ROUNDS);
        table.add("(raw socket, nobody answers)", &[share, f64::from(probes)]);
        for (tool, name, arguments) in &ways {
            table.add(
                name,
                &figures(rig, tool, arguments, probes, MANY_TIMES)[..2],
            );
        }
    }
    let own = tools[0].name;
    for (_, name, _) in ways.iter().filter(|(_, name, _)| name.starts_with(own)) {
        let [cpu, lost] = ["CPU, %", "probes lost"].map(|head| report.of(MANY, name, head));
        report.at_most(&format!("1000 targets, {name}: CPU, %"), &cpu, 0.5);
        report.at_most(&format!("1000 targets, {name}: lost"), &lost, 0.0);
    }
    let [ours, bound] = [own, bare].map(|name| report.of(MANY, name, "CPU, %"));
    let times = column("", 1.0, 2).cell(&ratios(&ours, &bound));
    report.note(format!("1000 targets: times a bare raw socket: {times}"));
}
