//! `tapline capture --mode drop`: sockets of the host that keep or lose their packets, and files as read by tshark.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use lab::{Host, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::support::files::{bytes, count, records, tshark};
use crate::support::frames::{frames, udp};
use crate::support::run::Running;
use crate::support::{Scene, assert_has, ending, ip_json, output};

const DEADLINE: Duration = Duration::from_secs(20);
const PORT: u16 = 7001;

fn bind(host: &Host, port: u16) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).expect("a socket"));
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    socket
}

/// Both ends of a connection from left to right.
fn connect(scene: &Scene) -> [TcpStream; 2] {
    let to = SocketAddrV4::new(scene.right.interface().v4, 7002);
    let listener = scene
        .right
        .run(|| TcpListener::bind(to).expect("a listener"));
    let connect = || TcpStream::connect_timeout(&to.into(), DEADLINE).expect("a connection");
    let near = scene.left.run(connect);
    let (far, _) = listener.accept().expect("the connection");
    for end in [&near, &far] {
        end.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        end.set_write_timeout(Some(DEADLINE)).expect("a timeout");
    }
    [near, far]
}

/// A megabyte there and back.
#[track_caller]
fn exchange([near, far]: &mut [TcpStream; 2]) {
    let sent: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    let mut read = vec![0; sent.len()];
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            far.read_exact(&mut read).expect("all of it");
            far.write_all(&read).expect("it is sent back");
        });
        near.write_all(&sent).expect("it is sent");
        let mut back = vec![0; sent.len()];
        near.read_exact(&mut back).expect("all of it");
        assert!(back == sent);
        echo.join().expect("the far end");
    });
}

/// Whether ip(8) shows an XDP program on the right host's interface.
fn has_program(scene: &Scene) -> bool {
    let shown = ip_json(&scene.right, "-details link show right0");
    !shown[0]["xdp"].is_null()
}

/// Waits until the program is gone: it stays while another process that lists BPF links holds its link for a moment.
fn until_no_program(scene: &Scene) {
    wait::until("the program is gone", || !has_program(scene));
}

/// Processors that are switched on, each of which has memory in drop mode with a short snaplen.
fn online_processors(scene: &Scene) -> u64 {
    let text = output(&scene.right, "/usr/bin/getconf", "_NPROCESSORS_ONLN");
    text.trim().parse().expect("a number")
}

/// Starts drop mode on datagrams to [`PORT`].
fn take_datagrams(scene: &Scene) -> Running {
    scene.capture(&format!("--mode drop -w taken.pcapng udp dst port {PORT}"))
}

/// Sends a datagram, which is to be the next that the receiver has.
#[track_caller]
fn assert_receives(scene: &Scene, [sender, receiver]: &[UdpSocket; 2]) {
    let to = (scene.right.interface().v4, PORT);
    sender.send_to(b"after", to).expect("a datagram");
    let mut buffer = [0; 32];
    let length = receiver.recv(&mut buffer).expect("the datagram after");
    assert_eq!(buffer[..length], *b"after");
}

#[test]
fn a_connection_that_does_not_match_goes_on_undisturbed() {
    let scene = Scene::new();
    let mut connection = connect(&scene);
    exchange(&mut connection);
    let sockets = [bind(&scene.left, 0), bind(&scene.right, PORT)];
    let to = (scene.right.interface().v4, PORT);

    let mut running = take_datagrams(&scene);
    assert!(has_program(&scene));
    for number in 0..50 {
        sockets[0].send_to(&[number; 20], to).expect("a datagram");
    }
    exchange(&mut connection);
    exchange(&mut connect(&scene));
    running.delivered(50);
    let summary = running.stop().done();
    exchange(&mut connection);

    summary.conserves(summary.number("received"));
    assert_eq!((summary.number("written"), summary.all_lost()), (50, 0));
    assert!(summary.number("filtered") > 100, "{summary:?}");
    let taken = tshark(&scene.file("taken.pcapng"), &["udp.dstport", "udp.payload"]);
    let payload = |number: u8| [PORT.to_string(), format!("{number:02x}").repeat(20)].to_vec();
    assert_eq!(taken, (0..50).map(payload).collect::<Vec<_>>());
    // The socket has none of them, and the next one.
    until_no_program(&scene);
    assert_receives(&scene, &sockets);
}

