//! `--metrics` of commands other than `capture`, `count`, `ping` and `send`: counters while they run, compared with
//! known numbers of packets.

use std::collections::BTreeMap;
use std::fs;
use std::io::{PipeWriter, Write, pipe};
use std::net::{SocketAddr, UdpSocket};
use std::process::Stdio;

use lab::wait;

use crate::support::frames::{frame, frames, udp};
use crate::support::ping::iputils;
use crate::support::rpcap::FRAMES;
use crate::support::run::{Running, begin, spawn};
use crate::support::scrape::{address, scrape};
use crate::support::{Scene, number, output};

/// A pcap file without packets.
fn header() -> Vec<u8> {
    let header = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1];
    header.map(u32::to_le_bytes).concat()
}

/// A packet of that file.
fn record(frame: &[u8]) -> Vec<u8> {
    record_at(0, frame)
}

/// A packet some seconds later.
fn record_at(seconds: u32, frame: &[u8]) -> Vec<u8> {
    let length = frame.len() as u32;
    let mut bytes = [1_764_288_000 + seconds, 0, length, length]
        .map(u32::to_le_bytes)
        .concat();
    bytes.extend(frame);
    bytes
}

/// Starts `tapline LINE --metrics 0 --json`, which reads what is written to the pipe.
#[track_caller]
fn start(scene: &Scene, line: &str) -> (Running, SocketAddr, PipeWriter) {
    let (input, mut packets) = pipe().expect("a pipe");
    let mut command = scene.command(&format!("{line} --metrics 0 --json"));
    command.stdin(input).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let mut running = begin(command);
    packets.write_all(&header()).expect("it reads");
    let to = address(&running.ready());
    (running, to, packets)
}

/// Waits until the counters satisfy the condition.
fn scraped(scene: &Scene, to: SocketAddr, is_it: impl Fn(&BTreeMap<String, u64>) -> bool) {
    wait::until("the counters are there", || {
        is_it(&scrape(&scene.right, to))
    });
}

#[test]
fn a_pipe_that_is_read_has_counters() {
    let scene = Scene::new();
    for line in [
        "read - udp -w copy.pcapng",
        "read - udp -w packets.parquet",
        "read - udp",
        "capture -i - udp -w captured.pcapng",
    ] {
        let (running, to, mut packets) = start(&scene, line);
        let bytes: Vec<u8> = [udp(b"one"), frame(1, 100), udp(b"two"), udp(b"three")]
            .iter()
            .flat_map(|frame| record(frame))
            .collect();
        packets.write_all(&bytes).expect("it reads");
        let read = (header().len() + bytes.len()) as u64;
        scraped(&scene, to, |counters| {
            counters["tapline_read_packets_total{state=\"selected\"}"] == 3
                && counters["tapline_read_packets_total{state=\"filtered\"}"] == 1
                && counters["tapline_read_bytes_total{}"] == read
        });
        drop(packets);
        let ended = running.finish();
        ended.exit(0);
        let summary = ended.events().pop().expect("a summary");
        assert_eq!(number(&summary, "delivered"), 3, "{line}");
    }
}

#[test]
fn flows_of_a_pipe_have_counters() {
    let scene = Scene::new();
    let (running, to, mut packets) = start(&scene, "flows - --idle 1s -w flows.parquet");
    for frame in [udp(b"one"), frame(1, 100), udp(b"two")] {
        packets.write_all(&record(&frame)).expect("it reads");
    }
    let bytes = (udp(b"one").len() + udp(b"two").len()) as u64;
    scraped(&scene, to, |counters| {
        counters["tapline_flow_packets_total{place=\"in_flows\"}"] == 2
            && counters["tapline_flow_packets_total{place=\"not_ip\"}"] == 1
            && counters["tapline_flow_bytes_total{protocol=\"udp\"}"] == bytes
            && counters["tapline_flow_bytes_total{protocol=\"tcp\"}"] == 0
            && counters["tapline_flow_protocol_packets_total{protocol=\"udp\"}"] == 2
            && counters["tapline_flows{}"] == 1
            && counters["tapline_read_packets_total{state=\"selected\"}"] == 3
    });
    drop(packets);
    running.finish().exit(0);
    assert!(fs::exists(scene.file("flows.parquet")).expect("the folder"));
}

