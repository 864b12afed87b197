//! `tapline ping` to a single target reads like ping(8), and to several like fping(8).

use std::net::SocketAddr;

use crate::support::ping::{
    ask_for_neighbours, command, dead_ends, echoes_answered, iputils, ping,
};
use crate::support::run::spawn;
use crate::support::{Scene, name};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use tapline::packet::checksum::internet;
use tapline::packet::{Icmpv4, Ipv4};

/// A line of ping with every duration replaced by the number of its digits behind the point, which
/// depends on how long it is, and with none for the time of the whole.
fn shape(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let digits = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        };
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

#[test]
fn one_target_reads_as_ping_tells_it() {
    let scene = Scene::new();
    let link = name(&scene.left);
    dead_ends(&scene.left, &scene.right);
    // Of a host that is not there the kernel tells after it has asked for it for three seconds.
    ask_for_neighbours(&scene.left, &scene.right);
    for arguments in [
        &["-c", "3", "-i", "0.2", "10.1.0.2"][..],
        &["-c", "2", "-i", "0.2", "-q", "10.1.0.2"],
        &["-c", "1", "-s", "65507", "10.1.0.2"],
        &["-c", "3", "-i", ".2", "10.1.0.2"],
        // Fewer than asked for before the end.
        &["-c", "9", "-w", "1", "-i", "0.3", "-q", "10.1.0.2"],
        &["-c", "1", "-s", "1000", "-t", "7", "-Q", "0x10", "10.1.0.2"],
        &["-c", "1", "-I", &link, "10.1.0.2"],
        &["-c", "1", "-I", "10.1.0.1", "10.1.0.2"],
        &["-c", "1", "fd00:1::2"],
        &["-c", "1", "-4", "localhost"],
        &["-c", "4", "-i", "0.2", "-W", "9", "10.1.0.77"],
        // The router says that there is no way.
        &["-c", "1", "-W", "1", "10.9.0.1"],
        &["-c", "1", "-W", "1", "fd09::1"],
    ] {
        let theirs = iputils(&scene.left, arguments);
        let ours = ping(&scene.left, &[&["-n"], arguments].concat());
        assert_eq!(ours.status.code(), theirs.status.code(), "{ours:?}");
        let mut expected = shapes(&theirs.stdout);
        // Newer versions put a blank there in IPv6 too.
        expected[0] = expected[0]
            .replace("2(fd", "2 (fd")
            .replace("1(fd", "1 (fd");
        let said = shapes(&ours.stdout);
        assert_eq!(said[..expected.len()], expected, "{arguments:?}");
        // One line more says by what the figures were obtained.
        assert_eq!(said.len(), expected.len() + 1, "{ours:?}");
        assert!(said[expected.len()].starts_with("raw back end"));
        assert!(ours.stderr.is_empty(), "{ours:?}");
    }
}

/// The header of ICMP says what it is; a target that sends only that, and three bytes, is heard.
#[test]
fn answers_that_are_cut_short_are_told() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let asked = || socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP));
    let asked = scene.right.run(asked).expect("a raw socket");
    let running = spawn(command(&scene.left, &["-c", "1", "-W", "2", "10.1.0.2"]));
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
    let line = "11 bytes from 10.1.0.2: icmp_seq=1 ttl=64 (truncated)";
    assert_eq!(ended.stdout[1], line);
    assert!(
        ended.stdout.contains(&"answers: 1 cut short".to_owned()),
        "{ended:?}"
    );
}

#[test]
fn a_silent_target_reads_as_ping_tells_it() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let arguments = ["-c", "2", "-i", "0.2", "-W", "1", "10.1.0.2"];
    let theirs = iputils(&scene.left, &arguments);
    let ours = ping(&scene.left, &arguments);
    assert_eq!(
        (ours.status.code(), theirs.status.code()),
        (Some(1), Some(1))
    );
    let (said, expected) = (shapes(&ours.stdout), shapes(&theirs.stdout));
    assert_eq!(said[..expected.len()], expected);
    assert_eq!(said[expected.len()..], ["raw back end"]);
    let verbose = ping(&scene.left, &[&["-v"], &arguments[..]].concat());
    let missing = "no answer yet for icmp_seq=";
    let missing: Vec<_> = (verbose.stdout.iter())
        .filter_map(|line| line.strip_prefix(missing))
        .collect();
    assert_eq!(missing, ["1", "2"]);
}

