//! Answered probes per second of one CPU, against a program that answers and against the kernel.

use std::time::{Duration, Instant};

use tapline_lab::generator::{Generator, GeneratorOptions};

use super::command;
use super::far_end::FarEnd;
use crate::bound::frame;
use crate::harness::{Column, Report, Running, column, pause, ratios, thread_time};
use crate::rig::{PEER, Rig, on_subject_cpu};
use crate::tool::{Kind, Tool, summary};

/// Probes by XDP, and by others: enough that the start of a program does not count.
const PROBES: u64 = 2_000_000;
const OTHER_PROBES: u64 = 400_000;

/// fping tracks at most 65 535 pending probes.
const FPING_PROBES: u64 = 60_000;

/// Stop waiting for replies after this time without one.
const SILENCE: Duration = Duration::from_millis(500);

const TITLE: &str = "Probes by XDP at the maximum rate, on one CPU";
const RATE: &str = "answered probes/s";
const FOR_CPU: &str = "for a second of CPU time";

const COLUMNS: [Column; 4] = [
    column(RATE, 1.0, 0),
    // Not affected by other load on the machine.
    column(FOR_CPU, 1.0, 0),
    column("not answered", 1.0, 0),
    column("round trip p50, us", 1.0, 1),
];

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    /// Copies of one frame, by the generator of the tests. Nothing reads replies.
    Frames,
    Xdp,
    Raw,
    Peer(Kind),
}

const DROPPED: &str = "(XDP frames, dropped by the empty program)";
const BARE: &str = "(XDP frames, the kernel answers, nothing read)";
const BARE_AFTER: &str = "(the same again, after tapline)";
const XDP: &str = "tapline ping --backend xdp, to a responder";
const XDP_KERNEL: &str = "tapline ping --backend xdp, to the kernel";
const ZMAP: &str = "zmap, to a responder";

const WAYS: [(&str, FarEnd, Sender); 14] = [
    (DROPPED, FarEnd::Drop, Sender::Frames),
    (XDP, FarEnd::Responder, Sender::Xdp),
    (
        "tapline ping --backend raw, to a responder",
        FarEnd::Responder,
        Sender::Raw,
    ),
    (ZMAP, FarEnd::Responder, Sender::Peer(Kind::Zmap)),
    (
        "masscan, to a responder",
        FarEnd::Responder,
        Sender::Peer(Kind::Masscan),
    ),
    (BARE, FarEnd::Kernel, Sender::Frames),
    (XDP_KERNEL, FarEnd::Kernel, Sender::Xdp),
    // The kernel's speed drifts: compared with the mean of both.
    (BARE_AFTER, FarEnd::Kernel, Sender::Frames),
    (
        "tapline ping --backend raw, to the kernel",
        FarEnd::Kernel,
        Sender::Raw,
    ),
    (
        "zmap, to the kernel",
        FarEnd::Kernel,
        Sender::Peer(Kind::Zmap),
    ),
    (
        "ping -f -l 100, to the kernel",
        FarEnd::Kernel,
        Sender::Peer(Kind::Ping),
    ),
    (
        "fping -i 0 -c 1, 60 000 targets, to the kernel",
        FarEnd::Kernel,
        Sender::Peer(Kind::Fping),
    ),
    (
        "tapline ping --backend raw, to the kernel, a link without programs",
        FarEnd::Plain,
        Sender::Raw,
    ),
    (
        "ping -f -l 100, to the kernel, a link without programs",
        FarEnd::Plain,
        Sender::Peer(Kind::Ping),
    ),
];

