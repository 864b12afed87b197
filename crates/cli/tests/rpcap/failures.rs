//! Malformed rpcap input: to the server from clients, and to the client from a hostile server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use lab::{Host, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::support::frames::frames;
use crate::support::rpcap::{FRAMES, PEER, peer, scripted, serve, served};
use crate::support::run::{Ended, spawn};
use crate::support::scrape::scrape;
use crate::support::{PROGRAM, Scene, assert_has, assert_refused, number, tapline, words};

/// Longest time for an answer.
const TIME: Duration = Duration::from_mins(1);

/// Without a password.
const AUTHENTICATE: &[u8] = b"\0\x08\0\0\0\0\0\x08\0\0\0\0\0\0\0\0";

fn connect(host: &Host, port: u16) -> TcpStream {
    let stream = host.run(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
    let stream = stream.expect("a connection");
    stream.set_read_timeout(Some(TIME)).expect("a time");
    stream
}

/// Type, value and payload of the next message; `None` if the server has closed the connection.
fn answer(stream: &mut TcpStream) -> Option<(u8, u16, Vec<u8>)> {
    let mut head = [0; 8];
    if let Err(error) = stream.read_exact(&mut head) {
        let is_late = matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        );
        assert!(!is_late, "the server says nothing");
        return None;
    }
    let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).expect("a payload");
    Some((head[1], u16::from_be_bytes([head[2], head[3]]), payload))
}

/// The server answers `sent` with an error of this number, and closes the connection.
#[track_caller]
fn is_thrown_out(host: &Host, port: u16, sent: &[u8], code: u16) {
    let mut stream = connect(host, port);
    stream.write_all(sent).expect("it takes bytes");
    let mut last = None;
    while let Some((kind, value, _)) = answer(&mut stream) {
        last = Some((kind, value));
    }
    assert_eq!(last, Some((1, code)), "{sent:?}");
}

/// A client is served, with a capture.
#[track_caller]
fn is_served(scene: &Scene, port: u16) {
    let file = scene.file("served.pcap");
    let line = format!("client 127.0.0.1 {port} right0 5 {file} tcp");
    let mut client = spawn(peer(&scene.right, &line));
    client.ready();
    scene.send(&frames(5, 60));
    let ended = client.finish();
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn garbage_and_oversize_messages_end_their_connection_and_no_other() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let right = &scene.right;
    let before: &[(&[u8], u16)] = &[
        // A TLS hello, a request of HTTP, other versions and unknown types.
        (b"\x16\x03\x01\0\0\0\0\0", 17),
        (b"\x01\x08\0\0\0\0\0\0", 17),
        (b"\0\x63\0\0\0\0\0\0", 16),
        (b"\0\x88\0\0\0\0\0\0", 16),
        // Lengths that are too long, before and after the client is in.
        (b"\0\x08\0\0\0\0\x10\x01", 16),
        (b"\0\x08\0\0\xff\xff\xff\xff", 16),
        (b"GET / HTTP/1.0\r\n\r\n", 16),
        // The lengths of user and password go beyond the message, or do not reach its end.
        (b"\0\x08\0\0\0\0\0\x08\0\x01\0\0\xff\xff\xff\xff", 16),
        (b"\0\x08\0\0\0\0\0\x09\0\0\0\0\0\0\0\0x", 16),
        (b"\0\x08\0\0\0\0\0\x02\0\0", 16),
        // Another way to authenticate, and another request before it.
        (b"\0\x08\0\0\0\0\0\x08\0\x07\0\0\0\0\0\0", 16),
        (b"\0\x02\0\0\0\0\0\0", 16),
    ];
    for (sent, code) in before {
        is_thrown_out(right, port, sent, *code);
    }
    let behind: &[(&[u8], u16)] = &[
        (b"\0\x04\0\0\0\0\xfa\x01", 16),
        (b"\0\x04\0\0\0\0\0\x01x", 16),
        (b"\0\x05\0\0\0\0\0\x08\0\x02\0\0\0\0\0\0", 16),
        (b"\0\x05\0\0\0\0\0\x08\0\x01\0\0\xff\xff\xff\xff", 16),
        (b"\0\x0b\0\0\0\0\0\x08\x09\0\0\0\0\0\0\0", 16),
        (b"\x05\x02\0\0\0\0\0\0", 17),
        (b"\0\x07\0\0\0\0\0\0", 16),
    ];
    for (sent, code) in behind {
        is_thrown_out(right, port, &[AUTHENTICATE, sent].concat(), *code);
    }
    is_served(&scene, port);
    served(&mut server);
    server.stop().exit(0);
}

