//! The figures of a report as JSON.

use std::path::Path;

use serde_json::{Value, json};
use tapline::analysis::{Analysis, Flow, Histogram, SIZE_CLASSES, Traffic};

/// One object. Unknown values are null.
pub fn object(analysis: &Analysis, files: &[String], page: &Path, top: usize) -> Value {
    let (tcp, dns) = (&analysis.tcp, &analysis.dns);
    let mut protocols = Vec::new();
    let mut path = Vec::new();
    analysis.protocols.each(&mut |depth, protocol, tree| {
        path.truncate(depth);
        path.push(protocol.to_string());
        protocols.push(json!({ "path": path, "packets": tree.packets, "bytes": tree.bytes }));
    });
    let classes = analysis.sizes.packets.iter().zip(&analysis.sizes.bytes);
    let limits = SIZE_CLASSES.iter().map(Some).chain([None]);
    let sizes = limits.zip(classes).map(|(most, (packets, bytes))| {
        json!({ "most_bytes": most, "packets": packets, "bytes": bytes })
    });
    let conflicts = analysis
        .neighbours
        .conflicts()
        .iter()
        .map(|(address, conflict)| {
            let owners = conflict
                .owners
                .iter()
                .map(|(owner, messages)| json!({ "mac": owner.to_string(), "messages": messages }));
            let [vlan, inner_vlan] = address.vlans;
            let interface = address.interface.map(usize::from);
            let interface = interface.and_then(|place| analysis.loss.interfaces.get(place));
            json!({
                "address": address.address,
                "vlan": vlan,
                "inner_vlan": inner_vlan,
                "interface": interface.and_then(|one| one.interface.name.as_deref()),
                "first_ns": conflict.first_ns,
                "owners": owners.collect::<Vec<_>>(),
            })
        });
    json!({
        "event": "summary",
        "page": page.to_string_lossy(),
        "files": files,
        "packets": analysis.packets,
        "bytes": analysis.bytes,
        "captured_bytes": analysis.captured_bytes,
        "untimed": analysis.untimed,
        "far": analysis.timeline.far().iter().map(|slot| slot.packets).sum::<u64>(),
        "first_ns": analysis.first_ns,
        "last_ns": analysis.last_ns,
        "interfaces": interfaces(analysis),
        "notes": notes(analysis),
        "protocols": protocols,
        "sizes": sizes.collect::<Vec<_>>(),
        "hosts": rows(analysis.hosts.largest(top), |address| json!({ "address": address })),
        "stations": rows(analysis.stations.largest(top), |mac| json!({ "mac": mac.to_string() })),
        "flows": rows(analysis.flows.largest(top), flow),
        "tcp": {
            "segments": tcp.segments,
            "connections": tcp.connections,
            "handshakes": tcp.handshakes,
            "round_trip": times(&tcp.round_trips),
            "server_time": times(&tcp.server_times),
            "retransmissions": tcp.retransmissions,
            "out_of_order": tcp.out_of_order,
            "gaps": tcp.gaps,
            "resets": tcp.resets,
        },
        "dns": {
            "queries": dns.queries,
            "repeated": dns.repeated,
            "answered": dns.answered,
            "unanswered": dns.unanswered(),
            "unasked": dns.unasked,
            "time": times(&dns.times),
            "codes": dns.codes.iter().map(|(code, count)| json!({ "code": code, "responses": count })).collect::<Vec<_>>(),
        },
        "conflicts": conflicts.collect::<Vec<_>>(),
        "left_out": {
            "hosts": analysis.hosts.forgotten(),
            "stations": analysis.stations.forgotten(),
            "flows": analysis.flows.forgotten(),
            "connections": tcp.forgotten,
            "queries": dns.given_up,
            "addresses": analysis.neighbours.ignored(),
            "interfaces_and_notes": analysis.loss.omitted,
        },
    })
}

fn interfaces(analysis: &Analysis) -> Vec<Value> {
    let interfaces = analysis.loss.interfaces.iter().map(|one| {
        let loss = &one.loss;
        json!({
            "name": one.interface.name,
            "link_type": one.interface.link_type.0,
            "packets": one.packets,
            "lost": loss.is_known().then_some(loss.lost),
            "lost_by_packets": loss.by_packets,
            "os_dropped": loss.by_system,
            "interface_dropped": loss.by_interface,
        })
    });
    interfaces.collect()
}

fn notes(analysis: &Analysis) -> Vec<Value> {
    let notes = analysis.loss.notes.iter().map(
        |note| json!({ "at_ns": note.time_ns, "interface": note.interface, "text": note.text }),
    );
    notes.collect()
}

fn rows<K>(rows: Vec<(K, Traffic)>, name: impl Fn(K) -> Value) -> Vec<Value> {
    let rows = rows.into_iter().map(|(key, traffic)| {
        let mut row = name(key);
        row["packets"] = json!(traffic.packets);
        row["bytes"] = json!(traffic.bytes);
        row
    });
    rows.collect()
}

fn flow(flow: Flow) -> Value {
    let ends = flow
        .ends
        .map(|(address, port)| json!({ "address": address, "port": port }));
    json!({ "protocol": flow.protocol, "ends": ends })
}

fn times(histogram: &Histogram) -> Value {
    let (least, most) = histogram.range_ns().unzip();
    let quantile = |quantile| Some(histogram.quantile(quantile)?.clamp(least?, most?));
    json!({
        "count": histogram.count(),
        "min_ns": least,
        "p50_ns": quantile(0.5),
        "p99_ns": quantile(0.99),
        "max_ns": most,
        "mean_ns": histogram.mean_and_stddev_ns().map(|(mean, _)| mean),
    })
}
