//! A thousand targets, each probed once a second, alone and while echo replies to somebody else arrive, some of them with the
//! identifier of the run and a wrong tag.

use std::hint::spin_loop;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bpf::LiveFrames;
use netlink::{Channels, Ethtool};
use pcap::Capture;
use wire::MacAddress;
use wire::build::Frame;
use wire::checksum::internet;
use wire::protocol::ip;

use super::command;
use super::far_end::{FarEnd, attach_pass};
use crate::bound::steady_xdp_frames;
use crate::harness::{Column, Report, column, on_cpu};
use crate::rig::{PEER, Rig};
use crate::steady::{COLUMNS, TARGETS, figures_and_text};
use crate::tool::{Tool, summary};

/// Rounds of a run, and its time before the measurement and during it: programs are loaded before, and the run ends after it.
const ROUNDS: u32 = 6;
const TIMES: [Duration; 2] = [Duration::from_millis(1500), Duration::from_secs(3)];
const FOREIGN_PPS: u64 = 1_000_000;
/// Replies that are sent in one call.
const BATCH: u32 = 4096;
/// Of so many calls, one sends replies with the identifier of the run.
const FORGED_SHARE: u64 = 16;
/// How often the flood looks at whether the run is over while it waits for a request.
const TIMEOUT_MS: i32 = 20;

const TITLE: &str = "1000 targets, once a second each, by XDP";
const CPU: &str = "CPU, %";
const LOST: &str = "probes lost";
const FORGED: &str = "replies refused as forged";
/// A forged reply that is taken for the true one makes that a duplicate.
const TWICE: &str = "probes answered twice";

const FRAMES: &str = "(XDP frames, the kernel answers, nothing read)";
const FRAMES_AFTER: &str = "(the same again, after tapline)";
const RESPONDER: &str = "tapline ping --backend xdp, to a responder";
const KERNEL: &str = "tapline ping --backend xdp, to the kernel";
const BESIDE: &str = "the same, beside foreign replies";
const RAW: &str = "tapline ping --backend raw, to the kernel";
const RAW_BESIDE: &str = "the same, beside foreign replies (raw)";

/// Whose program, who answers, and whether foreign replies arrive meanwhile.
const WAYS: [(&str, FarEnd, bool); 5] = [
    (RESPONDER, FarEnd::Responder, false),
    (KERNEL, FarEnd::Kernel, false),
    (BESIDE, FarEnd::Kernel, true),
    (RAW, FarEnd::Kernel, false),
    (RAW_BESIDE, FarEnd::Kernel, true),
];

pub fn measure(rig: &Rig, tool: &Tool, report: &mut Report) {
    let others = [
        column("foreign replies/s", 1.0, 0),
        column(FORGED, 1.0, 0),
        column(TWICE, 1.0, 0),
    ];
    let columns: Vec<Column> = [&COLUMNS[..], &others].concat();
    let [first, last] = [[10, 2, 0, 1], [10, 2, 3, 232]].map(Ipv4Addr::from);
    let targets: Vec<_> = (first.to_bits()..=last.to_bits())
        .map(Ipv4Addr::from_bits)
        .collect();
    let range = format!("{first}-{last}");
    let xdp = command(rig, &format!("-c {ROUNDS} {range}"));
    let raw = format!("ping --backend raw --json -q -s 16 -c {ROUNDS} {range}");
    let probes = ROUNDS * TARGETS;
    let bare = |name, report: &mut Report| {
        let _far_end = FarEnd::Kernel.start(rig, true);
        let share = steady_xdp_frames(rig, &targets, ROUNDS);
        report.table(TITLE, &columns).add(name, &[share]);
    };
    set_queues(rig, 2);
    for _ in report.rounds("a thousand targets by XDP") {
        for (name, far_end, is_beside) in WAYS {
            let is_raw = [RAW, RAW_BESIDE].contains(&name);
            if name == KERNEL {
                bare(FRAMES, report);
            }
            let far_end = far_end.start(rig, true);
            // The XDP back end has a program there itself.
            let _takes = is_raw.then(|| attach_pass(&rig.left));
            let arguments = if is_raw { &raw } else { &xdp };
            let ((figures, text), foreign) = beside(rig, is_beside, || {
                figures_and_text(rig, tool, arguments, probes, TIMES)
            });
            let summary = summary(&text);
            let [forged, twice] =
                ["forged", "duplicate"].map(|key| summary[key].as_f64().unwrap_or(f64::NAN));
            let row = [&figures[..], &[foreign, forged, twice]].concat();
            report.table(TITLE, &columns).add(name, &row);
            drop(far_end);
            if name == KERNEL {
                bare(FRAMES_AFTER, report);
            }
        }
    }
    set_queues(rig, 1);
    let of = |name, head| report.of(TITLE, name, head);
    let beyond = |one: &[f64], other: &[f64]| -> Vec<f64> {
        let pairs = one.iter().zip(other);
        pairs.map(|(one, other)| one - other).collect()
    };
    let around = of(FRAMES, CPU).into_iter().zip(of(FRAMES_AFTER, CPU));
    let bare: Vec<_> = around
        .map(|(one, other)| f64::midpoint(one, other))
        .collect();
    let [responder, kernel, beside] =
        [RESPONDER, KERNEL, BESIDE].map(|name| [CPU, LOST].map(|head| of(name, head)));
    let [received, forged, twice] =
        ["foreign replies/s", FORGED, TWICE].map(|head| of(BESIDE, head));
    report.at_least("foreign replies/s", &received, 0.9 * FOREIGN_PPS as f64);
    report.at_most(
        "1000 targets by XDP, to a responder: CPU, %",
        &responder[0],
        0.3,
    );
    report.at_most(
        "1000 targets by XDP, to the kernel: CPU beyond the same frames before and after with nothing read, %",
        &beyond(&kernel[0], &bare),
        0.3,
    );
    let lost = [&responder[1][..], &kernel[1]].concat();
    report.at_most("1000 targets by XDP: lost", &lost, 0.0);
    let more = beyond(&beside[0], &kernel[0]);
    report.at_most("more of it beside foreign replies, %", &more, 0.1);
    report.at_most("probes lost beside them", &beside[1], 0.0);
    report.at_least("replies refused as forged", &forged, 1.0);
    report.at_most("probes answered twice beside them", &twice, 0.0);
    report.note(
        "1000 targets by XDP: a veth interface delivers a frame within the sender's system call, so the CPU time is also that of \
         the other host's answers. At most 0.3 % is met to a responder, whose answers are an XDP program's. To the kernel it \
         is not: its answers take most of that time, as the row without a reader shows. The target there is what \
         tapline takes beyond that row. With a network between the hosts, the answers are not on this host.",
    );
}

