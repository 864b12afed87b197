//! `tapline ping` to a single target reads like ping(8), and to several like fping(8).

use std::net::SocketAddr;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use tapline::packet::checksum::internet;
use tapline::packet::{Icmpv4, Ipv4};

use crate::support::Scene;
use crate::support::ping::{ask_for_neighbours, dead_ends, echoes_answered, iputils, ping, start};

/// A line of ping with every duration replaced by the number of its digits behind the point, which
/// depends on how long it is, and with none for the time of the whole.
fn shape(line: &str) -> String {
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let words = line.split(' ').map(|word| {
        if let Some(time) = word.strip_prefix("time=") {
            assert!(digits(time), "{line}");
            return "time=T".to_owned();
        }
        if word.split('/').count() == 4 && word.split('/').all(digits) {
            let thousandths = |time: &str| time.split_once('.').map(|(_, rest)| rest.len());
            let all: Vec<_> = word.split('/').map(thousandths).collect();
            return format!("{all:?}");
        }
        match word.strip_suffix("ms").filter(|ms| !ms.is_empty()) {
            Some(ms) if digits(ms) => "Tms".to_owned(),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn shapes(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| shape(line)).collect()
}

/// Checks that ours reads as ping(8) reads, and a line more that says by what the figures were obtained.
#[track_caller]
fn assert_reads_as_ping(scene: &Scene, line: &str) {
    let theirs = iputils(scene, line);
    let ours = ping(scene, &format!("-n {line}"));
    assert_eq!(ours.status.code(), theirs.status.code(), "{ours:?}");
    let mut expected = shapes(&theirs.stdout);
    // Newer versions put a blank there in IPv6 too.
    expected[0] = expected[0]
        .replace("2(fd", "2 (fd")
        .replace("1(fd", "1 (fd");
    let mut said = shapes(&ours.stdout);
    let last = said.pop().expect("a line more");
    assert_eq!(said, expected, "{line}");
    assert!(
        last.starts_with("raw back end") && ours.stderr.is_empty(),
        "{ours:?}"
    );
}

#[test]
fn one_target_reads_as_ping_tells_it() {
    let scene = Scene::new();
    dead_ends(&scene);
    // The kernel reports an absent host after three seconds.
    ask_for_neighbours(&scene);
    for line in [
        "-c 3 -i 0.2 10.1.0.2",
        "-c 2 -i 0.2 -q 10.1.0.2",
        "-c 1 -s 65507 10.1.0.2",
        "-c 3 -i .2 10.1.0.2",
        // Fewer than asked for before the end.
        "-c 9 -w 1 -i 0.3 -q 10.1.0.2",
        "-c 1 -s 1000 -t 7 -Q 0x10 10.1.0.2",
        "-c 1 -I left0 10.1.0.2",
        "-c 1 -I 10.1.0.1 10.1.0.2",
        "-c 1 fd00:1::2",
        "-c 1 -4 localhost",
        "-c 4 -i 0.2 -W 9 10.1.0.77",
        // The router says that there is no way.
        "-c 1 -W 1 10.9.0.1",
        "-c 1 -W 1 fd09::1",
    ] {
        assert_reads_as_ping(&scene, line);
    }
    // A target that is silent.
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let silent = "-c 2 -i 0.2 -W 1 10.1.0.2";
    assert_reads_as_ping(&scene, silent);
    let verbose = ping(&scene, &format!("-v {silent}"));
    assert_eq!(verbose.status.code(), Some(1), "{verbose:?}");
    let missing = verbose
        .stdout
        .iter()
        .filter_map(|line| line.strip_prefix("no answer yet for icmp_seq="));
    assert_eq!(missing.collect::<Vec<_>>(), ["1", "2"]);
}

/// The header of ICMP says what it is; a target that sends only that, and three bytes, is heard.
#[test]
fn answers_that_are_cut_short_are_reported() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let asked = || socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP));
    let asked = scene.right.run(asked).expect("a raw socket");
    let running = start(&scene, "-c 1 -W 2 10.1.0.2");
    let mut packet = [0; 200];
    let (len, _) = recv(&asked, &mut packet, RecvFlags::empty()).expect("the probe");
    let (_, request) = Ipv4::split(&packet[..len], 0).expect("a header");
    let mut reply = request[..11].to_vec();
    reply[0] = Icmpv4::ECHO_REPLY;
    reply[2..4].fill(0);
    let sum = internet(&reply).to_be_bytes();
    reply[2..4].copy_from_slice(&sum);
    let to: SocketAddr = "10.1.0.1:0".parse().expect("an address");
    sendto(&asked, &reply, SendFlags::empty(), &to).expect("it is sent");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(
        ended.stdout[1],
        "11 bytes from 10.1.0.2: icmp_seq=1 ttl=64 (truncated)"
    );
    ended.assert_says("answers: 1 cut short");
}

