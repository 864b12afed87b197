//! Effects of the flags of `tapline capture` on the captured packets.

use std::net::UdpSocket;
use std::time::Duration;

use crate::support::files::{bytes, column, count, lengths};
use crate::support::frames::{frame, frames, tagged};
use crate::support::run::spawn;
use crate::support::{Scene, ip_json, number};

#[test]
fn direction_is_the_interfaces() {
    let scene = Scene::new();
    for backend in ["packet-v2", "packet-v3"] {
        for (direction, inbound, outbound) in [("in", 20, 0), ("out", 0, 30), ("both", 20, 30)] {
            let line = format!("-w file.pcapng --backend {backend} --direction {direction}");
            let running = scene.capture(&line);
            scene.send(&frames(20, 100));
            scene.send_back(&frames(30, 200));
            running.stop_after(inbound + outbound);
            let seen: Vec<String> =
                column(&scene.file("file.pcapng"), "frame.packet_flags_direction");
            let of = |flag: &str| seen.iter().filter(|seen| *seen == flag).count() as u64;
            let counts = [of("0x00000001"), of("0x00000002"), seen.len() as u64];
            assert_eq!(counts, [inbound, outbound, inbound + outbound], "{line}");
        }
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
        for (snaplen, kept, format) in [
            (1, 1, "pcapng"),
            (96, 96, "pcapng"),
            (96, 96, "pcap"),
            (65535, 65535, "pcapng"),
            (0, usize::MAX, "pcapng"),
        ] {
            let line = format!("-w file -c 5 -s {snaplen} --format {format} --backend {backend}");
            let running = scene.capture(&line);
            scene.send(&sent);
            running.done();
            let file = scene.file("file");
            let cut: Vec<&[u8]> = sent.iter().map(|f| &f[..f.len().min(kept)]).collect();
            assert_eq!(bytes(&file), cut, "{line}");
            let original = lengths(&file).into_iter().map(|[_, original]| original);
            assert!(original.eq(sent.iter().map(Vec::len)), "{line}");
        }
    }
}

#[test]
fn the_capture_ends_when_its_time_is_over() {
    let scene = Scene::new();
    for flags in ["", "--backend packet-v2 --timeout 1h"] {
        let line = format!("capture -i right0 -w file.pcapng --duration 150ms --json {flags}");
        let took = Duration::from_nanos(scene.run(&line).done().number("duration_ns"));
        assert!(took >= Duration::from_millis(150), "{took:?}");
        assert_eq!(count(&scene.file("file.pcapng")), 0);
    }
}

#[test]
fn promiscuous_mode_is_asked_for_and_left() {
    let scene = Scene::new();
    let promiscuity = || {
        number(
            &ip_json(&scene.right, "-details link show right0")[0],
            "promiscuity",
        )
    };
    assert_eq!(promiscuity(), 0);
    for (flags, during) in [("", 1), ("--no-promisc", 0)] {
        let running = scene.capture(&format!("-w file {flags}"));
        assert_eq!(promiscuity(), during);
        running.stop().exit(0);
        assert_eq!(promiscuity(), 0);
    }
}

/// A large ring holds what a small one drops.
#[test]
fn the_buffer_has_its_size() {
    let scene = Scene::new();
    for (size, bytes) in [("64k", 1 << 20), ("2M", 2 << 20), ("48M", 48 << 20)] {
        let (running, start) = scene.capture_begun(&format!("-w /dev/null --buffer {size}"));
        let buffer = number(&start["interfaces"][0], "buffer_bytes");
        assert!((bytes / 4..=bytes).contains(&buffer), "{size}: {buffer}");
        running.stop().exit(0);
    }
}

#[test]
fn loopback_shows_each_packet_once() {
    let scene = Scene::new();
    let mut running =
        spawn(scene.command("capture -i lo -w file.pcapng --json --stats-interval 5ms"));
    running.ready();
    scene.right.run(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = socket.local_addr().expect("an address");
        for _ in 0..10 {
            socket
                .send_to(b"to myself", to)
                .expect("a datagram is sent");
        }
    });
    running.stop_after(10);
    assert_eq!(
        column::<String>(&scene.file("file.pcapng"), "ip.dst"),
        ["127.0.0.1"; 10]
    );
}
