//! `tapline filter --packet`: the verdict on each packet of a capture file, against tcpdump's.

use crate::support;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{PROGRAM, tool};
use serde_json::Value;

fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures");
    support::text(&folder.join(name))
}

fn filter(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("filter").args(arguments);
    command.output().expect("the program runs")
}

/// The events of a run that succeeded: those of packets, and the summary.
#[track_caller]
fn events(arguments: &[&str]) -> (Vec<Value>, Value) {
    let output = filter(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let parse = |line| serde_json::from_str(line).expect("a line of JSON");
    let mut events: Vec<Value> = text.lines().map(parse).collect();
    let summary = events.pop().expect("a summary");
    assert_eq!(summary["event"], "summary");
    assert!(events.iter().all(|event| event["event"] == "packet"));
    (events, summary)
}

/// How many packets of `file` tcpdump's `expression` accepts.
fn tcpdumps(file: &str, expression: &str) -> u64 {
    let said = tool("tcpdump", ["-nr", file, "--count", expression]);
    let count = said.split(' ').next().expect("a count");
    count.parse().expect("a number")
}

const CAPTURES: [(&str, &[&str]); 4] = [
    (
        "ISAKMP_sa_setup.pcap",
        &["udp port 500", "not ip", "len < 200"],
    ),
    ("802.1w_rapid_STP.pcap", &["stp", "ip", "ether multicast"]),
    ("LINKTYPE_RAW_ipv4.pcap", &["ip", "tcp", "ip[8] > 60"]),
    (
        "OSPFv2_Capture_FINAL.pcapng",
        &["ip proto 89", "greater 90", "ip multicast"],
    ),
];

#[test]
fn every_packet_has_its_verdict() {
    for (name, expressions) in CAPTURES {
        let file = capture(name);
        let all = tcpdumps(&file, "");
        for expression in expressions {
            let (packets, summary) = events(&["--packet", &file, expression]);
            assert_eq!(packets.len() as u64, all, "{name}");
            assert_eq!(summary["packets"], all);
            let accepted = tcpdumps(&file, expression);
            assert_eq!(summary["accepted"], accepted, "{name}: {expression}");
            let passed = packets.iter().filter(|event| event["verdict"] != 0);
            assert_eq!(passed.count() as u64, accepted);
            for (number, event) in (1..).zip(&packets) {
                assert_eq!(event["number"], number);
            }
        }
    }
}

/// A packet a line, with the term that decided; one packet with all its terms.
#[test]
fn people_read_the_same() {
    let file = capture("ISAKMP_sa_setup.pcap");
    let said = |arguments: &[&str]| {
        let output = filter(&[&["--packet", &file], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = said(&["tcp or udp port 500"]);
    let line = "1: accepted, column 8, udp port 500: true";
    assert_eq!(text.lines().next(), Some(line));
    let accepted = text.lines().filter(|line| line.contains(": accepted,"));
    let expected = tcpdumps(&file, "tcp or udp port 500");
    assert_eq!(accepted.count() as u64, expected);
    assert_eq!(
        said(&["-c", "1", "not udp"]),
        "1: rejected, column 5, udp: true\n"
    );
    assert_eq!(said(&["-c", "1", ""]), "1: accepted\n");
    let whole = said(&["--number", "1", "tcp or udp port 500 or arp"]);
    assert_eq!(
        whole.lines().map(str::trim_end).collect::<Vec<_>>(),
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
    let (all, _) = events(&["--packet", &file, "udp"]);
    let (some, summary) = events(&["--packet", &file, "-c", "3", "udp"]);
    assert_eq!((&some[..], &summary["packets"]), (&all[..3], &3.into()));
    let (mut one, summary) = events(&["--packet", &file, "--number", "2", "udp"]);
    // Of one packet every term is told.
    let terms = one[0].as_object_mut().expect("an object").remove("terms");
    let term = serde_json::json!({ "column": 1, "term": "udp", "outcome": "true" });
    assert_eq!(
        (&one[0]["decided_by"], terms),
        (&term, Some(Value::from(vec![term.clone()])))
    );
    assert_eq!((&one[..], &summary["packets"]), (&all[1..2], &1.into()));
    let output = filter(&["--packet", &file, "--number", "100000", "udp"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains(&format!("has {} packets", all.len())),
        "{said}"
    );
}

#[test]
fn a_pipe_is_read_too() {
    let file = capture("ISAKMP_sa_setup.pcap");
    let mut command = Command::new(PROGRAM);
    command.args(["filter", "--json", "--packet", "-", "udp"]);
    command.stdin(Stdio::from(File::open(&file).expect("the file")));
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    let expected = filter(&["--json", "--packet", &file, "udp"]);
    assert_eq!(output.stdout, expected.stdout);
}

#[test]
fn files_that_cannot_be_looked_into_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let missing = support::text(&path("missing"));
    let text = support::text(&path("text"));
    fs::write(&text, "this is no capture file, whatever its name says").expect("a file");
    let whole = fs::read(capture("ISAKMP_sa_setup.pcap")).expect("a capture");
    let cut = support::text(&path("cut"));
    fs::write(&cut, &whole[..whole.len() - 5]).expect("a file");
    let other = support::text(&path("other"));
    let mut bytes = whole;
    bytes[20..24].copy_from_slice(&195_u32.to_le_bytes());
    fs::write(&other, &bytes).expect("a file");
    let ethernet = capture("ISAKMP_sa_setup.pcap");
    for (file, expression, code, said) in [
        (&missing, "ip", 1, "No such file or directory"),
        (&text, "ip", 1, "text"),
        (&cut, "ip", 1, "cut"),
        (&other, "ip", 4, "link type 195"),
        (&ethernet, "udp prot 1", 2, "column 5"),
        (&ethernet, "outbound", 2, "not a live capture"),
    ] {
        let output = filter(&["--packet", file, expression]);
        assert_eq!(output.status.code(), Some(code), "{file}: {output:?}");
        let complaint = String::from_utf8(output.stderr).expect("text");
        assert!(complaint.contains(said), "{file}: {complaint}");
    }
}
