//! PPP and Cisco HDLC in printed lines, compared with tshark.

use tapline::file::model::{LinkType, Packet};

use super::facts::{compared, tshark, write_pcap};
use super::{lines_of, options};

#[test]
fn protocols_and_codes_of_serial_lines_are_tsharks() {
    let mut seen = [0; 3];
    for packet in compared() {
        let protocols = &packet.protocols;
        if !protocols.starts_with("ppp") && !protocols.starts_with("chdlc") {
            continue;
        }
        let number = |field| {
            let text = packet.only(field)?.strip_prefix("0x")?;
            u16::from_str_radix(text, 16).ok()
        };
        let line = &packet.line;
        match (number("ppp.protocol"), number("chdlc.protocol")) {
            (Some(0x0021), _) | (_, Some(0x0800)) => {
                let (from, to) = (packet.only("ip.src"), packet.only("ip.dst"));
                let (from, to) = (from.expect("an address"), to.expect("an address"));
                assert!(line.contains(from) && line.contains(to), "{line}");
                seen[0] += 1;
            }
            (Some(0xc021), _) => {
                assert!(line.contains(" LCP "), "{line}");
                seen[1] += 1;
            }
            (_, Some(0x8035)) => {
                assert!(line.contains(" SLARP "), "{line}");
                seen[2] += 1;
            }
            _ => assert!(!line.contains("link type"), "{line}"),
        }
    }
    assert!(seen[0] > 0 && seen[2] > 0, "{seen:?}");
}

