//! Lines of packets whose fields are known.

mod tshark;

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::Value;
use tapline::file::model::{Direction, LinkType, Packet};
use tapline::packet::build::{Extension, Frame};
use tapline::packet::protocol::ip;
use tapline::packet::{
    ArpFields, ArpOperation, FragmentFields, Icmpv4Fields, Ipv4Fields, Ipv6Fields,
};
use tapline::packet::{MacAddress, TcpFields, TcpFlags};

use super::{LineOptions, write_json, write_line};

const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const A4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// 2026-11-21 12:34:56.789012345 UTC, as `date -ud @1795264496` says.
const TIME_NS: u64 = 1_795_264_496_789_012_345;

fn options() -> LineOptions {
    LineOptions {
        time_zone: TimeZone::UTC,
        ..LineOptions::default()
    }
}

fn text_of(packet: &Packet<'_>, link_type: LinkType) -> String {
    let mut out = String::new();
    write_line(&mut out, packet, link_type, "eth0", &options());
    out
}

fn json_of(packet: &Packet<'_>, link_type: LinkType, interface: &str) -> Value {
    let mut out = String::new();
    write_json(&mut out, packet, link_type, interface);
    assert!(out.ends_with("}\n") && out.lines().count() == 1, "{out:?}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// The line of an Ethernet frame that came in, from behind the direction.
fn line(frame: &[u8]) -> String {
    let packet = Packet {
        direction: Some(Direction::In),
        ..Packet::new(TIME_NS, frame)
    };
    let text = text_of(&packet, LinkType::ETHERNET);
    let rest = text.strip_prefix("12:34:56.789012345 eth0 in  ");
    rest.expect("time, interface and direction lead").to_owned()
}

fn segment() -> TcpFields {
    TcpFields {
        source_port: 443,
        destination_port: 51512,
        sequence: 1,
        acknowledgment: 1,
        flags: TcpFlags::SYN | TcpFlags::ACK,
        window: 64240,
        ..TcpFields::default()
    }
}

#[test]
fn tcp_and_udp_show_ports() {
    let v4 = || Frame::ethernet(A, B).ipv4(A4, B4);
    let v6 = || Frame::ethernet(A, B).ipv6(A6, B6);
    assert_eq!(
        line(&v4().tcp(segment()).payload(&[0; 1460])),
        "10.0.0.1:443 > 10.0.0.2:51512 TCP 1514 [S.] seq 1 ack 1 win 64240\n"
    );
    let without_ack = TcpFields {
        flags: TcpFlags::RST,
        ..segment()
    };
    assert_eq!(
        line(&v6().tcp(without_ack).payload(&[])),
        "[2001:db8::1]:443 > [2001:db8::2]:51512 TCP 74 [R] seq 1 win 64240\n"
    );
    assert_eq!(
        line(&v4().udp(5353, 53).payload(b"?")),
        "10.0.0.1:5353 > 10.0.0.2:53 UDP 43\n"
    );
}

#[test]
fn icmp_shows_what_it_is_about() {
    let v4 = || Frame::ethernet(A, B).ipv4(A4, B4);
    let v6 = || Frame::ethernet(A, B).ipv6(A6, B6);
    let icmp = |kind, code| Icmpv4Fields {
        kind,
        code,
        ..Icmpv4Fields::default()
    };
    assert_eq!(
        line(&v4().echo_request(5, 6).payload(&[0; 56])),
        "10.0.0.1 > 10.0.0.2 ICMP 98 echo request id 5 seq 6\n"
    );
    assert_eq!(
        line(&v4().icmp(icmp(3, 3)).payload(&[])),
        "10.0.0.1 > 10.0.0.2 ICMP 42 port unreachable\n"
    );
    assert_eq!(
        line(&v4().icmp(icmp(200, 7)).payload(&[])),
        "10.0.0.1 > 10.0.0.2 ICMP 42 type 200 code 7\n"
    );
    assert_eq!(
        line(&v6().echo_request(5, 6).payload(&[])),
        "2001:db8::1 > 2001:db8::2 ICMPv6 62 echo request id 5 seq 6\n"
    );
    assert_eq!(
        line(&v6().icmp(icmp(135, 0)).payload(&B6.octets())),
        "2001:db8::1 > 2001:db8::2 ICMPv6 78 neighbour solicitation 2001:db8::2\n"
    );
}

#[test]
fn arp_asks_and_answers() {
    let mut arp = ArpFields {
        operation: ArpOperation::REQUEST,
        sender_mac: A,
        sender_ip: A4,
        target_mac: MacAddress::ZERO,
        target_ip: B4,
    };
    assert_eq!(
        line(&Frame::ethernet(A, MacAddress::BROADCAST).arp(&arp)),
        "02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff ARP 42 who-has 10.0.0.2 tell 10.0.0.1\n"
    );
    arp.operation = ArpOperation::REPLY;
    assert_eq!(
        line(&Frame::ethernet(A, B).vlan(7).arp(&arp)),
        "02:00:00:00:00:01 > 02:00:00:00:00:02 ARP 46 10.0.0.1 is-at 02:00:00:00:00:01 vlan 7\n"
    );
}

#[test]
fn other_protocols_show_their_number() {
    let v4 = Frame::ethernet(A, B).ipv4(A4, B4);
    assert_eq!(
        line(&v4.payload(89, &[0; 10])),
        "10.0.0.1 > 10.0.0.2 protocol 89 44\n"
    );
    assert_eq!(
        line(&Frame::ethernet(A, B).payload(0x88cc, &[0; 10])),
        "02:00:00:00:00:01 > 02:00:00:00:00:02 ethertype 0x88cc 24\n"
    );
    assert_eq!(
        line(&Frame::ethernet(A, B).payload(38, &[0; 38])),
        "02:00:00:00:00:01 > 02:00:00:00:00:02 802.3 52\n"
    );
    let packet = Packet::new(TIME_NS, &[1, 2, 3]);
    assert_eq!(
        text_of(&packet, LinkType(147)),
        "12:34:56.789012345 eth0 -   - > - link type 147 3\n"
    );
}

#[test]
fn tags_fragments_and_cuts_follow() {
    let tagged = Frame::ethernet(A, B).service_vlan(100).vlan(7).ipv4(A4, B4);
    let frame = tagged.tcp(segment()).payload(&[]);
    assert_eq!(
        line(&frame),
        "10.0.0.1:443 > 10.0.0.2:51512 TCP 62 [S.] seq 1 ack 1 win 64240 vlan 100 vlan 7\n"
    );
    assert_eq!(
        line(&frame[..50]),
        "10.0.0.1 > 10.0.0.2 TCP 50 vlan 100 vlan 7 [truncated]\n"
    );
    assert_eq!(line(&frame[..5]), "- > - link type 1 5 [truncated]\n");
    let fields = Ipv4Fields {
        identification: 0x1234,
        fragment_offset: 1480,
        more_fragments: true,
        ..Ipv4Fields::new(A4, B4)
    };
    assert_eq!(
        line(
            &Frame::ethernet(A, B)
                .ipv4_with(fields)
                .payload(ip::UDP, &[0; 8])
        ),
        "10.0.0.1 > 10.0.0.2 UDP 42 fragment 0x1234@1480+\n"
    );
    let last = FragmentFields {
        offset: 8,
        identification: 0xabcd,
        ..FragmentFields::default()
    };
    let extensions = [Extension::Fragment(last)];
    let frame = Frame::ethernet(A, B).ipv6_with(Ipv6Fields::new(A6, B6), &extensions);
    assert_eq!(
        line(&frame.payload(ip::TCP, &[0; 8])),
        "2001:db8::1 > 2001:db8::2 TCP 70 fragment 0xabcd@8\n"
    );
    let mut frame = Frame::ethernet(A, B).ipv4(A4, B4).udp(1, 2).payload(&[]);
    frame[14] = 0x44;
    assert_eq!(line(&frame), "10.0.0.1 > 10.0.0.2 UDP 42 [malformed]\n");
}

#[test]
fn cooked_and_bare_packets_show_the_same() {
    let bare = Frame::raw().ipv4(A4, B4).udp(1, 2).payload(&[]);
    let expected = "10.0.0.1:1 > 10.0.0.2:2 UDP";
    let v1 = [&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0], &bare[..]].concat();
    let v2 = [
        &[8, 0, 0, 0, 0, 0, 0, 9, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0],
        &bare[..],
    ]
    .concat();
    let loopback = [&[2, 0, 0, 0], &bare[..]].concat();
    for (bytes, link_type, direction) in [
        (&bare, LinkType::RAW, "-  "),
        (&loopback, LinkType::NULL, "-  "),
        (&v1, LinkType::LINUX_SLL, "out"),
        (&v2, LinkType::LINUX_SLL2, "out"),
    ] {
        let text = text_of(&Packet::new(TIME_NS, bytes), link_type);
        let length = bytes.len();
        assert_eq!(
            text,
            format!("12:34:56.789012345 eth0 {direction} {expected} {length}\n")
        );
    }
}

#[test]
fn the_clock_on_the_wall_is_shown() {
    let mut out = String::new();
    let options = LineOptions {
        fraction_digits: 6,
        time_zone: TimeZone::get("Asia/Kolkata").unwrap(),
    };
    let packet = Packet::new(TIME_NS, &[]);
    write_line(&mut out, &packet, LinkType::RAW, "", &options);
    // Kolkata is 5 h 30 min ahead of UTC.
    assert!(out.starts_with("18:04:56.789012 - -   "), "{out}");
    let timeless = Packet {
        timestamp_ns: None,
        ..packet
    };
    assert!(text_of(&timeless, LinkType::RAW).starts_with("- eth0 -   "));
}

#[test]
fn an_object_has_the_packets_fields() {
    let frame = Frame::ethernet(A, B).service_vlan(100).vlan(7).ipv4(A4, B4);
    let frame = frame.tcp(segment()).payload(&[]);
    let packet = Packet {
        direction: Some(Direction::Out),
        original_len: 9000,
        ..Packet::new(TIME_NS, &frame)
    };
    let expected = serde_json::json!({
        "event": "packet", "time_ns": TIME_NS, "interface": "eth0", "direction": "out",
        "bytes": 62, "original_bytes": 9000,
        "src": "10.0.0.1", "dst": "10.0.0.2", "src_port": 443, "dst_port": 51512,
        "protocol": "tcp", "src_mac": "02:00:00:00:00:01", "dst_mac": "02:00:00:00:00:02",
        "ethertype": 0x0800, "vlans": [100, 7], "ip_protocol": 6,
        "tcp_flags": "S.", "seq": 1, "ack": 1, "window": 64240,
    });
    assert_eq!(json_of(&packet, LinkType::ETHERNET, "eth0"), expected);
}

#[test]
fn a_name_from_a_file_cannot_steer_the_terminal() {
    let name = "e\u{1b}[2J\r\n\u{202e}\u{9b}\" \u{1f980}0";
    let packet = Packet::new(TIME_NS, &[]);
    let mut out = String::new();
    write_line(&mut out, &packet, LinkType::RAW, name, &options());
    assert!(
        out.starts_with("12:34:56.789012345 e?[2J????\"??0 - "),
        "{out:?}"
    );
    assert_eq!(json_of(&packet, LinkType::RAW, name)["interface"], name);
    out.clear();
    write_json(&mut out, &packet, LinkType::RAW, name);
    assert!(
        out.trim_end()
            .chars()
            .all(|c| c.is_ascii_graphic() || c == ' '),
        "{out:?}"
    );
}

#[test]
fn lines_in_grown_text_allocate_nothing() {
    let frame = Frame::ethernet(A, B).vlan(7).ipv6(A6, B6).tcp(segment());
    let frame = frame.payload(&[0; 100]);
    let packet = Packet::new(TIME_NS, &frame);
    let options = LineOptions::default();
    let mut out = String::with_capacity(4096);
    let measured = allocation_counter::measure(|| {
        write_line(&mut out, &packet, LinkType::ETHERNET, "eth0", &options);
        write_json(&mut out, &packet, LinkType::ETHERNET, "eth0");
    });
    assert_eq!(measured.count_total, 0);
}

proptest! {
    #[test]
    fn any_packet_is_one_harmless_line(
        link_type in proptest::sample::select(vec![0_u16, 1, 101, 108, 113, 147, 228, 229, 276]),
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        timestamp_ns: Option<u64>,
        original_len: u32,
    ) {
        let packet = Packet { timestamp_ns, original_len, ..Packet::new(0, &bytes) };
        let text = text_of(&packet, LinkType(link_type));
        let body = text.strip_suffix('\n').unwrap();
        prop_assert!(body.chars().all(|c| c.is_ascii_graphic() || c == ' '), "{text:?}");
        json_of(&packet, LinkType(link_type), "eth0");
    }
}
