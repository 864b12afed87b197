//! Round trips as they are told, beside those of the kernel.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tapline::ping::targets::{NoResolver, TargetsBuilder};
use tapline::ping::{Backend, Classification, PingEvent, PingOptions, Prober};
use tapline_lab::generator::pin_to_cpu;

use crate::rig::{PEER, PEER_IPV6, Rig, on_subject_cpu};
use crate::table::{self, cell};
use crate::tool::{Kind, Tool};
use crate::truth::{self, Truth};

/// Probes of a trial, one every millisecond.
const PROBES: u32 = 500;

/// Targets that are asked once in 80 ms; those that are due in a quarter of that leave together. And probes to each.
const BATCHED: u32 = 256;
const BATCHES: u32 = 12;

/// Probes as fast as can be.
const FAST: u32 = 50_000;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// A probe every millisecond.
    Idle,
    /// The same, while a thread on each processor does nothing but count.
    Busy,
    /// 64 probes at once, every 20 ms.
    Batch,
    /// As fast as can be.
    Fast,
}

impl Load {
    const ALL: [Self; 4] = [Self::Idle, Self::Busy, Self::Batch, Self::Fast];

    fn name(self) -> &'static str {
        match self {
            Self::Idle => "a probe every ms",
            Self::Busy => "a probe every ms, both processors busy",
            Self::Batch => "64 probes at once every 20 ms",
            Self::Fast => "as fast as can be, on one processor",
        }
    }

    /// The back end that `auto` picks.
    fn backend(self) -> Backend {
        match self {
            Self::Idle | Self::Busy | Self::Batch => Backend::Raw,
            Self::Fast => Backend::Ring,
        }
    }
}

/// Nanoseconds told, by target and number of the probe to it.
type Told = Vec<((IpAddr, u32), f64)>;

/// What a trial came to, in microseconds.
#[derive(Debug, Default)]
struct Row {
    truth: [Vec<f64>; 2],
    told: [Vec<f64>; 2],
    beyond: [Vec<f64>; 2],
    missing: Vec<f64>,
}

pub fn run(rig: &Rig, tools: &[Tool], rounds: u32) {
    // The library's back ends, then the peers.
    let own = [
        (Backend::Raw, PEER),
        (Backend::Ring, PEER),
        (Backend::PingSocket, PEER),
        (Backend::Raw, PEER_IPV6),
    ];
    let peers = tools
        .iter()
        .filter(|tool| matches!(tool.kind, Kind::Ping | Kind::Fping));
    let peers: Vec<&Tool> = peers.collect();
    let names = own.map(|(backend, peer)| {
        let family = if peer == PEER { "" } else { ", IPv6" };
        format!("tapline, {}{family}", backend.name())
    });
    let names = names
        .into_iter()
        .chain(peers.iter().map(|tool| tool.name().to_owned()));
    let names: Vec<String> = names.collect();
    let mut rows: Vec<Vec<Row>> = Load::ALL
        .map(|_| names.iter().map(|_| Row::default()).collect())
        .into();
    for number in 1..=rounds {
        eprintln!("bench: round trips, round {number} of {rounds}");
        for (load, rows) in Load::ALL.into_iter().zip(&mut rows) {
            // Only tapline is asked for more than one probe at a time.
            let is_for_all = matches!(load, Load::Idle | Load::Busy);
            let asked = if is_for_all { names.len() } else { own.len() };
            for (subject, row) in rows.iter_mut().enumerate().take(asked) {
                let _hogs = (load == Load::Busy).then(Hogs::start);
                let (truth, told) = truth::beside(rig, || match own.get(subject) {
                    Some((backend, peer)) => library(rig, *backend, peer, load),
                    None => program(rig, peers[subject - own.len()]),
                });
                row.add(&truth, &told);
            }
        }
    }
    let columns = [
        "who",
        "kernel p50, us",
        "p99",
        "told p50",
        "p99",
        "beyond the kernel's p50",
        "p99",
        "not told",
    ];
    for (load, rows) in Load::ALL.into_iter().zip(&rows) {
        table::heading(&format!("Round trips: {}", load.name()), &columns);
        for (name, row) in names
            .iter()
            .zip(rows)
            .filter(|(_, row)| !row.missing.is_empty())
        {
            let mut cells = vec![name.clone()];
            cells.extend(
                [&row.truth, &row.told, &row.beyond]
                    .into_iter()
                    .flatten()
                    .map(|values| cell(values, 2)),
            );
            cells.push(cell(&row.missing, 0));
            table::row(&cells);
        }
    }
    println!();
    for (load, rows) in Load::ALL.into_iter().zip(&rows) {
        let judged = own.iter().zip(rows.iter().zip(&names));
        for (_, (row, who)) in judged.filter(|((backend, _), _)| *backend == load.backend()) {
            // Too short is as wrong as too long.
            let [p50, p99] = [0, 1].map(|place: usize| {
                let values = row.beyond[place].iter();
                values.map(|us| us.abs()).collect::<Vec<_>>()
            });
            let name = format!("{who}, {}", load.name());
            table::at_most(&format!("{name}: overhead p50, us"), &p50, 3.0);
            table::at_most(&format!("{name}: overhead p99, us"), &p99, 10.0);
            table::at_most(&format!("{name}: not told"), &row.missing, 0.0);
        }
    }
}

