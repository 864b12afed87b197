//! Targets as they are named, wrong usage, privileges, signals.

use crate::support;
use std::fs;
use std::process::Stdio;

use crate::support::ping::{command, echoes_answered, ping, unprivileged};
use crate::support::run::{spawn, spawn_with_input};
use crate::support::{Scene, ip};
use rustix::process::Signal;

#[test]
fn a_list_has_comments_and_excludes_are_never_asked() {
    let scene = Scene::new();
    let list = scene.file("list");
    let text = "# two hosts\n10.1.0.2 # the peer\n\n127.0.0.0/29\t10.1.0.2\n127.0.0.9-11\n";
    fs::write(&list, text).expect("a list");
    let flags = [
        "--json",
        "-c",
        "1",
        "--exclude",
        "127.0.0.4/30",
        "--exclude",
        "127.0.0.10",
    ];
    let expected = [
        "10.1.0.2",
        "127.0.0.1",
        "127.0.0.2",
        "127.0.0.3",
        "127.0.0.9",
        "127.0.0.11",
    ];
    let from_file = ping(&scene.left, &[&flags[..], &["-f", &list]].concat());
    let mut from_input = command(&scene.left, &[&flags[..], &["-f", "-"]].concat());
    from_input.stdin(Stdio::from(fs::File::open(&list).expect("the list")));
    let from_input = spawn_with_input(from_input).finish();
    for ended in [from_file, from_input] {
        ended.exit(0);
        let events = ended.events();
        let told = |event: &serde_json::Value| event["target"].as_str().map(str::to_owned);
        let targets: Vec<String> = events.iter().filter_map(told).collect();
        assert_eq!(targets, expected);
        let start = &events[0];
        assert_eq!(
            (&start["excluded"], &start["repeated"]),
            (&4.into(), &1.into())
        );
    }
    assert_eq!(echoes_answered(&scene.right), 2);
}

#[test]
fn a_dry_run_says_what_would_be_sent_and_sends_nothing() {
    let scene = Scene::new();
    let flags = ["--dry-run", "-c", "3", "-v"];
    let ended = ping(
        &scene.left,
        &[&flags[..], &["10.1.0.0/30", "--exclude", "10.1.0.1"]].concat(),
    );
    ended.exit(0);
    assert_eq!(
        ended.stdout,
        [
            "10.1.0.2",
            "1 targets; 1 excluded, 0 repeated, 0 skipped",
            "3 probes with 56 bytes of payload, 1 pps, each target every 1s",
            "4.0 s at most, including the wait for the last replies",
            "statistics take 96 B of memory",
            "nothing was sent",
        ]
    );
    let arguments = [
        "--dry-run",
        "--json",
        "-c",
        "2",
        "-i",
        "0",
        "--rate",
        "1kpps",
        "10.0.0.0/22",
    ];
    let summary = ping(&scene.left, &arguments).summary();
    assert_eq!(
        (summary.number("targets"), summary.number("probes")),
        (1022, 2044)
    );
    assert_eq!(
        summary.number("duration_ns"),
        2 * 1_022_000_000 + 1_000_000_000
    );
    // Counts and times of each, and a histogram.
    assert_eq!(summary.number("memory_bytes"), 1022 * (96 + 216 * 4));
    // Of the link of 10.7.0.0/20 hosts answer or are asked for at 125 a second, but for the first 400.
    ip(&scene.left, &["link", "set", "left0", "arp", "on"]);
    ip(
        &scene.left,
        &["address", "add", "10.7.0.1/20", "dev", "left0"],
    );
    let arguments = ["--dry-run", "-c", "1", "10.7.0.0/20"];
    let ended = ping(&scene.left, &arguments);
    assert_eq!(
        ended.stdout[2..],
        [
            "31.5 s at most, including the wait for the last replies",
            "of that, the pacing of unresolved neighbours may take 29.5 s",
            "statistics take 393 kB of memory",
            "nothing was sent",
        ]
    );
    let ended = ping(&scene.left, &[&arguments[..], &["-w", "3"]].concat());
    assert_eq!(
        ended.stdout[2],
        "4.0 s at most, including the wait for the last replies"
    );
    let arguments = [
        "--dry-run",
        "--json",
        "-c",
        "2",
        "--prefix-rate",
        "10",
        "10.8.0.0/24",
    ];
    let summary = ping(&scene.left, &arguments).summary();
    // 508 probes at 10 a second, and a round in which the first may come late; then the timeout.
    assert_eq!(
        summary.number("duration_ns"),
        50_700_000_000 + 1_000_000_000 + 1_000_000_000
    );
    assert_eq!(echoes_answered(&scene.right), 0);
}

