//! Links as ip(8) shows them.

use std::fmt::Write;

use netlink::table::Lookup;
use netlink::{Link, LinkStatistics};

use super::words::{flags, group_name, hardware, linkmode};
use crate::net::fields::put;
use crate::net::names::Names;
use crate::net::spelled::Extent;

/// It in lines, the first without indent.
pub fn link(link: &Link, names: &mut Names, extent: Extent) -> String {
    names.note(link);
    let mut text = format!("{}: {}", link.ifindex(), link.ifname());
    if let Some(lower) = link.lower {
        let of_here = link
            .lower_namespace
            .is_none()
            .then(|| names.name(lower))
            .flatten();
        match of_here {
            Some(name) => put(&mut text, format_args!("@{name}")),
            None => put(&mut text, format_args!("@if{lower}")),
        }
    }
    put(&mut text, format_args!(": <{}>", flags(link).join(",")));
    let master = link.master.map(|master| master_name(names, master));
    let words = [
        ("mtu", link.mtu.map(|mtu| mtu.to_string())),
        ("qdisc", link.qdisc.clone()),
        ("master", master),
        ("state", link.state.map(|state| state.to_string())),
        ("mode", link.linkmode.map(linkmode)),
        ("group", link.group.map(group_name)),
        (
            "qlen",
            link.txqlen
                .filter(|qlen| *qlen > 0)
                .map(|qlen| qlen.to_string()),
        ),
    ];
    put_words(&mut text, &words);
    put(&mut text, format_args!("\n    link/{}", hardware(link)));
    if let Some(address) = link
        .address
        .filter(|address| !address.as_bytes().is_empty())
    {
        put(&mut text, format_args!(" {address}"));
        if let Some(broadcast) = link.broadcast {
            let is_pointopoint = flags(link).iter().any(|flag| flag == "POINTOPOINT");
            put(
                &mut text,
                format_args!(
                    " {} {broadcast}",
                    if is_pointopoint { "peer" } else { "brd" }
                ),
            );
        }
    }
    if let Some(number) = link.lower_namespace {
        put(&mut text, format_args!(" link-netnsid {number}"));
    }
    if extent.details {
        put_details(&mut text, link, names);
    }
    if let Some(alias) = &link.alias {
        put(&mut text, format_args!("\n    alias {alias}"));
    }
    for name in link.alternative_names.iter().flatten() {
        put(&mut text, format_args!("\n    altname {name}"));
    }
    if let Some(counters) = link.statistics.filter(|_| extent.statistics) {
        put_counters(&mut text, &counters);
    }
    text
}

fn master_name(names: &mut Names, master: netlink::IfIndex) -> String {
    names.name(master).unwrap_or_else(|| format!("if{master}"))
}

fn put_words(text: &mut String, words: &[(&str, Option<String>)]) {
    for (word, value) in words {
        if let Some(value) = value {
            // A String takes whatever is written to it.
            let _ = write!(text, " {word} {value}");
        }
    }
}

/// What is rarely asked for, and what is particular to the kind.
fn put_details(text: &mut String, link: &Link, names: &mut Names) {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    put_words(
        text,
        &[
            ("promiscuity", number(link.promiscuity)),
            ("minmtu", number(link.min_mtu)),
            ("maxmtu", number(link.max_mtu)),
        ],
    );
    if let Some(kind) = link.linkinfo.as_ref().and_then(|info| info.kind.as_ref()) {
        put(text, format_args!("\n    {}", kind.name()));
        kind.show(names, &mut |word, value| {
            put(text, format_args!(" {word} {value}"));
        });
    }
    put_words(
        text,
        &[
            ("numtxqueues", number(link.tx_queue_count)),
            ("numrxqueues", number(link.rx_queue_count)),
            ("gso_max_size", number(link.gso_max_size)),
            ("gso_max_segs", number(link.gso_max_segs)),
            ("gro_max_size", number(link.gro_max_size)),
            ("parentbus", link.parent_bus.clone()),
            ("parentdev", link.parent_device.clone()),
        ],
    );
}

fn put_counters(text: &mut String, counters: &LinkStatistics) {
    let rows = [
        (
            "RX:",
            ["bytes", "packets", "errors", "dropped", "missed", "mcast"],
            [
                counters.rx_bytes,
                counters.rx_packets,
                counters.rx_errors,
                counters.rx_dropped,
                counters.rx_missed_errors,
                counters.multicast,
            ],
        ),
        (
            "TX:",
            [
                "bytes", "packets", "errors", "dropped", "carrier", "collsns",
            ],
            [
                counters.tx_bytes,
                counters.tx_packets,
                counters.tx_errors,
                counters.tx_dropped,
                counters.tx_carrier_errors,
                counters.collisions,
            ],
        ),
    ];
    for (title, heads, values) in rows {
        let (mut head, mut line) = (format!("\n    {title}"), "\n       ".to_owned());
        for (name, value) in heads.into_iter().zip(values) {
            let value = value.to_string();
            let width = name.len().max(value.len()) + 1;
            let _ = write!(head, "{name:>width$}");
            let _ = write!(line, "{value:>width$}");
        }
        *text += &head;
        *text += &line;
    }
}