/// It has the exit status of ping, too, which goes no further.
#[test]
fn what_cannot_be_asked_ends_as_with_ping() {
    let scene = Scene::new();
    for (target, reason) in [
        ("192.0.2.1", "Network is unreachable"),
        (
            "10.1.0.255",
            "Permission denied: a broadcast address, or a route that prohibits",
        ),
    ] {
        let theirs = iputils(&scene.left, &["-c", "1", target]);
        let ours = ping(&scene.left, &["-c", "1", target]);
        assert_eq!(
            (ours.status.code(), theirs.status.code()),
            (Some(2), Some(2))
        );
        let line = format!("tapline: icmp_seq=1 not sent to {target}: {reason}");
        assert_eq!(ours.stderr, [line]);
    }
    let unknown = ["-c", "1", "no.such.invalid"];
    assert_eq!(iputils(&scene.left, &unknown).status.code(), Some(2));
    assert_eq!(ping(&scene.left, &unknown).status.code(), Some(2));
}

#[test]
fn this_host_without_an_address_is_the_loopback() {
    let scene = Scene::new();
    let said = ping(&scene.left, &["-c", "1", "-i", "1ms", "0.0.0.0"]);
    said.exit(0);
    assert!(said.stdout[1].starts_with("64 bytes from 127.0.0.1: icmp_seq=1 "));
    ping(&scene.left, &["-c", "1", "::"]).exit(0);
}

#[test]
fn names_and_times_of_day_stand_in_the_lines() {
    let scene = Scene::new();
    let said = ping(&scene.left, &["-c", "1", "-D", "-4", "localhost"]).stdout;
    let (time, line) = said[1].split_once("] ").expect("a time of day");
    let (seconds, us) = time[1..].split_once('.').expect("seconds");
    assert!(seconds.len() == 10 && us.len() == 6, "{time}");
    assert!(line.starts_with("64 bytes from localhost (127.0.0.1): icmp_seq=1 ttl=64 time="));
}

#[test]
fn several_targets_read_as_fping_tells_them() {
    let scene = Scene::new();
    dead_ends(&scene.left, &scene.right);
    let targets = ["10.1.0.2", "10.9.0.1", "192.0.2.1", "127.0.0.1"];
    let arguments = [&["-c", "2", "-i", "10ms", "-W", "2s"], &targets[..]].concat();
    let ended = ping(&scene.left, &arguments);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(
        ended.stderr,
        [
            "pinging 4 targets, each every 10ms (raw)",
            "tapline: not sent to 192.0.2.1: Network is unreachable"
        ]
    );
    let said = &ended.stdout;
    assert!(
        said[0].starts_with("10.1.0.2  : xmt/rcv/%loss = 2/2/0%, min/avg/max = "),
        "{said:?}"
    );
    let times = said[0].rsplit(' ').next().expect("times");
    assert_eq!(
        times
            .split('/')
            .filter(|time| time.parse::<f64>().is_ok())
            .count(),
        3
    );
    assert_eq!(said[1], "10.9.0.1  : xmt/rcv/%loss = 2/0/100%, 2 errors");
    assert_eq!(said[2], "192.0.2.1 : xmt/rcv/%loss = 0/0/-, 2 not sent");
    assert_eq!(
        said[4..7],
        [
            "",
            "4 targets: 2 answered, 2 did not",
            "6 probes sent = 4 received + 0 lost + 0 late + 2 errors"
        ]
    );
    assert!(
        said[7].starts_with("rtt min/p50/avg/p99/max/mdev = "),
        "{said:?}"
    );
    assert_eq!(
        said[8..10],
        [
            "errors: 2 from 10.1.0.2: Destination Host Unreachable",
            "not sent: 2 (Network is unreachable)"
        ]
    );
    assert_eq!(echoes_answered(&scene.right), 2);

    let quiet = ping(&scene.left, &[&["-q"], &arguments[..]].concat());
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    assert_eq!(quiet.stdout[0], "4 targets: 2 answered, 2 did not");

    let verbose = ping(&scene.left, &["-v", "-c", "1", "10.1.0.2", "127.0.0.1"]);
    verbose.exit(0);
    let starts = |start: &str| {
        verbose
            .stdout
            .iter()
            .filter(|line| line.starts_with(start))
            .count()
    };
    assert_eq!(starts("64 bytes from 10.1.0.2: icmp_seq=1 ttl=64 time="), 1);
    assert_eq!(
        starts("64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time="),
        1
    );
}

#[test]
fn a_histogram_has_every_answer() {
    let scene = Scene::new();
    let arguments = [
        "--histogram",
        "-q",
        "-c",
        "5",
        "-i",
        "1ms",
        "10.1.0.2",
        "127.0.0.1",
    ];
    let ended = ping(&scene.left, &arguments);
    ended.exit(0);
    let head = ended
        .stdout
        .iter()
        .position(|line| line == "round trips up to:");
    let rows = &ended.stdout[head.expect("a head") + 1..];
    let count = |row: &String| row.rsplit(' ').next().and_then(|count| count.parse().ok());
    let counts: Option<Vec<u64>> = rows.iter().map(count).collect();
    assert_eq!(counts.expect("numbers").iter().sum::<u64>(), 10);
}
