//! What is particular to a link and its port, in the forms that ip(8) has for it: JSON and text out of one.

use netlink::{LinkInfo, LinkKind, PortKind};
use serde_json::{Map, Value};

use crate::net::fields::{self, put};
use crate::net::names::Names;

/// Words that ip(8) writes where JSON has another key (ip/iplink_bridge.c, ip/iplink_bridge_slave.c).
const BRIDGE_WORDS: [(&str, &str); 10] = [
    ("root_id", "designated_root"),
    ("group_addr", "group_address"),
    ("mcast_last_member_cnt", "mcast_last_member_count"),
    ("mcast_startup_query_cnt", "mcast_startup_query_count"),
    ("mcast_last_member_intvl", "mcast_last_member_interval"),
    ("mcast_membership_intvl", "mcast_membership_interval"),
    ("mcast_querier_intvl", "mcast_querier_interval"),
    ("mcast_query_intvl", "mcast_query_interval"),
    (
        "mcast_query_response_intvl",
        "mcast_query_response_interval",
    ),
    ("mcast_startup_query_intvl", "mcast_startup_query_interval"),
];

/// The same of a port.
const PORT_WORDS: [(&str, &str); 5] = [
    ("id", "port_id"),
    ("no", "port_no"),
    ("bridge_id", "designated_bridge"),
    ("root_id", "designated_root"),
    ("multicast_router", "mcast_router"),
];

/// It with the keys of `ip -json`.
pub fn json(info: &LinkInfo, names: &mut Names) -> Value {
    let mut shown = fields::json(
        info,
        &["link", "primary", "active_slave", "backup_port"],
        names,
    );
    if let Some(LinkKind::Bridge(_)) = info.kind {
        bridge(&mut shown["info_data"]);
    }
    if let Some(LinkKind::Vlan(_)) = info.kind {
        vlan(&mut shown["info_data"]);
    }
    if let Some(PortKind::Bridge(_)) = info.port {
        bridge_port(&mut shown["info_slave_data"]);
    }
    if let Some(fields) = shown.as_object_mut() {
        // Where nothing is told there is no key.
        fields.retain(|_, value| value.as_object().is_none_or(|data| !data.is_empty()));
    }
    shown
}

/// It in the lines of `ip -details`, with the line end before each.
pub fn text(info: &LinkInfo, names: &mut Names) -> String {
    let mut text = String::new();
    if let Some(kind) = &info.kind {
        put(&mut text, format_args!("\n    {}", kind.name()));
        match kind {
            LinkKind::Bridge(_) => {
                put_words(&mut text, &json(info, names)["info_data"], &BRIDGE_WORDS);
            }
            LinkKind::Vlan(_) => put_vlan(&mut text, &json(info, names)["info_data"]),
            LinkKind::Bond(_) => kind.show(names, &mut |word, value| {
                put(&mut text, format_args!(" {word} {value}"));
            }),
            _ => put_switches(&mut text, kind, names),
        }
    }
    if let Some(port) = &info.port {
        put(&mut text, format_args!("\n    {}_slave", port.name()));
        match port {
            PortKind::Bridge(_) => put_words(
                &mut text,
                &json(info, names)["info_slave_data"],
                &PORT_WORDS,
            ),
            _ => port.show(names, &mut |word, value| {
                put(&mut text, format_args!(" {word} {value}"));
            }),
        }
    }
    text
}

/// A bridge's switches are numbers.
fn bridge(data: &mut Value) {
    for value in data.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(on) = value.as_bool() {
            *value = i32::from(on).into();
        }
    }
    if let Some(mask) = data["group_fwd_mask"].as_u64() {
        data["group_fwd_mask"] = hexadecimal(mask).into();
    }
}

/// A port's numbers are hexadecimal, and what it only tells are numbers.
fn bridge_port(data: &mut Value) {
    let Some(fields) = data.as_object_mut() else {
        return;
    };
    let told = std::mem::take(fields);
    for (key, value) in told {
        let value = match (key.as_str(), value.as_u64(), value.as_bool()) {
            ("id" | "no", Some(number), _) => format!("{number:#x}").into(),
            ("topology_change_ack" | "config_pending", _, Some(on)) => i32::from(on).into(),
            ("group_fwd_mask", Some(mask), _) => {
                fields.insert(key, hexadecimal(mask).into());
                fields.insert("group_fwd_mask_str".to_owned(), groups(mask).into());
                continue;
            }
            _ => value,
        };
        fields.insert(key, value);
    }
}

