//! Compares every field with tshark's, on packets of the tcpdump test suite, many of them
//! malformed.

use crate::tshark;
use std::fs;
use std::path::{Path, PathBuf};
use tapline_wire::dissect::{Link, Network, Transport};
use tapline_wire::protocol::ethertype;
use tapline_wire::{Summary, dissect};

fn corpus() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures");
    let mut paths: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

/// The packets of a pcap file up to the first damaged one, and its link type; `None` for other files.
fn read(file: &[u8]) -> Option<(u16, Vec<Vec<u8>>)> {
    let (header, mut rest) = file.split_first_chunk::<24>()?;
    let order = match header[..4] {
        [0xd4, 0xc3, 0xb2, 0xa1] => u32::from_le_bytes,
        [0xa1, 0xb2, 0xc3, 0xd4] => u32::from_be_bytes,
        _ => return None,
    };
    let word = |bytes: &[u8], at: usize| order(bytes[at..at + 4].try_into().unwrap());
    let mut packets = Vec::new();
    while let Some((record, after)) = rest.split_first_chunk::<16>() {
        let Some((bytes, next)) = after.split_at_checked(word(record, 8) as usize) else {
            break;
        };
        packets.push(bytes.to_vec());
        rest = next;
    }
    Some((word(header, 20) as u16, packets))
}

const FIELDS: &[&str] = &[
    "frame.protocols",
    "eth.src",
    "sll.src.eth",
    "vlan.id",
    "ip.src",
    "ip.dst",
    "ip.ttl",
    "ip.len",
    "ip.id",
    "ip.proto",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.hlim",
    "ipv6.plen",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.window_size_value",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
    "icmp.type",
    "icmp.code",
    "icmpv6.type",
    "icmpv6.code",
    "arp.opcode",
    "arp.src.proto_ipv4",
    "arp.dst.proto_ipv4",
];

/// Our value of one of [`FIELDS`]; empty where the packet does not have it.
fn ours(summary: &Summary<'_>, field: &str) -> String {
    let (layer, name) = field.split_once('.').unwrap();
    let value = match (layer, summary.network, summary.transport) {
        ("eth", ..) if matches!(summary.link, Link::Ethernet(_)) => {
            summary.source_mac().map(|mac| mac.to_string())
        }
        ("sll", ..) if matches!(summary.link, Link::LinuxSll(_)) => {
            summary.source_mac().map(|mac| mac.to_string())
        }
        ("vlan", ..) => summary.vlans().next().map(|tag| tag.id().to_string()),
        ("ip", Network::Ipv4(ip), _) => Some(match name {
            "src" => ip.source().to_string(),
            "dst" => ip.destination().to_string(),
            "ttl" => ip.ttl().to_string(),
            "len" => ip.total_length().to_string(),
            "id" => format!("{:#06x}", ip.identification()),
            _ => ip.protocol().to_string(),
        }),
        ("ipv6", Network::Ipv6(ip), _) => Some(match name {
            "src" => ip.source().to_string(),
            "dst" => ip.destination().to_string(),
            "hlim" => ip.hop_limit().to_string(),
            _ => ip.payload_length().to_string(),
        }),
        ("tcp", _, Transport::Tcp(tcp)) => Some(match name {
            "srcport" => tcp.source_port().to_string(),
            "dstport" => tcp.destination_port().to_string(),
            "seq_raw" => tcp.sequence().to_string(),
            "ack_raw" => tcp.acknowledgment().to_string(),
            _ => tcp.window().to_string(),
        }),
        ("udp", _, Transport::Udp(udp)) => Some(match name {
            "srcport" => udp.source_port().to_string(),
            "dstport" => udp.destination_port().to_string(),
            _ => udp.length().to_string(),
        }),
        ("icmp", _, Transport::Icmpv4(icmp)) => Some(match name {
            "type" => icmp.kind().to_string(),
            _ => icmp.code().to_string(),
        }),
        ("icmpv6", _, Transport::Icmpv6(icmp)) => Some(match name {
            "type" => icmp.kind().to_string(),
            _ => icmp.code().to_string(),
        }),
        ("arp", Network::Arp(arp), _) => Some(match name {
            "opcode" => arp.operation().0.to_string(),
            "src.proto_ipv4" => arp.sender_ip().to_string(),
            _ => arp.target_ip().to_string(),
        }),
        _ => None,
    };
    value.unwrap_or_default()
}

/// Whether tshark reached `layer` through headers that [`dissect`] parses, and not inside a tunnel.
fn is_within_reach(protocols: &str, layer: &str) -> bool {
    let mut before = protocols
        .split(':')
        .take_while(|protocol| *protocol != layer);
    let mut ip_headers = 0;
    before.all(|protocol| {
        ip_headers += usize::from(matches!(protocol, "ip" | "ipv6"));
        let is_walked = matches!(
            protocol,
            "eth" | "ethertype" | "vlan" | "ieee8021ad" | "sll" | "null" | "raw" | "ip" | "ipv6"
        ) || protocol.starts_with("ipv6.");
        is_walked && ip_headers <= 1
    })
}

/// Why tshark may see a field differently.
fn is_known_difference(summary: &Summary<'_>, field: &str) -> bool {
    let (layer, name) = field.split_once('.').unwrap();
    match summary.network {
        // tshark shows the length of the frame if the field is 0.
        Network::Ipv4(header) if header.total_length() == 0 => name == "len",
        // tshark interprets a payload length of 0 as no payload, not as a packet above 64 KiB.
        Network::Ipv6(header) if header.payload_length() == 0 => matches!(layer, "tcp" | "udp"),
        // tshark shows no field of a header whose total length is below the header length.
        Network::Ipv4(header) => usize::from(header.total_length()) < header.header_len(),
        // The tag is there as `ieee8021ad.id`.
        _ => layer == "vlan" && summary.ethertype == Some(ethertype::ARP),
    }
}

#[test]
fn every_field_agrees_with_tshark() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("packets.pcap");
    let mut equal = 0;
    for link_type in [0_u16, 1, 101, 113, 229] {
        let packets: Vec<_> = corpus()
            .iter()
            .filter_map(|path| read(&fs::read(path).unwrap()))
            .filter(|(there, _)| *there == link_type)
            .flat_map(|(_, packets)| packets)
            .collect();
        assert!(packets.len() >= 10, "{link_type}");
        tshark::write_pcap(&path, link_type, &packets);
        let rows = tshark::fields(&path, FIELDS);
        assert_eq!(rows.len(), packets.len());
        for (index, (packet, row)) in packets.iter().zip(&rows).enumerate() {
            let summary = dissect(link_type, packet);
            for (field, theirs) in FIELDS.iter().zip(row).skip(1) {
                let ours = ours(&summary, field);
                let layer = field.split_once('.').unwrap().0;
                let is_missing = ours.is_empty()
                    && (summary.error.is_some() || !is_within_reach(&row[0], layer));
                assert!(
                    ours == *theirs || is_missing || is_known_difference(&summary, field),
                    "packet {index} of link type {link_type}, {field}: {ours:?}, {theirs:?}; {}",
                    row[0]
                );
                equal += usize::from(ours == *theirs && !ours.is_empty());
            }
        }
    }
    // The corpus has this many values that both parse.
    assert!(equal > 25_000, "{equal}");
}
