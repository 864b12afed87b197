//! Examples that capture, count, ping and read.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use lab::generator::udp_frame;
use lab::{Host, Net, tool, wait};
use wire::build::Frame;
use wire::{MacAddress, TcpFields};

use super::text;
use crate::support::{concatenated, example, packet_count, tshark};

const DNS_PACKETS: usize = 3000;
const WEB_PACKETS: usize = 1000;

/// Runs the example `name` with `words` at right until it exits, and returns its output. Calls `meanwhile` again and
/// again until then, with the standard input and the output so far.
fn run_while(
    hosts: &[Host; 2],
    name: &str,
    words: &[&str],
    mut meanwhile: impl FnMut(&mut ChildStdin, &str),
) -> String {
    let mut command = hosts[1].command(&example(name));
    command.args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    let (sender, printed) = channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let _ = sender.send(line.expect("text") + "\n");
        }
    });
    let mut output = String::new();
    wait::until("the example ends", || {
        output.extend(printed.try_iter());
        meanwhile(&mut stdin, &output);
        child.try_wait().expect("its status").is_some()
    });
    assert!(child.wait().expect("its status").success());
    reader.join().expect("its output");
    output.extend(printed.try_iter());
    output
}

/// As `run_while`, on an interface at which datagrams of 80 bytes arrive. Calls `act` as soon as 2000 have: a program
/// that captures has seen some by then.
fn run_under_traffic(
    name: &str,
    words: &[&str],
    act: impl FnOnce(&Host, &mut ChildStdin),
) -> String {
    let hosts = Net::new().pair();
    let mut act = Some(act);
    run_while(&hosts, name, words, |stdin, _| {
        let [left, right] = &hosts;
        // Without the other end's carrier, packets cannot leave.
        if act.is_none() {
            return;
        }
        left.send(vec![udp_frame(80); 20]);
        if right.counters().rx_packets > 2000
            && let Some(act) = act.take()
        {
            act(right, stdin);
        }
    })
}

fn is_packet(line: &str) -> bool {
    line.starts_with("20") && line.ends_with("Z 80")
}

#[test]
fn packets_are_captured_in_a_loop_and_in_a_task() {
    for name in ["capture", "with_tokio"] {
        let hosts = Net::new().pair();
        let pulled = run_while(&hosts, name, &["right0"], |_, _| {
            hosts[0].send(vec![udp_frame(80); 20]);
        });
        let lines: Vec<&str> = pulled.lines().collect();
        assert_eq!(lines.len(), 11, "{pulled}");
        assert!(lines[..10].iter().all(|line| is_packet(line)), "{pulled}");
        assert!(lines[10].contains(" = 10 delivered + "), "{pulled}");
    }
}

#[test]
fn event_loops_end_with_their_input_or_their_interface() {
    let polled = run_under_traffic("event_loop", &["right0"], |_, stdin| {
        stdin.write_all(b"x").expect("it reads");
    });
    let waited = run_under_traffic("epoll", &["right0"], |right, _| {
        right.ip("link set right0 down");
    });
    assert!(waited.contains("right0 is down\n"), "{waited}");
    for output in [polled, waited] {
        assert!(output.lines().count() > 10, "{output}");
        assert!(output.lines().next().is_some_and(is_packet), "{output}");
        assert!(output.ends_with(" + 0 lost\n"), "{output}");
    }
}

#[test]
fn files_are_rotated() {
    let hosts = Net::new().pair();
    let folder = tempfile::tempdir().expect("a folder");
    let pattern = folder.path().join("trace.pcapng");
    let words = ["right0", pattern.to_str().expect("text"), "2"];
    let output = run_while(&hosts, "rotate", &words, |_, _| {
        hosts[0].send(vec![udp_frame(80); 200]);
    });
    let lines: Vec<&str> = output.lines().collect();
    let (summary, files) = lines.split_last().expect("a summary");
    assert!(summary.ends_with(" + 0 lost"), "{output}");
    assert_eq!(files.len(), 5, "{output}");
    let kept = std::fs::read_dir(folder.path()).expect("the folder");
    assert_eq!(kept.count(), 5);
    let lengths = tshark(concatenated(files).path(), "frame.len");
    assert!(lengths.iter().all(|length| length == "80"));
    let counts = files.iter().map(|file| packet_count(Path::new(file)));
    let counts: Vec<_> = counts.collect();
    assert_eq!(lengths.len() as u64, counts.iter().sum::<u64>());
    assert_eq!(counts[..4], [1000; 4]);
    assert!((1..=1000).contains(&counts[4]), "{counts:?}");
}

#[test]
fn packets_are_counted_for_a_second() {
    let hosts = Net::new().pair();
    let counted = run_while(&hosts, "count", &["right0"], |_, _| {
        hosts[0].send(vec![udp_frame(80); 20]);
    });
    let summary = counted.lines().last().expect("a summary");
    assert!(
        summary.contains(": dns 0 packets (0 bytes), all "),
        "{counted}"
    );
    assert!(!summary.contains("all 0 "), "{counted}");
}

