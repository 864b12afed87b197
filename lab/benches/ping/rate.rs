//! Probes per second with a valid round trip on one CPU, including the kernel's replies. Also checks that counts add up
//! over many probes: sent by the program, counted by the replying kernel, and received.

use std::time::{Duration, Instant};

use crate::bound;
use crate::harness::{Column, Report, column, ratios};
use crate::rig::{PEER, PEER_IPV6, Rig, echoes, on_subject_cpu};
use crate::tool::{Kind, Tool, summary};

const PROBES: u64 = 200_000;

/// fping tracks at most 65 535 pending probes and keeps each for ten seconds. It is fastest with many targets, each
/// probed once.
const FPING_PROBES: u64 = 60_000;
const FPING_TARGETS: &str = "-g 10.2.0.1 10.2.234.96";

/// Stop waiting for replies after this time without one.
const SILENCE: Duration = Duration::from_secs(1);

const TITLE: &str = "Probes at the maximum rate, on one CPU";
const RATE: &str = "answered probes/s";
const FOR_CPU: &str = "for a second of CPU time";

const COLUMNS: [Column; 4] = [
    column(RATE, 1.0, 0),
    // Not affected by other load on the machine.
    column(FOR_CPU, 1.0, 0),
    column("lost", 1.0, 0),
    column("round trip p50, us", 1.0, 1),
];

/// How to send probes: tapline's back end and target, or the arguments of a peer.
enum Way {
    Bound(fn(&Rig, u64) -> [f64; 2]),
    Tapline(&'static str, &'static str),
    Peer(Kind, String, u64),
}

pub fn measure(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let ping = |preload| format!("-f -n -q -s 16 -l {preload} -c {PROBES} {PEER}");
    let fping = format!("-q -b 16 -i 0 -c 1 {FPING_TARGETS}");
    let ways = [
        ("(packet socket, nothing read)", Way::Bound(bound::packet)),
        (
            "(raw socket, 64 a call, nothing read)",
            Way::Bound(bound::raw),
        ),
        ("tapline ping --backend raw", Way::Tapline("raw", PEER)),
        ("tapline ping --backend ring", Way::Tapline("ring", PEER)),
        (
            "tapline ping --backend ping-socket",
            Way::Tapline("ping-socket", PEER),
        ),
        (
            "tapline ping --backend raw, IPv6",
            Way::Tapline("raw", PEER_IPV6),
        ),
        (
            "tapline ping --backend ring, IPv6",
            Way::Tapline("ring", PEER_IPV6),
        ),
        ("ping -f", Way::Peer(Kind::Ping, ping(1), PROBES)),
        ("ping -f -l 100", Way::Peer(Kind::Ping, ping(100), PROBES)),
        (
            "fping -i 0 -c 1, 60 000 targets",
            Way::Peer(Kind::Fping, fping, FPING_PROBES),
        ),
    ];
    for _ in report.rounds("rates") {
        for (name, way) in &ways {
            let find = |kind| tools.iter().find(|tool| tool.kind == kind);
            let figures = match way {
                Way::Bound(send) => send(rig, PROBES).into(),
                Way::Tapline(backend, target) => tapline(rig, &tools[0], backend, target).into(),
                Way::Peer(kind, arguments, count) => {
                    let tool = find(*kind);
                    tool.map_or(Vec::new(), |tool| peer(rig, tool, arguments, *count).into())
                }
            };
            report.table(TITLE, &COLUMNS).add(name, &figures);
        }
    }
    let names = ways.map(|(name, _)| name);
    // The best of several subjects in each round.
    let best = |names: &[&str], head| {
        let rows: Vec<_> = names
            .iter()
            .map(|name| report.of(TITLE, name, head))
            .collect();
        let rounds = 0..rows.iter().map(Vec::len).max().unwrap_or(0);
        let of_round = |round: usize| rows.iter().filter_map(move |row| row.get(round).copied());
        rounds
            .map(|round| of_round(round).fold(0.0, f64::max))
            .collect::<Vec<_>>()
    };
    let ours = best(&names[2..5], FOR_CPU);
    let share = column("", 1.0, 2).cell(&ratios(&ours, &best(&names[..2], FOR_CPU)));
    let times = ratios(&best(&names[2..5], RATE), &best(&names[7..], RATE));
    report.at_least("answered probes for a second of CPU time", &ours, 230_000.0);
    report.note(format!(
        "of the rig's bound, where nothing is read: {share}"
    ));
    report.at_least("times the rate of the best of ping and fping", &times, 1.0);
    for name in [2, 3, 5, 6].map(|way| names[way]) {
        let lost = report.of(TITLE, name, "lost");
        report.at_most(&format!("{name}: lost"), &lost, 0.0);
    }
}

