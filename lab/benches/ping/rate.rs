//! Probes a second with a valid round trip on one processor, the kernel's answering included.

use std::time::{Duration, Instant};

use crate::bound;
use crate::rig::{PEER, PEER_IPV6, Rig, on_subject_cpu};
use crate::table::{self, cell};
use crate::tool::{Kind, Tool, summary};

const PROBES: u64 = 200_000;

/// fping has room for 65 535 on their way and forgets none of them for ten seconds; it is as fast as can
/// be with many targets, each asked once.
const FPING_PROBES: u64 = 60_000;
const FPING_TARGETS: &str = "-g 10.2.0.1 10.2.234.96";

/// After this time without an answer none is waited for.
const SILENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    BoundPacket,
    BoundRaw,
    Raw,
    Ring,
    PingSocket,
    RawIpv6,
    RingIpv6,
    Ping,
    PingPreload,
    Fping,
}

impl Way {
    const ALL: [Self; 10] = [
        Self::BoundPacket,
        Self::BoundRaw,
        Self::Raw,
        Self::Ring,
        Self::PingSocket,
        Self::RawIpv6,
        Self::RingIpv6,
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
            Self::RawIpv6 => "tapline ping --backend raw, IPv6",
            Self::RingIpv6 => "tapline ping --backend ring, IPv6",
            Self::Ping => "ping -f",
            Self::PingPreload => "ping -f -l 100",
            Self::Fping => "fping -i 0 -c 1, 60 000 targets",
        }
    }
}

#[derive(Debug, Default)]
struct Row {
    rate: Vec<f64>,
    /// Answered probes for a second of processor time, which nobody else on the machine takes from.
    for_cpu: Vec<f64>,
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
    let columns = [
        "who",
        "answered probes/s",
        "for a second of processor time",
        "lost",
        "round trip p50, us",
    ];
    table::heading("Probes as fast as can be, on one processor", &columns);
    for (way, row) in Way::ALL.into_iter().zip(&rows) {
        table::row(&[
            way.name().to_owned(),
            cell(&row.rate, 0),
            cell(&row.for_cpu, 0),
            cell(&row.lost, 0),
            cell(&row.p50, 1),
        ]);
    }
    println!();
    verdicts(&rows);
}

fn verdicts(rows: &[Row]) {
    // The best of some in each round.
    let best = |ways: &[Way], pick: fn(&Row) -> &[f64]| -> Vec<f64> {
        let rounds = pick(&rows[ways[0] as usize]).len();
        let of_round = |round: usize| {
            let rates = ways.iter().map(|way| pick(&rows[*way as usize]));
            let rates = rates.filter_map(|rates| rates.get(round).copied());
            rates.fold(0.0, f64::max)
        };
        (0..rounds).map(of_round).collect()
    };
    let ratios = |one: &[f64], other: &[f64]| -> Vec<f64> {
        let pairs = one.iter().zip(other);
        pairs.map(|(one, other)| one / other).collect()
    };
    let by_cpu: fn(&Row) -> &[f64] = |row| &row.for_cpu;
    let by_clock: fn(&Row) -> &[f64] = |row| &row.rate;
    let own = [Way::Raw, Way::Ring, Way::PingSocket];
    let ours = best(&own, by_cpu);
    let what = "answered probes for a second of processor time";
    table::at_least(what, &ours, 230_000.0);
    let bound = best(&[Way::BoundPacket, Way::BoundRaw], by_cpu);
    let share = cell(&ratios(&ours, &bound), 2);
    println!("- of the rig's bound, where nothing is read: {share}");
    let peers = best(&[Way::Ping, Way::PingPreload, Way::Fping], by_clock);
    let ratio = ratios(&best(&own, by_clock), &peers);
    table::at_least("times the rate of the best of ping and fping", &ratio, 1.0);
    for way in [Way::Raw, Way::Ring, Way::RawIpv6, Way::RingIpv6] {
        let lost = &rows[way as usize].lost;
        table::at_most(&format!("{}: lost", way.name()), lost, 0.0);
    }
}

impl Row {
    fn add(&mut self, rig: &Rig, tools: &[Tool], way: Way) {
        let find = |kind| tools.iter().find(|tool| tool.kind == kind);
        match way {
            Way::BoundPacket => self.bound(bound::packet(rig, PROBES)),
            Way::BoundRaw => self.bound(bound::raw(rig, PROBES)),
            Way::Raw => self.tapline(rig, find(Kind::Tapline), "raw", PEER),
            Way::Ring => self.tapline(rig, find(Kind::Tapline), "ring", PEER),
            Way::PingSocket => self.tapline(rig, find(Kind::Tapline), "ping-socket", PEER),
            Way::RawIpv6 => self.tapline(rig, find(Kind::Tapline), "raw", PEER_IPV6),
            Way::RingIpv6 => self.tapline(rig, find(Kind::Tapline), "ring", PEER_IPV6),
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

    fn bound(&mut self, [rate, for_cpu]: [f64; 2]) {
        self.rate.push(rate);
        self.for_cpu.push(for_cpu);
    }

    fn tapline(&mut self, rig: &Rig, tool: Option<&Tool>, backend: &str, peer: &str) {
        let Some(tool) = tool else { return };
        let link = rig.interface();
        let arguments = format!(
            "ping --json -q -c {PROBES} -i 0 --rate max -s 16 --backend {backend} -I {link} {peer}"
        );
        let finished = on_subject_cpu(|| tool.start(&rig.left, &arguments)).finish();
        let summary = summary(&finished.text).unwrap_or_else(|| panic!("{finished:?}"));
        let number = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN);
        let seconds = number("duration_ns") / 1e9;
        self.rate.push(number("received") / seconds);
        self.for_cpu
            .push(number("received") / finished.cpu.as_secs_f64());
        self.lost.push(PROBES as f64 - number("received"));
        self.p50.push(number("rtt_p50_ns") / 1000.0);
    }

    fn peer(&mut self, rig: &Rig, tool: Option<&Tool>, arguments: &str, count: u64) {
        let Some(tool) = tool else { return };
        let (start, arrived) = (Instant::now(), rig.arrived());
        let running = on_subject_cpu(|| tool.start(&rig.left, arguments));
        // Some wait for what is lost, and some for a reader of what they say; that takes nothing from
        // their rate.
        let (mut answers, mut answered_after) = (0, start.elapsed());
        while answers < count && start.elapsed() < answered_after + SILENCE {
            let now = rig.arrived() - arrived;
            if now > answers {
                (answers, answered_after) = (now, start.elapsed());
            }
        }
        let finished = running.finish();
        let counted = tool.counted(&finished.text, count as u32);
        let counted = counted.unwrap_or_else(|| panic!("{finished:?}"));
        self.rate
            .push(counted.received / answered_after.as_secs_f64());
        self.for_cpu
            .push(counted.received / finished.cpu.as_secs_f64());
        self.lost.push(counted.sent - counted.received);
    }
}
