//! The examples in C and C++ do what they say, by the counters of the kernel and by tcpdump, and checkers find no wrong use
//! of memory.

use std::path::Path;

use lab::generator::udp_frame;
use lab::{Host, Net};

use crate::support::{Checked, Checker, LANGUAGES, repository, sanitized, twins};

/// The example with this name in both languages, under checkers.
fn examples(name: &str) -> [Checked; 3] {
    twins(&format!("examples/{name}"))
}

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
    for (capture, filter) in examples("capture").into_iter().zip(examples("filter")) {
        let [left, right] = Net::new().pair();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("trace.pcapng");
        let path = file.to_str().expect("text");
        let name = right.interface().name.to_string();
        let mut running = capture.start(&right, &[&name, path, "300", ""]);
        assert_eq!(running.line(), format!("capturing on {name}"));
        send_both(&left, 150);
        let account = "300 written, 300 delivered, 0 lost in the ring";
        assert_eq!(running.finish(), [account]);
        assert_eq!(matching(&right, &file, ""), 300);

        let texts = [
            "port 9 and src 198.18.0.1",
            "udp",
            "not ip",
            "ether[12:2]==0x88b5",
        ];
        let texts = match filter.checker {
            Checker::Sanitizers => &texts[..],
            // It takes seconds to start, and sees the same use of memory for each text.
            Checker::Valgrind => &texts[..1],
        };
        for &text in texts {
            let lines = filter.start(&right, &[path, text]).finish();
            let expected = format!("{} of 300 packets match", matching(&right, &file, text));
            assert_eq!(lines.last(), Some(&expected), "{text}");
            assert!(lines.len() > 2, "the program is printed: {lines:?}");
        }
        // Not of Ethernet.
        let raw = repository().join("lab/corpus/captures/LINKTYPE_RAW_ipv4.pcap");
        let path = raw.to_str().expect("text");
        let lines = filter.start(&right, &[path, "udp port 53"]).finish();
        assert_eq!(matching(&right, &raw, "udp port 53"), 1);
        let expected = "1 of 1 packets match".to_owned();
        assert_eq!(lines.last(), Some(&expected));
    }
}

#[test]
fn counted_packets_are_those_that_the_kernel_received() {
    for extension in LANGUAGES {
        // Valgrind 3.19 does not know the calls that attach programs of eBPF.
        let source = format!("examples/count.{extension}");
        let count = sanitized(&source);
        let [left, right] = Net::new().pair();
        let name = right.interface().name.to_string();
        let before = right.counters();
        let mut running = count.start(&right, &[&name, "200"]);
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
    for send in examples("send") {
        let [left, right] = Net::new().pair();
        let name = left.interface().name.to_string();
        let before = right.counters().rx_packets;
        let lines = send.start(&left, &[&name, "1000"]).finish();
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
    for ping in examples("ping") {
        let [left, right] = Net::new().pair();
        let address = right.interface().v4.to_string();
        let before = echoes(&right);
        let lines = ping.start(&left, &[&address, "127.0.0.1"]).finish();
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
fn an_interface_that_is_down_is_found() {
    for doctor in examples("doctor") {
        let [host, _peer] = Net::new().pair();
        let name = host.interface().name.to_string();
        let expected = [
            format!("severe: link: {name} is down: no packet can pass"),
            format!("ip link set {name} up"),
        ];
        let is_found = || {
            let lines = doctor.start(&host, &[&name]).finish();
            lines.windows(2).any(|lines| *lines == expected)
        };
        // Valgrind takes seconds to start, and sees this use of memory below, too.
        if doctor.checker == Checker::Sanitizers {
            assert!(!is_found());
        }
        host.ip(&format!("link set {name} down"));
        assert!(is_found());
        let output = doctor.command(&host).arg("nowhere0").output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains("nowhere0"), "{complaint}");
    }
}

#[test]
fn examples_say_what_is_wrong() {
    let host = Host::new("alone");
    for capture in examples("capture") {
        let mut command = capture.command(&host);
        let output = command.args(["nowhere0", "/dev/null", "1", ""]).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            complaint.starts_with("cannot get link nowhere0: No such device")
                && complaint.contains("'ip link' lists the interfaces"),
            "{complaint}"
        );
    }
}