#[test]
fn requests_that_cannot_be_carried_out_are_refused_and_the_session_goes_on() {
    let scene = Scene::new();
    let (server, port) = serve(&scene.right, "");
    let mut stream = connect(&scene.right, port);
    let mut ask = |sent: &[u8]| {
        stream.write_all(sent).expect("it takes bytes");
        let (kind, value, payload) = answer(&mut stream).expect("an answer");
        (kind, value, String::from_utf8_lossy(&payload).into_owned())
    };
    assert_eq!(ask(AUTHENTICATE).0, 0x88);
    // A second time, no capture for a filter, for the end, and no interface for a capture.
    assert_eq!(ask(AUTHENTICATE).1, 16);
    assert_eq!(ask(b"\0\x05\0\0\0\0\0\x08\0\x01\0\0\0\0\0\0").1, 7);
    assert_eq!(ask(b"\0\x0a\0\0\0\0\0\0").1, 13);
    let start = b"\0\x04\0\0\0\0\0\x1c\0\0\xff\xff\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\x01";
    let keep_all = b"\0\x06\0\0\0\0\xff\xff";
    assert_eq!(ask(&[&start[..], keep_all].concat()).1, 12);
    // Interfaces that do not exist, or have no possible name.
    for name in ["nothing", "../lo", "", "a-name-that-is-too-long"] {
        let length = u8::try_from(name.len()).expect("short");
        let open = [&b"\0\x03\0\0\0\0\0"[..], &[length], name.as_bytes()].concat();
        assert_eq!(ask(&open).1, 6, "{name}");
    }
    assert_eq!(ask(b"\0\x03\0\0\0\0\0\x06right0").0, 0x83);
    // A filter that jumps beyond its end, one without a return, and one that loads what no packet has.
    for program in [
        b"\0\x15\x05\x05\0\0\0\0",
        b"\0\x28\0\0\0\0\0\x0c",
        b"\xff\xff\0\0\0\0\0\0",
    ] {
        let (kind, code, text) = ask(&[&start[..], program].concat());
        assert_eq!((kind, code), (1, 12), "{text}");
        assert!(text.contains("filter"), "{text}");
    }
    // The session goes on.
    assert_eq!(ask(b"\0\x02\0\0\0\0\0\0").0, 0x82);
    assert_eq!(ask(b"\0\x09\0\0\0\0\0\0").0, 0x89);
    server.stop().exit(0);
}

#[test]
fn a_client_that_says_nothing_or_half_a_message_is_let_go_and_waits_for_nobody() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let [mut silent, mut half] = [0; 2].map(|_| connect(&scene.right, port));
    half.write_all(&AUTHENTICATE[..9]).expect("it takes bytes");
    is_served(&scene, port);
    served(&mut server);
    for stream in [&mut silent, &mut half] {
        let (kind, code, _) = answer(stream).expect("an answer");
        assert_eq!((kind, code), (1, 2));
        assert_eq!(answer(stream), None);
    }
    server.stop().exit(0);
}

#[test]
fn more_clients_than_are_served_wait_for_their_turn() {
    let scene = Scene::new();
    let (server, port) = serve(&scene.right, "");
    let enter = || {
        let mut stream = connect(&scene.right, port);
        stream.write_all(AUTHENTICATE).expect("it takes bytes");
        stream
    };
    let mut clients: Vec<_> = (0..16).map(|_| enter()).collect();
    for client in &mut clients {
        assert_eq!(answer(client).map(|reply| reply.0), Some(0x88));
    }
    let mut waits = enter();
    // It is not served: its place is free only when another has gone.
    let tasks = format!("/proc/{}/task", server.pid().as_raw_nonzero());
    let sessions = || {
        let tasks = std::fs::read_dir(&tasks).expect("it runs");
        let names = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim_end() == "serve").count()
    };
    assert_eq!(sessions(), 16);
    drop(clients.pop());
    assert_eq!(answer(&mut waits).map(|reply| reply.0), Some(0x88));
    server.stop().exit(0);
}

