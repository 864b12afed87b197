//! `tapline capture --mode drop`, with sockets that go on to work or do not, and tshark to read the file.

use crate::support;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use crate::support::files::{bytes, column, count, tshark};
use crate::support::frames::{frames, udp};
use crate::support::run::{Running, start, start_text};
use crate::support::{Scene, ip_json, name};
use lab::Host;
use rustix::process::Signal;
use serde_json::json;

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

/// Whether ip(8) shows an XDP program on the host's interface.
fn has_program(host: &Host) -> bool {
    let shown = ip_json(host, &["-details", "link", "show", &name(host)]);
    !shown[0]["xdp"].is_null()
}

/// Processors that are switched on, each of which has memory in drop mode with a short snaplen.
fn online_processors() -> u64 {
    let conf = std::process::Command::new("getconf")
        .arg("_NPROCESSORS_ONLN")
        .output();
    let text = String::from_utf8(conf.expect("getconf runs").stdout).expect("text");
    text.trim().parse().expect("a number")
}

/// Starts drop mode on datagrams to [`PORT`].
fn take_datagrams(scene: &Scene, file: &str) -> Running {
    let port = PORT.to_string();
    let flags = ["--mode", "drop", "--stats-interval", "5ms", "-w", file];
    start(
        &scene.right,
        &[&flags[..], &["udp", "dst", "port", &port]].concat(),
    )
}

#[test]
fn a_connection_that_does_not_match_goes_on_undisturbed() {
    let scene = Scene::new();
    let file = scene.file("taken.pcapng");
    let mut connection = connect(&scene);
    exchange(&mut connection);
    let [sender, receiver] = [bind(&scene.left, 0), bind(&scene.right, PORT)];
    let to = (scene.right.interface().v4, PORT);

    let mut running = take_datagrams(&scene, &file);
    assert!(has_program(&scene.right));
    for number in 0..50 {
        sender.send_to(&[number; 20], to).expect("a datagram");
    }
    exchange(&mut connection);
    exchange(&mut connect(&scene));
    running.delivered(50);
    let ended = running.stop();
    ended.exit(0);
    exchange(&mut connection);

    let summary = ended.summary();
    summary.conserves(summary.number("received"));
    assert_eq!(summary.number("written"), 50);
    assert!(summary.number("filtered") > 100, "{summary:?}");
    assert_eq!(summary.all_lost(), 0);
    let taken = tshark(&file, &["udp.dstport", "udp.payload"]);
    assert_eq!(taken.len(), 50);
    for (number, taken) in (0u8..).zip(&taken) {
        let payload = format!("{number:02x}").repeat(20);
        assert_eq!(taken, &[PORT.to_string(), payload]);
    }
    // The socket has none of them, and the next one.
    assert!(!has_program(&scene.right));
    sender.send_to(b"after", to).expect("a datagram");
    let mut buffer = [0; 32];
    let length = receiver.recv(&mut buffer).expect("the datagram after");
    assert_eq!(buffer[..length], *b"after");
}

#[test]
fn however_it_ends_the_traffic_flows_as_before() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let scene = Scene::new();
        let file = scene.file("taken.pcapng");
        let [sender, receiver] = [bind(&scene.left, 0), bind(&scene.right, PORT)];
        let to = (scene.right.interface().v4, PORT);
        let mut connection = connect(&scene);
        let mut running = take_datagrams(&scene, &file);
        sender.send_to(b"during", to).expect("a datagram");
        running.delivered(1);
        running.signal(signal);
        let ended = running.finish();
        if signal == Signal::KILL {
            assert_eq!(ended.status.code(), None, "{ended:?}");
        } else {
            ended.exit(0);
            assert_eq!(count(&file), 1);
        }
        assert!(!has_program(&scene.right));
        sender.send_to(b"after", to).expect("a datagram");
        let mut buffer = [0; 32];
        let length = receiver.recv(&mut buffer).expect("the datagram after");
        assert_eq!(buffer[..length], *b"after");
        exchange(&mut connection);
        // And the queue is free for the next capture.
        take_datagrams(&scene, &file).stop().exit(0);
    }
}

