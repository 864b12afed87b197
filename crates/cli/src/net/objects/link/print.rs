//! A link in JSON and text (`print_linkinfo`, ip/ipaddress.c).

use serde_json::Value;
use tapline::net::schema::NameLookup;
use tapline::net::{HardwareAddress, IfIndex, Link};

use super::names::{flags, group_name, hardware_type, mode_name};
use super::{counters, kind};
use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record, push};

/// What a link is printed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The link itself.
    Link,
    /// The head of its addresses, of one family or of both.
    Addresses { of_family: bool },
}

/// Prints a link; with `-br` in one line, which addresses may follow.
pub fn print(link: &Link, record: &mut Record, names: &mut Names, level: DetailLevel, part: Part) {
    names.note(link);
    let of_link = part == Part::Link;
    let flags = flags(link, names);
    let (name, lower) = (link.ifname().to_string(), lower_name(link, names));
    let full_name = match (link.lower, &lower) {
        (None, _) => name.clone(),
        (Some(IfIndex(0)), _) => format!("{name}@NONE"),
        (Some(_), Some(lower)) => format!("{name}@{lower}"),
        (Some(index), None) => format!("{name}@if{index}"),
    };
    if level.brief {
        print_lower(link, lower, record);
        record.json("ifname", Some(name));
        print_brief(link, &full_name, flags, record, of_link);
        return;
    }
    record.json("ifindex", Some(link.ifindex().0));
    record.json("ifname", Some(name));
    print_lower(link, lower, record);
    let flag_list = flags.join(",");
    record.text(format_args!(
        "{}: {full_name}: <{flag_list}>",
        link.ifindex()
    ));
    record.json("flags", Some(flags));
    record.field("mtu", "mtu", link.mtu);
    record.field("qdisc", "qdisc", link.qdisc.clone());
    record.field("master", "master", link.master.map(|link| names.link(link)));
    record.string("operstate", "state", link.state);
    let mode = link.linkmode.filter(|_| of_link);
    record.field("linkmode", "mode", mode.map(mode_name));
    record.field("group", "group", link.group.map(group_name));
    record.field("txqlen", "qlen", link.txqlen.filter(|qlen| *qlen > 0));
    if part != (Part::Addresses { of_family: true }) || level.details {
        print_hardware(link, record);
    }
    record.json("link_netnsid", link.lower_namespace);
    if let (Record::Text(text), Some(nsid)) = (&mut *record, link.lower_namespace) {
        match names.namespace_of_link(nsid) {
            Some(name) => push(text, format_args!(" link-netns {name}")),
            None if nsid < 0 => text.push_str(" link-netnsid unknown"),
            None => push(text, format_args!(" link-netnsid {nsid}")),
        }
    }
    if level.details {
        print_details(link, record, names, part);
    }
    if let Some(alias) = link.alias.as_ref().filter(|_| of_link || level.details) {
        record.text(format_args!("\n    alias {alias}"));
        record.json("ifalias", Some(alias.as_str()));
    }
    record.json("altnames", link.alternative_names.clone());
    if level.statistics && of_link {
        counters::print(link, record, level);
    }
    for name in link.alternative_names.iter().flatten() {
        record.text(format_args!("\n    altname {name}"));
    }
}

/// The name of the link below; none if that is in another namespace.
fn lower_name(link: &Link, names: &mut Names) -> Option<String> {
    names.name(
        link.lower
            .filter(|lower| lower.0 != 0 && link.lower_namespace.is_none())?,
    )
}

fn print_lower(link: &Link, name: Option<String>, record: &mut Record) {
    match (link.lower, name) {
        (None, _) => {}
        (Some(IfIndex(0)), _) => record.json("link", Some(Value::Null)),
        (Some(_), Some(name)) => record.json("link", Some(name)),
        (Some(index), None) => record.json("link_index", Some(index.0)),
    }
}

/// The hardware address, if there is one.
fn address(link: &Link) -> Option<HardwareAddress> {
    link.address
        .filter(|address| !address.as_bytes().is_empty())
}

fn print_brief(link: &Link, name: &str, flags: Vec<String>, record: &mut Record, of_link: bool) {
    let state = link.state.map(|state| state.to_string());
    record.text(format_args!(
        "{name:<16} {:<14} ",
        state.as_deref().unwrap_or_default()
    ));
    record.json("operstate", state);
    if !of_link {
        return;
    }
    if let Some(address) = address(link) {
        record.text(format_args!("{address} "));
        record.json("address", Some(address.to_string()));
    }
    record.text(format_args!("<{}>", flags.join(",")));
    record.json("flags", Some(flags));
}

fn print_hardware(link: &Link, record: &mut Record) {
    let hardware = hardware_type(link);
    record.text(format_args!("\n    link/{hardware}"));
    record.json("link_type", Some(hardware));
    let Some(address) = address(link) else { return };
    record.text(format_args!(" {address}"));
    record.json("address", Some(address.to_string()));
    let is_pointopoint = link
        .flags
        .is_some_and(|flags| flags.0 & libc::IFF_POINTOPOINT as u32 != 0);
    let word = if is_pointopoint { "peer" } else { "brd" };
    record.string("broadcast", word, link.broadcast);
    let permanent = link.permanent_address.filter(|it| *it != address);
    record.string("permaddr", "permaddr", permanent);
}

/// What `-d` adds.
fn print_details(link: &Link, record: &mut Record, names: &mut Names, part: Part) {
    record.field("promiscuity", "promiscuity", link.promiscuity);
    record.field("allmulti", "allmulti", link.allmulti);
    record.field("min_mtu", "minmtu", link.min_mtu);
    record.field("max_mtu", "maxmtu", link.max_mtu);
    if let Some(info) = &link.linkinfo {
        kind::print(info, record, names);
    }
    let mode = link.inet6_addr_gen_mode().filter(|_| part == Part::Link);
    record.string("inet6_addr_gen_mode", "addrgenmode", mode);
    record.field("num_tx_queues", "numtxqueues", link.tx_queue_count);
    record.field("num_rx_queues", "numrxqueues", link.rx_queue_count);
    record.field("gso_max_size", "gso_max_size", link.gso_max_size);
    record.field("gso_max_segs", "gso_max_segs", link.gso_max_segs);
    record.field("tso_max_size", "tso_max_size", link.tso_max_size);
    record.field("tso_max_segs", "tso_max_segs", link.tso_max_segs);
    record.field("gro_max_size", "gro_max_size", link.gro_max_size);
    record.field("parentbus", "parentbus", link.parent_bus.clone());
    record.field("parentdev", "parentdev", link.parent_device.clone());
}
