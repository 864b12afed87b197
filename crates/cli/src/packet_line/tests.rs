//! Lines of packets whose fields are known.

mod corpus;
mod decoded;
mod facts;
mod serial;
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

use super::LineOptions;
use super::buffer::Text;
use super::json::write_json;
use super::options::{Dump, DumpForm, TimeStyle};
use super::text::LineWriter;

const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const A4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// 2026-11-21 12:34:56.789012345 UTC, as `date -ud @1795264496` says.
const TIME_NS: u64 = 1_795_264_496_789_012_345;

const HEX_ASCII: Dump = Dump {
    form: DumpForm::HexAscii,
    link: false,
};

fn options() -> LineOptions {
    LineOptions {
        time_zone: Some(TimeZone::UTC),
        ..LineOptions::default()
    }
}

fn text_of(packet: &Packet<'_>, link_type: LinkType) -> String {
    lines_of(&[*packet], link_type, "eth0", options())
}

/// The lines of `packets` by one writer.
fn lines_of(
    packets: &[Packet<'_>],
    link_type: LinkType,
    interface: &str,
    options: LineOptions,
) -> String {
    let mut out = Text::default();
    let mut lines = LineWriter::new(options);
    for packet in packets {
        lines.write(&mut out, packet, link_type, interface);
    }
    text(&out)
}

fn text(out: &Text) -> String {
    String::from_utf8(out.as_bytes().to_vec()).expect("text")
}

fn json_of(packet: &Packet<'_>, link_type: LinkType, interface: &str) -> Value {
    let mut out = Text::default();
    write_json(&mut out, packet, link_type, interface);
    let out = text(&out);
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
        "10.0.0.1:443 > 10.0.0.2:51512 TCP 1514 [S.] seq 1 ack 1 win 64240 len 1460\n"
    );
    let without_ack = TcpFields {
        flags: TcpFlags::RST,
        ..segment()
    };
    assert_eq!(
        line(&v6().tcp(without_ack).payload(&[])),
        "[2001:db8::1]:443 > [2001:db8::2]:51512 TCP 74 [R] seq 1 win 64240 len 0\n"
    );
    assert_eq!(
        line(&v4().udp(5000, 5001).payload(b"?")),
        "10.0.0.1:5000 > 10.0.0.2:5001 UDP 43 len 1\n"
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
        line(&v4.payload(253, &[0; 10])),
        "10.0.0.1 > 10.0.0.2 protocol 253 44\n"
    );
    assert_eq!(
        line(&Frame::ethernet(A, B).payload(0x88b5, &[0; 10])),
        "02:00:00:00:00:01 > 02:00:00:00:00:02 ethertype 0x88b5 24\n"
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
        "10.0.0.1:443 > 10.0.0.2:51512 TCP 62 [S.] seq 1 ack 1 win 64240 len 0 vlan 100 vlan 7\n"
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
            format!("12:34:56.789012345 eth0 {direction} {expected} {length} len 0\n")
        );
    }
}

#[test]
fn the_clock_on_the_wall_is_shown() {
    let options = LineOptions {
        fraction_digits: 6,
        time_zone: Some(TimeZone::get("Asia/Kolkata").unwrap()),
        ..LineOptions::default()
    };
    let packet = Packet::new(TIME_NS, &[]);
    let out = lines_of(&[packet], LinkType::RAW, "", options);
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
    let out = lines_of(&[packet], LinkType::RAW, name, options());
    assert!(
        out.starts_with("12:34:56.789012345 e?[2J????\"??0 - "),
        "{out:?}"
    );
    assert_eq!(json_of(&packet, LinkType::RAW, name)["interface"], name);
    let mut out = Text::default();
    write_json(&mut out, &packet, LinkType::RAW, name);
    let out = text(&out);
    assert!(
        out.trim_end()
            .chars()
            .all(|c| c.is_ascii_graphic() || c == ' '),
        "{out:?}"
    );
}