#[test]
fn the_summary_says_how_packets_were_taken() {
    let scene = Scene::new();
    // A short snaplen has a way of its own, with memory for each processor.
    let cpus = online_processors();
    let ways = [("96", "xdp-ringbuf", cpus), ("1000", "xdp", 1)];
    let places = ["native", "generic"];
    let ways = places.map(|place| ways.map(|way| (place, way)));
    for (place, (snaplen, backend, rings)) in ways.into_iter().flatten() {
        let kept = snaplen.parse::<usize>().expect("a number").min(300);
        let file = scene.file("file.pcapng");
        let flags = ["--mode", "drop", "--xdp", place, "--stats-interval", "5ms"];
        let flags = [
            &flags[..],
            &["-s", snaplen, "-w", &file, "ether", "proto", "0x88b5"],
        ]
        .concat();
        let mut command = support::run::command(&scene.right, &flags);
        command.arg("--json");
        let mut running = support::run::spawn(command);
        let begun = running.ready();
        assert_eq!(begun["interfaces"][0]["backend"], backend);
        assert_eq!(begun["interfaces"][0]["mode"], "drop");
        assert_eq!(begun["interfaces"][0]["queues"], rings);
        assert_eq!(begun["interfaces"][0]["xdp_mode"], place);
        assert_eq!(begun["interfaces"][0]["buffer_bytes"], 128 << 20);
        scene.send(&frames(40, 300));
        scene.send(&[udp(b"another")]);
        running.received(41);
        let ended = running.stop();
        ended.exit(0);
        let summary = ended.summary();
        let is_socket = backend == "xdp";
        for told in [
            &begun["interfaces"][0],
            &summary.0,
            &summary.0["interfaces"][0],
        ] {
            assert_eq!(told["zero_copy"], json!(is_socket.then_some(false)));
            assert_eq!(told["need_wakeup"], json!(is_socket.then_some(true)));
            assert!(told["busy_poll_budget"].is_null() && told["fall_back"].is_null());
        }
        summary.conserves(41);
        assert_eq!(
            (summary.number("written"), summary.number("filtered")),
            (40, 1)
        );
        assert_eq!(summary.number("queues"), rings);
        assert!((1..summary.number("duration_ns")).contains(&summary.number("reader_ran_ns")));
        assert!(summary.0["reader_waited_ns"].is_u64());
        for (key, value) in [
            ("backend", backend),
            ("mode", "drop"),
            ("xdp_mode", place),
            ("filter", "kernel"),
            ("timestamp_source", "kernel"),
        ] {
            assert_eq!(summary.0[key], value, "{summary:?}");
        }
        let cut: Vec<_> = frames(40, 300).iter().map(|f| f[..kept].to_vec()).collect();
        assert_eq!(bytes(&file), cut);
        assert_eq!(column::<u32>(&file, "frame.len"), [300; 40]);
        let times: Vec<f64> = column(&file, "frame.time_epoch");
        assert!(times.is_sorted());
    }
}

#[test]
fn the_text_says_what_is_done_to_the_packets() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let ended = start_text(&scene.right, &["--mode", "drop", "-w", &file]).stop();
    ended.exit(0);
    let expected = format!(
        "capturing on {}, drop mode (native xdp, copy mode, need-wakeup, 1 queue, 128 MiB ring)",
        name(&scene.right)
    );
    assert_eq!(ended.stderr, [expected]);
    assert!(
        ended.stdout[1]
            .ends_with("with native xdp ring (copy mode, need-wakeup), time stamps by kernel"),
        "{ended:?}"
    );
}

#[test]
fn the_text_tells_of_memory_for_each_processor() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let flags = ["--mode", "drop", "-s", "96", "-w", &file];
    let ended = start_text(&scene.right, &flags).stop();
    ended.exit(0);
    let processors = match online_processors() {
        1 => "1 processor, 128 MiB ring".to_owned(),
        count => format!("{count} processors, 128 MiB rings"),
    };
    let name = name(&scene.right);
    let expected = format!("capturing on {name}, drop mode (native xdp-ringbuf, {processors})");
    assert_eq!(ended.stderr, [expected]);
}

#[test]
fn others_dropped_reach_nobody() {
    let scene = Scene::new();
    let [sender, receiver] = [bind(&scene.left, 0), bind(&scene.right, PORT)];
    let to = (scene.right.interface().v4, PORT);
    let flags = [
        "--mode",
        "drop",
        "--others",
        "drop",
        "--stats-interval",
        "5ms",
    ];
    let mut running = start(&scene.right, &[&flags[..], &["tcp"]].concat());
    for _ in 0..5 {
        sender.send_to(b"during", to).expect("a datagram");
    }
    running.received(5);
    let ended = running.stop();
    let summary = ended.summary();
    summary.conserves(5);
    assert_eq!(summary.number("filtered"), 5);
    sender.send_to(b"after", to).expect("a datagram");
    let mut buffer = [0; 32];
    let length = receiver.recv(&mut buffer).expect("the datagram after");
    assert_eq!(buffer[..length], *b"after");
}
