//! Terms with `any` and `inner`. Compared with tshark's dissectors, with the way the frames were built, and the engines
//! with each other.

mod corpus;
mod frames;
mod tshark;

use crate::corpus::packets::Packet;
use crate::engines::assert_alike;
use frames::{Frame, behind, ethernet, ipv4, ipv6, tcp, tunnelled};
use std::process::Command;
use tapline_filter::classic::Ancillary;
use tapline_filter::{Filter, FilterError, FilterOptions, LinkType, NoNames};
use tshark::Tshark;

/// Filters, and the display filters that find the same in every layer.
const SAME: [(&str, &str); 14] = [
    (
        "any port 80",
        "tcp.port == 80 || udp.port == 80 || sctp.port == 80",
    ),
    ("any tcp port 80", "tcp.port == 80"),
    ("any udp dst port 53", "udp.dstport == 53"),
    (
        "any src portrange 40000-41000",
        "tcp.srcport in {40000..41000} || udp.srcport in {40000..41000} || sctp.srcport in {40000..41000}",
    ),
    ("any sctp", "sctp"),
    (
        "any host 10.0.0.1",
        "ip.addr == 10.0.0.1 || arp.src.proto_ipv4 == 10.0.0.1 || arp.dst.proto_ipv4 == 10.0.0.1",
    ),
    (
        "any src host 10.0.0.1",
        "ip.src == 10.0.0.1 || arp.src.proto_ipv4 == 10.0.0.1",
    ),
    ("any ip net 10.0.0.0/8", "ip.addr == 10.0.0.0/8"),
    ("any host fd02::1", "ipv6.addr == fd02::1"),
    ("any dst net fd00::/8", "ipv6.dst == fd00::/8"),
    ("any tcp", "tcp"),
    ("any udp", "udp"),
    ("any ip", "ip"),
    ("any ip6", "ipv6"),
];

/// Parts of frames behind which tshark finds nothing, and why.
const NOT_FOR_TSHARK: [(&str, &str); 5] = [
    (
        "| gre | vlan |",
        "GRE: no dissector for VLAN tags in the table gre.proto",
    ),
    ("| gre | qinq |", "the same"),
    ("| gre | 4 tags |", "the same"),
    ("| gre | vlan, mpls |", "the same"),
    (
        "| gre | pppoe |",
        "GRE: no dissector for PPPoE sessions in the table gre.proto",
    ),
];

fn compile(text: &str) -> Result<Filter, FilterError> {
    Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames)
}

fn accepts(filter: &Filter, bytes: &[u8]) -> bool {
    filter.run(bytes, bytes.len() as u32, &Ancillary::default()) != 0
}

#[test]
fn every_combination_of_headers_is_searched_as_tshark_does() {
    let frames = frames::all();
    let packets: Vec<Packet> = frames.iter().map(Frame::packet).collect();
    assert!(frames.len() > 5000, "{}", frames.len());
    let tshark = Tshark::new(&packets);
    for (text, display) in SAME {
        let filter = compile(text).unwrap();
        let theirs = tshark.accepts(display);
        let mut differences = Vec::new();
        for (frame, theirs) in frames.iter().zip(&theirs) {
            let ours = accepts(&filter, &frame.bytes);
            let is_known = NOT_FOR_TSHARK
                .iter()
                .any(|(part, _)| frame.name.contains(part));
            if ours != *theirs && !(ours && is_known) {
                differences.push(format!("{} tshark: {theirs}", frame.name));
            }
        }
        let found = theirs.iter().filter(|accepted| **accepted).count();
        assert!(found > 0, "{text}");
        assert!(
            differences.is_empty(),
            "{text}: {} of {}: {:#?}",
            differences.len(),
            frames.len(),
            &differences[..differences.len().min(12)]
        );
    }
}

#[test]
fn inner_finds_only_what_is_in_a_tunnel() {
    let frames = frames::all();
    for (text, part) in [
        ("inner tcp port 80", "tcp 80"),
        ("inner udp port 53", "udp 53"),
        ("inner tcp", "tcp "),
    ] {
        let filter = compile(text).unwrap();
        for Frame {
            name,
            bytes,
            is_tunnelled,
        } in &frames
        {
            let expected =
                *is_tunnelled && name.ends_with(part) | name.contains(&format!("| {part}"));
            assert_eq!(accepts(&filter, bytes), expected, "{text}: {name}");
        }
    }
    let filter = compile("inner net 192.0.2.0/24").unwrap();
    assert!(frames.iter().all(|frame| !accepts(&filter, &frame.bytes)));
}