#[test]
fn other_users_of_the_host_are_refused_without_a_password() {
    let scene = Scene::new();
    let (server, port) = serve(&scene.right, "");
    let mut command = scene.right.command("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", PROGRAM]);
    command.args(words(&format!("capture -D -i rpcap://127.0.0.1:{port}/")));
    let ended = spawn(command).finish();
    let reason = "only root and the user who started the server may connect without a password, and user 65534 is neither";
    let why = ended.refusal(1);
    assert!(
        why.ends_with(&format!("refused this host or user: {reason}")),
        "{why}"
    );
    // Also those who have sent more than the server reads.
    let mut command = scene.right.command("setpriv");
    command.args(["--reuid", "65534", "--clear-groups"]);
    // The Python in the path may be root's own.
    command.args(["/usr/bin/python3", PEER]);
    command.args(words(&format!("stranger 127.0.0.1 {port}")));
    let ended = spawn(command).finish();
    assert!(ended.status.success(), "{ended:?}");
    let wanted = json!({"event": "refused", "code": 10, "text": reason});
    assert_eq!(ended.events(), [wanted]);
    let ended = server.stop();
    ended.exit(0);
    for client in ended.events_of("client") {
        assert_has(&client, &json!({"end": "refused", "error": reason}));
    }
    assert_has(
        &ended.events_of("summary")[0],
        &json!({"clients": 2, "refused": 2}),
    );
}

#[test]
fn a_server_prints_its_clients_in_words() {
    let scene = Scene::new();
    let mut server = spawn(scene.command("serve rpcap --listen 127.0.0.1:0"));
    let line = server.error_line();
    let listen = line.strip_prefix("serving rpcap at 127.0.0.1:");
    let (port, who) = listen
        .and_then(|rest| rest.split_once(", for "))
        .expect("a port");
    assert_eq!(who, "root and the user who started it");
    let line = format!(
        "client 127.0.0.1 {port} right0 1 {} tcp",
        scene.file("one.pcap")
    );
    let mut client = spawn(peer(&scene.right, &line));
    client.ready();
    scene.send(&frames(1, 60));
    assert!(client.finish().status.success());
    let ended = server.stop();
    ended.exit(0);
    ended.assert_mentions(": 1 packet sent; right0: ");
    ended.assert_mentions("1 client (0 refused), 1 capture, 1 packet sent");
}

/// Runs it; no line that it prints has the password.
#[track_caller]
fn without_secret(ended: Ended) -> Ended {
    let mut lines = ended.stdout.iter().chain(&ended.stderr);
    assert!(
        !lines.any(|line| line.contains("wrong-horse") || line.contains("correct-horse")),
        "{ended:?}"
    );
    ended
}

#[test]
fn wrong_passwords_are_refused_and_not_printed() {
    let scene = Scene::new();
    let secret = scene.write("secret", "correct-horse\n");
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).expect("ours");
    let metrics = 9101;
    let line = format!("--password-file {secret} --metrics {metrics}");
    let (mut server, port) = serve(&scene.right, &line);
    let place = format!("127.0.0.1:{port}/right0");
    let refused = |url: &str| {
        let ended = without_secret(scene.run(&format!("capture -i rpcap://{url}")));
        ended.refusal(1).to_owned()
    };
    let why = refused(&format!("me:wrong-horse@{place}"));
    assert!(
        why.contains("refused the password: wrong user or password"),
        "{why}"
    );
    let why = refused(&place);
    assert!(why.contains("requires a password"), "{why}");
    // Neither client made a further attempt in its connection.
    for why in ["wrong user or password", "this server requires a password"] {
        let client = server.event(|event| event["event"] == "client");
        assert_eq!(client["end"], "refused", "{client}");
        assert_eq!(client["error"], why);
    }
    let counters = scrape(&scene.right, SocketAddr::from(([127, 0, 0, 1], metrics)));
    assert_eq!(
        counters["tapline_serve_clients_total{outcome=\"refused\"}"],
        2
    );
    let ended = without_secret(server.stop());
    ended.exit(0);
    let summary = ended.events().pop().expect("a summary");
    assert_eq!(number(&summary, "clients"), 2, "{summary}");
    assert_eq!(number(&summary, "refused"), 2, "{summary}");
    let (other, port) = serve(&scene.right, "");
    let why = refused(&format!("me:wrong-horse@127.0.0.1:{port}/right0"));
    assert!(why.contains("this server has no password"), "{why}");
    other.stop().exit(0);
}

