//! The packet generator of `tapline send`: its frames as tshark reads them, and as they arrive at the other end.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;

use crate::support::files::{bytes, column, records, tshark};
use crate::support::run::{Ended, run, spawn};
use crate::support::{Scene, arrived, assert_refused, ip, ip_json, tapline, tool};

/// Writes the packets of `tapline send LINE` to a file.
#[track_caller]
fn written(scene: &Scene, line: &str) -> String {
    let file = scene.file("made.pcapng");
    run(&format!("send -w {file} --quiet {line}")).exit(0);
    file
}

/// All values of the fields of each packet, by tshark with validation of checksums; values of one field are joined by
/// commas.
fn checked(file: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let options: Vec<_> = ["ip", "udp", "tcp"]
        .iter()
        .map(|protocol| format!("-o {protocol}.check_checksum:TRUE"))
        .collect();
    let fields = fields.join(" -e ");
    let line = format!("-n {} -T fields -r {file} -e {fields}", options.join(" "));
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    tool("tshark", &line).lines().map(cells).collect()
}

#[test]
fn tshark_accepts_every_kind_of_frame() {
    let scene = Scene::new();
    let families = [
        "--src 10.1.0.1-10.1.0.3 --dst 10.2.0.0/30",
        "--src fd00::1-fd00::3 --dst fd00:2::/126",
    ];
    let outsides = [
        ("", 1),
        ("--vlan 77", 1),
        (
            "--vxlan 4242 --outer-src 192.0.2.1 --outer-dst 192.0.2.2",
            2,
        ),
        (
            "--vlan 77 --vxlan 4242 --outer-src 2001:db8::1 --outer-dst 2001:db8::2",
            2,
        ),
    ];
    let kinds = [
        (
            "--udp --sport 1024-1030 --dport 9,40009",
            "udp.checksum.status",
        ),
        (
            "--tcp-syn --sport random:1-65535 --dport 443",
            "tcp.checksum.status",
        ),
        ("--icmp", "icmp"),
    ];
    let stamps = ["", "--stamp=513"];
    let mut lines = Vec::new();
    for (family, addresses) in families.iter().enumerate() {
        for (outside, layers) in outsides {
            for (kind, status) in kinds {
                for stamp in stamps {
                    let status = match (status, family) {
                        ("icmp", 0) => "icmp.checksum.status",
                        ("icmp", _) => "icmpv6.checksum.status",
                        (status, _) => status,
                    };
                    lines.push((
                        format!("{addresses} {outside} {kind} {stamp}"),
                        status,
                        layers,
                    ));
                }
            }
        }
    }
    // All in one file: tshark takes long to start.
    let files = lines.iter().enumerate().map(|(number, (line, ..))| {
        let file = scene.file(&format!("{number}.pcapng"));
        // Even and odd lengths: a stamp has its checksum at both.
        run(&format!(
            "send -w {file} --quiet {line} --size 170-177 --count 24"
        ))
        .exit(0);
        file
    });
    let files: Vec<String> = files.collect();
    let merged = scene.file("merged.pcapng");
    tool("mergecap", &format!("-a -w {merged} {}", files.join(" ")));
    let fields = [
        "udp.checksum.status",
        "tcp.checksum.status",
        "icmp.checksum.status",
        "icmpv6.checksum.status",
        "ip.checksum.status",
        "frame.len",
        "_ws.malformed",
        "vlan.id",
        "vxlan.vni",
        "ip.len",
        "ipv6.plen",
    ];
    let rows = checked(&merged, &fields);
    assert_eq!(rows.len(), 24 * lines.len());
    for ((line, status, layers), rows) in lines.into_iter().zip(rows.chunks(24)) {
        let status = fields.iter().position(|field| *field == status);
        let status = status.expect("a field");
        for (number, row) in rows.iter().enumerate() {
            let length = 170 + number % 8;
            let transport: Vec<&str> = row[status].split(',').collect();
            // 1 is good; 3 is "not present", of the outer datagram over IPv4.
            assert_eq!(transport.last(), Some(&"1"), "{line} {row:?}");
            let is_outer =
                |status: &&str| *status == "1" || *status == "3" && line.contains("192.0");
            assert!(transport.iter().all(is_outer), "{line} {row:?}");
            let row = &row[4..];
            let is_good = |status: &str| status.is_empty() || status == "1";
            assert!(row[0].split(',').all(is_good), "{line} {row:?}");
            assert_eq!((&*row[1], &*row[2]), (&*length.to_string(), ""), "{line}");
            let tag = if line.contains("--vlan") { "77" } else { "" };
            let vni = if line.contains("--vxlan") { "4242" } else { "" };
            assert_eq!((&*row[3], &*row[4]), (tag, vni), "{line}");
            let packets = |cell: &str| cell.split(',').filter(|cell| !cell.is_empty()).count();
            assert_eq!(
                packets(&row[5]) + packets(&row[6]),
                layers,
                "{line} {row:?}"
            );
        }
    }
}

