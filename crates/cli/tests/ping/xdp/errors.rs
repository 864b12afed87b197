//! ICMP errors and notices that `tapline ping --backend xdp` has counted, in text, CSV and metrics.

use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket};
use serde_json::json;
use wire::MacAddress;
use wire::build::Frame;
use wire::checksum::internet;
use wire::protocol::ip;

use crate::ping::metrics::scrape;
use crate::support::Scene;
use crate::support::ping::{dead_ends, ping, start};
use crate::support::scrape::address;

/// Bytes of the headers of IPv4 and ICMP.
const IP: usize = 20;
const ICMP: usize = 8;

/// As with several targets, also over sockets. Compared with what the router at the other end is.
#[test]
fn a_single_target_has_its_errors_by_router() {
    let scene = Scene::new();
    dead_ends(&scene);
    for backend in ["--backend xdp", "--backend raw"] {
        for (target, line) in [
            (
                "10.9.0.1",
                "errors: 2 from 10.1.0.2: Destination Host Unreachable",
            ),
            (
                "fd09::1",
                "errors: 2 from fd00:1::2: Destination unreachable: No route",
            ),
        ] {
            let ended = ping(&scene, &format!("{backend} -q -c 2 -i 10ms -W 5 {target}"));
            assert_eq!(ended.status.code(), Some(1), "{ended:?}");
            ended.assert_mentions("2 packets transmitted, 0 received, +2 errors");
            assert!(ended.stdout.iter().any(|found| found == line), "{ended:?}");
        }
    }
}

/// The row of a target has its error in words, in each form. Compared with what the router at the other end is.
#[test]
fn a_sweep_names_the_error_of_each_target() {
    let scene = Scene::new();
    dead_ends(&scene);
    let words = [
        ("10.9.0.1", "Destination Host Unreachable", 3, 1),
        ("fd09::1", "Destination unreachable: No route", 1, 0),
    ];
    let line = "--backend xdp -c 1 -i 10ms -W 0.2 10.9.0.1 fd09::1 10.1.0.2";
    let csv = ping(&scene, &format!("{line} --csv -q")).stdout;
    assert!(csv[0].ends_with(",longest_outage,error"), "{csv:?}");
    let row = |target: &str| {
        csv.iter()
            .find(|row| row.starts_with(&format!("{target},")))
    };
    let json = ping(&scene, &format!("{line} --json -q"));
    let of_target = |target: &str| {
        let mut rows = json.events_of("target").into_iter();
        rows.find(|row| row["target"] == target).expect("a row")
    };
    let text = ping(&scene, line).stdout;
    for (target, words, kind, code) in words {
        assert!(
            row(target).is_some_and(|row| row.ends_with(&format!(",{words}"))),
            "{csv:?}"
        );
        let error = &of_target(target)["error"];
        assert_eq!(*error, json!({"type": kind, "code": code, "words": words}));
        let line = text.iter().find(|line| line.starts_with(target));
        assert!(
            line.is_some_and(|line| line.ends_with(&format!(", 1 errors ({words})"))),
            "{text:?}"
        );
    }
    assert!(
        row("10.1.0.2").is_some_and(|row| row.ends_with(",,")),
        "{csv:?}"
    );
    assert!(of_target("10.1.0.2")["error"].is_null());
}

#[test]
fn metrics_have_errors_by_router_while_it_runs() {
    let scene = Scene::new();
    dead_ends(&scene);
    let line = "--backend xdp --json --metrics 0 -i 200ms 10.9.0.1 10.1.0.2";
    let mut running = start(&scene, line);
    let to = address(&running.ready());
    let name = "tapline_ping_network_errors_total{router=\"10.1.0.2\",type=\"3\",code=\"1\"}";
    lab::wait::until("an error is posted", || {
        scrape(&scene, to)
            .get(name)
            .is_some_and(|count| *count > 0.0)
    });
    running.stop();
}

/// An error that quotes eight bytes of a request says nothing that proves which one it was.
#[test]
fn notices_are_printed() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    for form in ["-q", "--csv"] {
        let requests = scene
            .right
            .run(|| socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)))
            .expect("a raw socket");
        let limit = Some(Duration::from_mins(1));
        set_socket_timeout(&requests, Timeout::Recv, limit).expect("a limit");
        let running = start(&scene, &format!("--backend xdp {form} -i 100ms 10.1.0.2"));
        let mut request = [0; 512];
        recv(&requests, &mut request, RecvFlags::empty()).expect("a request");
        let mut error = vec![3, 1, 0, 0, 0, 0, 0, 0];
        error.extend_from_slice(&request[..IP + ICMP]);
        let sum = internet(&error);
        error[2..4].copy_from_slice(&sum.to_be_bytes());
        let (left, right) = (scene.left.interface(), scene.right.interface());
        let [from, to] = [right, left].map(|interface| MacAddress(interface.mac.0));
        let frame = Frame::ethernet(from, to).ipv4(right.v4, left.v4);
        scene.send_back(&[frame.payload(ip::ICMPV4, &error)]);
        let ended = running.stop();
        let lines = ended.stdout.iter().chain(&ended.stderr);
        let mut found = lines.filter(|line| line.starts_with("answers: "));
        let line = found.next().expect("a line");
        assert!(line.contains("1 ICMP notices"), "{ended:?}");
    }
}