#[test]
fn both_ends_warn_before_a_password_leaves_the_host() {
    let scene = Scene::new();
    let secret = scene.write("secret", "correct-horse\n");
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).expect("ours");
    for flag in ["", "--json", "--quiet"] {
        let line = format!("serve rpcap --listen 10.1.0.2:0 --password-file {secret} {flag}");
        let mut server = spawn(scene.command(&line));
        let mut line = server.error_line();
        if flag.is_empty() {
            line = server.error_line();
        }
        assert_eq!(
            line,
            "warning: rpcap is not encrypted: who sees the connections reads the password and the packets"
        );
        server.stop().exit(0);
    }
    let (server, port) = serve(
        &scene.right,
        &format!("--listen 10.1.0.2:0 --password-file {secret}"),
    );
    let url = format!("rpcap://me:wrong-horse@10.1.0.2:{port}/right0");
    for (words, lines) in [("", 2), ("-D", 2), ("-q", 1)] {
        let line = format!("capture {words} -i {url}");
        let ended = without_secret(spawn(tapline(&scene.left, &line)).finish());
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        assert_eq!(ended.stderr.len(), lines, "{ended:?}");
        if lines > 1 {
            assert_eq!(
                ended.stderr[0],
                "warning: rpcap is not encrypted: who sees the connection reads the password and the packets"
            );
        }
    }
    server.stop().exit(0);
}

/// Makes files with passwords: `open`, which others may read, `short` and `empty`.
fn password_files(scene: &Scene) {
    let open = scene.write("open", "correct horse\n");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o644)).expect("ours");
    for (name, line) in [("short", "horse\n"), ("empty", "\nhorse\n")] {
        let file = scene.write(name, line);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("ours");
    }
}

#[test]
fn what_the_flags_cannot_mean_is_refused() {
    let scene = Scene::new();
    password_files(&scene);
    assert_refused(
        |line| scene.run(line),
        &[
            ("capture -i rpcap://h/lo -i lo", 2, "together with others"),
            ("capture -i rpcap://h/", 2, "no interface in the URL"),
            ("capture -i rpcap:///lo", 2, "no host in the URL"),
            ("capture -i rpcap://h:x/lo", 2, "wrong port"),
            ("capture -i rpcaps://h/lo", 2, "TLS"),
            ("capture -i rpcap://me@h/lo", 2, "no password for the user"),
            (
                "capture -i rpcap://me:x@h/lo --password-file open",
                2,
                "cannot be used together",
            ),
            (
                "capture -i rpcap://h/lo --password-file open",
                1,
                "other users have access",
            ),
            (
                "capture -i rpcap://h/lo --password-file empty",
                1,
                "has 0 bytes, not 1 to 1024",
            ),
            // Servers of others have short passwords, too.
            (
                "capture -i rpcap://127.0.0.1:1/lo --password-file short",
                1,
                "cannot connect to 127.0.0.1, port 1",
            ),
            ("capture -i lo --udp", 2, "--udp needs -i rpcap"),
            (
                "capture -i lo --password-file open",
                2,
                "--password-file needs -i rpcap",
            ),
            (
                "capture -i rpcap://h/lo --mode drop",
                2,
                "--mode drop needs an interface",
            ),
            (
                "capture -i rpcap://h/lo --sample 1/2",
                2,
                "--sample needs an interface",
            ),
            (
                "capture -i rpcap://h/lo --who",
                2,
                "--who needs an interface",
            ),
            (
                "capture -i rpcap://h/lo --index -w x.pcapng",
                2,
                "--index needs an interface",
            ),
            (
                "capture -i rpcap://h/lo --others drop",
                2,
                "--others needs an interface",
            ),
            (
                "capture -i rpcap://h/lo -w x.parquet",
                2,
                "capture writes pcapng",
            ),
            (
                "capture -i rpcap://127.0.0.1:1/lo",
                1,
                "cannot connect to 127.0.0.1, port 1",
            ),
        ],
    );
}

