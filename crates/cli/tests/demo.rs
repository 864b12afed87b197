//! `tapline demo`: its file as read by tshark, and that nothing else remains when it ends.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use lab::skip::{self, Feature};
use lab::{Host, tool as programs};
use serde_json::json;
use tapline::Namespace;
use tapline::net::Netlink;
use tempfile::TempDir;

use crate::support::files::count;
use crate::support::run::{spawn, spawn_into};
use crate::support::{PROGRAM, assert_has, ending, ip_json, text, tool, words};

/// The kinds of traffic, and display filters of tshark that select them.
const KINDS: [(&str, &str); 10] = [
    ("tcp4", "ip && tcp"),
    ("tcp6", "ipv6 && tcp"),
    ("udp4", "ip && udp && !vlan && eth.dst != ff:ff:ff:ff:ff:ff"),
    ("udp6", "ipv6 && udp && !vlan"),
    ("broadcast", "udp && eth.dst == ff:ff:ff:ff:ff:ff"),
    ("echo4", "icmp.type == 8 || icmp.type == 0"),
    ("echo6", "icmpv6.type == 128 || icmpv6.type == 129"),
    ("arp", "arp"),
    ("vlan", "vlan && !ieee8021ad"),
    ("qinq", "vlan && ieee8021ad"),
];

/// A host that the demo runs on, and a folder for its temporary files.
struct Machine {
    host: Host,
    folder: TempDir,
    namespaces: String,
}

impl Machine {
    fn new() -> Self {
        Self {
            host: Host::new("machine"),
            folder: tempfile::tempdir().expect("a folder"),
            namespaces: tool("ip", "netns list"),
        }
    }

    fn demo(&self, line: &str) -> Command {
        self.demo_through(PROGRAM, line)
    }

    /// Runs the demo through another program, such as setpriv(1).
    fn demo_through(&self, launcher: &str, line: &str) -> Command {
        let launcher = words(launcher);
        let mut command = self.host.command(&launcher[0]);
        command.args(&launcher[1..]).arg("demo").args(words(line));
        command.env("TMPDIR", self.folder.path());
        command
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let paths = entries.map(|entry| text(&entry.expect("an entry").path()));
        paths.collect()
    }

    /// Checks that the host has only its loopback, and that no named namespace was added.
    #[track_caller]
    fn assert_unchanged(&self) {
        let links = ip_json(&self.host, "link show");
        assert_eq!(links.as_array().map(Vec::len), Some(1), "{links}");
        assert_eq!(tool("ip", "netns list"), self.namespaces);
    }
}

/// Packets that tshark selects with each of `filters`, and their bytes on the wire.
fn tshark_counts(file: &str, filters: &[&str]) -> Vec<(u64, u64)> {
    let statistics = format!("io,stat,0,{}", filters.join(","));
    let table = tool("tshark", &format!("-n -q -r {file} -z '{statistics}'"));
    let row = table
        .lines()
        .find(|line| line.contains(" <> "))
        .expect("a row");
    let cells = row.split('|').filter_map(|cell| cell.trim().parse().ok());
    let cells: Vec<u64> = cells.collect();
    assert_eq!(cells.len(), 2 * filters.len(), "{table}");
    cells
        .chunks_exact(2)
        .map(|cells| (cells[0], cells[1]))
        .collect()
}

#[test]
fn the_file_has_the_packets_in_the_summary() {
    let machine = Machine::new();
    let ended = spawn(machine.demo("--json")).finish();
    let summary = ended.done();
    assert_eq!(summary.0["agrees"], true, "{summary:?}");
    let file = summary.0["file"].as_str().expect("a file");
    let mode = fs::metadata(file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);

    let rows = summary.0["kinds"].as_array().expect("rows");
    let stored = tshark_counts(file, &KINDS.map(|(_, filter)| filter));
    assert_eq!(rows.len(), KINDS.len());
    for ((row, (kind, _)), (packets, bytes)) in rows.iter().zip(KINDS).zip(&stored) {
        let expected = json!({
            "kind": kind, "sent_packets": packets, "sent_bytes": bytes, "stored_packets": packets,
            "stored_bytes": bytes,
        });
        assert_has(row, &expected);
    }
    let all = stored.iter().map(|(packets, _)| packets).sum();
    assert_eq!(count(file), all, "capinfos counts the same packets");
    assert_eq!((summary.number("received"), summary.lost("ring")), (all, 0));

    // Both hosts send: requests are answered, and streams carry data in both directions.
    let expected = [
        ("icmp.type == 0", 50),
        ("icmpv6.type == 129", 50),
        ("arp.opcode == 2", 8),
        ("vlan.id == 100 && !ieee8021ad", 1),
        ("ieee8021ad.id == 1007 && vlan.id == 163", 1),
        // On a busy machine the kernel sends one once more.
        ("tcp.flags.fin == 1 && !tcp.analysis.retransmission", 4),
        ("frame && _ws.malformed", 0),
    ];
    let found = tshark_counts(file, &expected.map(|(filter, _)| filter));
    for ((filter, packets), (found, _)) in expected.into_iter().zip(found) {
        assert_eq!(found, packets, "{filter}");
    }
    machine.assert_unchanged();
}

/// A line with each number as `#` and each blank as one.
fn shape(line: &str) -> String {
    let is_number = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut shape: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        // A group of thousands belongs to the number before it.
        let word = if is_number(word) { "#" } else { word };
        if word != "#" || shape.last() != Some(&"#") {
            shape.push(word);
        }
    }
    shape.join(" ")
}

