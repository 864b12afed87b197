//! PPP and Cisco HDLC in printed lines, compared with tshark.

use tapline::file::model::{LinkType, Packet};

use super::facts::{compared, tshark, write_pcap};
use super::{lines_of, options};

#[test]
fn protocols_and_codes_of_serial_lines_are_tsharks() {
    let mut seen = [0; 3];
    for packet in compared(&[
        "ppp.protocol",
        "ppp.code",
        "chdlc.protocol",
        "ip.src",
        "ip.dst",
    ]) {
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
