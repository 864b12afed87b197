//! Links as ip(8) shows them.

use std::fmt::Write;

use netlink::table::Lookup;
use netlink::{HardwareAddress, IfIndex, Link};

use super::words::{flags, group_name, hardware, linkmode, shown_flags};
use super::{counters, forms};
use crate::net::fields::put;
use crate::net::names::Names;
use crate::net::spelled::Extent;

/// What a link is shown for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// For itself.
    Link,
    /// For the addresses below it, which may be of one family.
    Addresses { of_family: bool },
}

impl Part {
    /// Whether its hardware is shown.
    pub fn shows_hardware(self, extent: Extent) -> bool {
        self != Self::Addresses { of_family: true } || extent.details
    }
}

/// Its name, and that of the link it is made on.
pub fn called(link: &Link, names: &mut Names) -> String {
    let Some(lower) = link.lower else {
        return link.ifname().to_string();
    };
    if lower == IfIndex(0) {
        return format!("{}@NONE", link.ifname());
    }
    let name = names.name(lower).filter(|_| link.lower_namespace.is_none());
    let lower = name.unwrap_or_else(|| format!("if{lower}"));
    format!("{}@{lower}", link.ifname())
}

/// It in lines, the first without indent.
pub fn link(link: &Link, names: &mut Names, extent: Extent, part: Part) -> String {
    names.note(link);
    let of_link = part == Part::Link;
    let mut text = format!("{}: {}", link.ifindex(), called(link, names));
    put(
        &mut text,
        format_args!(": <{}>", shown_flags(link, names).join(",")),
    );
    let master = link.master.map(|master| master_name(names, master));
    let words = [
        ("mtu", link.mtu.map(|mtu| mtu.to_string())),
        ("qdisc", link.qdisc.clone()),
        ("master", master),
        ("state", link.state.map(|state| state.to_string())),
        ("mode", link.linkmode.filter(|_| of_link).map(linkmode)),
        ("group", link.group.map(group_name)),
        (
            "qlen",
            link.txqlen
                .filter(|qlen| *qlen > 0)
                .map(|qlen| qlen.to_string()),
        ),
    ];
    put_words(&mut text, &words);
    if part.shows_hardware(extent) {
        put_hardware(&mut text, link);
    }
    if let Some(number) = link.lower_namespace {
        put(&mut text, format_args!(" link-netnsid {number}"));
    }
    if extent.details {
        put_details(&mut text, link, names, part);
    }
    if let Some(alias) = link.alias.as_ref().filter(|_| of_link || extent.details) {
        put(&mut text, format_args!("\n    alias {alias}"));
    }
    if extent.statistics && of_link {
        text += &counters::text(link, extent);
    }
    for name in link.alternative_names.iter().flatten() {
        put(&mut text, format_args!("\n    altname {name}"));
    }
    text
}

fn put_hardware(text: &mut String, link: &Link) {
    put(text, format_args!("\n    link/{}", hardware(link)));
    let is_given = |address: &&HardwareAddress| !address.as_bytes().is_empty();
    let Some(address) = link.address.as_ref().filter(is_given) else {
        return;
    };
    put(text, format_args!(" {address}"));
    if let Some(broadcast) = link.broadcast {
        let is_pointopoint = flags(link).iter().any(|flag| flag == "POINTOPOINT");
        let word = if is_pointopoint { "peer" } else { "brd" };
        put(text, format_args!(" {word} {broadcast}"));
    }
    if let Some(permanent) = link.permanent_address.filter(|it| it != address) {
        put(text, format_args!(" permaddr {permanent}"));
    }
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
fn put_details(text: &mut String, link: &Link, names: &mut Names, part: Part) {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    put_words(
        text,
        &[
            ("promiscuity", number(link.promiscuity)),
            ("allmulti", number(link.allmulti)),
            ("minmtu", number(link.min_mtu)),
            ("maxmtu", number(link.max_mtu)),
        ],
    );
    if let Some(info) = &link.linkinfo {
        *text += &forms::text(info, names);
    }
    let mode = link.inet6_addr_gen_mode().filter(|_| part == Part::Link);
    put_words(
        text,
        &[
            ("addrgenmode", mode.map(|mode| mode.to_string())),
            ("numtxqueues", number(link.tx_queue_count)),
            ("numrxqueues", number(link.rx_queue_count)),
            ("gso_max_size", number(link.gso_max_size)),
            ("gso_max_segs", number(link.gso_max_segs)),
            ("tso_max_size", number(link.tso_max_size)),
            ("tso_max_segs", number(link.tso_max_segs)),
            ("gro_max_size", number(link.gro_max_size)),
            ("parentbus", link.parent_bus.clone()),
            ("parentdev", link.parent_device.clone()),
        ],
    );
}