impl Row {
    fn add(&mut self, truth: &Truth, told: &Told) {
        let mut kernel: Vec<f64> = truth.values().map(|&ns| ns as f64 / 1000.0).collect();
        let beyond = |(key, ns): &((IpAddr, u32), f64)| {
            let truth = *truth.get(key)?;
            Some((*ns - truth as f64) / 1000.0)
        };
        let mut beyond: Vec<f64> = told.iter().filter_map(beyond).collect();
        let mut told: Vec<f64> = told.iter().map(|(_, ns)| *ns / 1000.0).collect();
        self.missing.push((kernel.len() - beyond.len()) as f64);
        for (place, share) in [50, 99].into_iter().enumerate() {
            self.truth[place].extend(quantile(&mut kernel, share));
            self.told[place].extend(quantile(&mut told, share));
            self.beyond[place].extend(quantile(&mut beyond, share));
        }
    }
}

fn quantile(values: &mut [f64], percent: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    values.get(last * percent / 100).copied()
}

/// Threads that keep both processors busy until they are dropped.
struct Hogs {
    end: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Hogs {
    fn start() -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let hog = |cpu| {
            let end = Arc::clone(&end);
            thread::spawn(move || {
                pin_to_cpu(cpu).expect("two processors");
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = [0, 1].map(hog).into();
        Self { end, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it counts and ends");
        }
    }
}

/// What the library tells.
fn library(rig: &Rig, backend: Backend, peer: &str, load: Load) -> Told {
    let ms = Duration::from_millis;
    let (targets, count, interval) = match load {
        Load::Idle | Load::Busy => (1, PROBES, ms(1)),
        Load::Batch => (BATCHED, BATCHES, ms(80)),
        Load::Fast => (1, FAST, Duration::ZERO),
    };
    let mut builder = TargetsBuilder::default();
    let words = match targets {
        1 => peer.to_owned(),
        _ if peer == PEER_IPV6 => format!("fd00:2::1-fd00:2::{targets:x}"),
        _ => format!("10.2.0.1-10.2.{}.{}", targets / 256, targets % 256),
    };
    builder.add(&words, &mut NoResolver).expect("targets");
    let mut options = PingOptions::default();
    options.count = Some(count);
    options.interval = interval;
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
            let address = prober.targets().address(probe.target);
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

/// What a program tells in its lines.
fn program(rig: &Rig, tool: &Tool) -> Told {
    let arguments = match tool.kind {
        Kind::Fping => format!("-c {PROBES} -p 1 {PEER}"),
        _ => format!("-n -c {PROBES} -i 0.001 {PEER}"),
    };
    let text = on_subject_cpu(|| tool.start(&rig.left, &arguments))
        .finish()
        .text;
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
