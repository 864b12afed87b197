//! Names of targets, wrong usage, privileges.

use std::fs::File;
use std::process::Stdio;

use serde_json::json;

use crate::support::ping::{echoes_answered, ping, unprivileged};
use crate::support::run::spawn_with_input;
use crate::support::{Scene, assert_has, assert_refused, ip, tapline};

#[test]
fn a_list_has_comments_and_excludes_are_never_asked() {
    let scene = Scene::new();
    let text = "# two hosts\n10.1.0.2 # the peer\n\n127.0.0.0/29\t10.1.0.2\n127.0.0.9-11\n";
    let list = scene.write("list", text);
    let flags = "--json -c 1 --exclude 127.0.0.4/30 --exclude 127.0.0.10 -f";
    let from_file = ping(&scene, &format!("{flags} {list}"));
    let mut from_input = tapline(&scene.left, &format!("ping {flags} -"));
    from_input.stdin(Stdio::from(File::open(&list).expect("the list")));
    let from_input = spawn_with_input(from_input).finish();
    for ended in [from_file, from_input] {
        ended.exit(0);
        let targets: Vec<_> = ended
            .events_of("target")
            .iter()
            .map(|event| event["target"].clone())
            .collect();
        let expected = [
            "10.1.0.2",
            "127.0.0.1",
            "127.0.0.2",
            "127.0.0.3",
            "127.0.0.9",
            "127.0.0.11",
        ];
        assert_eq!(targets, expected);
        assert_has(&ended.events()[0], &json!({"excluded": 4, "repeated": 1}));
    }
    assert_eq!(echoes_answered(&scene.right), 2);
}

#[test]
fn a_dry_run_says_what_would_be_sent_and_sends_nothing() {
    let scene = Scene::new();
    let said = |line: &str| ping(&scene, &format!("--dry-run {line}")).stdout;
    assert_eq!(
        said("-c 3 -v 10.1.0.0/30 --exclude 10.1.0.1"),
        [
            "10.1.0.2",
            "1 targets; 1 excluded, 0 repeated, 0 skipped",
            "3 probes with 56 bytes of payload, 1 pps, each target every 1s",
            "4.0 s at most, including the wait for the last replies",
            "statistics take 96 B of memory",
            "nothing was sent",
        ]
    );
    let summary = ping(
        &scene,
        "--dry-run --json -c 2 -i 0 --rate 1kpps 10.0.0.0/22",
    )
    .summary();
    summary.has(&json!({
        "targets": 1022, "probes": 2044, "duration_ns": 2 * 1_022_000_000_u64 + 1_000_000_000,
        // Counts and times of each, and a histogram.
        "memory_bytes": 1022 * (96 + 216 * 4),
    }));
    // Of the link of 10.7.0.0/20 hosts answer or are asked for at 125 a second, but for the first 400.
    ip(&scene.left, "link set left0 arp on");
    ip(&scene.left, "address add 10.7.0.1/20 dev left0");
    assert_eq!(
        said("-c 1 10.7.0.0/20")[2..],
        [
            "31.5 s at most, including the wait for the last replies",
            "of that, the pacing of unresolved neighbours may take 29.5 s",
            "statistics take 393 kB of memory",
            "nothing was sent",
        ]
    );
    let limited = said("-c 1 10.7.0.0/20 -w 3");
    assert_eq!(
        limited[2],
        "4.0 s at most, including the wait for the last replies"
    );
    let summary = ping(&scene, "--dry-run --json -c 2 --prefix-rate 10 10.8.0.0/24").summary();
    // 508 probes at 10 a second, and a round in which the first may come late; then the timeout.
    assert_eq!(
        summary.number("duration_ns"),
        50_700_000_000 + 1_000_000_000 + 1_000_000_000
    );
    assert_eq!(echoes_answered(&scene.right), 0);
}

#[test]
fn what_is_unknown_is_reported_and_the_others_are_asked() {
    let scene = Scene::new();
    let ended = ping(&scene, "-q -c 1 no.such.invalid 10.1.0.2 fe80::1%nope");
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    ended.assert_mentions("tapline: cannot resolve no.such.invalid: ");
    ended.assert_says("tapline: cannot find the interface of fe80::1%nope: No such device");
    assert_eq!(echoes_answered(&scene.right), 1);
}

