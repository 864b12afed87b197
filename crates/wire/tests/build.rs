//! Frames from the builder, parsed by tshark and by the views.

use crate::tshark;
use std::net::{Ipv4Addr, Ipv6Addr};
use tapline_wire::build::{Extension, Frame};
use tapline_wire::protocol::{ip, link_type};
use tapline_wire::*;

const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const A4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

fn segment() -> TcpFields {
    TcpFields {
        source_port: 443,
        destination_port: 51512,
        sequence: 1,
        acknowledgment: 1,
        flags: TcpFlags::SYN | TcpFlags::ACK,
        ..TcpFields::default()
    }
}

/// Frames with payloads of every length up to 64 bytes, over each network and transport layer.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let bytes: Vec<u8> = (0..64).map(|byte| 255 - byte * 3).collect();
    for len in 0..=bytes.len() {
        let payload = &bytes[..len];
        let v4 = || Frame::ethernet(A, B).ipv4(A4, B4);
        let tagged = || Frame::ethernet(A, B).service_vlan(100).vlan(7).ipv4(A4, B4);
        let v6 = || Frame::ethernet(A, B).ipv6(A6, B6);
        let extended = || {
            let extensions = [Extension::HopByHop(&[]), Extension::Destination(&[0; 9])];
            Frame::ethernet(A, B)
                .vlan(7)
                .ipv6_with(Ipv6Fields::new(A6, B6), &extensions)
        };
        for network in [v4(), tagged(), v6(), extended()] {
            frames.push(network.clone().udp(40000, 40001).payload(payload));
            frames.push(network.clone().tcp(segment()).payload(payload));
            frames.push(
                network
                    .clone()
                    .tcp_with(segment(), &[2, 4, 5, 180, 1])
                    .payload(payload),
            );
            frames.push(network.echo_request(5, len as u16).payload(payload));
        }
    }
    frames
}

#[test]
fn tshark_accepts_every_length_and_checksum() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frames.pcap");
    let frames = frames();
    tshark::write_pcap(&path, link_type::ETHERNET, &frames);
    let names = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
        "icmpv6.checksum.status",
        "_ws.malformed",
        "_ws.expert.severity",
        "frame.protocols",
    ];
    let rows = tshark::fields(&path, &names);
    assert_eq!(rows.len(), frames.len());
    let mut checked = 0;
    for row in &rows {
        let (statuses, rest) = row.split_at(5);
        for status in statuses.iter().filter(|status| !status.is_empty()) {
            // 1 is "Good", 0 "Bad", 2 "Unverified".
            assert_eq!(status, "1", "{row:?}");
            checked += 1;
        }
        assert_eq!(rest[0], "", "{row:?}");
        // PI_WARN is 0x600000; notes on retransmissions and missing replies are below.
        let severity: u32 = rest[1].parse().unwrap_or(0);
        assert!(severity < 0x0060_0000, "{row:?}");
    }
    // Every frame has a transport checksum, half of them an IPv4 header checksum.
    assert_eq!(checked, frames.len() + frames.len() / 2);
}