#[test]
fn however_it_ends_the_traffic_flows_as_before() {
    for signal in ending().into_iter().chain([Signal::KILL]) {
        let scene = Scene::new();
        let sockets = [bind(&scene.left, 0), bind(&scene.right, PORT)];
        let to = (scene.right.interface().v4, PORT);
        let mut connection = connect(&scene);
        let mut running = take_datagrams(&scene);
        sockets[0].send_to(b"during", to).expect("a datagram");
        running.delivered(1);
        running.signal(signal);
        let ended = running.finish();
        if signal == Signal::KILL {
            assert_eq!(ended.status.code(), None, "{ended:?}");
        } else {
            ended.exit(0);
            assert_eq!(count(&scene.file("taken.pcapng")), 1);
        }
        until_no_program(&scene);
        assert_receives(&scene, &sockets);
        exchange(&mut connection);
        // And the queue is free for the next capture.
        take_datagrams(&scene).stop().exit(0);
    }
}

#[test]
fn the_summary_says_how_packets_were_taken() {
    let scene = Scene::new();
    // A short snaplen has a way of its own, with memory for each processor.
    let ways = [
        (96, "xdp-ringbuf", online_processors(&scene)),
        (1000, "xdp", 1),
    ];
    let places = ["native", "generic"].map(|place| ways.map(|way| (place, way)));
    for (place, (snaplen, backend, rings)) in places.into_iter().flatten() {
        let line =
            format!("--mode drop --xdp {place} -s {snaplen} -w file.pcapng ether proto 0x88b5");
        let (running, begun) = scene.capture_begun(&line);
        scene.send(&frames(40, 300));
        scene.send(&[udp(b"another")]);
        let summary = running.stop_after(41).summary();
        let is_socket = backend == "xdp";
        let mut how = json!({
            "queues": rings, "xdp_mode": place, "busy_poll_budget": null, "fall_back": null,
            "zero_copy": is_socket.then_some(false), "need_wakeup": is_socket.then_some(true),
        });
        summary.has(&json!({"interfaces": [how]}));
        how["backend"] = backend.into();
        how["mode"] = "drop".into();
        summary.has(&how);
        summary.has(&json!({
            "written": 40, "filtered": 1, "filter": "kernel", "timestamp_source": "kernel",
        }));
        how["buffer_bytes"] = (128 << 20).into();
        assert_has(&begun, &json!({"interfaces": [how]}));
        assert!((1..summary.number("duration_ns")).contains(&summary.number("reader_ran_ns")));
        assert!(summary.0["reader_waited_ns"].is_u64());
        let file = scene.file("file.pcapng");
        let cut: Vec<_> = frames(40, 300)
            .iter()
            .map(|f| f[..snaplen.min(300)].to_vec())
            .collect();
        assert_eq!(bytes(&file), cut);
        let records = records(&file);
        assert!(records.iter().all(|record| record.original_len == 300));
        assert_eq!(records.len(), 40);
        assert!(records.is_sorted_by_key(|record| record.time_ns));
    }
}

#[test]
fn the_text_says_what_is_done_to_the_packets() {
    let scene = Scene::new();
    let cpus = match online_processors(&scene) {
        1 => "1 CPU, 128 MiB ring".to_owned(),
        count => format!("{count} CPUs, 128 MiB rings"),
    };
    for (flags, how) in [
        (
            "",
            "xdp, native, copy mode, need-wakeup, 1 queue, 128 MiB ring",
        ),
        ("-s 96", &format!("xdp-ringbuf, native, {cpus}")),
    ] {
        let ended = scene
            .capture_text(&format!("--mode drop -w file.pcapng {flags}"))
            .stop();
        ended.exit(0);
        assert_eq!(
            ended.stderr,
            [format!("capturing on right0, drop mode ({how})")]
        );
        if flags.is_empty() {
            ended.assert_mentions(
                "backend xdp, native, copy mode, need-wakeup; time stamps: kernel",
            );
        }
    }
}

#[test]
fn others_dropped_reach_nobody() {
    let scene = Scene::new();
    let sockets = [bind(&scene.left, 0), bind(&scene.right, PORT)];
    let to = (scene.right.interface().v4, PORT);
    let running = scene.capture("--mode drop --others drop tcp");
    for _ in 0..5 {
        sockets[0].send_to(b"during", to).expect("a datagram");
    }
    assert_eq!(running.stop_after(5).summary().number("filtered"), 5);
    assert_receives(&scene, &sockets);
}