#[test]
fn what_is_unknown_is_told_and_the_others_are_asked() {
    let scene = Scene::new();
    let ended = ping(
        &scene.left,
        &[
            "-q",
            "-c",
            "1",
            "no.such.invalid",
            "10.1.0.2",
            "fe80::1%nope",
        ],
    );
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(
        ended.stderr[0].starts_with("tapline: cannot resolve no.such.invalid: "),
        "{ended:?}"
    );
    assert_eq!(
        ended.stderr[1],
        "tapline: cannot find the interface of fe80::1%nope: No such device"
    );
    assert_eq!(echoes_answered(&scene.right), 1);
    let alone = ping(&scene.left, &["-c", "1", "no.such.invalid"]);
    assert!(
        alone
            .refusal(2)
            .starts_with("cannot resolve no.such.invalid: ")
    );
}

#[test]
fn wrong_usage_is_refused_before_anything_is_sent() {
    let scene = Scene::new();
    let list = scene.file("list");
    fs::write(&list, "10.1.0.2\n10.1.0.300\n").expect("a list");
    for (arguments, said) in [
        (&["10.1.0.2", "10.1.0.0/33"][..], "'10.1.0.0/33' is no name"),
        (&["10.1.0.9-2"], "ends before it begins"),
        (
            &["10.1.0.9-fd00::1"],
            "begins in one address family and ends in another",
        ),
        (&["-f", &list], "list: line 2: '10.1.0.300' is no name"),
        (&["-f", "/dev/null"], "the list has no targets"),
        (&["10.1.0.2", "--exclude", "10.0.0.0/8"], "excluded"),
        (&["-s", "15", "10.1.0.2"], "a number from 16 to 65507"),
        (&["-c", "0", "10.1.0.2"], "a number from 1 to 4294967295"),
        (&["-t", "256", "10.1.0.2"], "a number from 1 to 255"),
        (
            &["-6", "10.1.0.2"],
            "10.1.0.2 is an IPv4 address, and -6 selects IPv6",
        ),
        (
            &["-I", "10.1.0.1", "fd00:1::2"],
            "an IPv4 address, and no target is",
        ),
        (&["-4", "-6", "10.1.0.2"], "cannot be used with"),
        (&["--json", "--csv", "10.1.0.2"], "cannot be used with"),
        (&["--backend", "ring", "192.0.2.1"], "-I IF"),
        (&["-W", "0", "10.1.0.2"], "timeout"),
        (&[], "required"),
    ] {
        let ended = ping(&scene.left, arguments);
        let complaint = ended.refusal(2);
        assert!(complaint.contains(said), "{complaint}");
    }
    for (arguments, said) in [
        (["-I", "nope0", "10.1.0.2"], "there is no nope0"),
        (
            ["-I", "192.0.2.9", "10.1.0.2"],
            "no interface has 192.0.2.9",
        ),
        (["-f", "/no/such/list", "-q"], "/no/such/list"),
    ] {
        let ended = ping(&scene.left, &arguments);
        let complaint = ended.refusal(1);
        assert!(complaint.contains(said), "{complaint}");
    }
    assert_eq!(echoes_answered(&scene.right), 0);
}