/// The corpus has no control packets of PPP: all codes of LCP and IPCP, in each form of the header.
#[test]
fn codes_of_ppp_are_tsharks() {
    let mut packets = Vec::new();
    for protocol in [
        &[0xff, 3, 0xc0, 0x21][..],
        &[0xff, 3, 0x80, 0x21],
        &[0xc0, 0x21],
    ] {
        for code in 1..=11 {
            let header = [code, 7, 0, 8, 1, 2, 3, 4];
            packets.push(([protocol, &header[..]].concat(), protocol.len() as u32 + 8));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ppp.pcap");
    write_pcap(&path, 9, &packets);
    let rows = tshark(
        &path,
        &[
            "ppp.code",
            "ppp.identifier",
            "_ws.col.Protocol",
            "_ws.col.Info",
        ],
    );
    let mut checked = 0;
    for ((bytes, original_len), row) in packets.iter().zip(rows) {
        let packet = Packet {
            original_len: *original_len,
            ..Packet::new(0, bytes)
        };
        let line = lines_of(&[packet], LinkType(9), "ppp0", options());
        let [_, code, identifier, protocol, info] = row.split('\t').collect::<Vec<_>>()[..]
            .try_into()
            .expect("five fields");
        // tshark writes `Configuration Request`.
        let name = info.to_lowercase().replace("configuration", "configure");
        let name = match name.trim().replace("termination", "terminate") {
            name if name == "unknown" => format!("code {code}"),
            name => name,
        };
        let protocol = protocol.trim_start_matches("PPP ");
        let expected = format!(" {protocol} {original_len} {name} id {identifier} len 8\n");
        assert!(line.ends_with(&expected), "{row:?}: {line}");
        checked += 1;
    }
    assert_eq!(checked, 33);
}

/// The direction is the first byte, and is that of the line.
#[test]
fn the_direction_of_ppp_is_tsharks() {
    let frame = [0xff, 3, 0xc0, 0x21, 9, 7, 0, 8, 1, 2, 3, 4];
    let packets: Vec<_> = [0, 1, 2]
        .map(|direction| ([&[direction], &frame[..]].concat(), 13))
        .into();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ppp.pcap");
    write_pcap(&path, 204, &packets);
    // Zero is sent, one received.
    let rows = tshark(&path, &["frame.p2p_dir", "ppp.code"]);
    for ((bytes, original_len), row) in packets.iter().zip(&rows) {
        let packet = Packet {
            original_len: *original_len,
            ..Packet::new(0, bytes)
        };
        let line = lines_of(&[packet], LinkType(204), "ppp0", options());
        let direction = match row.split('\t').collect::<Vec<_>>()[..] {
            [_, "0", "9"] => " ppp0 out ",
            [_, "1", "9"] => " ppp0 in  ",
            _ => panic!("{row}"),
        };
        assert!(line.contains(direction), "{row:?}: {line}");
        assert!(
            line.ends_with(" LCP 13 echo request id 7 len 8\n"),
            "{line}"
        );
    }
    assert_eq!(rows.len(), 3);
    let address = [45, 1, 2, 3];
    let ip = [
        &[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 89, 0, 0][..],
        &address,
        &address,
    ]
    .concat();
    let bytes = [&[1, 0, 0x21], &ip[..]].concat();
    let line = lines_of(&[Packet::new(0, &bytes)], LinkType(204), "ppp0", options());
    assert!(
        line.contains(" ppp0 out 45.1.2.3 > 45.1.2.3 OSPF "),
        "{line}"
    );
}

/// Packets of all codes of the discovery stage, with tags, and of sessions with IPv4, IPv6 and LCP.
fn pppoe_packets() -> Vec<(Vec<u8>, u32)> {
    let ethernet = |kind: u16, code: u8, session: u16, rest: &[u8]| {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(kind.to_be_bytes());
        frame.extend([0x11, code]);
        frame.extend(session.to_be_bytes());
        frame.extend((rest.len() as u16).to_be_bytes());
        frame.extend(rest);
        // Padding, which is no tag and no part of a packet.
        frame.extend([1, 2, 0, 1, b'x']);
        let len = frame.len() as u32;
        (frame, len)
    };
    let tag = |kind: u16, value: &[u8]| {
        [
            &kind.to_be_bytes()[..],
            &(value.len() as u16).to_be_bytes(),
            value,
        ]
        .concat()
    };
    let tags = [
        tag(0x0101, b"isp"),
        tag(0x0102, b"ac-1"),
        tag(0x0103, &[0xab, 0xcd]),
        tag(0x0203, b"no\x1b[2Jway"),
    ]
    .concat();
    let mut packets = Vec::new();
    for (code, session) in [(0x09, 0), (0x07, 0), (0x19, 0), (0x65, 9), (0xa7, 65_535)] {
        packets.push(ethernet(0x8863, code, session, &tags));
    }
    let udp = [0x9c, 0x40, 0, 7, 0, 8, 0, 0];
    let ip = [
        &[
            0, 0x21, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ][..],
        &udp,
    ]
    .concat();
    let ip6 = [
        &[0, 0x57, 0x60, 0, 0, 0, 0, 8, 17, 64][..],
        &[0xfd; 16],
        &[0xfe; 16],
        &udp,
    ]
    .concat();
    let lcp = [0xc0, 0x21, 9, 7, 0, 8, 1, 2, 3, 4];
    for inside in [&ip[..], &ip6, &lcp] {
        packets.push(ethernet(0x8864, 0, 513, inside));
    }
    packets
}

#[test]
fn pppoe_is_that_of_tshark() {
    let packets = pppoe_packets();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pppoe.pcap");
    write_pcap(&path, 1, &packets);
    let rows = tshark(
        &path,
        &[
            "pppoe.code",
            "pppoe.session_id",
            "pppoed.tags.service_name",
            "pppoed.tags.ac_name",
            "pppoed.tags.host_uniq",
            "ip.src",
            "ipv6.src",
            "udp.dstport",
            "ppp.code",
            "_ws.col.Info",
        ],
    );
    for ((bytes, original_len), row) in packets.iter().zip(&rows) {
        let packet = Packet {
            original_len: *original_len,
            ..Packet::new(0, bytes)
        };
        let line = lines_of(&[packet], LinkType(1), "eth0", options());
        let [
            _,
            code,
            session,
            service,
            name,
            host,
            ip,
            ip6,
            port,
            control,
            info,
        ] = row.split('\t').collect::<Vec<_>>()[..]
            .try_into()
            .expect("eleven fields");
        let number = |text: &str| u16::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        assert!(
            line.contains(&format!(" session {}", number(session))),
            "{row:?}: {line}"
        );
        if number(code) != 0 {
            // `Active Discovery Initiation (PADI) AC-Name='ac-1'`
            let short = info.split(['(', ')']).nth(1).expect("a short name");
            let start = format!(" PPPoE discovery {original_len} {short} session ");
            assert!(line.contains(&start), "{info}: {line}");
            let tags = format!(
                " [Service-Name \"{service}\",AC-Name \"{name}\",Host-Uniq 0x{host},\
                 Generic-Error \"no\\x1b[2Jway\"]\n"
            );
            assert!(line.ends_with(&tags), "{line}");
        } else if control.is_empty() {
            let source = if ip.is_empty() {
                format!("[{ip6}]")
            } else {
                ip.to_owned()
            };
            let start = format!(" | {source}:40000 > ");
            assert!(line.contains(&start), "{row}: {line}");
            assert!(line.ends_with(&format!(":{port} UDP len 0\n")), "{line}");
        } else {
            assert!(
                line.ends_with(" | - > - LCP echo request id 7 len 8\n"),
                "{line}"
            );
            assert_eq!((control, info), ("9", "Echo Request"));
        }
    }
    assert_eq!(rows.len(), 8);
}
