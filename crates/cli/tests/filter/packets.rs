//! `tapline filter --packet`: the verdict on each packet of a capture file, against tcpdump's.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::files::{capture, count_by_tcpdump};
use crate::support::run::{command, events, printed, run};
use crate::support::{assert_has, text};

/// The events of packets, and the summary.
#[track_caller]
fn verdicts(line: &str) -> (Vec<Value>, Value) {
    let mut events = events(&format!("filter {line}"));
    let summary = events.pop().expect("a summary");
    assert_eq!(summary["event"], "summary");
    assert!(events.iter().all(|event| event["event"] == "packet"));
    (events, summary)
}

#[test]
fn every_packet_has_its_verdict() {
    for (name, expressions) in [
        (
            "ISAKMP_sa_setup.pcap",
            ["udp port 500", "not ip", "len < 200"],
        ),
        ("802.1w_rapid_STP.pcap", ["stp", "ip", "ether multicast"]),
        ("LINKTYPE_RAW_ipv4.pcap", ["ip", "tcp", "ip[8] > 60"]),
        (
            "OSPFv2_Capture_FINAL.pcapng",
            ["ip proto 89", "greater 90", "ip multicast"],
        ),
    ] {
        let file = capture(name);
        let all = count_by_tcpdump(&file, "");
        for expression in expressions {
            let (packets, summary) = verdicts(&format!("--packet {file} '{expression}'"));
            let accepted = count_by_tcpdump(&file, expression);
            assert_has(&summary, &json!({"packets": all, "accepted": accepted}));
            let passed = packets.iter().filter(|event| event["verdict"] != 0);
            assert_eq!(passed.count() as u64, accepted, "{name}: {expression}");
            assert!(
                packets
                    .iter()
                    .map(|event| event["number"].as_u64())
                    .eq((1..=all).map(Some))
            );
        }
    }
}

/// A packet a line, with the term that decided; one packet with all its terms.
#[test]
fn people_read_the_same() {
    let file = capture("ISAKMP_sa_setup.pcap");
    let said = |line: &str| printed(&format!("filter --packet {file} {line}"));
    let lines = said("'tcp or udp port 500'");
    assert_eq!(lines[0], "1: accepted, column 8, udp port 500: true");
    let accepted = lines.iter().filter(|line| line.contains(": accepted,"));
    assert_eq!(
        accepted.count() as u64,
        count_by_tcpdump(&file, "tcp or udp port 500")
    );
    assert_eq!(said("-c 1 'not udp'"), ["1: rejected, column 5, udp: true"]);
    assert_eq!(said("-c 1 ''"), ["1: accepted"]);
    let whole = said("--number 1 'tcp or udp port 500 or arp'");
    assert_eq!(
        whole.iter().map(|line| line.trim_end()).collect::<Vec<_>>(),
        [
            "tcp or udp port 500 or arp",
            "^^^                         false",
            "       ^^^^^^^^^^^^         true, which decides",
            "                       ^^^  not evaluated",
            "accepted, keeps 262144 bytes",
        ]
    );
}

#[test]
fn one_packet_or_some_are_chosen() {
    let file = capture("ISAKMP_sa_setup.pcap");
    let (all, _) = verdicts(&format!("--packet {file} udp"));
    let (some, summary) = verdicts(&format!("--packet {file} -c 3 udp"));
    assert_eq!((&some[..], &summary["packets"]), (&all[..3], &3.into()));
    let (mut one, summary) = verdicts(&format!("--packet {file} --number 2 udp"));
    // For a single packet, every term is reported.
    let terms = one[0].as_object_mut().expect("an object").remove("terms");
    let term = json!({ "column": 1, "term": "udp", "outcome": "true" });
    assert_eq!((&one[0]["decided_by"], terms), (&term, Some(json!([term]))));
    assert_eq!((&one[..], &summary["packets"]), (&all[1..2], &1.into()));
    let ended = run(&format!("filter --packet {file} --number 100000 udp"));
    let said = format!("{file} has only {} packets, no packet 100000", all.len());
    assert_eq!(ended.refusal(1), said);
}

#[test]
fn a_pipe_is_read_too() {
    let file = capture("ISAKMP_sa_setup.pcap");
    let mut command = command("filter --json --packet - udp");
    command.stdin(Stdio::from(File::open(&file).expect("the file")));
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    let expected = printed(&format!("filter --json --packet {file} udp"));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn files_that_cannot_be_looked_into_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let [missing, prose, cut, other] =
        ["missing", "text", "cut", "other"].map(|name| text(&folder.path().join(name)));
    let ethernet = capture("ISAKMP_sa_setup.pcap");
    let mut bytes = fs::read(&ethernet).expect("a capture");
    fs::write(&prose, "this is no capture file, whatever its name says").expect("a file");
    fs::write(&cut, &bytes[..bytes.len() - 5]).expect("a file");
    bytes[20..24].copy_from_slice(&195_u32.to_le_bytes());
    fs::write(&other, &bytes).expect("a file");
    for (file, expression, code, said) in [
        (&missing, "ip", 1, "No such file or directory"),
        (&prose, "ip", 1, "text"),
        (&cut, "ip", 1, "cut"),
        (&other, "ip", 4, "not supported on DLT_IEEE802_15_4"),
        (&ethernet, "udp prot 1", 2, "column 5"),
        (&ethernet, "outbound", 2, "not a live capture"),
    ] {
        let ended = run(&format!("filter --packet {file} '{expression}'"));
        assert_eq!(ended.status.code(), Some(code), "{file}: {ended:?}");
        ended.assert_mentions(said);
    }
}