#[test]
fn without_privileges_ping_sockets_do_or_the_way_out_is_named() {
    let scene = Scene::new();
    scene.left.set_sysctl("ipv4/ping_group_range", "1 0");
    let refused = unprivileged(&scene.left, &["-c", "1", "10.1.0.2"]);
    let complaint = refused.refusal(3);
    let way_out = "sysctl -w 'net.ipv4.ping_group_range=0 2147483647'";
    assert!(
        complaint.contains(way_out) && complaint.contains("CAP_NET_RAW"),
        "{complaint}"
    );
    let raw = unprivileged(&scene.left, &["-c", "1", "--backend", "raw", "10.1.0.2"]);
    assert!(raw.refusal(3).contains("--backend ping-socket"), "{raw:?}");
    scene
        .left
        .set_sysctl("ipv4/ping_group_range", "0 2147483647");
    let arguments = ["--json", "-c", "3", "-i", "10ms", "10.1.0.2", "fd00:1::2"];
    let ended = unprivileged(&scene.left, &arguments);
    ended.exit(0);
    let summary = ended.summary();
    assert_eq!((summary.number("sent"), summary.number("received")), (6, 6));
    assert_eq!(summary.0["backend"], "ping-socket");
    assert_eq!(echoes_answered(&scene.right), 3);
}

#[test]
fn a_signal_ends_the_run_with_its_summary() {
    let scene = Scene::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut running = spawn(command(&scene.left, &["--json", "-i", "10ms", "10.1.0.2"]));
        running.event(|event| event["seq"] == 3);
        running.signal(signal);
        let ended = running.finish();
        ended.exit(0);
        let summary = ended.summary();
        assert_eq!(summary.0["ended"], "stopped");
        let [sent, received, pending] =
            ["sent", "received", "pending"].map(|key| summary.number(key));
        assert!(received >= 3 && sent == received + pending, "{summary:?}");
    }
}

#[test]
fn sigquit_asks_for_a_short_status_and_ends_nothing() {
    let scene = Scene::new();
    let mut running = spawn(command(&scene.left, &["-i", "50ms", "10.1.0.2"]));
    while !running.line().contains("icmp_seq=2 ") {}
    running.signal(Signal::QUIT);
    let status = running.error_line();
    let (counts, times) = status
        .split_once(", min/avg/ewma/max = ")
        .expect("a status");
    assert!(
        counts.starts_with('\r') && counts.contains(" packets, 0% loss"),
        "{status:?}"
    );
    let times = times.strip_suffix(" ms").expect("milliseconds");
    assert_eq!(
        times
            .split('/')
            .filter(|time| time.parse::<f64>().is_ok())
            .count(),
        4
    );
    running.line();
    let ended = running.stop();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(
        ended
            .stdout
            .contains(&"--- 10.1.0.2 ping statistics ---".to_owned())
    );
}

#[test]
fn an_interface_that_goes_away_leaves_the_others_be() {
    let scene = Scene::new();
    let arguments = [
        "--json",
        "-v",
        "-c",
        "40",
        "-i",
        "10ms",
        "10.1.0.2",
        "127.0.0.1",
    ];
    let mut running = spawn(command(&scene.left, &arguments));
    running.event(|event| event["target"] == "10.1.0.2" && event["seq"] == 5);
    ip(&scene.left, &["link", "del", &support::name(&scene.left)]);
    let ended = running.finish();
    ended.exit(0);
    let summary = ended.summary();
    assert_eq!(summary.number("sent") + summary.number("local_drops"), 80);
    assert!(summary.number("local_drops") > 0, "{summary:?}");
    let events = ended.events();
    let other = events
        .iter()
        .find(|event| event["event"] == "target" && event["target"] == "127.0.0.1");
    assert_eq!(other.expect("the other")["received"], 40);
}

#[test]
fn loss_beyond_what_is_tolerated_fails_the_run() {
    let scene = Scene::new();
    let targets = ["-q", "-c", "1", "10.1.0.2", "192.0.2.1"];
    for (limit, code) in [("1", 0), ("50%", 0), ("0", 1), ("49.9%", 1)] {
        let ended = ping(
            &scene.left,
            &[&["--fail-loss", limit], &targets[..]].concat(),
        );
        ended.exit(code);
    }
}