#[test]
fn packets_with_more_headers_than_the_limits_do_not_match() {
    let packet = |port| ipv4(&tcp(port), frames::INNER4);
    let nested = |tunnels: usize| {
        (0..tunnels).fold(packet(80), |inner, _| {
            ipv4(&tunnelled("vxlan", "", &inner).unwrap(), frames::OUTER4)
        })
    };
    let filter = compile("any port 80").unwrap();
    for (tunnels, expected) in [(0, true), (1, true), (2, true), (3, false)] {
        assert_eq!(
            accepts(&filter, &ethernet(&nested(tunnels))),
            expected,
            "{tunnels}"
        );
    }
    let tags = |count: usize| (0..count).fold(packet(80), |packet, _| behind("vlan", &packet));
    let chain = |count: usize| ipv6(&vec![60; count], &tcp(80), 1);
    for (most, frame) in [(4, &tags as &dyn Fn(usize) -> (u16, Vec<u8>)), (6, &chain)] {
        assert!(accepts(&filter, &ethernet(&frame(most))), "{most}");
        assert!(!accepts(&filter, &ethernet(&frame(most + 1))), "{most}");
    }
}

#[test]
fn truncated_frames_have_one_verdict_in_every_engine() {
    let frames: Vec<Vec<u8>> = frames::all()
        .into_iter()
        .step_by(97)
        .map(|frame| frame.bytes)
        .collect();
    let others = [
        "not any port 80",
        "any icmp or inner proto 44",
        "any ip6 proto 60",
        "inner host 10.0.0.1 and any port 443",
        "any port 80 or port 53",
        "vlan and any tcp",
        "mpls and any port 80",
        "vxlan and inner port 80",
        "any port 80 and any port 443 and inner tcp and any host 10.0.0.1",
    ];
    for text in SAME.iter().map(|pair| pair.0).chain(others) {
        assert_alike(&compile(text).unwrap(), text, &frames);
    }
}

#[test]
fn alternatives_share_one_search() {
    let size = |text: &str| {
        compile(text)
            .unwrap()
            .classic()
            .unwrap()
            .instructions()
            .len()
    };
    let one = size("any host 10.0.0.1");
    let many = (1..10)
        .map(|last| format!("any host 10.0.0.{last}"))
        .collect::<Vec<_>>()
        .join(" or ");
    assert!(size(&many) < one * 3 / 2, "{} {one}", size(&many));
    let inherited = compile("any host 10.0.0.1 or 10.0.0.7").unwrap();
    assert_eq!(
        inherited.tree().to_string(),
        "or\n  any host 10.0.0.1\n  any host 10.0.0.7\n"
    );
}

#[test]
fn the_words_are_still_names_where_names_were_valid() {
    let table = crate::corpus::names::Table;
    for text in [
        "host any",
        "src any",
        "host inner or any",
        "host (any or inner)",
        "host any and inner",
    ] {
        let error = Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &table).err();
        let reason = error
            .map(|error| error.reason.to_string())
            .unwrap_or_default();
        assert!(reason.starts_with("unknown host '"), "{text}: {reason}");
    }
}

#[test]
fn what_any_does_not_apply_to_is_an_error() {
    for (text, expected) in [
        (
            "any ether host 02:00:00:00:00:01",
            "column 1: 'any' does not apply to 'ether', only to hosts, networks, ports and protocols over IP",
        ),
        (
            "inner stp",
            "column 1: 'inner' does not apply to 'stp', only to hosts, networks, ports and protocols over IP",
        ),
        (
            "any ip protochain 6",
            "column 1: 'any' does not apply to 'protochain', only to hosts, networks, ports and protocols over IP",
        ),
        (
            "inner inner",
            "column 7: expected a protocol, \"src\", \"dst\", \"host\", \"net\", \"port\", \"portrange\" or \"proto\", found \"inner\"",
        ),
        (
            "any",
            "column 4: expected a protocol, \"src\", \"dst\", \"host\", \"net\", \"port\", \"portrange\" or \"proto\", found the end",
        ),
        (
            "any 10.0.0.1",
            "column 5: expected a protocol, \"src\", \"dst\", \"host\", \"net\", \"port\", \"portrange\" or \"proto\", found \"10.0.0.1\" (did you mean \"host\"?)",
        ),
        (
            "any tcp[13] = 2",
            "column 8: expected \"and\", \"or\" or the end, found \"[\"",
        ),
        (
            "any ip port 80",
            "column 1: 'ip' is not a valid qualifier for 'port'",
        ),
    ] {
        assert_eq!(compile(text).err().unwrap().to_string(), expected);
    }
}

#[test]
fn the_words_of_tapline_are_told_apart_as_libpcap_rejects_them() {
    for (text, own) in [
        ("host 10.0.0.1 and port 80", &[] as &[&str]),
        ("not (any port 80) or any tcp", &["any"]),
        ("inner tcp and any host 10.0.0.1", &["inner", "any"]),
    ] {
        assert_eq!(compile(text).unwrap().own_words(), own);
        let output = Command::new("tcpdump")
            .args(["-y", "EN10MB", "-d", text])
            .output()
            .unwrap();
        assert_eq!(output.status.success(), own.is_empty(), "{text}");
    }
}