/// Compared with the datagrams that a socket receives.
#[test]
fn flows_for_a_collector_have_counters() {
    let scene = Scene::new();
    let socket = scene.right.run(|| UdpSocket::bind("127.0.0.1:0"));
    let socket = socket.expect("a socket");
    let collector = socket.local_addr().expect("an address");
    let line = format!("flows - --idle 1s --ipfix {collector}");
    let (running, to, mut packets) = start(&scene, &line);
    let sent_and_failed = || {
        let counters = scrape(&scene.right, to);
        [
            "tapline_ipfix_flows_total{}",
            "tapline_ipfix_failed_flows_total{}",
        ]
        .map(|name| counters[name])
    };
    // Ten seconds later, the flow of the packet before has ended.
    let mut send = |packet: u32| {
        let record = record_at(10 * packet, &udp(b"one"));
        packets.write_all(&record).expect("it reads");
    };
    assert_eq!(sent_and_failed(), [0, 0]);
    send(0);
    send(1);
    wait::until("a flow was sent", || sent_and_failed() == [1, 0]);
    let mut message = [0; 2048];
    let bytes = socket.recv(&mut message).expect("a message");
    assert_eq!(message[..2], [0, 10], "{bytes} bytes");
    drop(socket);
    // A refusal is known when the next datagram is sent, or a later one: the kernel may take its time to report it.
    let mut packet = 2;
    send(packet);
    wait::until("a refusal was counted", || {
        let [sent, failed] = sent_and_failed();
        if failed == 0 && sent == u64::from(packet) {
            packet += 1;
            send(packet);
        }
        failed > 0
    });
    drop(packets);
    running.finish().exit(0);
}

#[test]
fn both_ends_of_rpcap_have_counters() {
    let scene = Scene::new();
    let mut server = spawn(scene.command("serve rpcap --json --listen 127.0.0.1:0 --metrics 0"));
    let start = server.ready();
    let of_server = address(&start);
    let listen = start["listen"].as_str().expect("an address");
    let (_, port) = listen.rsplit_once(':').expect("a port");
    let line = format!(
        "capture -i rpcap://127.0.0.1:{port}/right0 --json --metrics 0 -w file.pcapng '{FRAMES}'"
    );
    let mut client = spawn(scene.command(&line));
    let of_client = address(&client.ready());
    scene.send(&frames(40, 100));
    scraped(&scene, of_client, |counters| {
        counters["tapline_capture_packets_total{interface=\"right0\",state=\"delivered\"}"] == 40
            && counters["tapline_capture_bytes_total{interface=\"right0\"}"] == 4000
    });
    let counters = scrape(&scene.right, of_server);
    for (name, value) in [
        ("open_clients{}", 1),
        ("captures_total{}", 1),
        ("packets_total{state=\"sent\"}", 40),
        ("packets_total{state=\"refused\"}", 0),
        ("packets_total{state=\"sampled_out\"}", 0),
        ("unsent_packets_total{}", 0),
        ("clients_total{outcome=\"served\"}", 0),
    ] {
        assert_eq!(counters[&format!("tapline_serve_{name}")], value, "{name}");
    }
    client.stop().exit(0);
    server.event(|event| event["event"] == "client");
    let counters = scrape(&scene.right, of_server);
    assert_eq!(counters["tapline_serve_open_clients{}"], 0);
    assert_eq!(
        counters["tapline_serve_clients_total{outcome=\"served\"}"],
        1
    );
    server.stop().exit(0);
}

#[test]
fn answered_echo_requests_are_counted() {
    let scene = Scene::new();
    let line = "ping --respond -I right0 --rate max --json --metrics 0";
    let mut running = spawn(scene.command(line));
    let to = address(&running.ready());
    iputils(&scene, "-c 7 -i 0.01 10.1.0.2").exit(0);
    scraped(&scene, to, |counters| {
        counters["tapline_respond_requests_total{interface=\"right0\",outcome=\"answered\"}"] == 7
    });
    // It warns that the driver of a veth interface is not used.
    assert_eq!(running.stop().status.code(), Some(0));
}

#[test]
fn delays_are_counted_while_they_are_measured() {
    let scene = Scene::new();
    let line = "latency -i right0 --json --metrics 0 --stats-interval 1h --direction in";
    let mut running = spawn(scene.command(&format!("{line} '{FRAMES}'")));
    let to = address(&running.ready());
    scene.send(&frames(30, 100));
    scraped(&scene, to, |counters| {
        counters["tapline_latency_seconds_count{interface=\"right0\"}"] == 30
            && counters["tapline_latency_seconds_bucket{le=\"+Inf\",interface=\"right0\"}"] == 30
    });
    running.stop().exit(0);
}

#[test]
fn changes_are_counted() {
    let scene = Scene::new();
    let mut running = spawn(scene.command("monitor link --changes --json --metrics 0"));
    let to = address(&running.ready());
    output(
        &scene.right,
        "ip",
        "link add counted0 type veth peer name counted1",
    );
    running.event(|event| event["event"] == "added");
    output(&scene.right, "ip", "link delete counted0");
    running.event(|event| event["event"] == "removed");
    scraped(&scene, to, |counters| {
        ["added", "removed"].iter().all(|event| {
            let name =
                format!("tapline_monitor_changes_total{{object=\"link\",event=\"{event}\"}}");
            counters.get(&name) == Some(&2)
        })
    });
    running.stop().exit(0);
}