#[test]
fn fields_take_their_values_in_the_stated_order() {
    let scene = Scene::new();
    let line = "--udp --src 10.0.0.0/31,10.9.0.7 --dst 192.0.2.1-192.0.2.2 --sport 5-7 --dport 53,99 --count 50";
    let mut all = Vec::new();
    for destination in ["192.0.2.1", "192.0.2.2"] {
        for source in ["10.0.0.0", "10.0.0.1", "10.9.0.7"] {
            for to_port in ["53", "99"] {
                for port in ["5", "6", "7"] {
                    all.push(
                        [source, destination, port, to_port]
                            .map(str::to_owned)
                            .to_vec(),
                    );
                }
            }
        }
    }
    assert_eq!(all.len(), 36);
    let fields = ["ip.src", "ip.dst", "udp.srcport", "udp.dstport"];
    for (flows, count) in [
        ("", 36),
        ("--flows 36", 36),
        ("--flows 10", 10),
        ("--flows 1", 1),
    ] {
        let rows = tshark(&written(&scene, &format!("{line} {flows}")), &fields);
        let expected: Vec<_> = all[..count].iter().cycle().take(50).cloned().collect();
        assert_eq!(rows, expected, "{flows}");
    }
}

#[test]
fn random_values_follow_from_the_seed_and_the_flow() {
    let scene = Scene::new();
    let addresses = |line: &str| -> Vec<Ipv4Addr> {
        let line = format!("--udp --src random:10.7.0.0/24 --dst 10.0.0.2 --count 1000 {line}");
        column(&written(&scene, &line), "ip.src")
    };
    let first = addresses("");
    assert_eq!(first, addresses("--seed 0"));
    let other = addresses("--seed 1");
    assert_ne!(first, other);
    for all in [&first, &other] {
        assert!(
            all.iter()
                .all(|address| address.octets()[..3] == [10, 7, 0])
        );
        // Of 256 addresses 1000 draws miss 5 on average, and more than 56 never.
        assert!(all.iter().collect::<BTreeSet<_>>().len() > 200);
    }
    let few = addresses("--flows 7");
    assert_eq!(
        few,
        first[..7]
            .iter()
            .cycle()
            .take(1000)
            .copied()
            .collect::<Vec<_>>()
    );
    let line = "--udp --src random:fd00::/16 --dst fd00::2 --count 100";
    let wide: Vec<IpAddr> = column(&written(&scene, line), "ipv6.src");
    assert_eq!(wide.iter().collect::<BTreeSet<_>>().len(), 100);
}

#[test]
fn lengths_are_those_of_the_frames_without_fcs() {
    let scene = Scene::new();
    let lengths = |line: &str| -> Vec<usize> {
        let line = format!("--src 10.0.0.1 --dst 10.0.0.2 {line}");
        let records = records(&written(&scene, &line)).into_iter();
        records.map(|record| record.original_len).collect()
    };
    assert_eq!(lengths("--udp --count 2"), [60, 60]);
    assert_eq!(lengths("--udp --size 64 --count 2"), [64, 64]);
    assert_eq!(
        lengths("--udp --size 42-44,1514 --count 5"),
        [42, 43, 44, 1514, 42]
    );
    assert_eq!(lengths("--tcp-syn --stamp --count 1"), [72]);
    assert_eq!(lengths("--arp --count 1"), [60]);
    let mut imix = lengths("--udp --size imix --count 1200");
    imix.sort_unstable();
    let expected = [(60, 700), (590, 400), (1514, 100)];
    let expected = expected.map(|(length, count)| vec![length; count]);
    assert_eq!(imix, expected.concat());
    let random = lengths("--udp --size random:64-1514 --count 500");
    assert!(random.iter().all(|length| (64..=1514).contains(length)));
    assert!(random.iter().collect::<BTreeSet<_>>().len() > 300);
}