#[test]
fn built_frames_parse_to_the_same_fields() {
    for frame in frames() {
        let summary = dissect(link_type::ETHERNET, &frame);
        assert_eq!(summary.error, None);
        assert_eq!(
            (summary.source_mac(), summary.destination_mac()),
            (Some(A), Some(B))
        );
        let expected = match summary.network {
            dissect::Network::Ipv4(_) => (A4.into(), B4.into()),
            _ => (A6.into(), B6.into()),
        };
        assert_eq!(summary.addresses(), Some(expected));
        match summary.transport {
            dissect::Transport::Tcp(tcp) => {
                assert_eq!(tcp.flags(), segment().flags);
                assert_eq!(summary.ports(), Some((443, 51512)));
            }
            dissect::Transport::Udp(udp) => {
                assert_eq!(usize::from(udp.length()), Udp::LEN + summary.payload.len());
                assert_eq!(summary.ports(), Some((40000, 40001)));
            }
            dissect::Transport::Icmpv4(icmp) => {
                assert_eq!(icmp.echo(), Some((5, summary.payload.len() as u16)));
            }
            dissect::Transport::Icmpv6(icmp) => {
                assert_eq!(icmp.echo(), Some((5, summary.payload.len() as u16)));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_udp_checksum_is_never_zero() {
    // Storing the checksum of a zero payload in the payload makes the checksum 0.
    let frame = Frame::raw().ipv4([0; 4].into(), [0; 4].into()).udp(0, 0);
    let zeros = frame.clone().payload(&[0, 0]);
    let missing = u16::from_be_bytes([zeros[26], zeros[27]]);
    let frame = frame.payload(&missing.to_be_bytes());
    assert_eq!(frame[26..28], [0xff, 0xff]);
}

#[test]
fn fragments_and_routing_headers_agree_with_tshark() {
    let fragment = FragmentFields {
        offset: 1480,
        more: true,
        identification: 77,
        next_header: 0,
    };
    let extensions = [
        Extension::Routing(&[253, 0, 0, 0, 0, 0]),
        Extension::Fragment(fragment),
    ];
    let v6 = Frame::ethernet(A, B)
        .ipv6_with(Ipv6Fields::new(A6, B6), &extensions)
        .payload(ip::UDP, &[1; 16]);
    let header = Ipv4Fields {
        identification: 77,
        more_fragments: true,
        fragment_offset: 1480,
        ..Ipv4Fields::new(A4, B4)
    };
    let v4 = Frame::ethernet(A, B)
        .ipv4_with(header)
        .payload(ip::UDP, &[1; 16]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fragments.pcap");
    tshark::write_pcap(&path, link_type::ETHERNET, &[v6.clone(), v4.clone()]);
    let names = [
        "ipv6.fraghdr.offset",
        "ipv6.fraghdr.more",
        "ipv6.fraghdr.ident",
        "ipv6.routing.type",
        "ip.frag_offset",
        "ip.flags.mf",
        "ip.id",
    ];
    let rows = tshark::fields(&path, &names);
    // tshark prints the offset in units of 8 bytes.
    assert_eq!(rows[0], ["185", "1", "0x0000004d", "253", "", "", ""]);
    assert_eq!(rows[1], ["", "", "", "", "185", "1", "0x004d"]);
    for frame in [v6, v4] {
        let summary = dissect(link_type::ETHERNET, &frame);
        let place = summary.fragment.unwrap();
        assert_eq!(
            (place.identification, place.offset, place.more),
            (77, 1480, true)
        );
        assert_eq!((summary.protocol, summary.ports()), (Some(ip::UDP), None));
    }
}

#[test]
fn arp_agrees_with_tshark() {
    let question = ArpFields {
        operation: ArpOperation::REQUEST,
        sender_mac: A,
        sender_ip: A4,
        target_mac: MacAddress::ZERO,
        target_ip: B4,
    };
    let frame = Frame::ethernet(A, MacAddress::BROADCAST).arp(&question);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("arp.pcap");
    tshark::write_pcap(&path, link_type::ETHERNET, &[frame]);
    let names = [
        "arp.opcode",
        "arp.src.hw_mac",
        "arp.src.proto_ipv4",
        "arp.dst.proto_ipv4",
    ];
    let rows = tshark::fields(&path, &names);
    assert_eq!(rows, [["1", "02:00:00:00:00:01", "10.0.0.1", "10.0.0.2"]]);
}

#[test]
fn a_length_beyond_16_bits_is_zero() {
    let frame = Frame::raw()
        .ipv4(A4, B4)
        .udp(1, 2)
        .payload(&vec![0; 70_000]);
    let summary = dissect(link_type::RAW, &frame);
    let dissect::Network::Ipv4(header) = summary.network else {
        panic!("{summary:?}");
    };
    assert_eq!(header.total_length(), 0);
    assert_eq!(summary.payload.len(), 70_000);
}

#[test]
fn tunnels_and_connection_requests_agree_with_tshark() {
    let inner = Frame::ethernet(B, A).ipv6(A6, B6).tcp_syn(40000, 443, 7);
    let inner = inner.payload(&[]);
    let over_v4 = Frame::ethernet(A, B).vlan(9).ipv4(A4, B4).udp(50000, 4789);
    let over_v6 = Frame::ethernet(A, B).ipv6(A6, B6).udp(50000, 4789);
    let frames = [over_v4, over_v6].map(|outer| outer.vxlan(0x0012_3456, &inner));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tunnels.pcap");
    tshark::write_pcap(&path, link_type::ETHERNET, &frames);
    let names = [
        "vxlan.vni",
        "tcp.flags",
        "tcp.seq_raw",
        "tcp.window_size_value",
        "tcp.dstport",
        "tcp.checksum.status",
        "udp.checksum.status",
        "_ws.malformed",
    ];
    let row = ["1193046", "0x0002", "7", "65535", "443", "1", "1", ""];
    assert_eq!(tshark::fields(&path, &names), [row, row]);
    let headers = Ethernet::LEN + Ipv6::LEN + Udp::LEN;
    let (vxlan, rest) = Vxlan::split(&frames[1][headers..], headers).unwrap();
    assert_eq!((vxlan.vni(), rest), (Some(0x0012_3456), &inner[..]));
    assert_eq!(
        VxlanFields { vni: 0x0012_3456 }.bytes(),
        frames[1][headers..headers + 8]
    );
}

#[test]
fn a_checksum_corrected_by_the_difference_is_the_computed_one() {
    use checksum::{Change, internet};
    let mut bytes: Vec<u8> = (0..40_u8).map(|byte| byte.wrapping_mul(37)).collect();
    let before = internet(&bytes);
    for at in (0..36).step_by(2) {
        for new in [[0; 4], [0xff; 4], [1, 2, 3, 4], [0xff, 0xff, 0, 0]] {
            let old: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            let change = Change::new().bytes(&old, &new);
            bytes[at..at + 4].copy_from_slice(&new);
            assert_eq!(change.apply(before), internet(&bytes), "{at} {new:?}");
            bytes[at..at + 4].copy_from_slice(&old);
        }
    }
}

/// Adds a transport header.
type Build = fn(build::IpFrame) -> build::TransportFrame;

#[test]
fn a_stamp_keeps_the_checksum_right_and_is_found() {
    use stamp::{Stamp, StampOffsets};
    let stamp = |time_ns| Stamp {
        stream: 0x0102,
        sequence: 0xdead_beef,
        time_ns,
    };
    assert_eq!(
        stamp(0x0908_0706_0504_0302).bytes(),
        [
            0xd5, 0xb1, 0x7a, 0x9e, 1, 2, 0xde, 0xad, 0xbe, 0xef, 9, 8, 7, 6, 5, 4, 3, 2
        ]
    );
    for padding in 0..9 {
        let payload = |time_ns| {
            let mut payload = vec![0xa5; padding];
            payload.extend(stamp(time_ns).bytes());
            payload
        };
        let v4 = || Frame::ethernet(A, B).ipv4(A4, B4);
        let v6 = || Frame::ethernet(A, B).vlan(5).ipv6(A6, B6);
        let builds: [(Build, usize); 3] = [
            (|ip| ip.udp(1, 2), 6),
            (|ip| ip.tcp_syn(1, 2, 3), 16),
            (|ip| ip.echo_request(1, 2), 2),
        ];
        for time_ns in [1, 0xff, 0xffff_0000_ffff, u64::MAX] {
            for (build, checksum_at) in builds {
                for (ip, at) in [(v4(), 34), (v6(), 58)] {
                    let mut frame = build(ip.clone()).payload(&payload(0));
                    let offsets = StampOffsets {
                        checksum_at: at + checksum_at,
                        transport_at: at,
                        is_udp: checksum_at == 6,
                    };
                    offsets.set_time(&mut frame, time_ns);
                    assert_eq!(frame, build(ip).payload(&payload(time_ns)));
                    let found = Stamp::find(link_type::ETHERNET, &frame);
                    assert_eq!(found, Some(stamp(time_ns)));
                    // Ethernet's padding is not part of the packet, a truncated one has lost its end.
                    let padded = [&frame[..], &[0; 3]].concat();
                    assert_eq!(Stamp::find(link_type::ETHERNET, &padded), found);
                    let cut = &frame[..frame.len() - 1];
                    assert_eq!(Stamp::find(link_type::ETHERNET, cut), None);
                }
            }
        }
    }
}
