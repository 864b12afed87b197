//! Compares reported round-trip times with those of the kernel.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tapline::ping::targets::{NoResolver, TargetsBuilder};
use tapline::ping::{Backend, Classification, PingEvent, PingOptions, Prober};

use crate::harness::{Column, Report, column, on_cpu};
use crate::rig::{PEER, PEER_IPV6, Rig, on_subject_cpu};
use crate::tool::{Kind, Tool};
use crate::truth::{self, Truth, quantiles};

/// Probes per trial, one every millisecond.
const PROBES: u32 = 500;

/// The load to measure under.
struct Load {
    name: &'static str,
    /// Whether a busy loop runs on each CPU.
    is_busy: bool,
    targets: u32,
    /// Probes to each target.
    count: u32,
    interval: Duration,
    /// The back end that `auto` selects.
    backend: Backend,
    /// Whether peers are measured too. Only tapline supports more than one pending probe per target.
    is_for_peers: bool,
}

const IDLE: Load = Load {
    name: "a probe every ms",
    is_busy: false,
    targets: 1,
    count: PROBES,
    interval: Duration::from_millis(1),
    backend: Backend::Raw,
    is_for_peers: true,
};

const LOADS: [Load; 4] = [
    IDLE,
    Load {
        name: "a probe every ms, both CPUs busy",
        is_busy: true,
        ..IDLE
    },
    // Targets that are due within a quarter of their interval are sent together.
    Load {
        name: "64 probes at once every 20 ms",
        targets: 256,
        count: 12,
        interval: Duration::from_millis(80),
        is_for_peers: false,
        ..IDLE
    },
    Load {
        name: "maximum rate, on one CPU",
        count: 50_000,
        interval: Duration::ZERO,
        backend: Backend::Ring,
        is_for_peers: false,
        ..IDLE
    },
];

/// Back ends of the library, and their targets.
const OWN: [(Backend, &str); 4] = [
    (Backend::Raw, PEER),
    (Backend::Ring, PEER),
    (Backend::PingSocket, PEER),
    (Backend::Raw, PEER_IPV6),
];

/// Reported round-trip times in nanoseconds, by target and probe number.
type Told = Vec<((IpAddr, u32), f64)>;

const P50: &str = "beyond the kernel's p50";
const P99: &str = "beyond its p99";
const MISSING: &str = "not reported";

const COLUMNS: [Column; 7] = [
    column("kernel p50, us", 1.0, 2),
    column("p99", 1.0, 2),
    column("reported p50", 1.0, 2),
    column("reported p99", 1.0, 2),
    column(P50, 1.0, 2),
    column(P99, 1.0, 2),
    column(MISSING, 1.0, 0),
];

pub fn measure(rig: &Rig, tools: &[Tool], report: &mut Report) {
    let title = |load: &Load| format!("Round trips: {}", load.name);
    let name = |(backend, peer): (Backend, &str)| {
        let family = if peer == PEER { "" } else { ", IPv6" };
        format!("tapline, {}{family}", backend.name())
    };
    for _ in report.rounds("round trips") {
        for load in &LOADS {
            let mut add = |name: &str, tell: &dyn Fn() -> Told| {
                let (truth, told) = truth::at(&rig.left, || busy_while(load.is_busy, tell));
                let figures = figures(&truth, &told);
                report.table(&title(load), &COLUMNS).add(name, &figures);
            };
            for (backend, peer) in OWN {
                add(&name((backend, peer)), &|| {
                    library(rig, backend, peer, load)
                });
            }
            let is_peer = |tool: &&Tool| matches!(tool.kind, Kind::Ping | Kind::Fping);
            for tool in tools
                .iter()
                .filter(|tool| load.is_for_peers && is_peer(tool))
            {
                add(tool.name, &|| program(rig, tool));
            }
        }
    }
    for load in &LOADS {
        for own in OWN
            .into_iter()
            .filter(|(backend, _)| *backend == load.backend)
        {
            let who = name(own);
            let [p50, p99, missing] = [P50, P99, MISSING].map(|head| {
                // Both too short and too long are errors.
                let values = report.of(&title(load), &who, head).into_iter();
                values.map(f64::abs).collect::<Vec<_>>()
            });
            let name = format!("{who}, {}", load.name);
            report.at_most(&format!("{name}: overhead p50, us"), &p50, 3.0);
            report.at_most(&format!("{name}: overhead p99, us"), &p99, 10.0);
            report.at_most(&format!("{name}: not reported"), &missing, 0.0);
        }
    }
}

