//! A thousand targets, each probed once a second, alone and while echo replies to somebody else arrive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tapline_lab::generator::{Generator, GeneratorOptions};
use wire::MacAddress;
use wire::build::Frame;
use wire::protocol::ip;

use super::command;
use crate::harness::{Column, Report, column, on_cpu};
use crate::rig::{PEER, Rig};
use crate::steady::{COLUMNS, MANY_TIMES, ROUNDS, TARGETS, figures};
use crate::tool::Tool;

const FOREIGN_PPS: u64 = 1_000_000;
/// Replies between two looks at whether the run is over.
const PIECE: u64 = FOREIGN_PPS / 20;

const TITLE: &str = "1000 targets, once a second each, by XDP";
const CPU: &str = "CPU, %";
const LOST: &str = "probes lost";

const ALONE: &str = "tapline ping --backend xdp";
const BESIDE: &str = "the same, beside foreign replies";
const RAW: &str = "tapline ping --backend raw";
const RAW_BESIDE: &str = "the same, beside foreign replies (raw)";

pub fn measure(rig: &Rig, tool: &Tool, report: &mut Report) {
    let columns: Vec<Column> = [&COLUMNS[..], &[column("foreign replies/s", 1.0, 0)]].concat();
    let targets = "10.2.0.1-10.2.3.232";
    let xdp = command(rig, &format!("-c {ROUNDS} {targets}"));
    let raw = format!("ping --backend raw --json -q -s 16 -c {ROUNDS} {targets}");
    // Its program also lets the interface take XDP frames; the kernel answers.
    let mut generator = rig.right.run(|| {
        let out = rig.right.interface().index;
        let mut generator = Generator::new(GeneratorOptions::new(out, foreign_reply(rig)));
        generator.attach_own();
        generator
    });
    let probes = ROUNDS * TARGETS;
    for _ in report.rounds("a thousand targets by XDP") {
        for (name, arguments, is_beside) in [
            (ALONE, &xdp, false),
            (BESIDE, &xdp, true),
            (RAW, &raw, false),
            (RAW_BESIDE, &raw, true),
        ] {
            let (figures, foreign) = beside(rig, &mut generator, is_beside, || {
                figures(rig, tool, arguments, probes, MANY_TIMES)
            });
            let row = [&figures[..], &[foreign]].concat();
            report.table(TITLE, &columns).add(name, &row);
        }
    }
    let of = |name, head| report.of(TITLE, name, head);
    let [alone, beside] = [ALONE, BESIDE].map(|name| [CPU, LOST].map(|head| of(name, head)));
    let came = of(BESIDE, "foreign replies/s");
    report.at_least("foreign replies/s", &came, 0.9 * FOREIGN_PPS as f64);
    report.at_most("1000 targets by XDP: CPU, %", &alone[0], 0.3);
    report.at_most("1000 targets by XDP: lost", &alone[1], 0.0);
    let more = alone[0].iter().zip(&beside[0]);
    let more: Vec<_> = more.map(|(alone, beside)| beside - alone).collect();
    report.at_most("more of it beside foreign replies, %", &more, 0.1);
    report.at_most("lost or wrongly counted beside them", &beside[1], 0.0);
}

/// Runs `job`; if `is_beside`, the other host sends replies meanwhile, from its own CPU. Returns how many a second.
fn beside<T>(
    rig: &Rig,
    generator: &mut Generator,
    is_beside: bool,
    job: impl FnOnce() -> T,
) -> (T, f64) {
    let is_over = AtomicBool::new(!is_beside);
    let flood = || {
        let (mut delivered, mut seconds) = (0, 0.0);
        while !is_over.load(Ordering::Relaxed) {
            let sent = generator.send(PIECE, Some(FOREIGN_PPS));
            delivered += sent.delivered;
            seconds += sent.duration.as_secs_f64();
        }
        delivered as f64 / seconds
    };
    thread::scope(|scope| {
        let flood = scope.spawn(|| on_cpu(1, || rig.right.run(flood)));
        let done = job();
        is_over.store(true, Ordering::Relaxed);
        (done, flood.join().expect("the flood ends"))
    })
}

/// A reply to another program, with an identifier that a run has once in 65 536 times.
fn foreign_reply(rig: &Rig) -> Vec<u8> {
    let (to, from) = (rig.left.interface(), rig.right.interface());
    let [source, destination] = [from.mac, to.mac].map(|mac| MacAddress(mac.0));
    let peer = PEER.parse().expect("an address");
    let mut message = [0; 24];
    message[4..6].copy_from_slice(&[0xfe, 0xfe]);
    // The checksum of a message whose only other words are its identifier.
    message[2..4].copy_from_slice(&[0x01, 0x01]);
    let frame = Frame::ethernet(source, destination).ipv4(peer, to.v4);
    frame.payload(ip::ICMPV4, &message)
}