/// The switches of a VLAN are a list of names.
fn vlan(data: &mut Value) {
    let Some(fields) = data.as_object_mut() else {
        return;
    };
    let set = |(_, value): &(&String, &Value)| **value == Value::Bool(true);
    let flags = fields.iter().filter(set);
    let flags: Vec<_> = flags.map(|(name, _)| name.to_uppercase()).collect();
    fields.retain(|_, value| !value.is_boolean());
    fields.insert("flags".to_owned(), flags.into());
}

fn put_vlan(text: &mut String, data: &Value) {
    for key in ["protocol", "id"] {
        put(text, format_args!(" {key} {}", plain(&data[key])));
    }
    let flags = data["flags"].as_array().into_iter().flatten();
    let flags: Vec<_> = flags.filter_map(Value::as_str).collect();
    if !flags.is_empty() {
        put(text, format_args!(" <{}>", flags.join(",")));
    }
    for key in ["ingress_qos", "egress_qos"] {
        let maps = data[key].as_array().into_iter().flatten();
        let maps: Vec<_> = maps
            .map(|map| format!("{}:{}", plain(&map["from"]), plain(&map["to"])))
            .collect();
        if !maps.is_empty() {
            let word = key.replace('_', "-");
            put(
                text,
                format_args!("\n      {word}-map {{ {} }}", maps.join(" ")),
            );
        }
    }
}

/// What goes without saying.
const USUAL: [(&str, &str); 7] = [
    ("tos", "0"),
    ("df", "unset"),
    ("flowlabel", "0"),
    ("label_policy", "fixed"),
    ("maxaddress", "0"),
    ("learning", "on"),
    ("localbypass", "on"),
];

/// Switches that are said when they are off, too.
const SAID_OFF: [&str; 5] = [
    "learning",
    "pmtudisc",
    "udpcsum",
    "udp6zerocsumtx",
    "udp6zerocsumrx",
];

/// The words of a kind, of which a switch stands alone.
fn put_switches(text: &mut String, kind: &LinkKind, names: &mut Names) {
    let inherits = matches!(kind, LinkKind::Vxlan(vxlan) if vxlan.ttl_inherit == Some(true))
        || matches!(kind, LinkKind::Geneve(geneve) if geneve.ttl_inherit == Some(true));
    kind.show(names, &mut |word, value| match (word, value.as_str()) {
        (word, value) if USUAL.contains(&(word, value)) => {}
        ("mode", value) if matches!(kind, LinkKind::Tun(_)) => {
            put(text, format_args!(" type {value}"));
        }
        // Headers are said in any case.
        (word @ ("pi" | "vnet_hdr"), value) => put(text, format_args!(" {word} {value}")),
        ("ttl", _) if inherits => put(text, format_args!(" ttl inherit")),
        (word, "on") => put(text, format_args!(" {word}")),
        (word, "off") if SAID_OFF.contains(&word) => put(text, format_args!(" no{word}")),
        (_, "off") => {}
        (word, value) => put(text, format_args!(" {word} {value}")),
    });
}

/// Every key and its value, in the words of ip(8).
fn put_words(text: &mut String, data: &Value, words: &[(&str, &str)]) {
    for (key, value) in data.as_object().into_iter().flatten() {
        let known = words.iter().find(|(known, _)| known == key);
        let word = known.map_or(key.as_str(), |(_, word)| word);
        let value = match value {
            Value::Number(number) if key.ends_with("_timer") => {
                format!("{:7.2}", number.as_f64().unwrap_or_default())
            }
            value => plain(value),
        };
        put(text, format_args!(" {word} {value}"));
        if word == "mcast_router" && !data["fastleave"].is_null() {
            // The same under its other name, where one of multicast is looked for.
            put(
                text,
                format_args!(" mcast_fast_leave {}", plain(&data["fastleave"])),
            );
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// As C's `%#x` has it: 0 has no mark.
fn hexadecimal(number: u64) -> String {
    if number == 0 {
        "0".to_owned()
    } else {
        format!("{number:#x}")
    }
}

/// The link-local groups of a mask by their names, and those that have none by their bits.
fn groups(mask: u64) -> String {
    const NAMES: [(u64, &str); 3] = [(0, "stp"), (2, "lacp"), (14, "lldp")];
    let name = |bit: u64| match NAMES.iter().find(|(known, _)| *known == bit) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("{:#x}", 1u64 << bit),
    };
    let set = (0..16).filter(|bit| mask >> bit & 1 == 1);
    let names: Vec<_> = set.map(name).collect();
    if names.is_empty() {
        "0x0".to_owned()
    } else {
        names.join(",")
    }
}
