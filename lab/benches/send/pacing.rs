//! Packets with equal gaps: how late they are, and what that costs.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::Programs;
use crate::arrivals::{Arrivals, gaps, lateness, quantile};
use crate::harness::{Column, Report, Running, Spread, column};
use crate::sending::{FarEnd, Kind, Rig, Sender, Traffic, refusal};

const FRAME_BYTES: usize = 128;

/// A gap and the number of packets.
struct Pace {
    title: &'static str,
    gap: Duration,
    packets: u64,
}

const PACES: [Pace; 3] = [
    Pace {
        title: "A packet every 10 µs",
        gap: Duration::from_micros(10),
        packets: 50_000,
    },
    Pace {
        title: "A packet every 100 µs",
        gap: Duration::from_micros(100),
        packets: 10_000,
    },
    Pace {
        title: "A packet every 1 ms",
        gap: Duration::from_millis(1),
        packets: 1500,
    },
];

const LATE: [&str; 2] = ["late p50, µs", "p99"];
const OWN: [&str; 2] = ["by its own clock: late p50", "own p99"];
const CPU: &str = "CPU, %";
const CPU_EACH: &str = "CPU per packet, µs";

const COLUMNS: [Column; 8] = [
    column(LATE[0], 1e3, 1),
    column(LATE[1], 1e3, 1),
    column("error of the gap p50", 1e3, 1),
    column("gap p99", 1e3, 1),
    column(OWN[0], 1e3, 2),
    column(OWN[1], 1e3, 1),
    column(CPU, 1.0, 1),
    column(CPU_EACH, 1e3, 1),
];

/// The column of [`OWN`]'s second head.
const OWN_P99: usize = 5;

const TIMER: &str = "clock_nanosleep(2) alone";
/// The least that a sender with timers can do which is late as seldom.
const TIMER_AND_CLOCK: &str = "clock_nanosleep(2), then the clock";

/// The share of the packets that is left out at the beginning.
const WARM_UP: usize = 20;

/// Targets at a gap of 100 µs.
const MOST_P50_NS: f64 = 1000.0;
const MOST_P99_NS: f64 = 10_000.0;
const MOST_CPU: f64 = 30.0;

/// Where a timer alone costs as much CPU time, the last two targets cannot be met.
const MOST_TIMER_NS: f64 = 30_000.0;

/// Arguments that make a sender keep a pace.
type Flags = fn(&Pace) -> Vec<String>;

/// A sender, and how it keeps a pace.
struct Paced {
    name: String,
    sender: Sender,
    flags: Flags,
}

pub fn measure(programs: &Programs, report: &mut Report) {
    let rig = Rig::build(FarEnd::Stack);
    let traffic = rig.traffic(FRAME_BYTES);
    let mut senders = vec![Paced {
        name: "tapline".into(),
        sender: Sender::tapline(&programs.tapline, None),
        flags: |pace| {
            words(&format!(
                "--rate {}pps -c {}",
                pace.per_second(),
                pace.packets
            ))
        },
    }];
    for (timer, flags) in TCPREPLAY {
        senders.push(Paced {
            name: format!("tcpreplay --timer {timer}"),
            sender: Sender::tcpreplay(true),
            flags,
        });
    }
    senders.push(Paced {
        name: "trafgen".into(),
        sender: Sender::trafgen(),
        flags: |pace| {
            words(&format!(
                "--gap {}us --num {}",
                pace.gap.as_micros(),
                pace.packets
            ))
        },
    });
    senders.retain(|paced| paced.sender.program.is_some());
    for paced in &senders {
        let words = (paced.flags)(&PACES[1]).join(" ");
        report.note(format!("Pacing, {}: `{words}` at 100 µs", paced.name));
    }
    for _ in report.rounds("pacing") {
        for pace in &PACES {
            for paced in &senders {
                let figures = paced.trial(&rig, &traffic, pace, report);
                report
                    .table(pace.title, &COLUMNS)
                    .add(&paced.name, &figures);
            }
            let figures = timer(programs, pace, 0.0);
            report.table(pace.title, &COLUMNS).add(TIMER, &figures);
            // As long as 99 of 100 sleeps are late, but at least half of the gap is slept.
            let margin_ns = figures[OWN_P99].min(pace.gap.as_nanos() as f64 / 2.0);
            let figures = timer(programs, pace, margin_ns);
            report
                .table(pace.title, &COLUMNS)
                .add(TIMER_AND_CLOCK, &figures);
        }
    }
    let title = PACES[1].title;
    let own = |report: &Report, head| report.of(title, "tapline", head);
    let of = |what: &str| format!("{title}: {what}");
    report.at_most(
        &of("tapline late by its own clock, p50, ns"),
        &own(report, OWN[0]),
        MOST_P50_NS,
    );
    let median = |report: &Report, name: &str, head| {
        Spread::of(&report.of(title, name, head)).map_or(f64::NAN, |spread| spread.median)
    };
    let figures = ["tapline", TIMER, TIMER_AND_CLOCK].map(|name| {
        let p99_us = median(report, name, OWN[1]) / 1e3;
        let cpu = median(report, name, CPU);
        format!("{name}: p99 {p99_us:.1} µs at {cpu:.1} % of a CPU")
    });
    report.note(format!(
        "{title}, what timers allow on this host: {}.",
        figures.join("; ")
    ));
    let alone = Spread::of(&report.of(title, TIMER, CPU_EACH));
    match alone {
        Some(alone) if alone.median >= MOST_TIMER_NS => report.note(format!(
            "{title}: a timer alone costs {:.1} µs of CPU on this host ({:.1} to {:.1}), so the targets of p99 and CPU do \
             not apply.",
            alone.median / 1e3,
            alone.least / 1e3,
            alone.most / 1e3,
        )),
        _ => {
            report.at_most(&of("the same, p99, ns"), &own(report, OWN[1]), MOST_P99_NS);
            report.at_most(&of("CPU of tapline, %"), &own(report, CPU), MOST_CPU);
        }
    }
    report.note(
        "Lateness comes from the kernel's receive time stamps of a packet socket at the far end. They are compared \
         with an ideal schedule of one packet per gap, which is shifted so that the earliest packet is on time; the \
         first twentieth of the packets is left out. The error of a gap is the absolute difference between the asked \
         gap and the time between two arrivals. \"By its own clock\" is tapline's own figure: from the planned time \
         to the kernel's transmit time stamp. CPU is that of the sender from start to exit, divided by the time \
         between the first and the last packet. The timer is a loop in C that only sleeps, with a timer slack of 1 \
         ns and with SCHED_FIFO, as tapline. No sender that sleeps once per packet can cost less. The other one sleeps \
         until as long before the planned time as 99 of 100 sleeps were late, and then watches the clock.",
    );
}