fn tapline(rig: &Rig, tool: &Tool, backend: &str, target: &str) -> [f64; 4] {
    let link = rig.interface();
    let arguments = format!(
        "ping --json -q -c {PROBES} -i 0 --rate max -s 16 --backend {backend} -I {link} {target}"
    );
    let finished = on_subject_cpu(|| tool.start(&rig.left, &arguments)).finish();
    let summary = summary(&finished.text);
    let number = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN);
    let received = number("received");
    [
        received / number("duration_ns") * 1e9,
        received / finished.used.cpu.as_secs_f64(),
        PROBES as f64 - received,
        number("rtt_p50_ns") / 1000.0,
    ]
}

fn peer(rig: &Rig, tool: &Tool, arguments: &str, count: u64) -> [f64; 3] {
    let (start, arrived) = (Instant::now(), rig.arrived());
    let running = on_subject_cpu(|| tool.start(&rig.left, arguments));
    // Some programs wait for lost replies. That must not lower their rate.
    let (mut answers, mut answered_after) = (0, start.elapsed());
    while answers < count && start.elapsed() < answered_after + SILENCE {
        let now = rig.arrived() - arrived;
        if now > answers {
            (answers, answered_after) = (now, start.elapsed());
        }
    }
    let finished = running.finish();
    let counted = tool.counted(&finished.text, count as u32);
    let [rate, for_cpu] =
        [answered_after, finished.used.cpu].map(|time| counted.received / time.as_secs_f64());
    [rate, for_cpu, counted.sent - counted.received]
}

const COUNTS: [Column; 5] = [
    column("sent", 1.0, 0),
    column("asked, by the kernel", 1.0, 0),
    column("received", 1.0, 0),
    column("lost", 1.0, 0),
    column("s", 1.0, 1),
];

pub fn counts(rig: &Rig, tapline: &Tool, is_long: bool, report: &mut Report) {
    let one = |probes| format!("-c {probes} -i 0 {PEER}");
    let loopback = "-c 1 127.16.0.1-127.31.66.64".to_owned();
    let link = "-c 2 -i 0 10.2.0.1-10.2.234.96".to_owned();
    // Arguments, number of probes to send, and the replying host.
    let mut cases = vec![
        (
            "1 000 000 targets on the loopback",
            loopback,
            1_000_000,
            &rig.left,
        ),
        (
            "60 000 targets over the link, twice",
            link,
            120_000,
            &rig.right,
        ),
        (
            "70 000 probes to one target",
            one(70_000),
            70_000,
            &rig.right,
        ),
    ];
    if is_long {
        let name = "10 000 000 probes to one target";
        cases.push((name, one(10_000_000), 10_000_000, &rig.right));
    }
    let mut wrong = 0;
    for (name, targets, probes, host) in cases {
        eprintln!("bench: {name}");
        let (start, before) = (Instant::now(), echoes(host));
        let arguments = format!("ping --json -q --rate max -s 16 {targets}");
        let finished = tapline.start(&rig.left, &arguments).finish();
        let asked = echoes(host) - before;
        let summary = summary(&finished.text);
        let [sent, received, lost] =
            ["sent", "received", "lost"].map(|key| summary[key].as_u64().unwrap_or(u64::MAX));
        wrong += u32::from([sent, asked, received, lost] != [probes, probes, probes, 0]);
        let seconds = start.elapsed().as_secs_f64();
        let [sent, asked, received, lost] = [sent, asked, received, lost].map(|count| count as f64);
        report
            .table("Account check", &COUNTS)
            .add(name, &[sent, asked, received, lost, seconds]);
    }
    report.at_most("cases that do not add up", &[f64::from(wrong)], 0.0);
}
