//! What lines say about protocols. The messages were made by other programs, or are examples of the standards.

use tapline::packet::build::Frame;
use tapline::packet::{Icmpv4Fields, MacAddress, TcpFields, TcpFlags};

use super::super::options::{Dump, DumpForm};
use super::{
    A, A4, A6, B, B4, B6, Direction, LineOptions, LinkType, Packet, TIME_NS, line, lines_of,
    options, segment,
};

/// An answer to `dig example.com`: header, question, answer with a compressed name.
pub const ANSWER: &[u8] = b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x07example\x03com\0\0\x01\0\x01\
    \xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\x5d\xb8\xd8\x22";

/// The part of a line behind the addresses.
fn rest(frame: &[u8]) -> String {
    let line = line(frame);
    let (_, rest) = line.split_once(" > ").expect("addresses");
    let (_, rest) = rest.split_once(' ').expect("a protocol");
    rest.trim_end().to_owned()
}

fn udp(source: u16, destination: u16, payload: &[u8]) -> String {
    rest(
        &Frame::ethernet(A, B)
            .ipv4(A4, B4)
            .udp(source, destination)
            .payload(payload),
    )
}

fn tcp(source: u16, payload: &[u8]) -> String {
    let fields = tapline::packet::TcpFields {
        source_port: source,
        ..segment()
    };
    let rest = rest(
        &Frame::ethernet(A, B)
            .ipv4(A4, B4)
            .tcp(fields)
            .payload(payload),
    );
    let start = format!(" len {}", payload.len());
    let (_, rest) = rest.split_once(&start).expect("a length");
    rest.trim_start().to_owned()
}

#[test]
fn dns_shows_names_types_and_answers() {
    let query = [b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0", &ANSWER[12..29]].concat();
    assert_eq!(
        udp(5000, 53, &query),
        "UDP 71 len 29 DNS 4660+ A? example.com."
    );
    let answer = "4660 1/0/0 A? example.com. A 93.184.216.34";
    assert_eq!(udp(53, 5000, ANSWER), format!("UDP 87 len 45 DNS {answer}"));
    assert_eq!(
        udp(5353, 5353, ANSWER),
        format!("UDP 87 len 45 mDNS {answer}")
    );
    let twice = [&[0, 45], ANSWER, &[0, 45], ANSWER].concat();
    assert_eq!(tcp(53, &twice), format!("DNS {answer}; {answer}"));
    // A segment in the middle of a stream.
    assert_eq!(tcp(53, &[0xff; 100]), "");
}

#[test]
fn names_that_loop_end() {
    let mut looped = ANSWER.to_vec();
    // The name of the question points to itself.
    looped[12..14].copy_from_slice(&[0xc0, 12]);
    assert!(udp(53, 5000, &looped).contains("? <invalid>"));
    // Two names that point to each other.
    let mut looped = ANSWER.to_vec();
    looped[12..16].copy_from_slice(&[0xc0, 14, 0xc0, 12]);
    assert!(udp(53, 5000, &looped).contains("? <invalid>"));
}

#[test]
fn text_of_the_packet_is_escaped() {
    let mut answer = ANSWER.to_vec();
    answer[13..16].copy_from_slice(b"\x1b[.");
    assert!(udp(53, 5000, &answer).contains("A? \\027[\\.mple.com."));
    let request = b"GET /\x1b]0;owned\x07 HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(tcp(5000, request), r"HTTP GET /\x1b]0;owned\x07 HTTP/1.1");
}

#[test]
fn http_shows_its_first_line() {
    assert_eq!(
        tcp(80, b"HTTP/1.1 200 OK\r\n\r\n<html>"),
        "HTTP HTTP/1.1 200 OK"
    );
    assert_eq!(
        tcp(5000, b"POST /form HTTP/1.0\n\n"),
        "HTTP POST /form HTTP/1.0"
    );
    // Other protocols with such words.
    assert_eq!(tcp(5000, b"OPTIONS sip:a@b SIP/2.0\r\n"), "");
    assert_eq!(tcp(5000, b"GETTING started\r\n"), "");
}