/// One of its timers each.
const TCPREPLAY: [(&str, Flags); 2] = [
    ("gtod", |pace| tcpreplay(pace, "gtod")),
    ("nano", |pace| tcpreplay(pace, "nano")),
];

fn tcpreplay(pace: &Pace, timer: &str) -> Vec<String> {
    let (rate, packets) = (pace.per_second(), pace.packets);
    words(&format!(
        "--pps {rate} --timer {timer} --limit {packets} --preload-pcap"
    ))
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(Into::into).collect()
}

impl Pace {
    fn per_second(&self) -> u128 {
        Duration::from_secs(1).as_nanos() / self.gap.as_nanos()
    }
}

impl Paced {
    fn command(&self, rig: &Rig, traffic: &Traffic, pace: &Pace) -> Command {
        paced_command(&self.sender, rig, traffic, &(self.flags)(pace))
    }

    fn trial(&self, rig: &Rig, traffic: &Traffic, pace: &Pace, report: &mut Report) -> Vec<f64> {
        let arrivals = Arrivals::at(&rig.far);
        let finished = Running::start(self.command(rig, traffic, pace)).finish();
        let times = arrivals.times();
        if !finished.status.success() || times.len() as u64 != pace.packets {
            let (arrived, reason) = (times.len(), refusal(&finished.text));
            let name = &self.name;
            report.note(format!(
                "{}, {name}: {arrived} packets arrived: {reason}",
                pace.title
            ));
            return Vec::new();
        }
        let gap_ns = pace.gap.as_nanos() as u64;
        let warm = &times[times.len() / WARM_UP..];
        let late = lateness(warm, gap_ns);
        let errors = gaps(warm)
            .into_iter()
            .map(|gap| (gap - gap_ns as f64).abs());
        let errors: Vec<_> = errors.collect();
        let own = match self.sender.kind {
            Kind::Tapline(_) => own_lateness(&finished.text),
            _ => [f64::NAN; 2],
        };
        let cpu_ns = finished.used.cpu.as_nanos() as f64;
        let took_ns: f64 = gaps(&times).iter().sum();
        vec![
            quantile(&late, 500),
            quantile(&late, 990),
            quantile(&errors, 500),
            quantile(&errors, 990),
            own[0],
            own[1],
            cpu_ns * 100.0 / took_ns,
            cpu_ns / pace.packets as f64,
        ]
    }
}

/// The sender with its files and with `flags`.
pub fn paced_command(sender: &Sender, rig: &Rig, traffic: &Traffic, flags: &[String]) -> Command {
    let interface = rig.interface();
    let mut command = sender.bare(rig);
    match sender.kind {
        Kind::Tapline(_) => {
            command
                .args(["send", "-i", &interface, "--json", "-r"])
                .arg(&traffic.pcap);
        }
        Kind::Tcpreplay { .. } => {
            command.args(["-i", &interface, "--no-flow-stats"]);
        }
        _ => {
            command
                .args(crate::sending::trafgen_flags(&interface))
                .arg(&traffic.config);
        }
    }
    command.args(flags);
    if let Kind::Tcpreplay { .. } = sender.kind {
        command.arg(&traffic.pcap);
    }
    command
}

/// The lateness in tapline's summary, p50 and p99.
fn own_lateness(text: &str) -> [f64; 2] {
    let summary: Value = text
        .lines()
        .next_back()
        .and_then(|line| serde_json::from_str(line).ok())
        .expect("a summary in JSON");
    ["late_p50_ns", "late_p99_ns"].map(|key| summary[key].as_f64().unwrap_or(f64::NAN))
}

/// Figures of the timer that sleeps until `margin_ns` before each time, in the columns of a sender's own clock.
fn timer(programs: &Programs, pace: &Pace, margin_ns: f64) -> Vec<f64> {
    let gap_ns = pace.gap.as_nanos();
    let mut command = Command::new(programs.peers.path("timer"));
    command.args([gap_ns.to_string(), pace.packets.to_string()]);
    command.arg(format!("{margin_ns:.0}"));
    let text = Running::start(command).finish().text;
    let figures: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let [cpu_ns, took_ns, p50, p99] = figures[..] else {
        panic!("the timer prints four numbers: {text}");
    };
    let none = f64::NAN;
    vec![
        none,
        none,
        none,
        none,
        p50,
        p99,
        cpu_ns * 100.0 / took_ns,
        cpu_ns,
    ]
}
