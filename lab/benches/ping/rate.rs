//! Probes a second with a valid round trip on one processor, the kernel's answering included.

use std::time::Instant;

use crate::bound;
use crate::rig::{PEER, Rig, on_subject_cpu};
use crate::table::{self, cell};
use crate::tool::{Kind, Tool, summary};

const PROBES: u64 = 200_000;

/// fping has room for 65 535 on their way and forgets none of them for ten seconds; it is as fast as can
/// be with many targets, each asked once.
const FPING_PROBES: u64 = 60_000;
const FPING_TARGETS: &str = "-g 10.2.0.1 10.2.234.96";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    BoundPacket,
    BoundRaw,
    Raw,
    Ring,
    PingSocket,
    Ping,
    PingPreload,
    Fping,
}

impl Way {
    const ALL: [Self; 8] = [
        Self::BoundPacket,
        Self::BoundRaw,
        Self::Raw,
        Self::Ring,
        Self::PingSocket,
        Self::Ping,
        Self::PingPreload,
        Self::Fping,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::BoundPacket => "(packet socket, nothing read)",
            Self::BoundRaw => "(raw socket, 64 a call, nothing read)",
            Self::Raw => "tapline ping --backend raw",
            Self::Ring => "tapline ping --backend ring",
            Self::PingSocket => "tapline ping --backend ping-socket",
            Self::Ping => "ping -f",
            Self::PingPreload => "ping -f -l 100",
            Self::Fping => "fping -i 0 -c 1, 60 000 targets",
        }
    }
}

#[derive(Debug, Default)]
struct Row {
    rate: Vec<f64>,
    lost: Vec<f64>,
    /// Median of the round trips that were told, in microseconds.
    p50: Vec<f64>,
}

pub fn run(rig: &Rig, tools: &[Tool], rounds: u32) {
    let mut rows = Way::ALL.map(|_| Row::default());
    for number in 1..=rounds {
        eprintln!("bench: rates, round {number} of {rounds}");
        for (way, row) in Way::ALL.into_iter().zip(&mut rows) {
            row.add(rig, tools, way);
        }
    }
    let columns = ["who", "answered probes/s", "lost", "round trip p50, us"];
    table::heading("Probes as fast as can be, on one processor", &columns);
    for (way, row) in Way::ALL.into_iter().zip(&rows) {
        table::row(&[
            way.name().to_owned(),
            cell(&row.rate, 0),
            cell(&row.lost, 0),
            cell(&row.p50, 1),
        ]);
    }
    println!();
    let best = |ways: &[Way]| {
        let rates = |round: usize| {
            let of = |way: &Way| rows[*way as usize].rate.get(round).copied();
            ways.iter().filter_map(of).fold(0.0, f64::max)
        };
        (0..rounds as usize).map(rates).collect::<Vec<_>>()
    };
    let ours = best(&[Way::Raw, Way::Ring, Way::PingSocket]);
    let share = |theirs: Vec<f64>| -> Vec<f64> {
        let pairs = ours.iter().zip(theirs);
        pairs.map(|(ours, theirs)| ours / theirs).collect()
    };
    table::at_least("answered probes/s", &ours, 230_000.0);
    let bound = best(&[Way::BoundPacket, Way::BoundRaw]);
    println!(
        "- of the rig's bound, where nothing is read: {}",
        cell(&share(bound), 2)
    );
    let peers = best(&[Way::Ping, Way::PingPreload, Way::Fping]);
    table::at_least("times the best of ping and fping", &share(peers), 1.0);
    for way in [Way::Raw, Way::Ring] {
        let lost = &rows[way as usize].lost;
        table::at_most(&format!("{}: lost", way.name()), lost, 0.0);
    }
}

impl Row {
    fn add(&mut self, rig: &Rig, tools: &[Tool], way: Way) {
        let find = |kind| tools.iter().find(|tool| tool.kind == kind);
        match way {
            Way::BoundPacket => self.rate.push(bound::packet(rig, PROBES)),
            Way::BoundRaw => self.rate.push(bound::raw(rig, PROBES)),
            Way::Raw => self.tapline(rig, find(Kind::Tapline), "raw"),
            Way::Ring => self.tapline(rig, find(Kind::Tapline), "ring"),
            Way::PingSocket => self.tapline(rig, find(Kind::Tapline), "ping-socket"),
            Way::Ping | Way::PingPreload => {
                let preload = if way == Way::Ping { 1 } else { 100 };
                let arguments = format!("-f -n -q -s 16 -l {preload} -c {PROBES} {PEER}");
                self.peer(rig, find(Kind::Ping), &arguments, PROBES);
            }
            Way::Fping => {
                let arguments = format!("-q -b 16 -i 0 -c 1 {FPING_TARGETS}");
                self.peer(rig, find(Kind::Fping), &arguments, FPING_PROBES);
            }
        }
    }

    fn tapline(&mut self, rig: &Rig, tool: Option<&Tool>, backend: &str) {
        let Some(tool) = tool else { return };
        let link = rig.interface();
        let arguments = format!(
            "ping --json -q -c {PROBES} -i 0 --rate max -s 16 --backend {backend} -I {link} {PEER}"
        );
        let child = on_subject_cpu(|| tool.start(&rig.left, &arguments));
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        let summary = summary(&text).unwrap_or_else(|| panic!("{output:?}"));
        let number = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN);
        let seconds = number("duration_ns") / 1e9;
        self.rate.push(number("received") / seconds);
        self.lost.push(PROBES as f64 - number("received"));
        self.p50.push(number("rtt_p50_ns") / 1000.0);
    }

    fn peer(&mut self, rig: &Rig, tool: Option<&Tool>, arguments: &str, count: u64) {
        let Some(tool) = tool else { return };
        let (start, arrived) = (Instant::now(), rig.arrived());
        let child = on_subject_cpu(|| tool.start(&rig.left, arguments));
        let mut answered_after = 0.0;
        // Some wait for what is lost; that takes nothing from their rate.
        while rig.arrived() - arrived < count && !has_ended(&child) {
            answered_after = start.elapsed().as_secs_f64();
        }
        let counted = tool.counted(child, count as u32).expect("it counts");
        self.rate.push(counted.received / answered_after);
        self.lost.push(counted.sent - counted.received);
    }
}

/// A zombie has no memory.
fn has_ended(child: &std::process::Child) -> bool {
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", child.id()));
    statm.is_ok_and(|text| text.starts_with("0 "))
}