#[test]
fn tls_shows_the_server_name() {
    // Version, random, no session, one cipher, no compression; extensions: server name, ALPN.
    let name = b"\0\0\0\x10\0\x0e\0\0\x0bexample.com";
    let alpn = b"\0\x10\0\x0e\0\x0c\x02h2\x08http/1.1";
    let mut hello = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    hello.extend_from_slice(&((name.len() + alpn.len()) as u16).to_be_bytes());
    hello.extend_from_slice(name);
    hello.extend_from_slice(alpn);
    let message = [&[1, 0, 0, hello.len() as u8][..], &hello].concat();
    let record = [&[22, 3, 1, 0, message.len() as u8][..], &message].concat();
    assert_eq!(
        tcp(5000, &record),
        "TLS ClientHello sni example.com alpn h2,http/1.1"
    );
    assert_eq!(tcp(5000, &record[..60]), "TLS ClientHello");
    assert_eq!(tcp(443, &[23, 3, 3, 1, 0, 0xaa]), "TLS ApplicationData");
}

#[test]
fn quic_shows_its_version() {
    // The client's Initial of RFC 9001, A.2.
    let initial = b"\xc0\0\0\0\x01\x08\x83\x94\xc8\xf0\x3e\x51\x57\x08\0\0\x44\x9e";
    assert_eq!(
        udp(5000, 443, initial),
        "UDP 60 len 18 QUIC v1 Initial dcid 8394c8f03e515708"
    );
}

#[test]
fn icmp_errors_show_the_packet_that_they_quote() {
    let quoted = Frame::raw().ipv4(B4, A4).tcp(segment()).payload(&[]);
    let icmp = |kind, code, parameter| Icmpv4Fields {
        kind,
        code,
        parameter,
        checksum: 0,
    };
    let error = |fields| {
        rest(
            &Frame::ethernet(A, B)
                .ipv4(A4, B4)
                .icmp(fields)
                .payload(&quoted[..28]),
        )
    };
    assert_eq!(
        error(icmp(3, 1, [0; 4])),
        "ICMP 70 host unreachable for 10.0.0.2:443 > 10.0.0.1:51512 TCP"
    );
    assert_eq!(
        error(icmp(3, 4, [0, 0, 5, 0x78])),
        "ICMP 70 fragmentation needed mtu 1400 for 10.0.0.2:443 > 10.0.0.1:51512 TCP"
    );
    assert_eq!(
        error(icmp(5, 0, [10, 0, 0, 9])),
        "ICMP 70 redirect to 10.0.0.9 for 10.0.0.2:443 > 10.0.0.1:51512 TCP"
    );
}

#[test]
fn tunnels_show_the_packet_inside() {
    let inner = Frame::ethernet(B, A)
        .ipv4(B4, A4)
        .echo_request(5, 6)
        .payload(&[]);
    let shown = "10.0.0.2 > 10.0.0.1 ICMP echo request id 5 seq 6";
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &inner].concat();
    assert_eq!(
        udp(5000, 4789, &vxlan),
        format!("UDP 92 len 50 VXLAN vni 42 | {shown}")
    );
    let geneve = [&[0, 0, 0x65, 0x58, 0, 0, 42, 0][..], &inner].concat();
    assert_eq!(
        udp(5000, 6081, &geneve),
        format!("UDP 92 len 50 Geneve vni 42 | {shown}")
    );
    let in_ip = |protocol, payload: &[u8]| {
        rest(
            &Frame::ethernet(A, B)
                .ipv4(A4, B4)
                .payload(protocol, payload),
        )
    };
    let gre = [&[0x20, 0, 8, 0, 0, 0, 0, 9][..], &inner[14..]].concat();
    assert_eq!(in_ip(47, &gre), format!("GRE 70 key 9 IPv4 | {shown}"));
    assert_eq!(in_ip(4, &inner[14..]), format!("IPv4 62 | {shown}"));
    let labels = [&[0, 6, 0x40, 64, 0, 7, 1, 63][..], &inner[14..]].concat();
    assert_eq!(
        rest(&Frame::ethernet(A, B).payload(0x8847, &labels)),
        format!("MPLS 50 label 100 ttl 64 label 112 ttl 63 | {shown}")
    );
    assert_eq!(in_ip(47, &gre[..6]), "GRE 40 [truncated]");
}

#[test]
fn nesting_ends() {
    let mut packet = Frame::raw().ipv4(A4, B4).payload(4, &[]);
    for _ in 0..10 {
        packet = Frame::raw().ipv4(A4, B4).payload(4, &packet);
    }
    let line = lines_of(&[Packet::new(0, &packet)], LinkType::RAW, "eth0", options());
    assert_eq!(line.matches('|').count(), 5, "{line}");
    assert!(line.ends_with(" | ...\n"), "{line}");
}

