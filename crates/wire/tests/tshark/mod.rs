//! Runs tshark on packets.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes `packets` of one link type as a pcap file.
pub fn write_pcap(path: &Path, link_type: u16, packets: &[Vec<u8>]) {
    let mut text = Vec::new();
    for word in [
        0xa1b2_c3d4,
        0x0004_0002,
        0,
        0,
        262_144,
        u32::from(link_type),
    ] {
        text.extend_from_slice(&u32::to_le_bytes(word));
    }
    for packet in packets {
        let len = packet.len() as u32;
        for word in [0, 0, len, len] {
            text.extend_from_slice(&word.to_le_bytes());
        }
        text.extend_from_slice(packet);
    }
    fs::write(path, text).unwrap();
}

/// The named fields of each packet of a file: tshark's first value, or empty.
///
/// Fragments are not reassembled, checksums are verified, VLAN tags and tunnels are dissected as
/// usual.
pub fn fields(path: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .arg("-n")
        .arg("-r")
        .arg(path)
        .args(["-T", "fields", "-E", "occurrence=f"]);
    for preference in [
        "ip.defragment:FALSE",
        "ipv6.defragment:FALSE",
        "tcp.desegment_tcp_streams:FALSE",
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
    ] {
        command.args(["-o", preference]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.stdin(Stdio::null()).output().expect("tshark runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}
