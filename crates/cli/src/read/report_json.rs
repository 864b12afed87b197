//! The report of a file as JSON.

use serde_json::{Value, json};
use tapline::file::model::Statistics;
use tapline::file::read::ByteOrder;
use tapline::read::{FileReport, ReportedInterface};

use super::report_text::{compression_name, format_name};
use crate::failure::chain;

/// One object. Unknown values are null.
pub fn object(report: &FileReport) -> Value {
    let FileReport {
        header, traffic, ..
    } = report;
    let (major, minor) = header.version;
    let interfaces = (0_u32..).zip(&report.interfaces);
    json!({
        "event": "file",
        "file": report.name,
        "format": format_name(report),
        "version": format!("{major}.{minor}"),
        "byte_order": match header.byte_order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        },
        "compression": compression_name(report),
        "size_bytes": report.size_bytes,
        "complete": report.error.is_none(),
        "error": report.error.as_ref().map(|error| chain(error)),
        "packets": traffic.packets,
        "bytes": traffic.bytes,
        "original_bytes": traffic.original_bytes,
        "first_ns": traffic.first_ns,
        "last_ns": traffic.last_ns,
        "duration_ns": traffic.duration_ns(),
        "rate_pps": traffic.rate(traffic.packets),
        "rate_bps": traffic.rate(traffic.original_bytes.saturating_mul(8)),
        "mean_packet_bytes": traffic.mean_packet_bytes(),
        "snaplen": report.snaplen(),
        "in_time_order": traffic.is_in_order(),
        "hardware": header.section.hardware,
        "os": header.section.os,
        "application": header.section.application,
        "comment": header.section.comment,
        "interfaces": interfaces.map(|(index, one)| interface(index, one)).collect::<Vec<_>>(),
    })
}

fn interface(index: u32, reported: &ReportedInterface) -> Value {
    let interface = &reported.interface;
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
        "sample": reported.sampling(),
        "comment": interface.comment,
        "os": interface.os,
        "hardware": interface.hardware,
        "ticks_per_second": interface.ticks_per_second,
        "packets": reported.packets,
        "statistics_blocks": reported.statistics_blocks,
        "parts": reported.parts.iter().map(part).collect::<Vec<_>>(),
        "notes": reported.notes.iter().map(statistics).collect::<Vec<_>>(),
        "statistics": reported.statistics.as_ref().map(statistics),
    })
}

fn part(part: &Statistics) -> Value {
    let mut shown = statistics(part);
    shown["part"] = part.part().into();
    shown
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