#[test]
fn wrong_usage_is_refused_before_anything_is_sent() {
    let scene = Scene::new();
    let list = scene.write("list", "10.1.0.2\n10.1.0.300\n");
    assert_refused(
        |line| ping(&scene, line),
        &[
            ("10.1.0.2 10.1.0.0/33", 2, "'10.1.0.0/33' is not a name"),
            ("10.1.0.9-2", 2, "ends before it begins"),
            (
                "10.1.0.9-fd00::1",
                2,
                "begins in one address family and ends in another",
            ),
            (
                &format!("-f {list}"),
                2,
                "list: line 2: '10.1.0.300' is not a name",
            ),
            ("-f /dev/null", 2, "the list has no targets"),
            ("10.1.0.2 --exclude 10.0.0.0/8", 2, "excluded"),
            ("-s 2 10.1.0.2", 2, "use 3 to 65507 bytes"),
            (
                &format!("--exclude-file {list} 10.1.0.9"),
                2,
                "list: line 2: 10.1.0.300 is not a prefix",
            ),
            (
                "--exclude-file /no/such/list 10.1.0.2",
                1,
                "cannot read excluded prefixes from /no/such/list",
            ),
            ("-c 0 10.1.0.2", 2, "a number from 1 to 4294967295"),
            ("--paths 0 10.1.0.2", 2, "0 is not in 1..=64"),
            ("--paths 65 10.1.0.2", 2, "65 is not in 1..=64"),
            (
                "--paths 1 -s 17 10.1.0.2",
                2,
                "payload (bytes) is 17, not between 18 and 65507",
            ),
            ("--resolve-every 99ms 10.1.0.2", 2, "use at least 100ms"),
            ("-t 256 10.1.0.2", 2, "a number from 1 to 255"),
            (
                "-6 10.1.0.2",
                2,
                "10.1.0.2 is an IPv4 address, and -6 selects IPv6",
            ),
            (
                "-I 10.1.0.1 fd00:1::2",
                2,
                "an IPv4 address, and no target is",
            ),
            ("-4 -6 10.1.0.2", 2, "cannot be used with"),
            ("--json --csv 10.1.0.2", 2, "cannot be used with"),
            ("--backend ring 192.0.2.1", 2, "-I IF"),
            ("-W 0 10.1.0.2", 2, "timeout"),
            ("", 2, "missing argument: TARGET"),
            (
                "-c 1 no.such.invalid",
                2,
                "cannot resolve no.such.invalid: ",
            ),
            ("-I nope0 10.1.0.2", 1, "there is no nope0"),
            ("-I 192.0.2.9 10.1.0.2", 1, "no interface has 192.0.2.9"),
            ("-f /no/such/list -q", 1, "/no/such/list"),
        ],
    );
    assert_eq!(echoes_answered(&scene.right), 0);
}

/// As in zmap's blocklist: a prefix a line, comments, empty lines.
#[test]
fn files_of_prefixes_exclude_their_addresses() {
    let scene = Scene::new();
    let first = scene.write("first", "# private\n10.1.0.3/32 # one\n\n  10.1.0.4/30\n");
    let second = scene.write("second", "10.1.0.8/29\nfd00::/8\n10.1.0.16");
    let line = format!("--dry-run -v --exclude-file {first} --exclude-file {second}");
    let ended = ping(&scene, &format!("{line} 10.1.0.0-10.1.0.17 fd00:1::2"));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let listed: Vec<&str> = ended.stdout.iter().map(String::as_str).take(5).collect();
    let expected = ["10.1.0.0", "10.1.0.1", "10.1.0.2", "10.1.0.17"];
    assert_eq!(listed[..4], expected, "{ended:?}");
    assert_eq!(listed[4], "4 targets; 15 excluded, 0 repeated, 0 skipped");
}

#[test]
fn a_payload_too_short_for_a_cookie_is_answered_and_reported() {
    let scene = Scene::new();
    for (bytes, said) in [
        (3, "and nothing proves that a reply is genuine"),
        (5, "and 2 of 4 bytes prove that a reply is genuine"),
    ] {
        let ended = ping(&scene, &format!("-s {bytes} -c 3 -i 10ms 10.1.0.2"));
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        ended.assert_mentions("3 packets transmitted, 3 received, 0% packet loss");
        ended.assert_mentions(&format!("{} bytes from 10.1.0.2: icmp_seq=3", bytes + 8));
        let line = &ended.stderr[0];
        assert!(line.contains(said), "{line}");
    }
    assert_eq!(echoes_answered(&scene.right), 6);
    let ended = ping(&scene, "--backend xdp -q -c 1 -s 15 10.1.0.2");
    let line = "the XDP back end sends payloads of 16 to 1452 bytes (use -s, or --backend raw)";
    assert_eq!(ended.refusal(2), line);
}

#[test]
fn without_privileges_ping_sockets_do_or_the_way_out_is_named() {
    let scene = Scene::new();
    scene.left.set_sysctl("ipv4/ping_group_range", "1 0");
    assert_refused(
        |line| unprivileged(&scene, line),
        &[
            (
                "-c 1 10.1.0.2",
                3,
                "sysctl -w 'net.ipv4.ping_group_range=0 2147483647'",
            ),
            ("-c 1 10.1.0.2", 3, "CAP_NET_RAW"),
            ("-c 1 --backend raw 10.1.0.2", 3, "--backend ping-socket"),
        ],
    );
    scene
        .left
        .set_sysctl("ipv4/ping_group_range", "0 2147483647");
    let ended = unprivileged(&scene, "--json -c 3 -i 10ms 10.1.0.2 fd00:1::2");
    ended
        .done()
        .has(&json!({"sent": 6, "received": 6, "backend": "ping-socket"}));
    assert_eq!(echoes_answered(&scene.right), 3);
}