#[test]
fn what_the_flags_of_a_server_cannot_mean_is_refused() {
    let scene = Scene::new();
    password_files(&scene);
    assert_refused(
        |line| scene.run(line),
        &[
            (
                "serve rpcap --listen 127.0.0.1:0 --password-file short",
                1,
                "has 5 bytes, not 8 to 1024",
            ),
            (
                "serve rpcap --listen 0.0.0.0:0",
                2,
                "--password-file is needed",
            ),
            (
                "serve rpcap --listen 10.1.0.2:0 --password-file open",
                1,
                "chmod 600",
            ),
            (
                "serve rpcap --listen 192.0.2.1:0 --password-file missing",
                1,
                "cannot read",
            ),
            ("serve rpcap --listen nowhere", 2, "use ADDR:PORT"),
        ],
    );
    let ended = spawn(scene.privileged_by("", "serve rpcap --listen 127.0.0.1:0")).finish();
    assert!(ended.refusal(3).contains("needs CAP_NET_RAW"), "{ended:?}");
}

#[test]
fn a_hostile_server_ends_the_capture_with_the_reason() {
    let scene = Scene::new();
    for (script, delivered, why) in [
        ("mute", None, "closed the connection"),
        ("huge", None, "longer than"),
        ("newer", None, "supports versions 1 to 2"),
        ("denied", None, "refused the password: bad ?[31mpassword"),
        ("hasty", None, "refused this host or user: no strangers"),
        ("strange", None, "unknown link type (99999)"),
        (
            "contradiction",
            Some(1),
            "lengths of a packet contradict each other",
        ),
        ("oversize", Some(1), "longer than"),
        ("garbage", Some(1), "unknown message of type 255"),
        ("cut", Some(1), "lengths of a packet contradict each other"),
        ("failed", Some(1), "the interface is gone"),
    ] {
        let (_server, port) = scripted(&scene, script);
        let file = scene.file(&format!("{script}.pcapng"));
        let line = format!("capture -i rpcap://127.0.0.1:{port}/eth9 --json -w {file}");
        let ended = scene.run(&line);
        let line = ended.exit(1);
        assert!(line.contains(why), "{script}: {line}");
        // What had come is in the file.
        let summary = ended.events_of("summary").pop();
        let found = summary.map(|summary| summary["written"].as_u64().expect("a number"));
        assert_eq!(found, delivered, "{script}");
        if let Some(delivered) = delivered {
            assert_eq!(crate::support::files::count(&file), delivered, "{script}");
        }
    }
}

#[test]
fn the_end_of_the_server_or_of_the_interface_ends_the_capture_with_the_reason() {
    let scene = Scene::new();
    let capture = |port: u16| {
        let line =
            format!("capture -i rpcap://127.0.0.1:{port}/right0 --json -w file.pcapng '{FRAMES}'");
        let mut running = spawn(scene.command(&line));
        running.ready();
        running
    };
    let (server, port) = serve(&scene.right, "");
    let running = capture(port);
    server.stop().exit(0);
    let ended = running.finish();
    assert!(ended.exit(1).contains("closed the connection"), "{ended:?}");
    let (mut server, port) = serve(&scene.right, "");
    let running = capture(port);
    scene.right.ip("link del right0");
    let ended = running.finish();
    assert!(ended.exit(1).contains("the capture has ended"), "{ended:?}");
    served(&mut server);
    server.stop().exit(0);
}

#[test]
fn a_client_that_is_killed_ends_its_capture() {
    let scene = Scene::new();
    let (mut server, port) = serve(&scene.right, "");
    let line =
        format!("capture -i rpcap://127.0.0.1:{port}/right0 --json -w file.pcapng '{FRAMES}'");
    let mut running = spawn(scene.command(&line));
    running.ready();
    running.signal(Signal::KILL);
    served(&mut server);
    wait::until("no packet socket is open", || {
        let listed = scene
            .right
            .run(|| std::fs::read_to_string("/proc/thread-self/net/packet"));
        listed.expect("the list").lines().count() == 1
    });
    server.stop().exit(0);
}
