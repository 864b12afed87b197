//! `tapline send --split`: what arrives at the ends of two links, and in which order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::json;
use wire::build::Frame;
use wire::{ArpFields, ArpOperation, Icmpv4Fields, MacAddress, TcpFields, TcpFlags};

use crate::support::files::{bytes, tshark};
use crate::support::frames::frame;
use crate::support::run::spawn;
use crate::support::{Scene, ip, tapline};

const MACS: [MacAddress; 2] = [
    MacAddress([2, 0, 0, 0, 0, 1]),
    MacAddress([2, 0, 0, 0, 0, 2]),
];
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// The second link: left1 at left, whose other end is there too.
fn add_link(scene: &Scene) {
    for line in [
        "link add left1 type veth peer name far1",
        "link set left1 arp off up",
        "link set far1 arp off up",
    ] {
        ip(&scene.left, line);
    }
}

/// Packets between a client and a server, and whether they are the client's.
fn conversation() -> Vec<(bool, Vec<u8>)> {
    let ethernet = || Frame::ethernet(MACS[0], MACS[1]);
    let tcp = |source_port, destination_port| TcpFields {
        source_port,
        destination_port,
        ..TcpFields::default()
    };
    let v6 = |last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last);
    let arp = |operation, sender_ip, target_ip| {
        ethernet().arp(&ArpFields {
            operation,
            sender_mac: MACS[0],
            sender_ip,
            target_mac: MACS[1],
            target_ip,
        })
    };
    let reply = Icmpv4Fields {
        kind: 0,
        code: 0,
        checksum: 0,
        parameter: [0, 1, 0, 1],
    };
    let mut packets = Vec::new();
    for number in 0..60_u32 {
        let n = number.to_be_bytes();
        let to_server = || ethernet().ipv4(CLIENT, SERVER);
        let to_client = || ethernet().vlan(5).ipv4(SERVER, CLIENT);
        packets.push(match number % 10 {
            0 => (true, to_server().tcp(tcp(40_000, 443)).payload(&n)),
            1 | 2 => (false, to_client().tcp(tcp(443, 40_000)).payload(&n)),
            3 => (true, to_server().udp(5353, 53).payload(&n)),
            4 => (false, to_client().udp(53, 5353).payload(&n)),
            5 => (true, ethernet().ipv6(v6(9), v6(2)).udp(1000, 7).payload(&n)),
            6 => (
                false,
                ethernet().ipv6(v6(2), v6(9)).udp(7, 1000).payload(&n),
            ),
            7 => (true, to_server().echo_request(1, 1).payload(&n)),
            8 => (false, to_client().icmp(reply).payload(&n)),
            _ => (true, frame(number, 60)),
        });
    }
    // The lower address is that of the client.
    packets.push((true, arp(ArpOperation::REQUEST, SERVER, CLIENT)));
    packets.push((false, arp(ArpOperation::REPLY, CLIENT, SERVER)));
    packets
}

/// Sends `packets` with `line`. Returns what arrives at both links with its time, in the order of arrival: whether it
/// is at the first one, and the frame.
#[track_caller]
fn split(scene: &Scene, packets: &[(bool, Vec<u8>)], line: &str) -> Vec<(bool, Vec<u8>)> {
    let mut content = crate::support::files::pcap(&[]);
    for (number, (_, frame)) in (0_u32..).zip(packets) {
        let length = u32::try_from(frame.len()).expect("short");
        let record = [0, number * 1000, length, length].map(u32::to_le_bytes);
        content.extend(record.as_flattened());
        content.extend(frame);
    }
    let file = scene.write("conversation.pcap", content);
    let mut near = scene.capture("--direction in -w near.pcapng");
    let far = "capture -i far1 --json --stats-interval 5ms --direction in -w far.pcapng";
    let mut far = tapline(&scene.left, far);
    far.current_dir(scene.folder.path());
    let mut far = spawn(far);
    far.ready();
    let line = format!("send -i left0 --split left1 -r {file} --json {line}");
    let summary = spawn(tapline(&scene.left, &line)).finish().done();
    let all = packets.len() as u64;
    let second = summary.number("second_accepted");
    summary.has(&json!({ "submitted": all, "accepted": all, "delivered": all, "failed": {} }));
    near.received(all - second);
    far.received(second);
    near.stop().done();
    far.stop().done();
    let mut arrived = Vec::new();
    for (is_near, name) in [(true, "near.pcapng"), (false, "far.pcapng")] {
        let file = scene.file(name);
        let times = tshark(&file, &["frame.time_epoch"]).into_iter();
        let times = times.map(|mut row| row.remove(0));
        arrived.extend(
            times
                .zip(bytes(&file))
                .map(|(time, frame)| (time, is_near, frame)),
        );
    }
    arrived.sort();
    arrived
        .into_iter()
        .map(|(_, is_near, frame)| (is_near, frame))
        .collect()
}

