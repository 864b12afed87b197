//! `tapline demo`: its file as tshark reads it, and what is left when it ends, whichever way.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use abi::namespace::NetNamespace;
use lab::skip::{self, Feature};
use lab::{Host, tool as programs};
use netlink::Netlink;
use rustix::process::Signal;
use serde_json::Value;
use support::files::count;
use support::run::{spawn, spawn_into};
use support::{PROGRAM, ip_json, text, tool};
use tempfile::TempDir;

/// Kinds of the table, and what tshark calls them.
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

/// Where the demo is run from: a host in the place of the machine, and a folder for its files.
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
            namespaces: tool("ip", ["netns", "list"]),
        }
    }

    fn demo(&self, arguments: &[&str]) -> Command {
        self.demo_by(&[PROGRAM], arguments)
    }

    /// The demo by way of another program.
    fn demo_by(&self, way: &[&str], arguments: &[&str]) -> Command {
        let mut command = self.host.command(way[0]);
        command.args(&way[1..]).arg("demo").args(arguments);
        command.env("TMPDIR", self.folder.path());
        command
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let paths = entries.map(|entry| text(&entry.expect("an entry").path()));
        paths.collect()
    }

    /// Checks that only the loopback is there, and no namespace that has a name and had none before.
    #[track_caller]
    fn is_as_before(&self) {
        let links = ip_json(&self.host, &["link", "show"]);
        assert_eq!(links.as_array().map(Vec::len), Some(1), "{links}");
        assert_eq!(tool("ip", ["netns", "list"]), self.namespaces);
    }
}

/// Packets that tshark shows for `filter`, and their bytes on the wire.
fn shown(file: &str, filter: &str) -> (u64, u64) {
    let arguments = [
        "-n",
        "-r",
        file,
        "-Y",
        filter,
        "-T",
        "fields",
        "-e",
        "frame.len",
    ];
    let lines = tool("tshark", arguments);
    let bytes = lines
        .lines()
        .map(|line| line.parse::<u64>().expect("a length"));
    bytes.fold((0, 0), |(packets, all), bytes| (packets + 1, all + bytes))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn the_file_holds_what_the_table_says() {
    let machine = Machine::new();
    let ended = spawn(machine.demo(&["--json"])).finish();
    ended.exit(0);
    let events: Vec<Value> = ended
        .stdout
        .iter()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let summary = events.last().expect("a summary");
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["agrees"], true, "{summary}");
    let file = summary["file"].as_str().expect("a file");
    let mode = fs::metadata(file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);

    let rows = summary["kinds"].as_array().expect("rows");
    assert_eq!(rows.len(), KINDS.len());
    let mut all = 0;
    for (row, (kind, filter)) in rows.iter().zip(KINDS) {
        assert_eq!(row["kind"], kind);
        let stored = (number(&row["stored_packets"]), number(&row["stored_bytes"]));
        assert_eq!(shown(file, filter), stored, "{kind}");
        assert_eq!(row["sent_packets"], row["stored_packets"]);
        assert_eq!(row["sent_bytes"], row["stored_bytes"]);
        all += stored.0;
    }
    assert_eq!(count(file), all, "capinfos counts nothing else");
    assert_eq!(number(&summary["received"]), all);
    assert_eq!(number(&summary["lost"]["ring"]), 0);

    // Both hosts send in each of these: a request is answered, a stream goes both ways.
    for (filter, packets) in [
        ("icmp.type == 0", 50),
        ("icmpv6.type == 129", 50),
        ("arp.opcode == 2", 8),
        ("vlan.id == 100 && !ieee8021ad", 1),
        ("ieee8021ad.id == 1007 && vlan.id == 163", 1),
        ("tcp.flags.fin == 1", 4),
        ("frame && _ws.malformed", 0),
    ] {
        assert_eq!(shown(file, filter).0, packets, "{filter}");
    }
    machine.is_as_before();
}

#[test]
fn text_in_a_pipe_is_plain_and_names_the_file() {
    let machine = Machine::new();
    let ended = spawn(machine.demo(&[])).finish();
    ended.exit(0);
    let said = ended.stdout.join("\n");
    assert!(!said.contains(['\x1b', '\r']), "{said:?}");
    let file = ended
        .stdout
        .iter()
        .find_map(|line| line.strip_prefix("file     "))
        .and_then(|line| line.split("  ").next())
        .expect("a line that names the file");
    assert!(Path::new(file).is_file(), "{file}");
    assert!(said.contains(&format!("tapline read {file}\n")), "{said}");
    assert!(said.contains("everything sent is in the file"), "{said}");
    machine.is_as_before();
}

#[test]
fn a_signal_in_the_middle_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let machine = Machine::new();
        let mut running = spawn(machine.demo(&[]));
        while !running.line().starts_with("  TCP over IPv6") {}
        assert_eq!(machine.files().len(), 1, "the file is being written");
        running.signal(signal);
        running.signal(signal);
        let ended = running.finish();
        assert!(ended.exit(1).starts_with("interrupted"), "{ended:?}");
        assert_eq!(machine.files(), [""; 0]);
        machine.is_as_before();
    }
}

#[test]
fn without_privileges_it_says_which_it_needs() {
    let machine = Machine::new();
    for (without, named) in [
        ("-all", "CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_NET_RAW"),
        ("-net_raw", "needs CAP_NET_RAW ("),
    ] {
        let way = ["setpriv", "--bounding-set", without, PROGRAM];
        let ended = spawn(machine.demo_by(&way, &[])).finish();
        assert!(ended.refusal(3).contains(named), "{ended:?}");
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
fn root_of_a_user_namespace_is_root_enough() {
    if skip::without(&USER_NAMESPACES) {
        return;
    }
    let machine = Machine::new();
    let way = ["unshare", "--map-root-user", PROGRAM];
    spawn(machine.demo_by(&way, &["--json"])).finish().exit(0);
    machine.is_as_before();
}

#[test]
fn kept_hosts_stay_until_a_signal() {
    let machine = Machine::new();
    let mut running = spawn(machine.demo(&["--keep", "--json"]));
    let hosts = running.event(|event| event["event"] == "hosts");
    let summary = running.event(|event| event["event"] == "summary");
    for host in [&hosts["left"], &hosts["right"]] {
        let path = host["namespace"].as_str().expect("a path");
        let namespace = NetNamespace::open(Path::new(path)).expect("a namespace");
        let mut netlink = Netlink::open_in(&namespace).expect("a handle");
        let name = host["interface"].as_str().expect("a name");
        assert!(netlink.link_named(name).is_ok(), "{name}");
    }
    running.stop().exit(0);
    assert!(Path::new(summary["file"].as_str().expect("a file")).is_file());
    machine.is_as_before();
}

#[test]
fn a_directory_gets_the_file_and_nothing_else() {
    let machine = Machine::new();
    let directory = machine.folder.path().join("directory");
    let write = ["-w", &text(&directory)];
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
fn a_screen_that_takes_nothing_ends_it_without_a_file() {
    let machine = Machine::new();
    let mut command = machine.demo(&[]);
    let full = File::options().write(true).open("/dev/full");
    command.stdout(full.expect("/dev/full"));
    let ended = spawn_into(command).finish();
    assert!(
        ended.exit(1).contains("standard output: No space left"),
        "{ended:?}"
    );
    assert_eq!(machine.files(), [""; 0]);
}
