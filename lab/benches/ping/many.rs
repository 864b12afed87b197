//! A thousand targets, each asked once a second.

use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::bound;
use crate::rig::{Rig, pause, used};
use crate::table::{self, cell};
use crate::tool::{Kind, Tool};

const TARGETS: u32 = 1000;
const ROUNDS: u32 = 4;

/// When measuring begins, after the start, and how long it takes.
const BEFORE: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_secs(3);

pub fn run(rig: &Rig, tools: &[Tool], rounds: u32) {
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
        let mut add = |of: &str, arguments| {
            ways.push((tool, format!("{}{of}", tool.name()), arguments));
        };
        match tool.kind {
            Kind::Tapline => {
                let common = format!("ping --json -q -c {ROUNDS}");
                add("", format!("{common} -f {list}"));
                let range = format!("fd00:2::1-fd00:2::{TARGETS:x}");
                add(", IPv6", format!("{common} {range}"));
            }
            // A millisecond between two probes: a thousand in a second.
            Kind::Fping => add("", format!("-q -c {ROUNDS} -p 1000 -i 1 -f {list}")),
            _ => {}
        }
    }
    let mut cpu = vec![Vec::new(); ways.len()];
    let mut lost = cpu.clone();
    let (mut bound, mut unread, mut sending) = (Vec::new(), Vec::new(), Vec::new());
    let mut frames = Vec::new();
    for number in 1..=rounds {
        eprintln!("bench: a thousand targets, round {number} of {rounds}");
        for (place, (tool, _, arguments)) in ways.iter().enumerate() {
            let running = tool.start(&rig.left, arguments);
            pause(BEFORE);
            let (start, before) = (Instant::now(), used(&running.child));
            pause(MEASURED);
            let used = used(&running.child).saturating_sub(before).as_secs_f64();
            cpu[place].push(used / start.elapsed().as_secs_f64() * 100.0);
            let counted = tool
                .counted(&running.finish().text, ROUNDS * TARGETS)
                .expect("it counts");
            lost[place].push(f64::from(ROUNDS * TARGETS) - counted.received);
        }
        let (share, read) = bound::steady(rig, &targets, ROUNDS);
        bound.push(share);
        unread.push(f64::from(ROUNDS * TARGETS) - read as f64);
        sending.push(bound::steady(rig, &nowhere, ROUNDS).0);
        frames.push(bound::steady_frames(rig, &targets, ROUNDS));
    }
    table::heading(
        "1000 targets, once a second each",
        &["who", "CPU, %", "lost"],
    );
    let bare = [
        ("(packet socket, nothing read)", &frames, "-".to_owned()),
        ("(raw socket, which reads)", &bound, cell(&unread, 0)),
        ("(raw socket, nobody answers)", &sending, "all".to_owned()),
    ];
    for (name, cpu, lost) in bare {
        table::row(&[name.to_owned(), cell(cpu, 2), lost]);
    }
    for (place, (_, name, _)) in ways.iter().enumerate() {
        table::row(&[name.clone(), cell(&cpu[place], 2), cell(&lost[place], 0)]);
    }
    println!();
    for (place, (_, name, _)) in ways.iter().enumerate() {
        if name.starts_with(tools[0].name()) {
            table::at_most(&format!("1000 targets, {name}: CPU, %"), &cpu[place], 0.5);
            table::at_most(&format!("1000 targets, {name}: lost"), &lost[place], 0.0);
        }
    }
    let ratios = cpu[0].iter().zip(&bound);
    let ratios: Vec<_> = ratios.map(|(ours, bound)| ours / bound).collect();
    println!("- times a bare raw socket: {}", cell(&ratios, 2));
}
