//! The examples in C and C++ do what they say, by the counters of the kernel and by tcpdump.

use std::path::Path;

use lab::generator::udp_frame;
use lab::{Host, Net};

use crate::support::{compile, start};

const EXAMPLES: [(&str, &str); 2] = [("gcc", "c"), ("g++", "cpp")];

/// Frames of UDP, and as many of an unknown protocol.
fn send_both(host: &Host, count: usize) {
    let mut other = vec![0; 60];
    other[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let udp = udp_frame(60);
    host.send((0..2 * count).map(|number| if number % 2 == 0 { &udp } else { &other }));
}

/// How many packets of a file match, as tcpdump says.
fn matching(host: &Host, file: &Path, filter: &str) -> usize {
    let line = format!("tcpdump --count -nr {} {filter}", file.display());
    let printed = host.output_of(&line);
    let number = printed
        .split_whitespace()
        .next()
        .expect("a number of packets");
    number.parse().expect("a number")
}

#[test]
fn captured_files_hold_what_was_sent_and_filters_agree_with_libpcap() {
    for (compiler, extension) in EXAMPLES {
        let [left, right] = Net::new().pair();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("trace.pcapng");
        let path = file.to_str().expect("text");
        let capture = compile(compiler, &format!("examples/capture.{extension}"), &[]);
        let name = right.interface().name.to_string();
        let mut running = start(&right, &capture, &[&name, path, "300", ""]);
        assert_eq!(running.line(), format!("capturing on {name}"));
        send_both(&left, 150);
        let account = "300 written, 300 delivered, 0 lost in the ring";
        assert_eq!(running.finish(), [account]);
        assert_eq!(matching(&right, &file, ""), 300);

        let filter = compile(compiler, &format!("examples/filter.{extension}"), &[]);
        for text in [
            "udp",
            "not ip",
            "port 9 and src 198.18.0.1",
            "ether[12:2]==0x88b5",
        ] {
            let lines = start(&right, &filter, &[path, text]).finish();
            let expected = format!("{} of 300 packets match", matching(&right, &file, text));
            assert_eq!(lines.last(), Some(&expected), "{text}");
            assert!(lines.len() > 2, "the program is printed: {lines:?}");
        }
    }
}

#[test]
fn counted_packets_are_those_that_the_kernel_received() {
    for (compiler, extension) in EXAMPLES {
        let [left, right] = Net::new().pair();
        let count = compile(compiler, &format!("examples/count.{extension}"), &[]);
        let name = right.interface().name.to_string();
        let before = right.counters();
        let mut running = start(&right, &count, &[&name, "200"]);
        assert_eq!(running.line(), format!("counting on {name}"));
        send_both(&left, 100);
        let lines = running.finish();
        assert_eq!(right.counters().rx_packets - before.rx_packets, 200);
        let totals = [
            "udp in total: 100 packets, 6000 bytes",
            "all in total: 200 packets, 12000 bytes",
        ];
        assert_eq!(lines[lines.len() - 2..], totals, "{lines:#?}");
    }
}

#[test]
fn sent_packets_arrive() {
    for (compiler, extension) in EXAMPLES {
        let [left, right] = Net::new().pair();
        let send = compile(compiler, &format!("examples/send.{extension}"), &[]);
        let name = left.interface().name.to_string();
        let before = right.counters().rx_packets;
        let lines = start(&left, &send, &[&name, "1000"]).finish();
        assert_eq!(lines, ["1000 submitted, 1000 accepted, 0 failed"]);
        assert_eq!(right.counters().rx_packets - before, 1000);
    }
}

/// Echo requests that the kernel of `host` has received.
fn echoes(host: &Host) -> u64 {
    let table = host.output_of("cat /proc/net/snmp");
    let mut rows = table.lines().filter_map(|line| line.strip_prefix("Icmp: "));
    let names = rows.next().expect("names").split_whitespace();
    let values = rows.next().expect("values").split_whitespace();
    let mut cells = names.zip(values);
    let (_, value) = cells
        .find(|(name, _)| *name == "InEchos")
        .expect("a counter");
    value.parse().expect("a number")
}

#[test]
fn pings_are_answered_by_the_kernel() {
    for (compiler, extension) in EXAMPLES {
        let [left, right] = Net::new().pair();
        let ping = compile(compiler, &format!("examples/ping.{extension}"), &[]);
        let address = right.interface().v4.to_string();
        let before = echoes(&right);
        let lines = start(&left, &ping, &[&address, "127.0.0.1"]).finish();
        let expected = [
            format!("{address}: 3 sent, 3 received"),
            "127.0.0.1: 3 sent, 3 received".to_owned(),
            "6 answers, 0 lost".to_owned(),
        ];
        assert_eq!(lines, expected);
        assert_eq!(echoes(&right) - before, 3);
    }
}

#[test]
fn examples_say_what_is_wrong() {
    let host = Host::new("alone");
    for (compiler, extension) in EXAMPLES {
        let capture = compile(compiler, &format!("examples/capture.{extension}"), &[]);
        let mut command = host.command(capture.to_str().expect("text"));
        let output = command.args(["nowhere0", "/dev/null", "1", ""]).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            complaint.contains("nowhere0") && complaint.contains("'ip link' lists the interfaces"),
            "{complaint}"
        );
    }
}
