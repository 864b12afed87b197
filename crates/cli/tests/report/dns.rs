//! Queries of DNS, beside tshark.

use std::fs;
use std::net::Ipv4Addr;

use tempfile::TempDir;
use wire::MacAddress;
use wire::build::Frame;

use super::{compare, report};
use crate::support::files::pcap_of;
use crate::support::text;

/// A message of DNS with one question.
fn question(id: u16, is_response: bool) -> Vec<u8> {
    let flags: u16 = if is_response { 0x8180 } else { 0x0100 };
    let head = [id, flags, 1, 0, 0, 0].map(u16::to_be_bytes);
    [head.as_flattened(), b"\x07example\x00\x00\x01\x00\x01"].concat()
}

#[test]
fn a_query_with_a_used_identifier_is_another_one_after_a_while() {
    let [client, server] = [1, 53].map(|last| Ipv4Addr::new(192, 0, 2, last));
    let macs = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
    let query = |id| {
        let frame = Frame::ethernet(macs[0], macs[1]).ipv4(client, server);
        frame.udp(5000, 53).payload(&question(id, false))
    };
    let response = |id| {
        let frame = Frame::ethernet(macs[1], macs[0]).ipv4(server, client);
        frame.udp(53, 5000).payload(&question(id, true))
    };
    // The client has one port and reuses the identifier of a query that had no answer. The other one is sent twice.
    let packets = [
        (1_000, query(7)),
        (2_000, query(8)),
        (4_000, query(8)),
        (4_500, response(8)),
        (3_601_000, query(7)),
        (3_601_250, response(7)),
    ];
    let folder = TempDir::new().expect("a folder");
    let file = text(&folder.path().join("queries.pcap"));
    let at_ns = packets.map(|(ms, frame): (u64, Vec<u8>)| (ms * 1_000_000, frame));
    fs::write(&file, pcap_of(at_ns)).expect("written");
    compare(&file);
    let dns = &report(&file).0["dns"];
    let counts = ["queries", "repeated", "answered", "unanswered", "unasked"];
    let counts = counts.map(|name| dns[name].as_u64().expect("a number"));
    assert_eq!(counts, [3, 1, 2, 1, 0], "{dns}");
    assert_eq!(dns["time"]["min_ns"], 250_000_000, "{dns}");
}