#[test]
fn arp_requests_and_raw_frames_are_as_described() {
    let scene = Scene::new();
    let line = "--arp --src 10.0.0.1 --dst 10.0.0.8/31 --src-mac 02:00:00:00:00:0a --count 2";
    let fields = [
        "arp.opcode",
        "arp.src.hw_mac",
        "arp.src.proto_ipv4",
        "arp.dst.proto_ipv4",
        "eth.dst",
    ];
    let rows = tshark(&written(&scene, line), &fields);
    let row = |to| {
        [
            "1",
            "02:00:00:00:00:0a",
            "10.0.0.1",
            to,
            "ff:ff:ff:ff:ff:ff",
        ]
    };
    assert_eq!(rows, [row("10.0.0.8"), row("10.0.0.9")]);
    let frame = "02:00:00:00:00:02 020000000001 88b5 00-01-02";
    let plain = bytes(&written(&scene, &format!("--raw '{frame}' --count 3")));
    let expected = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 0, 1, 2];
    assert_eq!(plain, [expected, expected, expected]);
    let changed = "--dst-mac 02:00:00:00:00:05 --vlan 9";
    let changed = bytes(&written(
        &scene,
        &format!("--raw '{frame}' {changed} --count 1"),
    ));
    let expected = [
        2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 9, 0x88, 0xb5, 0, 1, 2,
    ];
    assert_eq!(changed, [expected]);
}

/// Sends with `line` on left0 while right captures; returns the file of `count` packets.
#[track_caller]
fn captured(scene: &Scene, line: &str, count: u64) -> String {
    let mut capture = scene.capture("--direction in -w got.pcapng udp port 9");
    let ended = send(scene, &format!("--json {line}"));
    let summary = ended.done();
    summary.has(&json!({ "submitted": count, "accepted": count, "failed": {} }));
    // An interface that resolves addresses may send packets of its own, which the filter rejects.
    capture.event(|event| event["delivered"] == count);
    capture.stop().done();
    scene.file("got.pcapng")
}

fn send(scene: &Scene, line: &str) -> Ended {
    spawn(tapline(&scene.left, &format!("send -i left0 {line}"))).finish()
}

#[test]
fn addresses_come_from_the_interface_and_its_neighbours() {
    let scene = Scene::new();
    let shown = ip_json(&scene.left, "link show left0");
    let own = shown[0]["address"].as_str().expect("an address").to_owned();
    for line in [
        "link set left0 arp on",
        "address flush dev left0",
        "neigh flush all nud all",
    ] {
        ip(&scene.left, line);
    }
    let without = send(&scene, "--udp --dst 10.0.0.2 --count 1");
    assert_eq!(
        without.refusal(1),
        "10.0.0.2 is not in the neighbour table of left0; give --dst-mac, or ping it once"
    );
    let without = send(
        &scene,
        "--udp --dst 10.0.0.2 --dst-mac 02:00:00:00:00:02 --count 1",
    );
    assert_eq!(without.refusal(2), "no source address: give --src");
    for line in [
        "address add 10.0.0.1/24 dev left0",
        "address add fd00::1/64 dev left0 nodad",
        "neigh add 10.0.0.2 lladdr 02:00:00:00:00:99 dev left0",
        "neigh add 10.0.0.3 lladdr 02:00:00:00:00:98 dev left0",
        "neigh add fd00::2 lladdr 02:00:00:00:00:97 dev left0",
        "route add 192.0.2.0/24 via 10.0.0.3",
    ] {
        ip(&scene.left, line);
    }
    let given = "--src 10.5.0.1 --src-mac 02:00:00:00:00:01 --dst-mac 02:00:00:00:00:02";
    for (line, macs, source) in [
        ("--dst 10.0.0.2", [&own, "02:00:00:00:00:99"], "10.0.0.1"),
        ("--dst 192.0.2.8", [&own, "02:00:00:00:00:98"], "10.0.0.1"),
        ("--dst 10.0.0.255", [&own, "ff:ff:ff:ff:ff:ff"], "10.0.0.1"),
        ("--dst 239.129.2.3", [&own, "01:00:5e:01:02:03"], "10.0.0.1"),
        ("--dst fd00::2", [&own, "02:00:00:00:00:97"], "fd00::1"),
        (
            &format!("--dst 10.0.0.2 {given}"),
            ["02:00:00:00:00:01", "02:00:00:00:00:02"],
            "10.5.0.1",
        ),
    ] {
        let file = captured(&scene, &format!("--udp {line} --count 10"), 10);
        let rows = tshark(&file, &["eth.src", "eth.dst", "ip.src", "ipv6.src"]);
        assert_eq!(rows.len(), 10);
        for row in rows {
            assert_eq!([&row[0], &row[1]], macs, "{line}");
            assert!(row[2..].contains(&source.to_owned()), "{line} {row:?}");
        }
    }
}