#[test]
fn the_terminal_in_the_readme_is_what_the_demo_prints() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).expect("the README");
    let (_, block) = readme.split_once("```console\n").expect("a terminal");
    let (block, _) = block.split_once("```").expect("its end");
    let mut shown = block.lines();
    assert_eq!(shown.next(), Some("$ sudo tapline demo"));

    let ended = spawn(Machine::new().demo("")).finish();
    ended.exit(0);
    let mut printed = ended.stdout.iter().map(|line| shape(line));
    let mut compared = 0;
    for line in shown.filter(|line| line.trim() != "…") {
        // Other lines may stand between them, but the order is the same.
        let shown = shape(line);
        assert!(
            printed.any(|line| line == shown),
            "{shown:?} in {:?}",
            ended.stdout
        );
        compared += 1;
    }
    assert!(compared >= 7, "{compared}");
}

#[test]
fn text_in_a_pipe_has_no_colours_and_names_the_file() {
    let machine = Machine::new();
    let ended = spawn(machine.demo("")).finish();
    ended.exit(0);
    let output = ended.stdout.join("\n");
    assert!(!output.contains(['\x1b', '\r']), "{output:?}");
    let named = ended
        .stdout
        .iter()
        .find_map(|line| line.strip_prefix("file     "));
    let file = named.and_then(|line| line.split("  ").next());
    let file = file.expect("a line that names the file");
    assert!(Path::new(file).is_file(), "{file}");
    assert!(
        output.contains(&format!("tapline read {file}\n")),
        "{output}"
    );
    ended.assert_mentions("everything sent is in the file");
    machine.assert_unchanged();
}

#[test]
fn a_signal_removes_the_incomplete_file() {
    for signal in ending() {
        let machine = Machine::new();
        let mut running = spawn(machine.demo(""));
        while !running.line().starts_with("  TCP over IPv6") {}
        assert_eq!(machine.files().len(), 1, "the file is being written");
        running.signal(signal);
        running.signal(signal);
        let ended = running.finish();
        assert!(ended.exit(1).starts_with("interrupted"), "{ended:?}");
        assert_eq!(machine.files(), [""; 0]);
        machine.assert_unchanged();
    }
}

#[test]
fn missing_privileges_are_named() {
    let machine = Machine::new();
    for (dropped, message) in [
        ("-all", "CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_NET_RAW"),
        ("-net_raw", "needs CAP_NET_RAW ("),
    ] {
        let launcher = format!("setpriv --bounding-set {dropped} {PROGRAM}");
        let ended = spawn(machine.demo_through(&launcher, "")).finish();
        assert!(ended.refusal(3).contains(message), "{ended:?}");
        assert_eq!(machine.files(), [""; 0]);
    }
}

const USER_NAMESPACES: Feature = Feature {
    name: "user namespaces",
    probe: || {
        let mut probe = programs::command("unshare");
        let output = probe.args(["--map-root-user", "true"]).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    },
};

#[test]
fn root_of_a_user_namespace_may_run_it() {
    if skip::without(&USER_NAMESPACES) {
        return;
    }
    let machine = Machine::new();
    let launcher = format!("unshare --map-root-user {PROGRAM}");
    spawn(machine.demo_through(&launcher, "--json"))
        .finish()
        .exit(0);
    machine.assert_unchanged();
}

#[test]
fn kept_hosts_stay_until_a_signal() {
    let machine = Machine::new();
    let mut running = spawn(machine.demo("--keep --json"));
    let hosts = running.event(|event| event["event"] == "hosts");
    let summary = running.event(|event| event["event"] == "summary");
    for host in [&hosts["left"], &hosts["right"]] {
        let path = host["namespace"].as_str().expect("a path");
        let namespace = Namespace::open(Path::new(path)).expect("a namespace");
        let mut netlink = Netlink::open_in(&namespace).expect("a handle");
        let name = host["interface"].as_str().expect("a name");
        assert!(netlink.link_named(name).is_ok(), "{name}");
    }
    running.stop().exit(0);
    assert!(Path::new(summary["file"].as_str().expect("a file")).is_file());
    machine.assert_unchanged();
}

#[test]
fn only_the_file_is_written_to_the_directory() {
    let machine = Machine::new();
    let directory = machine.folder.path().join("directory");
    let write = format!("-w {}", text(&directory));
    let ended = spawn(machine.demo(&write)).finish();
    assert!(
        ended.refusal(1).contains("No such file or directory"),
        "{ended:?}"
    );

    fs::create_dir(&directory).expect("a directory");
    let file = directory.join("demo.pcapng");
    fs::write(&file, "an older one").expect("a file");
    spawn(machine.demo(&write)).finish().exit(0);
    assert!(count(&text(&file)) > 2000);
    assert_eq!(machine.files(), [text(&directory)]);
    assert_eq!(fs::read_dir(&directory).expect("the directory").count(), 1);
}

#[test]
fn a_full_standard_output_is_an_error_and_leaves_no_file() {
    let machine = Machine::new();
    let mut command = machine.demo("");
    let full = File::options().write(true).open("/dev/full");
    command.stdout(full.expect("/dev/full"));
    let ended = spawn_into(command).finish();
    assert!(
        ended.exit(1).contains("standard output: No space left"),
        "{ended:?}"
    );
    assert_eq!(machine.files(), [""; 0]);
}