/// It has the exit status of ping, too, which goes no further.
#[test]
fn targets_that_cannot_be_pinged_end_the_run_as_ping_does() {
    let scene = Scene::new();
    for (target, reason) in [
        ("192.0.2.1", Some("Network is unreachable")),
        (
            "10.1.0.255",
            Some("Permission denied: a broadcast address, or a route that prohibits"),
        ),
        ("no.such.invalid", None),
    ] {
        let line = format!("-c 1 {target}");
        let ours = ping(&scene, &line);
        let codes = [&ours, &iputils(&scene, &line)].map(|ended| ended.status.code());
        assert_eq!(codes, [Some(2); 2], "{ours:?}");
        if let Some(reason) = reason {
            assert_eq!(
                ours.stderr,
                [format!(
                    "tapline: icmp_seq=1 not sent to {target}: {reason}"
                )]
            );
        }
    }
}

#[test]
fn this_host_without_an_address_is_the_loopback() {
    let scene = Scene::new();
    let said = ping(&scene, "-c 1 -i 1ms 0.0.0.0");
    said.exit(0);
    assert!(said.stdout[1].starts_with("64 bytes from 127.0.0.1: icmp_seq=1 "));
    ping(&scene, "-c 1 ::").exit(0);
}

#[test]
fn names_and_times_of_day_stand_in_the_lines() {
    let scene = Scene::new();
    let said = ping(&scene, "-c 1 -D -4 localhost").stdout;
    let (time, line) = said[1].split_once("] ").expect("a time of day");
    let (seconds, us) = time[1..].split_once('.').expect("seconds");
    assert!(seconds.len() == 10 && us.len() == 6, "{time}");
    assert!(line.starts_with("64 bytes from localhost (127.0.0.1): icmp_seq=1 ttl=64 time="));
}

#[test]
fn several_targets_read_as_fping_tells_them() {
    let scene = Scene::new();
    dead_ends(&scene);
    let line = "-c 2 -i 10ms -W 2s 10.1.0.2 10.9.0.1 192.0.2.1 127.0.0.1";
    let ended = ping(&scene, line);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let told = [
        "pinging 4 targets, each every 10ms (raw)",
        "tapline: not sent to 192.0.2.1: Network is unreachable",
    ];
    assert_eq!(ended.stderr, told);
    let said = &ended.stdout;
    let (counts, times) = said[0].rsplit_once(' ').expect("times");
    assert_eq!(counts, "10.1.0.2  : xmt/rcv/%loss = 2/2/0%, min/avg/max =");
    let times = times.split('/').map(str::parse::<f64>);
    assert_eq!(times.flatten().count(), 3);
    for (number, line) in [
        (1, "10.9.0.1  : xmt/rcv/%loss = 2/0/100%, 2 errors"),
        (2, "192.0.2.1 : xmt/rcv/%loss = 0/0/-, 2 not sent"),
        (4, ""),
        (5, "4 targets: 2 answered, 2 did not"),
        (6, "6 probes sent = 4 received + 0 lost + 0 late + 2 errors"),
        (8, "errors: 2 from 10.1.0.2: Destination Host Unreachable"),
        (9, "not sent: 2 (Network is unreachable)"),
    ] {
        assert_eq!(said[number], line, "{said:?}");
    }
    assert!(
        said[7].starts_with("rtt min/p50/avg/p99/max/mdev = "),
        "{said:?}"
    );
    assert_eq!(echoes_answered(&scene.right), 2);

    let quiet = ping(&scene, &format!("-q {line}"));
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    assert_eq!(quiet.stdout[0], "4 targets: 2 answered, 2 did not");

    let verbose = ping(&scene, "-v -c 1 10.1.0.2 127.0.0.1");
    verbose.exit(0);
    for target in ["10.1.0.2", "127.0.0.1"] {
        let start = format!("64 bytes from {target}: icmp_seq=1 ttl=64 time=");
        let lines = verbose
            .stdout
            .iter()
            .filter(|line| line.starts_with(&start));
        assert_eq!(lines.count(), 1, "{verbose:?}");
    }
}