#[test]
fn many_flows_arrive_at_the_stated_rate_and_a_dry_run_sends_none() {
    let scene = Scene::new();
    let addresses = "--src 10.0.0.0/8 --dst 10.0.0.2 --dst-mac 02:00:00:00:00:02";
    let line = format!("--udp {addresses} --sport 1024-65535 --size imix --count 3000");
    let plan = send(&scene, &format!("{line} --dry-run --json"));
    plan.exit(0);
    let plan: serde_json::Value = serde_json::from_str(&plan.stdout[0]).expect("JSON");
    let bytes = 1750 * 60 + 1000 * 590 + 250 * 1514;
    assert_eq!(
        (&plan["packets"], &plan["bytes"]),
        (&3000.into(), &bytes.into())
    );
    assert_eq!(arrived(&scene.right), 0);
    let file = captured(&scene, &format!("{line} --rate 1Mpps"), 3000);
    let rows = tshark(&file, &["udp.srcport"]);
    let ports = (1024..).map(|port: u16| vec![port.to_string()]);
    assert_eq!(rows, ports.take(3000).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let refuse = |line: &str| run(&format!("send -w /dev/null --quiet {line}"));
    let to = "--src 10.0.0.1 --dst 10.0.0.2 --count 1";
    assert_refused(
        refuse,
        &[
            (
                "--udp --src 10.0.0.1",
                2,
                "no destination address: give --dst",
            ),
            ("--udp --dst 10.0.0.1", 2, "no source address: give --src"),
            (
                "--udp --src fd00::1 --dst 10.0.0.1",
                2,
                "different address families",
            ),
            (
                "--arp --src fd00::1 --dst fd00::2",
                2,
                "ARP has IPv4 addresses only",
            ),
            (
                &format!("--arp --sport 5 {to}"),
                2,
                "ARP packets have no source port",
            ),
            (
                &format!("--icmp --dport 5 {to}"),
                2,
                "ICMP packets have no destination port",
            ),
            (
                &format!("--arp --stamp {to}"),
                2,
                "ARP packets have no payload for a stamp",
            ),
            (
                &format!("--raw 00 {to}"),
                2,
                "raw packets have no variable source address",
            ),
            (
                "--raw 0011",
                2,
                "a raw frame needs an Ethernet header of 14 bytes",
            ),
            ("--raw 001", 2, "use two hexadecimal digits for each byte"),
            (
                &format!("--udp --size 41 {to}"),
                2,
                "a frame of 41 bytes is too short: its headers and stamp take 42",
            ),
            (
                &format!("--tcp-syn --stamp --size 60-90 {to}"),
                2,
                "its headers and stamp take 72",
            ),
            (
                &format!("--udp --vlan 5 --size 65550 {to}"),
                2,
                "of at most 65549 bytes",
            ),
            (
                &format!("--udp --flows 5 --sport 1-4 {to}"),
                2,
                "combinations; use wider ranges or random:",
            ),
            (
                "--udp --dst 10.0.0.2-10.0.0.1",
                2,
                "'10.0.0.2-10.0.0.1' is an empty range",
            ),
            (
                "--udp --dst 10.0.0.1,fd00::1",
                2,
                "is of another family than the other addresses",
            ),
            ("--udp --dst 10.0.0.0/33", 2, "has no prefix length"),
            ("--udp --dst host", 2, "'host' is not an address"),
            ("--udp --sport 65536", 2, "'65536' is not a port"),
            ("--udp --size +5", 2, "'+5' is not a length"),
            (
                &format!("--udp --rate recorded {to}"),
                2,
                "generated packets have no recorded times",
            ),
            (&format!("--udp --vxlan 5 {to}"), 2, "--outer-src"),
            (&format!("--udp {to} udp"), 2, "cannot be used with"),
            (&format!("--udp --tcp-syn {to}"), 2, "cannot be used with"),
            (
                &format!("--udp --map 10.0.0.0/8=11.0.0.0/8 {to}"),
                2,
                "cannot be used with",
            ),
            ("", 2, "missing argument"),
        ],
    );
}
