//! Links with the keys of `ip -json`.

use netlink::table::Lookup;
use netlink::{IfIndex, Link};
use serde_json::{Map, Value};

use super::text::Part;
use super::words::{group_name, hardware, linkmode, shown_flags};
use super::{counters, forms};
use crate::net::names::Names;
use crate::net::spelled::Extent;

/// All of a link, or what stands above its addresses.
pub fn link(link: &Link, names: &mut Names, extent: Extent, part: Part) -> Value {
    names.note(link);
    let of_link = part == Part::Link;
    let shows_hardware = part.shows_hardware(extent);
    let mut shown = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown.insert(key.to_owned(), value);
        }
    };
    put("ifindex", Some(link.ifindex().0.into()));
    put("ifname", Some(link.ifname().to_string().into()));
    let lower = link.lower.map(|lower| (lower, names.name(lower)));
    match lower {
        Some((IfIndex(0), _)) => put("link", Some(Value::Null)),
        Some((_, Some(name))) if link.lower_namespace.is_none() => put("link", Some(name.into())),
        Some((lower, _)) => put("link_index", Some(lower.0.into())),
        None => {}
    }
    put("flags", Some(shown_flags(link, names).into()));
    put("mtu", link.mtu.map(Value::from));
    put("qdisc", link.qdisc.clone().map(Value::from));
    let master = link.master.and_then(|master| names.name(master));
    put("master", master.map(Value::from));
    put(
        "operstate",
        link.state.map(|state| state.to_string().into()),
    );
    let mode = link.linkmode.filter(|_| of_link);
    put("linkmode", mode.map(|mode| linkmode(mode).into()));
    put("group", link.group.map(|group| group_name(group).into()));
    put(
        "txqlen",
        link.txqlen.filter(|qlen| *qlen > 0).map(Value::from),
    );
    put("link_type", shows_hardware.then(|| hardware(link).into()));
    let address = link
        .address
        .filter(|address| shows_hardware && !address.as_bytes().is_empty());
    put("address", address.map(|address| address.to_string().into()));
    let broadcast = link.broadcast.filter(|_| address.is_some());
    put(
        "broadcast",
        broadcast.map(|address| address.to_string().into()),
    );
    put(
        "permaddr",
        link.permanent_address
            .filter(|permanent| shows_hardware && Some(*permanent) != link.address)
            .map(|address| address.to_string().into()),
    );
    put("link_netnsid", link.lower_namespace.map(Value::from));
    if extent.details {
        put("promiscuity", link.promiscuity.map(Value::from));
        put("allmulti", link.allmulti.map(Value::from));
        put("min_mtu", link.min_mtu.map(Value::from));
        put("max_mtu", link.max_mtu.map(Value::from));
        put(
            "linkinfo",
            link.linkinfo.as_ref().map(|info| forms::json(info, names)),
        );
        let mode = link.inet6_addr_gen_mode().filter(|_| of_link);
        put(
            "inet6_addr_gen_mode",
            mode.map(|mode| mode.to_string().into()),
        );
        put("num_tx_queues", link.tx_queue_count.map(Value::from));
        put("num_rx_queues", link.rx_queue_count.map(Value::from));
        put("gso_max_size", link.gso_max_size.map(Value::from));
        put("gso_max_segs", link.gso_max_segs.map(Value::from));
        put("tso_max_size", link.tso_max_size.map(Value::from));
        put("tso_max_segs", link.tso_max_segs.map(Value::from));
        put("gro_max_size", link.gro_max_size.map(Value::from));
        put("parentbus", link.parent_bus.clone().map(Value::from));
        put("parentdev", link.parent_device.clone().map(Value::from));
    }
    let alias = link.alias.clone().filter(|_| of_link || extent.details);
    put("ifalias", alias.map(Value::from));
    put("altnames", link.alternative_names.clone().map(Value::from));
    if extent.statistics {
        put("stats64", counters::json(link, extent));
    }
    shown.into()
}