#[test]
fn lines_in_grown_text_allocate_nothing() {
    let tcp = Frame::ethernet(A, B).vlan(7).ipv6(A6, B6).tcp(segment());
    let tcp = tcp.payload(&[0; 100]);
    let dns = Frame::ethernet(A, B).ipv4(A4, B4).udp(53, 5000);
    let dns = dns.payload(decoded::ANSWER);
    for frame in [tcp, dns] {
        let packet = Packet::new(TIME_NS, &frame);
        let mut lines = LineWriter::new(LineOptions {
            link_header: true,
            verbosity: 2,
            dump: Some(HEX_ASCII),
            ..LineOptions::default()
        });
        let mut out = Text::with_capacity(8192);
        // The time of the second is kept in text that grows once.
        lines.write(&mut out, &packet, LinkType::ETHERNET, "eth0");
        let measured = allocation_counter::measure(|| {
            lines.write(&mut out, &packet, LinkType::ETHERNET, "eth0");
            write_json(&mut out, &packet, LinkType::ETHERNET, "eth0");
        });
        assert_eq!(measured.count_total, 0);
    }
}

#[test]
fn times_are_shown_as_tcpdump_does() {
    let second = 1_000_000_000;
    let times = [TIME_NS, TIME_NS + second / 4, TIME_NS - second];
    let packets = times.map(|time| Packet::new(time, &[]));
    for (time, shown) in [
        (TimeStyle::None, ["", "", ""]),
        (
            TimeStyle::Epoch,
            [
                "1795264496.789012345 ",
                "1795264497.039012345 ",
                "1795264495.789012345 ",
            ],
        ),
        (
            TimeStyle::SincePrevious,
            [
                "00:00:00.000000000 ",
                "00:00:00.250000000 ",
                "-00:00:01.250000000 ",
            ],
        ),
        (
            TimeStyle::Date,
            [
                "2026-11-21 12:34:56.789012345 ",
                "2026-11-21 12:34:57.039012345 ",
                "2026-11-21 12:34:55.789012345 ",
            ],
        ),
        (
            TimeStyle::SinceFirst,
            [
                "00:00:00.000000000 ",
                "00:00:00.250000000 ",
                "-00:00:01.000000000 ",
            ],
        ),
    ] {
        let options = LineOptions { time, ..options() };
        let lines = lines_of(&packets, LinkType::RAW, "eth0", options);
        let expected =
            shown.map(|time| format!("{time}eth0 -   - > - link type 101 0 [truncated]\n"));
        assert_eq!(lines, expected.concat(), "{time:?}");
    }
}

#[test]
fn a_line_has_its_number_and_the_link_layer_header() {
    let frame = Frame::ethernet(A, B)
        .vlan(7)
        .ipv4(A4, B4)
        .udp(1, 2)
        .payload(&[]);
    let options = LineOptions {
        number: true,
        link_header: true,
        time: TimeStyle::None,
        ..options()
    };
    let packet = Packet::new(0, &frame);
    let lines = lines_of(&[packet, packet], LinkType::ETHERNET, "eth0", options);
    let line = "eth0 -   02:00:00:00:00:01 > 02:00:00:00:00:02 IPv4 (0x0800): \
                10.0.0.1:1 > 10.0.0.2:2 UDP 46 len 0 vlan 7 p 0\n";
    assert_eq!(lines, format!("    1  {line}    2  {line}"));
}

#[test]
fn colours_are_only_there_when_enabled() {
    let frame = Frame::ethernet(A, B).ipv4(A4, B4).udp(1, 2).payload(&[]);
    let packet = Packet::new(0, &frame[..40]);
    let options = LineOptions {
        color: true,
        ..options()
    };
    let colored = lines_of(&[packet], LinkType::ETHERNET, "eth0", options);
    let plain = text_of(&packet, LinkType::ETHERNET);
    let mut stripped = colored.clone();
    for code in ["0", "1", "2", "1;31"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(stripped, plain);
    assert!(colored.contains("\x1b[1;31m [truncated]\x1b[0m") && !plain.contains('\x1b'));
}

proptest! {
    #[test]
    fn any_packet_is_one_harmless_line(
        link_type in proptest::sample::select(vec![0_u16, 1, 9, 50, 101, 104, 108, 113, 147, 228, 229, 276]),
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        timestamp_ns: Option<u64>,
        original_len: u32,
    ) {
        let packet = Packet { timestamp_ns, original_len, ..Packet::new(0, &bytes) };
        let text = text_of(&packet, LinkType(link_type));
        let body = text.strip_suffix('\n').unwrap();
        prop_assert!(body.chars().all(|c| c.is_ascii_graphic() || c == ' '), "{text:?}");
        corpus::assert_harmless(&packet, LinkType(link_type));
        json_of(&packet, LinkType(link_type), "eth0");
    }
}