#[test]
fn classes_have_the_packets_that_were_sent() {
    let hosts = Net::new().pair();
    let [left, _right] = &hosts;
    let frame = |source: [u8; 4]| {
        let [near, far] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
        Frame::ethernet(near, far).ipv4(source.into(), [198, 18, 0, 2].into())
    };
    let dns = frame([198, 18, 0, 1]).udp(4000, 53).payload(b"query");
    let fields = TcpFields {
        source_port: 4000,
        destination_port: 443,
        ..TcpFields::default()
    };
    let web = frame([198, 18, 0, 7]).tcp(fields).payload(b"hello");
    let mut is_sent = false;
    let output = run_while(&hosts, "count_classes", &["right0"], |_, output| {
        if !is_sent && output.starts_with("dns ") {
            left.send(vec![&dns; DNS_PACKETS]);
            left.send(vec![&web; WEB_PACKETS]);
            is_sent = true;
        }
    });
    let summary = output.lines().last().expect("a summary");
    let bytes = DNS_PACKETS * dns.len();
    let expected =
        format!(": dns {DNS_PACKETS} packets ({bytes} bytes), web {WEB_PACKETS} packets");
    assert!(summary.contains(&expected), "{output}");
    let total = DNS_PACKETS + WEB_PACKETS;
    assert!(
        summary.contains(&format!(", all {total} packets")),
        "{output}"
    );
    for source in ["198.18.0.1", "198.18.0.7"] {
        assert!(
            output.contains(&format!("packets from {source}\n")),
            "{output}"
        );
    }
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
fn the_one_silent_host_of_a_thousand_is_named() {
    let [left, right] = Net::new().pair();
    left.ip("route add 10.9.0.0/22 via 10.1.0.2");
    right.ip("route add local 10.9.0.0/22 dev lo");
    right.ip("route add blackhole 10.9.1.7 table local");
    let mut command = left.command(&example("ping_many"));
    let said = text(command.arg("10.9.0.0/22").output().expect("it runs"));
    let losses: Vec<_> = said
        .lines()
        .filter(|line| line.ends_with(" answered"))
        .collect();
    assert_eq!(losses, ["10.9.1.7: 0 of 3 answered"], "{said}");
    assert!(
        said.contains("\n3066 probes sent to 1022 targets in "),
        "{said}"
    );
    let snmp = right.output_of("cat /proc/net/snmp");
    let rows: Vec<Vec<&str>> = snmp
        .lines()
        .filter(|line| line.starts_with("Icmp:"))
        .map(|line| line.split(' ').collect())
        .collect();
    let column = rows[0].iter().position(|name| *name == "InEchos");
    let requests = rows[1][column.expect("the kernel counts requests")];
    assert_eq!(requests, "3063", "those that the kernel received: {snmp}");
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../lab/corpus/captures")
        .join(name)
}

/// The packets of a file that tcpdump selects.
fn selected_by_tcpdump(file: &Path, filter: &str) -> usize {
    let mut command = tool::command("tcpdump");
    command
        .args(["-n", "-tt", "-q", "-r"])
        .arg(file)
        .arg(filter);
    text(command.output().expect("tcpdump runs"))
        .lines()
        .count()
}

#[test]
fn a_file_is_read_with_a_filter() {
    let file = corpus("icmpv6.pcap");
    let output = Command::new(example("read"))
        .arg(&file)
        .arg("icmp6")
        .output();
    let said = text(output.expect("it runs"));
    assert_eq!(
        said.lines().count(),
        selected_by_tcpdump(&file, "icmp6") + 1
    );
    assert!(said.ends_with("0 lost.\n"), "{said}");
}

#[test]
fn a_compiled_filter_matches_what_tcpdump_selects() {
    for (name, filter) in [
        ("icmpv6.pcap", "icmp6 and ip6[6] = 58"),
        ("HSRP_failover.pcap", "udp port 1985"),
        ("EIGRP_subnet_up.pcap", "ip proto 88"),
    ] {
        let file = corpus(name);
        let output = Command::new(example("run_filter"))
            .arg(&file)
            .arg(filter)
            .output();
        let said = text(output.expect("it runs"));
        let matching = selected_by_tcpdump(&file, filter);
        let packets = selected_by_tcpdump(&file, "");
        assert!(matching > 0, "{name} has packets for {filter}");
        let expected = format!("{matching} of {packets} packets match\n");
        assert!(said.ends_with(&expected), "{name}, {filter}: {said}");
    }
    let mistaken = Command::new(example("run_filter"))
        .args(["x", "udp prot 53"])
        .output();
    let mistaken = mistaken.expect("it runs");
    assert!(!mistaken.status.success());
    assert!(String::from_utf8_lossy(&mistaken.stderr).contains("prot"));
}

#[test]
fn send_sends_a_thousand_datagrams() {
    let [left, right] = Net::new().pair();
    let output = left
        .command(&example("send"))
        .arg(left.interface().name.to_string())
        .output();
    let printed = text(output.expect("it runs"));
    let line = "1000 packets submitted = 1000 accepted + 0 failed, 1000 delivered\n";
    assert_eq!(
        (printed.as_str(), right.counters().rx_packets),
        (line, 1000)
    );
}

#[test]
fn generate_sends_its_requests() {
    let [left, right] = Net::new().pair();
    let output = left
        .command(&example("generate"))
        .arg(left.interface().name.to_string())
        .output();
    let printed = text(output.expect("it runs"));
    let line = "100000 packets submitted = 100000 accepted + 0 failed, 100000 delivered\n";
    assert_eq!(
        (printed.as_str(), right.counters().rx_packets),
        (line, 100_000)
    );
}