/// The figures in microseconds, and the number of missing values.
fn figures(truth: &Truth, told: &Told) -> [f64; 7] {
    let us = |ns: f64| ns / 1000.0;
    let beyond = told.iter().filter_map(|(key, ns)| {
        let truth = truth.get(key)?;
        Some(us(*ns - truth.ns as f64))
    });
    let beyond = quantiles(beyond.collect());
    let kernel = quantiles(truth.values().map(|trip| us(trip.ns as f64)).collect());
    let found = told.iter().filter(|(key, _)| truth.contains_key(key));
    let missing = truth.len() - found.count();
    let told = quantiles(told.iter().map(|(_, ns)| us(*ns)).collect());
    [
        kernel[0],
        kernel[1],
        told[0],
        told[1],
        beyond[0],
        beyond[1],
        missing as f64,
    ]
}

/// Runs `job`. If `is_busy`, threads keep both CPUs busy meanwhile.
fn busy_while<T>(is_busy: bool, job: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(!is_busy);
    let spin = || {
        while !is_over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        for cpu in [0, 1] {
            scope.spawn(move || on_cpu(cpu, spin));
        }
        let done = job();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

/// Round-trip times reported by the library.
fn library(rig: &Rig, backend: Backend, peer: &str, load: &Load) -> Told {
    let &Load { targets, count, .. } = load;
    let mut builder = TargetsBuilder::default();
    let words = match targets {
        1 => peer.to_owned(),
        _ if peer == PEER_IPV6 => format!("fd00:2::1-fd00:2::{targets:x}"),
        _ => format!("10.2.0.1-10.2.{}.{}", targets / 256, targets % 256),
    };
    builder.add(&words, &mut NoResolver).expect("targets");
    let mut options = PingOptions::default();
    options.count = Some(count);
    options.interval = load.interval;
    options.rate_pps = None;
    options.backend = Some(backend);
    options.interface = Some(rig.interface());
    let targets = builder.build().expect("not too many");
    let mut told = Told::with_capacity((count * targets.len()) as usize);
    let observe = |event: &PingEvent, prober: &Prober| {
        if let PingEvent::Answer {
            class:
                Classification::Received {
                    probe,
                    rtt_ns: Some(rtt_ns),
                    ..
                },
            ..
        } = event
        {
            let address = prober
                .targets()
                .address(probe.target)
                .expect("it was pinged");
            told.push(((address, probe.round), *rtt_ns as f64));
        }
    };
    on_subject_cpu(|| {
        rig.left.run(|| {
            let ping = tapline::ping(targets).options(options).open();
            let mut ping = ping.unwrap_or_else(|error| panic!("{error:?}"));
            ping.run(observe).expect("it can wait");
        });
    });
    told
}

/// Round-trip times parsed from a program's output.
fn program(rig: &Rig, tool: &Tool) -> Told {
    let arguments = match tool.kind {
        Kind::Fping => format!("-c {PROBES} -p 1 {PEER}"),
        _ => format!("-n -c {PROBES} -i 0.001 {PEER}"),
    };
    let running = on_subject_cpu(|| tool.start(&rig.left, &arguments));
    let text = running.finish().text;
    let peer = PEER.parse().expect("an address");
    let number_and_time = |line: &str| {
        let (number, time) = if tool.kind == Kind::Fping {
            // 10.1.0.2 : [7], 64 bytes, 0.031 ms (…
            let (_, rest) = line.split_once(" : [")?;
            let (number, rest) = rest.split_once("], ")?;
            let (_, time) = rest.split_once(" bytes, ")?;
            (number.parse::<u32>().ok()?, time)
        } else {
            let (_, rest) = line.split_once(" icmp_seq=")?;
            let (number, _) = rest.split_once(' ')?;
            let (_, time) = rest.split_once(" time=")?;
            (number.parse::<u32>().ok()?.checked_sub(1)?, time)
        };
        let ms: f64 = time.split(' ').next()?.parse().ok()?;
        Some(((peer, number), ms * 1e6))
    };
    text.lines().filter_map(number_and_time).collect()
}
