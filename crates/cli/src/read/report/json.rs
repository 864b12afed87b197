//! A file's report for programs.

use serde_json::{Value, json};
use store::model::Statistics;
use store::read::ByteOrder;

use super::super::digest::{Digest, Port};

/// One object. What the file does not say is null.
pub fn of(digest: &Digest) -> Value {
    let Digest {
        header, traffic, ..
    } = digest;
    let (major, minor) = header.version;
    let ports = (0_u32..).zip(&digest.interfaces);
    json!({
        "event": "file",
        "file": digest.name,
        "format": digest.format(),
        "version": format!("{major}.{minor}"),
        "byte_order": match header.byte_order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        },
        "compression": digest.compression(),
        "size_bytes": digest.size_bytes,
        "complete": digest.error.is_none(),
        "error": digest.error,
        "packets": traffic.packets,
        "bytes": traffic.bytes,
        "original_bytes": traffic.original_bytes,
        "first_ns": traffic.first_ns,
        "last_ns": traffic.last_ns,
        "duration_ns": traffic.duration_ns(),
        "rate_pps": traffic.rate(traffic.packets),
        "rate_bps": traffic.rate(traffic.original_bytes.saturating_mul(8)),
        "mean_packet_bytes": traffic.mean_packet_bytes(),
        "snaplen": digest.snaplen(),
        "in_time_order": traffic.is_in_order(),
        "hardware": header.section.hardware,
        "os": header.section.os,
        "application": header.section.application,
        "comment": header.section.comment,
        "interfaces": ports.map(|(index, port)| interface(index, port)).collect::<Vec<_>>(),
    })
}

fn interface(index: u32, port: &Port) -> Value {
    let interface = &port.interface;
    let mac = interface
        .mac
        .map(|mac| mac.map(|octet| format!("{octet:02x}")).join(":"));
    json!({
        "index": index,
        "name": interface.name,
        "description": interface.description,
        "link_type": interface.link_type.0,
        "snaplen": interface.snaplen,
        "speed_bps": interface.speed_bps,
        "mac": mac,
        "filter": interface.filter,
        "sample": port.sampling(),
        "comment": interface.comment,
        "os": interface.os,
        "hardware": interface.hardware,
        "ticks_per_second": interface.ticks_per_second,
        "packets": port.packets,
        "statistics_blocks": port.statistics_blocks,
        "statistics": port.statistics.as_ref().map(statistics),
    })
}

fn statistics(statistics: &Statistics) -> Value {
    json!({
        "at_ns": statistics.timestamp_ns,
        "start_ns": statistics.start_ns,
        "end_ns": statistics.end_ns,
        "received": statistics.received,
        "interface_dropped": statistics.interface_dropped,
        "filter_accepted": statistics.filter_accepted,
        "os_dropped": statistics.os_dropped,
        "delivered": statistics.delivered,
        "comment": statistics.comment,
    })
}
