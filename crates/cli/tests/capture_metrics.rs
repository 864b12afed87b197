//! Counters for Prometheus, as a client of HTTP sees them: a known number was sent.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Shutdown, SocketAddr};

use crate::support::frames::{frames, udp};
use crate::support::run::{Running, command, run, spawn};
use crate::support::scrape::{address, answer, ask, connect, scrape};
use crate::support::{PROGRAM, Scene, name};
use lab::wait;

/// Starts a capture with metrics on a free port, and says where they are.
fn start(scene: &Scene, arguments: &[&str]) -> (Running, SocketAddr) {
    let mut command = command(&scene.right, arguments);
    command.args(["--json", "--stats-interval", "5ms"]);
    command.args(["--metrics", "0", "-w", &scene.file("file.pcapng")]);
    let mut running = spawn(command);
    let to = address(&running.ready());
    (running, to)
}

#[test]
fn the_counters_are_those_of_the_capture() {
    let scene = Scene::new();
    let arguments = ["-i", "lo", "ether", "proto", "0x88b5"];
    let (mut running, to) = start(&scene, &arguments);
    assert!(to.ip().is_loopback());
    scene.send(&frames(300, 100));
    scene.send(&vec![udp(b"refused"); 50]);
    running.event(|event| event["delivered"] == 300 && event["filtered"].as_u64() >= Some(50));
    let counters = scrape(&scene.right, to);
    let link = name(&scene.right);
    let of = |counter: &str, link: &str, label: &str| {
        let name = format!("tapline_capture_{counter}_total{{interface=\"{link}\"{label}}}");
        counters.get(&name).copied()
    };
    assert_eq!(of("packets", &link, ",state=\"delivered\""), Some(300));
    assert_eq!(of("packets", &link, ",state=\"filtered\""), Some(50));
    assert_eq!(of("bytes", &link, ""), Some(300 * 100));
    assert_eq!(of("packets", "lo", ",state=\"delivered\""), Some(0));
    assert_eq!(of("bytes", "lo", ""), Some(0));
    for place in ["nic", "driver", "ring", "program", "reader", "writer"] {
        let label = format!(",place=\"{place}\"");
        assert_eq!(of("lost_packets", &link, &label), Some(0), "{place}");
    }
    assert_eq!(of("sampled_out_packets", &link, ""), Some(0));
    // Two interfaces: as many counters, and no other.
    assert_eq!(counters.len(), 2 * (2 + 6 + 1 + 1), "{counters:?}");
    running.stop().exit(0);
}

/// What sampling leaves out is among the filtered, and told apart.
#[test]
fn what_sampling_leaves_out_has_a_counter() {
    let scene = Scene::new();
    for mode in ["mirror", "drop"] {
        let arguments = [
            "--sample", "1/10", "--mode", mode, "ether", "proto", "0x88b5",
        ];
        let (mut running, to) = start(&scene, &arguments);
        lab::generator::pin_to_cpu(0).expect("there is such a CPU");
        scene.send(&frames(300, 100));
        scene.send(&vec![udp(b"refused"); 50]);
        running.event(|event| event["delivered"] == 30 && event["filtered"] == 320);
        let counters = scrape(&scene.right, to);
        let link = name(&scene.right);
        let of = |counter: &str, label: &str| {
            let name = format!("tapline_capture_{counter}_total{{interface=\"{link}\"{label}}}");
            counters.get(&name).copied()
        };
        assert_eq!(of("packets", ",state=\"delivered\""), Some(30));
        assert_eq!(of("packets", ",state=\"filtered\""), Some(320));
        assert_eq!(of("sampled_out_packets", ""), Some(270));
        running.stop().exit(0);
    }
}

/// Whoever asks does not have to wait for a long interval's end.
#[test]
fn with_metrics_counters_are_measured_more_often_than_told() {
    let scene = Scene::new();
    let mut command = command(&scene.right, &["--json", "--stats-interval", "1h"]);
    command.args(["--metrics", "0", "ether", "proto", "0x88b5"]);
    let mut running = spawn(command);
    let to = address(&running.ready());
    scene.send(&vec![udp(b"refused"); 50]);
    let filtered = |counters: &BTreeMap<String, u64>| {
        let mut states = counters
            .iter()
            .filter(|(name, _)| name.contains("filtered"));
        states.any(|(_, &value)| value == 50)
    };
    wait::until("50 packets are counted as filtered", || {
        filtered(&scrape(&scene.right, to))
    });
    let ended = running.stop();
    ended.exit(0);
    assert!(ended.events().iter().all(|event| event["event"] != "stats"));
}

/// Without `CAP_BPF` the filter does not count what it refuses.
#[test]
fn what_is_unknown_is_absent() {
    let scene = Scene::new();
    let mut command = scene.right.command("setpriv");
    command.args(["--bounding-set", "-all,+net_raw", PROGRAM, "capture"]);
    command.args(["-i", &name(&scene.right), "--json", "--metrics", "0", "udp"]);
    let mut running = spawn(command);
    let to = address(&running.ready());
    let counters = scrape(&scene.right, to);
    let states: Vec<_> = counters
        .keys()
        .filter(|key| key.contains("state="))
        .collect();
    assert!(
        states.len() == 1 && states[0].contains("delivered"),
        "{states:?}"
    );
    running.stop().exit(0);
}