#[test]
fn clients_and_servers_have_an_interface_each_and_keep_their_order() {
    let scene = Scene::new();
    add_link(&scene);
    let packets = conversation();
    for line in [
        "",
        "--client auto --path qdisc",
        "--client ports --rate 20kpps",
    ] {
        let arrived = split(&scene, &packets, line);
        assert_eq!(arrived, packets, "{line}");
    }
    // By address: also a packet that the ports do not tell; what has none is a client's.
    let clients = [IpAddr::from(CLIENT), "fd00::9".parse().expect("an address")];
    let is_client = |frame: &[u8]| {
        let summary = wire::dissect(1, frame);
        let source = summary.addresses().map(|addresses| addresses.0);
        source.is_none_or(|source| clients.contains(&source))
    };
    let expected: Vec<_> = packets
        .iter()
        .map(|(_, frame)| (is_client(frame), frame.clone()))
        .collect();
    assert_ne!(expected, packets);
    let line = "--client 10.0.0.8/30 --client fd00::9 --rate 20kpps";
    assert_eq!(split(&scene, &packets, line), expected);
}

/// Flows whose server has the higher port, or the same one: the SYN or the query says who the client is.
#[test]
fn who_opens_a_flow_is_its_client_whatever_the_ports() {
    let scene = Scene::new();
    add_link(&scene);
    let to_server = || Frame::ethernet(MACS[0], MACS[1]).ipv4(CLIENT, SERVER);
    let to_client = || Frame::ethernet(MACS[1], MACS[0]).ipv4(SERVER, CLIENT);
    let tcp = |source_port, destination_port, flags| TcpFields {
        source_port,
        destination_port,
        flags,
        ..TcpFields::default()
    };
    let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
    let query = [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let response = [0, 1, 0x81, 0x80, 0, 0, 0, 0, 0, 0, 0, 0];
    let packets = [
        // A packet of the flow before its SYN, as when the capture begins within a connection with the same ports.
        (true, to_server().tcp(tcp(1025, 40_000, ack)).payload(b"a")),
        (true, to_server().tcp(tcp(1025, 40_000, syn)).payload(b"")),
        (
            false,
            to_client().tcp(tcp(40_000, 1025, syn | ack)).payload(b""),
        ),
        (false, to_client().tcp(tcp(40_000, 1025, ack)).payload(b"b")),
        // Only the SYN-ACK was recorded.
        (
            false,
            to_client().tcp(tcp(50_000, 2000, syn | ack)).payload(b""),
        ),
        (true, to_server().tcp(tcp(2000, 50_000, ack)).payload(b"c")),
        // A name server that asks another one.
        (true, to_server().udp(53, 53).payload(&query)),
        (false, to_client().udp(53, 53).payload(&response)),
        (true, to_server().udp(20, 53).payload(&query)),
        (false, to_client().udp(53, 20).payload(&response)),
        // Nothing says more than the ports.
        (true, to_server().tcp(tcp(3000, 80, ack)).payload(b"d")),
    ];
    assert_eq!(split(&scene, &packets, ""), packets);
    // By the ports the client has the higher one, or the lower address.
    let by_ports = split(&scene, &packets, "--client ports");
    let is_near: Vec<_> = by_ports.iter().map(|(is_near, _)| *is_near).collect();
    let expected = [
        false, false, true, true, true, false, false, true, false, true, true,
    ];
    assert_eq!(is_near, expected);
}

#[test]
fn both_interfaces_are_checked() {
    let scene = Scene::new();
    let file = scene.write("none.pcap", crate::support::files::pcap(&[0]));
    let send = |line: &str| spawn(tapline(&scene.left, &format!("send {line} -r {file}"))).finish();
    let absent = send("-i left0 --split none");
    assert!(absent.refusal(1).contains("No such device"), "{absent:?}");
    add_link(&scene);
    ip(&scene.left, "link set left1 down");
    assert_eq!(
        send("-i left0 --split left1").refusal(1),
        "interface left1 is down"
    );
    ip(&scene.left, "link set left1 up");
    ip(&scene.left, "route add default dev left1");
    let uplink = send("-i left0 --split left1");
    assert!(
        uplink
            .refusal(2)
            .starts_with("interface left1 is an uplink: ")
    );
    let text = send("-i left0 --split left1 --yes-on-uplink");
    text.exit(0);
    text.assert_says("  1 of clients, 0 of servers");
    for wrong in [
        "-i left0 --client auto",
        "-w x --split left1",
        "-i left0 --split left1 --client 10.0.0.0/40",
    ] {
        send(wrong).refusal(2);
    }
}