#[test]
fn neighbour_discovery_shows_its_options() {
    let icmp = |kind| Icmpv4Fields {
        kind,
        ..Icmpv4Fields::default()
    };
    let solicitation = [&B6.octets()[..], &[1, 1, 2, 0, 0, 0, 0, 1]].concat();
    let frame = Frame::ethernet(A, B)
        .ipv6(A6, B6)
        .icmp(icmp(135))
        .payload(&solicitation);
    assert_eq!(
        rest(&frame),
        format!("ICMPv6 86 neighbour solicitation {B6} lladdr {A}")
    );
    assert_eq!(A, MacAddress([2, 0, 0, 0, 0, 1]));
}

#[test]
fn verbose_lines_show_the_ip_header_and_wrong_checksums() {
    let mut frame = Frame::ethernet(A, B).ipv4(A4, B4).udp(1, 2).payload(b"?");
    let verbose = |frame: &[u8]| {
        let options = LineOptions {
            verbosity: 1,
            ..options()
        };
        lines_of(
            &[Packet::new(0, frame)],
            LinkType::ETHERNET,
            "eth0",
            options,
        )
    };
    let line = verbose(&frame);
    assert!(
        line.ends_with("UDP 43 len 1 (ttl 64, id 0, tos 0x0, length 29)\n"),
        "{line}"
    );
    let end = frame.len() - 1;
    frame[end] ^= 1;
    let line = verbose(&frame);
    assert!(line.ends_with("length 29) [bad checksum]\n"), "{line}");
}

#[test]
fn brief_lines_end_with_the_length() {
    let frame = Frame::ethernet(A, B)
        .ipv4(A4, B4)
        .tcp(segment())
        .payload(b"GET / HTTP/1.1\r\n");
    let options = LineOptions {
        brief: true,
        ..options()
    };
    let line = lines_of(
        &[Packet::new(0, &frame)],
        LinkType::ETHERNET,
        "eth0",
        options,
    );
    assert!(
        line.ends_with("10.0.0.1:443 > 10.0.0.2:51512 TCP 70\n"),
        "{line}"
    );
}

#[test]
fn a_dump_as_text_cannot_forge_a_line() {
    let payload = b"a\r\n12:00:00 eth0 in  forged\n\x1b[2J\tend\n";
    let dump = Some(Dump {
        form: DumpForm::Ascii,
        link: false,
    });
    let options = LineOptions { dump, ..options() };
    let lines = lines_of(&[Packet::new(0, payload)], LinkType(147), "eth0", options);
    let (_, dump) = lines.split_once('\n').unwrap();
    assert_eq!(dump, "\ta\n\t12:00:00 eth0 in  forged\n\t.[2J.end\n");
}

#[test]
fn the_lines_of_the_guide_are_printed() {
    let ip = |source, destination| Frame::ethernet(A, B).ipv4(source, destination);
    // Segment size 1460, selective acknowledgments, time stamps, no operation, window scale 7.
    let options_of_syn = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\x01\0\0\0\0\x01\x03\x03\x07";
    let syn = TcpFields {
        source_port: 40000,
        destination_port: 443,
        sequence: 1,
        flags: TcpFlags::SYN,
        window: 64240,
        ..TcpFields::default()
    };
    let quoted = Frame::raw().ipv4(A4, B4).tcp(segment()).payload(&[]);
    let unreachable = Icmpv4Fields {
        kind: 3,
        code: 1,
        parameter: [0; 4],
        checksum: 0,
    };
    let inner = ip([10, 1, 0, 1].into(), [10, 1, 0, 2].into());
    let inner = inner.echo_request(1, 1).payload(&[0; 56]);
    let frames = [
        ip(A4, B4).tcp_with(syn, options_of_syn).payload(&[]),
        ip(B4, A4).udp(53, 5000).payload(ANSWER),
        ip([10, 0, 0, 9].into(), A4)
            .icmp(unreachable)
            .payload(&quoted[..28]),
        ip(A4, B4).udp(5000, 4789).vxlan(100, &inner),
    ];
    let moments = [0, 300_000, 400_000, 500_000];
    let packets: Vec<_> = (frames.iter().zip(moments).enumerate())
        .map(|(number, (frame, after_ns))| Packet {
            direction: Some(if number == 1 {
                Direction::Out
            } else {
                Direction::In
            }),
            ..Packet::new(TIME_NS + after_ns, frame)
        })
        .collect();
    let printed = lines_of(&packets, LinkType::ETHERNET, "eth0", options());
    let page = include_str!("../../../../../docs/guide/coming-from-tcpdump.md");
    let (_, page) = page
        .split_once("## What a line shows\n\n```\n")
        .expect("the lines");
    let (shown, _) = page.split_once("```").expect("their end");
    assert_eq!(printed, shown);
}