/// Clients that say nothing, or stop in the middle, or do not take their answer.
#[test]
fn slow_clients_hold_up_neither_the_capture_nor_others() {
    let scene = Scene::new();
    let (mut running, to) = start(&scene, &[]);
    // One less than are served at once.
    let beginnings: [&[u8]; 3] = [
        b"",
        b"GET /metrics HTTP/1.1\r\nHos",
        b"GET /metrics HTTP/1.1\r\n\r\n",
    ];
    let mut slow: Vec<_> = (0..15).map(|_| connect(&scene.right, to)).collect();
    for (stream, beginning) in slow.iter_mut().zip(beginnings.iter().cycle()) {
        stream.write_all(beginning).expect("it is taken");
    }
    scene.generate(2000, None);
    running.received(2000);
    let link = name(&scene.right);
    let delivered =
        format!("tapline_capture_packets_total{{interface=\"{link}\",state=\"delivered\"}}");
    assert_eq!(scrape(&scene.right, to)[&delivered], 2000);
    // As many as are served at once: the time of the slow ones ends, and then it is the others' turn.
    slow.push(connect(&scene.right, to));
    assert_eq!(scrape(&scene.right, to)[&delivered], 2000);
    // Slow, and not forgotten.
    let answered = answer(&mut slow[2]).expect("an answer");
    assert_eq!(answered.status, 200);
    assert!(answer(&mut slow[0]).is_none() && answer(&mut slow[1]).is_none());
    let summary = running.stop().summary();
    summary.conserves(2000);
}

#[test]
fn what_is_no_request_is_refused() {
    let scene = Scene::new();
    let (running, to) = start(&scene, &[]);
    let long = [&b"GET /metrics HTTP/1.1\r\nA: "[..], &vec![b'x'; 100_000]].concat();
    let status = |request: &[u8]| ask(&scene.right, to, request).map(|answer| answer.status);
    for (request, expected) in [
        (&b"quit\r\n"[..], 400),
        (b"GET /metrics HTTP/2.0\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
        (&long, 400),
        (&[0; 1000], 400),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics/../.. HTTP/1.1\r\n\r\n", 404),
        (
            b"POST /metrics HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
            405,
        ),
    ] {
        assert_eq!(
            status(request),
            Some(expected),
            "{:?}",
            request.escape_ascii().to_string()
        );
    }
    let head = ask(&scene.right, to, b"HEAD /metrics HTTP/1.1\r\n\r\n").expect("an answer");
    assert_eq!((head.status, &*head.body), (200, ""));
    // A request that is cut off.
    let mut stream = connect(&scene.right, to);
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\n")
        .expect("it is taken");
    stream.shutdown(Shutdown::Write).expect("the end");
    assert_eq!(answer(&mut stream).expect("an answer").status, 400);
    scrape(&scene.right, to);
    running.stop().exit(0);
}

/// Bytes of every kind, in any number; at the end it serves as before.
#[test]
fn hostile_requests_change_nothing() {
    let scene = Scene::new();
    let (running, to) = start(&scene, &[]);
    let words: [&[u8]; 8] = [
        b"GET ",
        b"/metrics",
        b" HTTP/1.1",
        b"\r\n",
        b"\r\n\r\n",
        b"A: b\r\n",
        b"\0\xff",
        b"\n",
    ];
    // The generator of L'Ecuyer for multiplicative congruence, as good as any here.
    let mut state: u64 = 1;
    let mut next = |below: usize| {
        state = state * 40_692 % 2_147_483_399;
        state as usize % below
    };
    for _ in 0..500 {
        let mut request = Vec::new();
        for _ in 0..next(12) {
            request.extend(words[next(words.len())]);
        }
        if next(10) == 0 {
            request = request.repeat(next(3000));
        }
        let mut stream = connect(&scene.right, to);
        // Who is refused while he is talking may find the connection closed.
        let _ = stream.write_all(&request);
        let _ = stream.shutdown(Shutdown::Write);
        if next(4) == 0 {
            // Gone without having waited for the answer.
            continue;
        }
        if let Some(answer) = answer(&mut stream) {
            assert!([200, 400, 404, 405].contains(&answer.status), "{answer:?}");
        }
    }
    scrape(&scene.right, to);
    running.stop().exit(0);
}

#[test]
fn an_address_that_cannot_be_had_is_named() {
    let scene = Scene::new();
    let (running, to) = start(&scene, &[]);
    let taken = to.to_string();
    for (address, code, said) in [
        (&*taken, 1, "Address already in use"),
        ("192.0.2.77:9000", 1, "Cannot assign requested address"),
        ("nonsense", 2, "'nonsense'"),
        ("[::1]", 2, "use PORT"),
        ("65536", 2, "use PORT"),
    ] {
        let ended = run(&scene.right, &["--metrics", address]);
        let complaint = ended.refusal(code);
        assert!(complaint.contains(said), "{complaint}");
    }
    let mut low = scene.right.command("setpriv");
    low.args(["--bounding-set", "-all,+net_raw", PROGRAM, "capture"]);
    low.args(["-i", &name(&scene.right), "--metrics", "80"]);
    let ended = spawn(low).finish();
    assert!(
        ended.refusal(3).contains("CAP_NET_BIND_SERVICE"),
        "{ended:?}"
    );
    running.stop().exit(0);
}

#[test]
fn text_says_where_they_are() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut running = spawn(command(
        &scene.right,
        &["-w", &file, "--metrics", "[::1]:0"],
    ));
    running.ready_text();
    let line = running.error_line();
    let url = line.strip_prefix("metrics at ").expect("the line");
    let to = address(&serde_json::json!({ "metrics": url }));
    assert!(to.is_ipv6());
    scrape(&scene.right, to);
    running.stop().exit(0);
}
