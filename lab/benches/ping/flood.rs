//! A few probes while others flood the host with answers to theirs.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::rig::{PEER, Rig, on_subject_cpu, pause, used};
use crate::table::{self, cell};
use crate::tool::{Kind, Tool};

/// Probes of a trial, and milliseconds between them.
const PROBES: u32 = 36;
const INTERVAL_MS: u32 = 50;

/// When measuring begins, after the start, and how long it takes: the probes go on beyond it.
const BEFORE: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(1400);

/// Payloads of the flood; none is no flood.
const FLOODS: [Option<u32>; 3] = [None, Some(56), Some(3)];

/// What a flood has to bring to be one, packets a second.
const FLOOD_PPS: f64 = 100_000.0;

/// How long one alone is looked at, and how much more than that it is to bring: beside others it will bring less.
const TRIED: Duration = Duration::from_millis(300);
const ENOUGH: f64 = 1.3;

#[derive(Debug, Default)]
struct Row {
    cpu: Vec<f64>,
    /// Packets per second that came to the host.
    arrived: Vec<f64>,
    lost: Vec<f64>,
}

pub fn run(rig: &Rig, tools: &[Tool], rounds: u32) {
    let mut rows: Vec<Vec<Row>> = FLOODS
        .map(|_| tools.iter().map(|_| Row::default()).collect())
        .into();
    let count = needed(rig, tools);
    for number in 1..=rounds {
        eprintln!("bench: floods, round {number} of {rounds}");
        for (flood, rows) in FLOODS.into_iter().zip(&mut rows) {
            let flood = flood.and_then(|bytes| Flood::start(rig, tools, bytes, count));
            for (tool, row) in tools.iter().zip(rows) {
                row.add(rig, tool);
            }
            drop(flood);
        }
    }
    let columns = ["who", "CPU, %", "packets/s that came", "probes lost"];
    for (flood, rows) in FLOODS.into_iter().zip(&rows) {
        let title = match flood {
            None => "A probe every 50 ms, nobody else".to_owned(),
            Some(bytes) => format!("A probe every 50 ms beside {count} ping -f -s {bytes}"),
        };
        table::heading(&title, &columns);
        for (tool, row) in tools.iter().zip(rows) {
            table::row(&[
                tool.name().to_owned(),
                cell(&row.cpu, 2),
                cell(&row.arrived, 0),
                cell(&row.lost, 0),
            ]);
        }
    }
    println!();
    let ping = tools.iter().position(|tool| tool.kind == Kind::Ping);
    for (flood, rows) in FLOODS.into_iter().zip(&rows).skip(1) {
        let bytes = flood.unwrap_or(0);
        table::at_least(
            &format!("flood of {bytes} bytes: packets/s that came"),
            &rows[0].arrived,
            FLOOD_PPS,
        );
        let theirs = ping.map_or(&[][..], |place| &rows[place].cpu);
        let theirs = crate::harness::Spread::of(theirs.iter().copied());
        let limit = theirs.map_or(0.2, |spread| spread.median.max(0.2));
        table::at_most(
            &format!("flood of {bytes} bytes: CPU, %"),
            &rows[0].cpu,
            limit,
        );
        table::at_most(
            &format!("flood of {bytes} bytes: probes lost"),
            &rows[0].lost,
            0.0,
        );
    }
}

impl Row {
    fn add(&mut self, rig: &Rig, tool: &Tool) {
        let arguments = tool.steady(PEER, PROBES, INTERVAL_MS);
        let running = tool.start(&rig.left, &arguments);
        pause(BEFORE);
        let (start, arrived, cpu) = (Instant::now(), rig.arrived(), used(&running.child));
        pause(MEASURED);
        let cpu = used(&running.child).saturating_sub(cpu);
        let seconds = start.elapsed().as_secs_f64();
        self.arrived
            .push((rig.arrived() - arrived) as f64 / seconds);
        self.cpu.push(cpu.as_secs_f64() / seconds * 100.0);
        let counted = tool
            .counted(&running.finish().text, PROBES)
            .expect("it counts");
        self.lost.push(f64::from(PROBES) - counted.received);
    }
}

/// How many ping(8) are a flood: two where one alone does not bring so much more that it does beside others, too.
fn needed(rig: &Rig, tools: &[Tool]) -> usize {
    let flood = Flood::start(rig, tools, 56, 1);
    let before = rig.arrived();
    pause(TRIED);
    let pps = (rig.arrived() - before) as f64 / TRIED.as_secs_f64();
    drop(flood);
    if pps < ENOUGH * FLOOD_PPS { 2 } else { 1 }
}

/// ping(8) flooding, until it is dropped.
struct Flood(Vec<Child>);

impl Flood {
    /// The first has a processor of its own, another shares that of those who are measured.
    fn start(rig: &Rig, tools: &[Tool], bytes: u32, count: usize) -> Option<Self> {
        let ping = tools.iter().find(|tool| tool.kind == Kind::Ping)?;
        let program = ping.program.to_str()?;
        let spawn = || {
            let mut command = rig.left.command(program);
            command.args(["-f", "-q", "-s", &bytes.to_string(), PEER]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        };
        let mut flood = Self(vec![on_subject_cpu(spawn)]);
        flood.0.extend((1..count).map(|_| spawn()));
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
