//! What the flags of `tapline capture` do to what is captured.

use crate::support;
use std::time::Duration;

use crate::support::files::{bytes, column, count};
use crate::support::frames::{frame, frames, tagged};
use crate::support::run::{run, start};
use crate::support::{Scene, ip_json, name};

/// Frames from left to right and back, and what a capture on the right has of them.
fn seen_by(direction: &[&str], backend: &str) -> (Vec<String>, usize) {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let arguments = ["-w", &file, "--backend", backend, "--stats-interval", "5ms"];
    let mut running = start(&scene.right, &[&arguments, direction].concat());
    scene.send(&frames(20, 100));
    let out = scene.right.interface().index;
    let back = frames(30, 200);
    let sent = scene.right.run(|| lab::generator::send_frames(out, &back));
    assert_eq!(sent.expect("frames are sent"), 30);
    let expected = match direction {
        [_, "in"] => 20,
        [_, "out"] => 30,
        _ => 50,
    };
    running.received(expected);
    let ended = running.stop();
    ended.exit(0);
    ended.summary().conserves(expected);
    count(&file);
    let lengths: Vec<String> = column(&file, "frame.len");
    (column(&file, "frame.packet_flags_direction"), lengths.len())
}

#[test]
fn direction_is_the_interfaces() {
    for backend in ["packet-v2", "packet-v3"] {
        let (seen, count) = seen_by(&["--direction", "in"], backend);
        assert!(
            count == 20 && seen.iter().all(|flag| flag == "0x00000001"),
            "{seen:?}"
        );
        let (seen, count) = seen_by(&["--direction", "out"], backend);
        assert!(
            count == 30 && seen.iter().all(|flag| flag == "0x00000002"),
            "{seen:?}"
        );
        let (seen, count) = seen_by(&[], backend);
        let inbound = seen.iter().filter(|flag| *flag == "0x00000001").count();
        assert_eq!((count, inbound), (50, 20));
    }
}

#[test]
fn packets_are_cut_to_the_snaplen() {
    let scene = Scene::new();
    let sent = [
        frame(0, 60),
        frame(1, 96),
        frame(2, 97),
        frame(3, 1514),
        tagged(&frame(4, 300), &[(0x8100, 9)]),
    ];
    for backend in ["packet-v2", "packet-v3"] {
        for (snaplen, format) in [
            ("1", "pcapng"),
            ("96", "pcapng"),
            ("96", "pcap"),
            ("65535", "pcapng"),
            ("0", "pcapng"),
        ] {
            let file = scene.file("file");
            let limits = ["-c", "5", "-s", snaplen];
            let arguments = ["-w", &file, "--format", format, "--backend", backend];
            let running = start(&scene.right, &[&limits[..], &arguments].concat());
            scene.send(&sent);
            running.finish().exit(0);
            let kept = match snaplen.parse().expect("a number") {
                0 => usize::MAX,
                kept => kept,
            };
            let cut: Vec<&[u8]> = sent.iter().map(|f| &f[..f.len().min(kept)]).collect();
            assert_eq!(bytes(&file), cut, "{backend} {snaplen} {format}");
            let lengths: Vec<usize> = sent.iter().map(Vec::len).collect();
            assert_eq!(column::<usize>(&file, "frame.len"), lengths);
        }
    }
}

#[test]
fn the_capture_ends_when_its_time_is_over() {
    let scene = Scene::new();
    for flags in [&[][..], &["--backend", "packet-v2", "--timeout", "1h"]] {
        let file = scene.file("file.pcapng");
        let arguments = ["-w", &file, "--duration", "150ms", "--json"];
        let ended = run(&scene.right, &[&arguments, flags].concat());
        ended.exit(0);
        let took = Duration::from_nanos(ended.summary().number("duration_ns"));
        assert!(took >= Duration::from_millis(150), "{took:?}");
        assert_eq!(count(&file), 0);
    }
}

#[test]
fn promiscuous_mode_is_asked_for_and_left() {
    let scene = Scene::new();
    let promiscuity = || {
        let shown = ip_json(
            &scene.right,
            &["-details", "link", "show", &name(&scene.right)],
        );
        shown[0]["promiscuity"].as_u64().expect("a number")
    };
    assert_eq!(promiscuity(), 0);
    let running = start(&scene.right, &["-w", &scene.file("file")]);
    assert_eq!(promiscuity(), 1);
    running.stop().exit(0);
    assert_eq!(promiscuity(), 0);
    let running = start(&scene.right, &["-w", &scene.file("file"), "--no-promisc"]);
    assert_eq!(promiscuity(), 0);
    running.stop().exit(0);
}

/// A large ring holds what a small one drops.
#[test]
fn the_buffer_has_its_size() {
    let scene = Scene::new();
    for (size, bytes) in [("64k", 1 << 20), ("2M", 2 << 20), ("48M", 48 << 20)] {
        let mut command = support::run::command(&scene.right, &["--json", "-w", "/dev/null"]);
        command.args(["--buffer", size]);
        let mut running = support::run::spawn(command);
        let event = running.ready();
        let buffer = event["interfaces"][0]["buffer_bytes"].as_u64().unwrap();
        assert!((bytes / 4..=bytes).contains(&buffer), "{size}: {buffer}");
        running.stop().exit(0);
    }
}

#[test]
fn loopback_shows_each_packet_once() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut command = scene.right.command(support::PROGRAM);
    command.args([
        "capture",
        "-i",
        "lo",
        "-w",
        &file,
        "--json",
        "--stats-interval",
        "5ms",
    ]);
    let mut running = support::run::spawn(command);
    running.ready();
    scene.right.run(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = socket.local_addr().expect("an address");
        for _ in 0..10 {
            socket
                .send_to(b"to myself", to)
                .expect("a datagram is sent");
        }
    });
    running.received(10);
    let ended = running.stop();
    ended.exit(0);
    ended.summary().conserves(10);
    assert_eq!(count(&file), 10);
    assert_eq!(column::<String>(&file, "ip.dst"), ["127.0.0.1"; 10]);
}
