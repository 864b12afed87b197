//! The examples have at most 20 lines and work on real traffic.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;

use lab::generator::udp_frame;
use lab::{Host, Net, wait};

use crate::support::example;

fn text(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs the example `name` at right while datagrams of 80 bytes arrive from left. Writes `input` to it after 2000 of
/// them.
fn run_under_traffic(name: &str, input: &[u8]) -> String {
    let [left, right] = Net::new().pair();
    let mut command = right.command(&example(name));
    command
        .arg("right0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    let reader = thread::spawn(move || std::io::read_to_string(stdout).expect("text"));
    let received = || right.counters().rx_packets;
    wait::until("the example ends", || {
        left.send(vec![udp_frame(80); 20]);
        // A program that captures has seen some by then, and one that counts does not read.
        if received() > 2000 {
            let _ = stdin.write_all(input);
        }
        child.try_wait().expect("its status").is_some()
    });
    assert!(child.wait().expect("its status").success());
    reader.join().expect("its output")
}

#[test]
fn each_example_has_at_most_twenty_lines() {
    for (name, source) in [
        ("capture", include_str!("../examples/capture.rs")),
        ("count", include_str!("../examples/count.rs")),
        ("event_loop", include_str!("../examples/event_loop.rs")),
        ("netlink", include_str!("../examples/netlink.rs")),
        ("ping", include_str!("../examples/ping.rs")),
        ("read", include_str!("../examples/read.rs")),
    ] {
        assert!(source.lines().count() <= 20, "{name}");
    }
}

#[test]
fn packets_are_captured_in_a_loop_and_in_an_event_loop() {
    let pulled = run_under_traffic("capture", b"");
    let lines: Vec<&str> = pulled.lines().collect();
    assert_eq!(lines.len(), 11, "{pulled}");
    let is_packet = |line: &&str| line.starts_with("20") && line.ends_with("Z 80");
    assert!(lines[..10].iter().all(is_packet), "{pulled}");
    assert!(lines[10].contains(" = 10 delivered + "), "{pulled}");

    let looped = run_under_traffic("event_loop", b"x");
    assert!(looped.lines().count() > 10, "{looped}");
    assert!(
        looped.lines().next().is_some_and(|line| is_packet(&line)),
        "{looped}"
    );
    assert!(looped.ends_with(" + 0 lost\n"), "{looped}");
}

#[test]
fn packets_are_counted_for_a_second() {
    let counted = run_under_traffic("count", b"");
    let summary = counted.lines().last().expect("a summary");
    assert!(
        summary.contains(": dns 0 packets (0 bytes), all "),
        "{counted}"
    );
    assert!(!summary.contains("all 0 "), "{counted}");
}

#[test]
fn hosts_are_pinged() {
    let [left, _right] = Net::new().pair();
    let mut command = left.command(&example("ping"));
    let output = command
        .args(["10.1.0.2", "fd00:1::2"])
        .output()
        .expect("it runs");
    let said = text(output);
    for target in ["10.1.0.2", "fd00:1::2"] {
        let replies = said
            .lines()
            .filter(|line| line.starts_with(&format!("{target}: sequence ")));
        assert_eq!(replies.count(), 3, "{said}");
    }
    let summary = said.lines().last().expect("a summary");
    assert!(
        summary.starts_with("6 probes sent to 2 targets in "),
        "{said}"
    );
}

#[test]
fn a_link_is_created_and_its_address_reported() {
    let host = Host::new("example");
    let output = host.command(&example("netlink")).output();
    assert_eq!(
        text(output.expect("it runs")),
        "192.0.2.1/24 is on example0\n"
    );
}

#[test]
fn a_file_is_read_with_a_filter() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../lab/corpus/captures/icmpv6.pcap"
    );
    let output = Command::new(example("read")).args([file, "icmp6"]).output();
    let said = text(output.expect("it runs"));
    let mut read = tapline::read(file)
        .filter("icmp6")
        .expect("a filter")
        .open()
        .expect("opened");
    let mut expected = 0;
    while read.next().expect("read").is_some() {
        expected += 1;
    }
    assert_eq!(said.lines().count(), expected + 1);
    assert!(said.ends_with("0 lost.\n"), "{said}");
}
