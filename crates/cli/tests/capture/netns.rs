//! Captures from interfaces that come and go: `--netns` and `-i any`.
//!
//! The tests run themselves on a host with a `/run` of its own: the machine's namespaces are not touched. What
//! they compare with: tshark's view of the file, and the number of echo requests that ping(8) sent.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use lab::{tool, wait};
use serde_json::Value;
use tapline::packet::FrameSender;

use crate::support::files::{column, options};
use crate::support::run::{Running, Summary, command, run, spawn};
use crate::support::{assert_refused, has_run_with_own_mounts, text, tool as text_of_tool};

const MARK: &str = "TAPLINE_CLI_CAPTURE_NETNS";

/// Whether the calling test has run inside; false when that is where it runs now.
#[track_caller]
fn has_run() -> bool {
    has_run_with_own_mounts(MARK, "mount -t tmpfs tmpfs /run")
}

#[track_caller]
fn done(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
pub fn ip(line: &str) -> String {
    let output = tool::command("ip").args(line.split_whitespace()).output();
    done(&output.expect("ip runs"))
}

/// Creates namespace `name`, its loopback up.
pub fn create(name: &str) {
    ip(&format!("netns add {name}"));
    ip(&format!("-n {name} link set lo up"));
}

/// Sends `count` echo requests to itself in `name`: twice as many packets on its loopback, with the replies.
pub fn ping(name: &str, count: u64) {
    ip(&format!(
        "netns exec {name} ping -q -c {count} -i 0.001 127.0.0.1"
    ));
}

pub fn start(line: &str) -> Running {
    let mut running = spawn(command(&format!(
        "capture --json --stats-interval 20ms {line}"
    )));
    running.ready();
    running
}

/// Waits until interface `name` is captured.
pub fn joined(running: &mut Running, name: &str) {
    running.event(|event| event["event"] == "interface" && event["name"] == name);
}

/// The number of packets of each interface, as the summary has them; its totals are their sums.
#[track_caller]
pub fn by_interface(summary: &Summary) -> BTreeMap<String, u64> {
    let interfaces = summary.0["interfaces"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let number = |value: &Value| value.as_u64().expect("a number");
    for key in ["received", "delivered", "filtered"] {
        let sum: u64 = interfaces.iter().map(|one| number(&one[key])).sum();
        assert_eq!(summary.number(key), sum, "{key}");
    }
    let delivered = |one: &Value| (text(&one["name"]), number(&one["delivered"]));
    interfaces.iter().map(delivered).collect()
}

#[test]
fn namespaces_created_meanwhile_are_in_the_file_with_their_names() {
    if has_run() {
        return;
    }
    let file = "/run/all.pcapng";
    let mut running = start(&format!("--netns all -w {file}"));
    let wanted = [("red", 10), ("green", 20), ("blue", 30)];
    for (name, _) in wanted {
        create(name);
        joined(&mut running, &format!("{name}/lo"));
    }
    for (name, count) in wanted {
        ping(name, count);
    }
    running.received(120);
    let summary = running.stop().done();
    let expected = wanted.map(|(name, count)| (format!("{name}/lo"), 2 * count));
    let expected = BTreeMap::from(expected);
    assert_eq!(by_interface(&summary), expected);
    summary.conserves(120);
    let mut in_file: BTreeMap<String, u64> = BTreeMap::new();
    for name in column::<String>(file, "frame.interface_name") {
        *in_file.entry(name).or_default() += 1;
    }
    assert_eq!(in_file, expected);
    let described = options(file);
    for (name, _) in wanted {
        let description = format!("Interface Description = network namespace {name}");
        assert!(described.contains(&description), "{described:?}");
    }
    for received in [20, 40, 60] {
        let counter = format!("Number of Received Packets = {received}");
        assert!(described.contains(&counter), "{described:?}");
    }
}

#[test]
fn a_deleted_namespace_is_released_and_keeps_its_account() {
    if has_run() {
        return;
    }
    create("red");
    create("blue");
    ip("link add outside type veth peer name inside netns red");
    let mut running = start("--netns all -w /run/all.pcapng");
    ping("red", 5);
    ping("blue", 5);
    running.received(20);
    // The capture holds sockets in it: if they stayed, so would the namespace and the peer of its veth.
    ip("netns del red");
    wait::until("the peer of its veth is gone", || {
        !ip("-br link").contains("outside")
    });
    ping("blue", 5);
    running.received(30);
    let summary = running.stop().done();
    let expected = [("red/lo", 10), ("blue/lo", 20)];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(by_interface(&summary), BTreeMap::from(expected));
}

#[test]
fn interfaces_that_come_up_later_are_captured() {
    if has_run() {
        return;
    }
    ip("link set lo up");
    let mut running = start("-i any icmp6 or icmp");
    ip("link add left type veth peer name right");
    for name in ["left", "right"] {
        ip(&format!("link set {name} address 02:00:00:00:00:01"));
        ip(&format!("link set {name} up"));
        joined(&mut running, name);
    }
    ip("link set right down");
    ip("link set right up");
    joined(&mut running, "right");
    // As tcpdump does it.
    let shown: Value = serde_json::from_str(&ip("-d -json link show left")).expect("JSON");
    assert_eq!(shown[0]["promiscuity"], 0);
    let summary = running.stop().done();
    let names: Vec<_> = by_interface(&summary).into_keys().collect();
    assert_eq!(names, ["left", "lo", "right"]);
}

#[test]
fn a_command_runs_in_the_namespace_and_ends_the_capture() {
    if has_run() {
        return;
    }
    create("red");
    let line =
        "capture --json --netns red -w /run/red.pcapng icmp -- ping -q -c 4 -i 0.001 127.0.0.1";
    let ended = run(line);
    ended.exit(0);
    assert_eq!(ended.summary().number("delivered"), 8);
    assert_eq!(column::<u64>("/run/red.pcapng", "icmp.seq").len(), 8);
    let failed = run("capture --quiet --netns red -- sh -c 'exit 7'");
    assert_eq!(failed.refusal(1), "sh failed: exit status: 7");
    ip("link set lo up");
    let ended = run("capture --json -i lo icmp -- ping -q -c 2 -i 0.001 127.0.0.1");
    assert_eq!(ended.done().number("delivered"), 4);
    let absent = run("capture --quiet -i lo -- no-such-program");
    let said = "cannot run no-such-program: No such file or directory";
    assert_eq!(absent.refusal(1), said);
    // The capture ends first: so does the command.
    let ended = run("capture --json --netns red -c 2 -- ping -q -i 0.001 127.0.0.1");
    ended.exit(0);
    assert_eq!(ended.summary().number("delivered"), 2);
    // The last namespace is deleted.
    let running = start("--netns red -w /run/red.pcapng");
    ip("netns del red");
    let ended = running.finish();
    assert_eq!(ended.exit(1), "the network namespace was deleted");
}

#[test]
fn what_cannot_be_captured_is_refused() {
    if has_run() {
        return;
    }
    create("red");
    let refused = |line: &str| run(&format!("capture --duration 1ms {line}"));
    assert_refused(
        refused,
        &[
            (
                "--netns nope",
                1,
                "network namespace /run/netns/nope: No such file",
            ),
            ("--netns red -i eth7", 1, "there is no interface red/eth7"),
            ("-i any -i lo", 2, "-i any is every interface"),
            ("-i lo -y LINUX_SLL2", 2, "-y LINUX_SLL2 needs -i any"),
            ("-i any -y EN10MB", 2, "use LINUX_SLL2"),
            ("--netns all -- true", 2, "give --netns NAME once"),
            ("-i none -- true", 1, "No such device"),
        ],
    );
    fs::write("/run/netns/file", "").expect("written");
    let running = start("--netns all");
    assert_eq!(by_interface(&running.stop().done()).len(), 1);
}

/// Fields of the cooked headers and of the packets behind them, in the order of the file.
fn cooked(file: &str) -> Vec<String> {
    let names = [
        "sll.etype",
        "sll.ltype",
        "sll.ifindex",
        "sll.hatype",
        "sll.pkttype",
        "sll.halen",
        "sll.src.eth",
        "frame.len",
        "icmp.seq",
        "icmp.type",
        "data.data",
    ];
    let fields = names.join(" -e ");
    let shown = text_of_tool("tshark", &format!("-n -r {file} -T fields -e {fields}"));
    shown.lines().map(str::to_owned).collect()
}

/// The cooked headers of packets of a veth pair and of the loopback, compared with those that tcpdump writes meanwhile.
#[test]
fn cooked_packets_of_every_interface_equal_those_of_tcpdump() {
    if has_run() {
        return;
    }
    ip("link add v0 type veth peer name v1");
    for link in ["v0", "v1"] {
        ip(&format!("link set {link} addrgenmode none"));
        ip(&format!("link set {link} up"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name| text(&folder.path().join(name));
    let [theirs, ours, old] = ["theirs.pcap", "ours.pcapng", "ours.pcap"].map(file);
    let captures = [
        start(&format!("-i any -y LINUX_SLL2 -w {ours}")),
        start(&format!("-i any -w {old}")),
    ];
    // Five frames leave one end and arrive at the other; three requests and replies are on the loopback.
    let count = 2 * 5 + 2 * 3;
    let mut tcpdump = tool::command("tcpdump");
    tcpdump.args(["-i", "any", "-c", &count.to_string(), "-w", &theirs]);
    let mut tcpdump = spawn(tcpdump);
    while !tcpdump.error_line().contains("listening on any") {}

    let shown = ip("-o link show v0");
    let index = shown.split(':').next().expect("its index");
    let sender = FrameSender::open(index.parse().expect("a number")).expect("a socket");
    for (to, kind, payload) in [
        ([0xff; 6], 0x88b5_u16, [1; 50]),
        ([1, 0, 0x5e, 0, 0, 1], 0x88b5, [2; 50]),
        ([2, 0, 0, 0, 0, 9], 0x88b5, [3; 50]),
        // A length: an LLC header follows, or a packet of Novell's.
        ([1, 0x80, 0xc2, 0, 0, 0], 50, [0x42; 50]),
        ([2, 0, 0, 0, 0, 9], 50, [0xff; 50]),
    ] {
        let from = [2, 0, 0, 0, 0, 1];
        let frame = [&to[..], &from, &kind.to_be_bytes(), &payload].concat();
        sender.send(&frame).expect("it is sent");
    }
    let pinged = tool::command("ping")
        .args(["-q", "-c", "3", "-i", "0.01", "127.0.0.1"])
        .output();
    done(&pinged.expect("ping runs"));

    for mut running in captures {
        running
            .event(|event| event["event"] == "stats" && event["delivered"].as_u64() >= Some(count));
        running.stop().done();
    }
    assert!(tcpdump.finish().status.success());
    let expected = cooked(&theirs);
    assert_eq!(expected.len() as u64, count);
    // The kernel takes the length of a frame that a packet socket sends for its protocol, and tcpdump writes that.
    let is_same = |packet: &String| {
        let fields: Vec<&str> = packet.split('\t').collect();
        !(fields[0].is_empty() && fields[4] == "4")
    };
    for file in [&ours, &old] {
        // Packets of several interfaces are in order as far as they are ready together.
        let [seen, expected] = [cooked(file), expected.clone()].map(|packets| {
            let mut packets: Vec<_> = packets.into_iter().filter(is_same).collect();
            packets.sort();
            packets
        });
        assert_eq!(seen.len() as u64, count - 2);
        assert_eq!(seen, expected, "{file}");
    }
}
