//! The flight recorder: the packets in the files of its triggers, compared with the numbers sent.

use rustix::process::Signal;

use crate::support::Scene;
use crate::support::files::{bytes, column, count};
use crate::support::frames::{frame, frames, number, udp};
use crate::support::run::{events, run};

/// A name that no other test has.
fn name(test: &str) -> String {
    format!("recorder-{test}-{}", std::process::id())
}

fn numbers(file: &str) -> Vec<u32> {
    bytes(file).iter().map(|frame| number(frame)).collect()
}

#[test]
fn a_trigger_writes_what_came_before_and_what_follows() {
    for trigger in ["ctl", "signal", "filter", "rate"] {
        let scene = Scene::new();
        let name = name(trigger);
        // The number is behind the addresses and the type.
        let flags = match trigger {
            "filter" => "--trigger 'ether[14:4] = 99'",
            "rate" => "--trigger-rate 1",
            _ => "",
        };
        let line = format!("--name {name} -w rec.pcapng --record 4M --after 1h {flags}");
        let mut running = scene.capture(&line);
        scene.send(&frames(100, 100));
        running.received(100);
        match trigger {
            "ctl" => drop(events(&format!("ctl --name {name} trigger"))),
            "signal" => running.signal(Signal::USR1),
            _ => {}
        }
        scene.send(&(100..150).map(|at| frame(at, 100)).collect::<Vec<_>>());
        running.received(150);
        running.signal(Signal::INT);
        running.done().conserves(150);
        assert_eq!(scene.listed(), ["rec-trigger-00001.pcapng"], "{trigger}");
        let found = numbers(&scene.file("rec-trigger-00001.pcapng"));
        assert!(found.into_iter().eq(0..150), "{trigger}");
    }
}

#[test]
fn a_storm_of_triggers_writes_no_packet_twice() {
    let scene = Scene::new();
    let name = name("storm");
    let mut running = scene.capture(&format!(
        "--name {name} -w rec.pcapng --record 4M --after 0s"
    ));
    for at in 0..100 {
        scene.send(&[frame(at, 100)]);
        running.received(u64::from(at) + 1);
        run(&format!("ctl --name {name} trigger")).exit(0);
    }
    running.signal(Signal::INT);
    running.done().conserves(100);
    let files = scene.listed();
    let found: Vec<_> = (files.iter())
        .flat_map(|file| numbers(&scene.file(file)))
        .collect();
    assert!(found.iter().copied().eq(0..100), "{found:?}");
    assert!(files.len() > 1, "{files:?}");
}

#[test]
fn memory_holds_the_newest_packets() {
    let scene = Scene::new();
    let mut running = scene.capture("-w rec.pcapng --record 1M --trigger 'ether[14:4] = 19999'");
    scene.send(&frames(20_000, 100));
    running.received(20_000);
    running.signal(Signal::INT);
    running.done().conserves(20_000);
    let found = numbers(&scene.file("rec-trigger-00001.pcapng"));
    let first = 20_000 - u32::try_from(found.len()).expect("a number");
    // A block has 32 bytes and the packet, and 12 for the direction; the file has one more packet than memory.
    let holds = (1 << 20) / (32 + 100 + 12);
    assert!(
        (holds - 1..=holds + 1).contains(&found.len()),
        "{}",
        found.len()
    );
    assert!(found.into_iter().eq(first..20_000));
}

#[test]
fn a_flow_is_written_in_both_directions_and_without_others() {
    let scene = Scene::new();
    let mut running = scene.capture(
        "-w rec.pcapng --record 4M --after 1h --trigger-flow 'udp[8] = 0x58' --direction in",
    );
    let packet = |payload: &[u8], port: u16, is_reply: bool| {
        let mut packet = udp(payload);
        packet[34..38].copy_from_slice(&[port.to_be_bytes(), 53_u16.to_be_bytes()].concat());
        if is_reply {
            packet[26..34].rotate_left(4);
            packet[34..38].rotate_left(2);
        }
        packet
    };
    let mut sent = Vec::new();
    for _ in 0..5 {
        for port in [1000, 2000] {
            sent.push(packet(b"a", port, false));
            sent.push(packet(b"a", port, true));
        }
    }
    sent.push(packet(b"X", 1000, false));
    sent.push(packet(b"X", 1000, true));
    sent.push(packet(b"a", 2000, true));
    sent.push(packet(b"a", 1000, true));
    scene.send(&sent);
    running.received(24);
    running.signal(Signal::INT);
    running.done().conserves(24);
    let file = scene.file("rec-trigger-00001.pcapng");
    assert_eq!(scene.listed().len(), 1);
    assert_eq!(count(&file), 13);
    let ports: Vec<u32> = column(&file, "udp.srcport");
    assert!(
        ports.iter().all(|port| [1000, 53].contains(port)),
        "{ports:?}"
    );
    assert_eq!(ports.iter().filter(|&&port| port == 53).count(), 7);
}

#[test]
fn triggers_for_more_flows_than_are_written_at_once_are_counted() {
    let scene = Scene::new();
    let line = "-w rec.pcapng --record 4M --after 1h --trigger-flow udp --direction in";
    let mut running = scene.capture(line);
    let ports = 1000..1067_u16;
    let packets = ports.map(|port| {
        let mut packet = udp(b"X");
        packet[34..36].copy_from_slice(&port.to_be_bytes());
        packet
    });
    scene.send(&packets.collect::<Vec<_>>());
    running.received(67);
    running.signal(Signal::INT);
    let summary = running.done();
    summary.conserves(67);
    summary.has(&serde_json::json!({"refused_flows": 3, "written": 64}));
    assert_eq!(scene.listed().len(), 64);
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let scene = Scene::new();
    for (line, text) in [
        ("--record 4M", "--write"),
        ("-w rec.pcap --record 4M", "needs -w FILE.pcapng"),
        ("-w rec.pcapng --record 1k", "at least 1M"),
        ("-w rec.pcapng --trigger udp", "--record"),
        ("-w rec.pcapng --record 4M --trigger 'udp prt 1'", "prt"),
        (
            "-w rec.pcapng --record 4M --rotate-size 1M",
            "cannot be used with",
        ),
    ] {
        let ended = scene.run(&format!("capture -i right0 {line}"));
        ended.exit(2);
        let told = ended.stderr.join("\n");
        assert!(told.contains(text), "{line}: {told}");
    }
}