/// Sets the number of queues in which the probing host receives. The kernel picks one by the CPU that sends, so with two the
/// flood fills a queue of its own, as a network card would distribute it.
fn set_queues(rig: &Rig, receive: u32) {
    rig.left.run(|| {
        let mut ethtool = Ethtool::open().expect("ethtool");
        let channels = Channels::new().receive(receive);
        let set = ethtool.set_channels(rig.left.interface().name, &channels);
        set.expect("veth has as many queues as CPUs");
    });
}

/// Runs `job`; if `is_beside`, the other host sends replies meanwhile, from its own CPU. Returns how many a second.
fn beside<T>(rig: &Rig, is_beside: bool, job: impl FnOnce() -> T) -> (T, f64) {
    let is_over = AtomicBool::new(!is_beside);
    thread::scope(|scope| {
        let flood = scope.spawn(|| on_cpu(1, || rig.right.run(|| flood(rig, &is_over))));
        let done = job();
        is_over.store(true, Ordering::Relaxed);
        (done, flood.join().expect("the flood ends"))
    })
}

/// Sends foreign replies, and forged ones once a request has told the identifier. Returns how many a second.
fn flood(rig: &Rig, is_over: &AtomicBool) -> f64 {
    let out = rig.right.interface().index.0;
    let mut frames = LiveFrames::open(out).expect("frames can be sent");
    let foreign = foreign_reply(rig);
    let forged = forged_reply(rig, is_over).unwrap_or_else(|| foreign.clone());
    let (start, mut delivered) = (Instant::now(), 0);
    for call in 0_u64.. {
        let due = start + Duration::from_nanos(delivered * 1_000_000_000 / FOREIGN_PPS);
        while Instant::now() < due {
            spin_loop();
        }
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let is_forged = call.is_multiple_of(FORGED_SHARE);
        let frame = if is_forged { &forged } else { &foreign };
        let sent = frames.send_equal(frame, BATCH).expect("they are sent");
        delivered += u64::from(sent.sent);
    }
    delivered as f64 / start.elapsed().as_secs_f64()
}

/// The reply to the first request that arrives, with a wrong tag; `None` if the run is over before.
fn forged_reply(rig: &Rig, is_over: &AtomicBool) -> Option<Vec<u8>> {
    let interface = rig.right.interface().name.to_string();
    let handle = Capture::from_device(&*interface).expect("a device");
    let handle = handle.immediate_mode(true).timeout(TIMEOUT_MS);
    let mut handle = handle.open().expect("libpcap opens it");
    handle
        .filter("icmp[icmptype] == icmp-echo", true)
        .expect("a filter");
    while !is_over.load(Ordering::Relaxed) {
        if let Ok(packet) = handle.next_packet() {
            return Some(reply_with_wrong_tag(packet.data));
        }
    }
    None
}

/// The reply to a request over IPv4 without options, whose last byte of the tag is another one.
fn reply_with_wrong_tag(request: &[u8]) -> Vec<u8> {
    let mut reply = request.to_vec();
    for (one, other, bytes) in [(0, 6, 6), (26, 30, 4)] {
        for at in 0..bytes {
            reply.swap(one + at, other + at);
        }
    }
    let end = 14 + usize::from(u16::from_be_bytes([reply[16], reply[17]]));
    let message = &mut reply[34..end];
    message[0] = 0;
    message[8 + 15] ^= 1;
    message[2..4].fill(0);
    let sum = internet(message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    reply
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
