//! Prometheus counters of a capture, as an HTTP client reads them, compared with the number of packets sent.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Shutdown, SocketAddr};

use lab::generator::pin_to_cpu;
use lab::wait;
use serde_json::json;

use crate::support::frames::{frames, udp};
use crate::support::run::{Running, spawn};
use crate::support::scrape::{address, answer, ask, connect, scrape};
use crate::support::{Scene, assert_refused};

/// Starts a capture with metrics on a free port, and says where they are.
fn start(scene: &Scene, line: &str) -> (Running, SocketAddr) {
    let (running, start) = scene.capture_begun(&format!("--metrics 0 -w file.pcapng {line}"));
    (running, address(&start))
}

/// Checks the counters of `interface` by their names and labels.
#[track_caller]
fn assert_counters(
    counters: &BTreeMap<String, u64>,
    interface: &str,
    expected: &[(&str, &str, u64)],
) {
    for (counter, label, value) in expected {
        let name = format!("tapline_capture_{counter}_total{{interface=\"{interface}\"{label}}}");
        assert_eq!(counters.get(&name), Some(value), "{name}");
    }
}

const DELIVERED: &str = ",state=\"delivered\"";
const FILTERED: &str = ",state=\"filtered\"";

#[test]
fn the_counters_are_those_of_the_capture() {
    let scene = Scene::new();
    let (mut running, to) = start(&scene, "-i lo ether proto 0x88b5");
    assert!(to.ip().is_loopback());
    scene.send(&frames(300, 100));
    scene.send(&vec![udp(b"refused"); 50]);
    running.event(|event| event["delivered"] == 300 && event["filtered"].as_u64() >= Some(50));
    let counters = scrape(&scene.right, to);
    let of_link = [
        ("packets", DELIVERED, 300),
        ("packets", FILTERED, 50),
        ("bytes", "", 300 * 100),
        ("sampled_out_packets", "", 0),
    ];
    assert_counters(&counters, "right0", &of_link);
    assert_counters(
        &counters,
        "lo",
        &[("packets", DELIVERED, 0), ("bytes", "", 0)],
    );
    for place in ["nic", "driver", "ring", "program", "reader", "writer"] {
        let label = format!(",place=\"{place}\"");
        assert_counters(&counters, "right0", &[("lost_packets", &label, 0)]);
    }
    // Two interfaces: as many counters, and no other.
    assert_eq!(counters.len(), 2 * (2 + 6 + 1 + 1), "{counters:?}");
    running.stop().exit(0);
}

/// What sampling leaves out is among the filtered, and told apart.
#[test]
fn what_sampling_leaves_out_has_a_counter() {
    let scene = Scene::new();
    for mode in ["mirror", "drop"] {
        let (mut running, to) = start(
            &scene,
            &format!("--sample 1/10 --mode {mode} ether proto 0x88b5"),
        );
        pin_to_cpu(0).expect("there is such a CPU");
        scene.send(&frames(300, 100));
        scene.send(&vec![udp(b"refused"); 50]);
        running.event(|event| event["delivered"] == 30 && event["filtered"] == 320);
        let expected = [
            ("packets", DELIVERED, 30),
            ("packets", FILTERED, 320),
            ("sampled_out_packets", "", 270),
        ];
        assert_counters(&scrape(&scene.right, to), "right0", &expected);
        running.stop().exit(0);
    }
}

/// Whoever asks does not have to wait for a long interval's end.
#[test]
fn with_metrics_counters_are_measured_more_often_than_reported() {
    let scene = Scene::new();
    let (running, to) = start(&scene, "--stats-interval 1h ether proto 0x88b5");
    scene.send(&vec![udp(b"refused"); 50]);
    wait::until("50 packets are counted as filtered", || {
        let counters = scrape(&scene.right, to);
        counters
            .iter()
            .any(|(name, &value)| name.contains("filtered") && value == 50)
    });
    let ended = running.stop();
    ended.exit(0);
    assert!(ended.events_of("stats").is_empty());
}

/// Without `CAP_BPF` the filter does not count what it refuses.
#[test]
fn what_is_unknown_is_absent() {
    let scene = Scene::new();
    let line = "capture -i right0 --json --metrics 0 udp";
    let mut running = spawn(scene.privileged_by(",+net_raw", line));
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
    let (mut running, to) = start(&scene, "");
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
    let delivered = [("packets", DELIVERED, 2000)];
    assert_counters(&scrape(&scene.right, to), "right0", &delivered);
    // As many as are served at once: the time of the slow ones ends, and then it is the others' turn.
    slow.push(connect(&scene.right, to));
    assert_counters(&scrape(&scene.right, to), "right0", &delivered);
    // Slow, and not forgotten.
    assert_eq!(answer(&mut slow[2]).expect("an answer").status, 200);
    assert!(answer(&mut slow[0]).is_none() && answer(&mut slow[1]).is_none());
    running.stop().summary().conserves(2000);
}

#[test]
fn what_is_no_request_is_refused() {
    let scene = Scene::new();
    let (running, to) = start(&scene, "");
    let long = [&b"GET /metrics HTTP/1.1\r\nA: "[..], &vec![b'x'; 100_000]].concat();
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
        let status = ask(&scene.right, to, request).map(|answer| answer.status);
        assert_eq!(status, Some(expected), "{}", request.escape_ascii());
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
    let (running, to) = start(&scene, "");
    let words = [
        "GET ",
        "/metrics",
        " HTTP/1.1",
        "\r\n",
        "\r\n\r\n",
        "A: b\r\n",
        "\0\u{ff}",
        "\n",
    ];
    // The generator of L'Ecuyer for multiplicative congruence, as good as any here.
    let mut state: u64 = 1;
    let mut next = |below: usize| {
        state = state * 40_692 % 2_147_483_399;
        state as usize % below
    };
    for _ in 0..500 {
        let mut request = String::new();
        for _ in 0..next(12) {
            request += words[next(words.len())];
        }
        if next(10) == 0 {
            request = request.repeat(next(3000));
        }
        let mut stream = connect(&scene.right, to);
        // Who is refused while he is talking may find the connection closed.
        let _ = stream.write_all(request.as_bytes());
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
fn text_says_where_they_are_and_an_address_that_is_taken_is_named() {
    let scene = Scene::new();
    let mut running = scene.capture_text("-w file.pcapng --metrics [::1]:0");
    let line = running.error_line();
    let url = line.strip_prefix("metrics at ").expect("the line");
    let to = address(&json!({ "metrics": url }));
    assert!(to.is_ipv6());
    scrape(&scene.right, to);
    let again = format!("capture -i right0 --metrics {to}");
    assert_refused(
        |line| scene.run(line),
        &[(&again, 1, "Address already in use")],
    );
    running.stop().exit(0);
}