pub fn measure(rig: &Rig, tools: &[Tool], report: &mut Report) {
    for _ in report.rounds("rates by XDP") {
        for (name, far_end, sender) in WAYS {
            let figures = match sender {
                Sender::Frames => frames(rig, far_end),
                Sender::Xdp | Sender::Raw => tapline(rig, &tools[0], far_end, sender),
                Sender::Peer(kind) => {
                    let tool = tools.iter().find(|tool| tool.kind == kind);
                    tool.map_or(Vec::new(), |tool| peer(rig, tool, far_end))
                }
            };
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    let of = |name: &str| report.of(TITLE, name, FOR_CPU);
    let dropped = ratios(&of(XDP), &of(DROPPED));
    let zmap = ratios(&of(XDP), &of(ZMAP));
    let around = of(BARE).into_iter().zip(of(BARE_AFTER));
    let around: Vec<_> = around
        .map(|(one, other)| f64::midpoint(one, other))
        .collect();
    let bare = ratios(&of(XDP_KERNEL), &around);
    let lost = [XDP, XDP_KERNEL].map(|name| report.of(TITLE, name, "not answered"));
    report.at_least(
        "answered probes for a second of CPU time, by what the empty program drops",
        &dropped,
        0.1,
    );
    report.at_least("the same, by zmap's to the same responder", &zmap, 5.0);
    report.at_least(
        "the kernel answers: by those of the bare rig before and after, which reads nothing",
        &bare,
        0.9,
    );
    report.at_most("XDP, to a responder: not answered", &lost[0], 0.0);
    report.at_most("XDP, to the kernel: not answered", &lost[1], 0.0);
}

fn frames(rig: &Rig, far_end: FarEnd) -> Vec<f64> {
    let _far_end = far_end.start(rig, false);
    let request = frame(rig, PEER.parse().expect("an address"));
    let before = rig.arrived();
    let out = rig.left.interface().index;
    let (sent, cpu) = on_subject_cpu(|| {
        rig.left.run(|| {
            let mut generator = Generator::new(GeneratorOptions::new(out, request));
            generator.attach_own();
            let before = thread_time();
            let sent = generator.send(PROBES, None);
            (sent, thread_time().saturating_sub(before))
        })
    });
    let answered = match far_end {
        FarEnd::Drop => sent.delivered,
        _ => rig.arrived() - before,
    } as f64;
    vec![
        answered / sent.duration.as_secs_f64(),
        answered / cpu.as_secs_f64(),
    ]
}

fn tapline(rig: &Rig, tool: &Tool, far_end: FarEnd, sender: Sender) -> Vec<f64> {
    let _far_end = far_end.start(rig, sender == Sender::Xdp);
    let count = match sender {
        Sender::Xdp => PROBES,
        _ => OTHER_PROBES,
    };
    let arguments = format!("-c {count} -i 0 --rate max {PEER}");
    let arguments = match sender {
        Sender::Xdp => command(rig, &arguments),
        _ => format!("ping --backend raw --json -q -s 16 {arguments}"),
    };
    let finished = on_subject_cpu(|| tool.start(&rig.left, &arguments)).finish();
    let summary = summary(&finished.text);
    let number = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN);
    let received = number("received");
    vec![
        received / number("duration_ns") * 1e9,
        received / finished.used.cpu.as_secs_f64(),
        count as f64 - received,
        number("rtt_p50_ns") / 1000.0,
    ]
}

/// Replies that arrive, whether the program takes them or not.
fn peer(rig: &Rig, tool: &Tool, far_end: FarEnd) -> Vec<f64> {
    let _far_end = far_end.start(rig, false);
    let count = match tool.kind {
        Kind::Fping => FPING_PROBES,
        _ => OTHER_PROBES,
    };
    let arguments = tool.fastest(rig, count);
    let (start, arrived) = (Instant::now(), rig.arrived());
    let mut running = on_subject_cpu(|| tool.start(&rig.left, &arguments));
    let (answers, time) = last_answer(rig, count, start, arrived, &mut running);
    // masscan does not always end by itself.
    if tool.kind == Kind::Masscan {
        let used = running.used();
        running.kill();
        running.finish();
        let answers = answers as f64;
        return vec![
            answers / time.as_secs_f64(),
            answers / used.cpu.as_secs_f64(),
        ];
    }
    let finished = running.finish();
    let answers = answers as f64;
    vec![
        answers / time.as_secs_f64(),
        answers / finished.used.cpu.as_secs_f64(),
        count as f64 - answers,
    ]
}

/// The number of replies, and the time of the last one since `start`.
fn last_answer(
    rig: &Rig,
    count: u64,
    start: Instant,
    arrived: u64,
    running: &mut Running,
) -> (u64, Duration) {
    let (mut answers, mut answered_after) = (0, start.elapsed());
    while answers < count {
        let now = rig.arrived() - arrived;
        if now > answers {
            (answers, answered_after) = (now, start.elapsed());
        }
        let is_silent = start.elapsed() > answered_after + SILENCE;
        if is_silent && (answers > 0 || running.has_ended(Duration::ZERO)) {
            break;
        }
        pause(Duration::from_millis(1));
    }
    (answers.min(count), answered_after)
}
