//! The attributes of a link's kind and of its port (`linkinfo`), in ip(8)'s JSON and text.

use serde_json::{Map, Value};
use tapline::net::{LinkInfo, LinkKind, PortKind};

use crate::net::names::Names;
use crate::net::output::{Record, json_fields, push};

/// Arguments of a bridge that differ from its keys in JSON (ip/iplink_bridge.c).
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

/// Arguments of a bridge port that differ (ip/iplink_bridge_slave.c).
const PORT_WORDS: [(&str, &str); 5] = [
    ("id", "port_id"),
    ("no", "port_no"),
    ("bridge_id", "designated_bridge"),
    ("root_id", "designated_root"),
    ("multicast_router", "mcast_router"),
];

/// Prints the key `linkinfo`, or the lines of `ip -d`.
pub fn print(info: &LinkInfo, record: &mut Record, names: &mut Names) {
    match record {
        Record::Json(fields) => _ = fields.insert("linkinfo".to_owned(), json(info, names)),
        Record::Text(text) => print_text(info, text, names),
    }
}

fn json(info: &LinkInfo, names: &mut Names) -> Value {
    let links = ["link", "primary", "active_slave", "backup_port"];
    let mut fields = json_fields(info, &links, names);
    let data = fields.get_mut("info_data").and_then(Value::as_object_mut);
    match (&info.kind, data) {
        (Some(LinkKind::Bareudp(_)), Some(data)) => {
            data.entry("multiproto").or_insert(false.into());
        }
        (Some(LinkKind::Bridge(_)), Some(data)) => fix_bridge(data),
        (Some(LinkKind::Vlan(_)), Some(data)) => fix_vlan(data),
        (Some(LinkKind::Xfrm(_)), Some(data)) => fix_xfrm(data),
        _ => {}
    }
    let data = fields.get_mut("info_slave_data");
    if let (Some(PortKind::Bridge(_)), Some(Value::Object(data))) = (&info.port, data) {
        fix_bridge_port(data);
    }
    fields.retain(|_, value| value.as_object().is_none_or(|data| !data.is_empty()));
    fields.into()
}

fn print_text(info: &LinkInfo, text: &mut String, names: &mut Names) {
    if let Some(kind) = &info.kind {
        push(text, format_args!("\n    {}", kind.name()));
        match kind {
            LinkKind::Bareudp(bareudp) => {
                push_kind(text, kind, names);
                if bareudp.multiproto != Some(true) {
                    push(text, format_args!(" nomultiproto"));
                }
            }
            LinkKind::Bridge(_) => {
                push_data(text, &json(info, names)["info_data"], &BRIDGE_WORDS);
            }
            LinkKind::Vlan(_) => push_vlan(text, &json(info, names)["info_data"]),
            LinkKind::Xfrm(xfrm) if xfrm.external != Some(true) => {
                let id = xfrm.if_id.unwrap_or_default();
                push(text, format_args!(" if_id {id:#x}"));
            }
            LinkKind::Xfrm(_) => push(text, format_args!(" external")),
            LinkKind::Bond(_) => kind.format_fields(names, &mut |word, value| {
                push(text, format_args!(" {word} {value}"));
            }),
            _ => push_kind(text, kind, names),
        }
    }
    if let Some(port) = &info.port {
        push(text, format_args!("\n    {}_slave", port.name()));
        match port {
            PortKind::Bridge(_) => {
                push_data(text, &json(info, names)["info_slave_data"], &PORT_WORDS);
            }
            _ => port.format_fields(names, &mut |word, value| {
                push(text, format_args!(" {word} {value}"));
            }),
        }
    }
}

/// ip(8) prints the switches of a bridge as numbers.
fn fix_bridge(data: &mut Map<String, Value>) {
    for value in data.values_mut() {
        if let Some(on) = value.as_bool() {
            *value = i32::from(on).into();
        }
    }
    if let Some(mask) = data.get_mut("group_fwd_mask") {
        *mask = hexadecimal(mask.as_u64().unwrap_or_default()).into();
    }
}

fn fix_bridge_port(data: &mut Map<String, Value>) {
    for (key, value) in std::mem::take(data) {
        let value = match (key.as_str(), value.as_u64(), value.as_bool()) {
            ("id" | "no", Some(number), _) => format!("{number:#x}").into(),
            ("topology_change_ack" | "config_pending", _, Some(on)) => i32::from(on).into(),
            ("group_fwd_mask", Some(mask), _) => {
                data.insert(key, hexadecimal(mask).into());
                data.insert("group_fwd_mask_str".to_owned(), group_names(mask).into());
                continue;
            }
            _ => value,
        };
        data.insert(key, value);
    }
}

/// ip(8) prints the switches of a VLAN as a list of flags.
fn fix_vlan(data: &mut Map<String, Value>) {
    let set = data
        .iter()
        .filter(|(_, value)| **value == Value::Bool(true));
    let flags: Vec<_> = set.map(|(name, _)| name.to_uppercase()).collect();
    data.retain(|_, value| !value.is_boolean());
    data.insert("flags".to_owned(), flags.into());
}

/// ip(8) prints the ID in hexadecimal, and none of a link with `external`.
fn fix_xfrm(data: &mut Map<String, Value>) {
    if data.contains_key("external") {
        data.remove("if_id");
    } else if let Some(id) = data.get_mut("if_id") {
        *id = hexadecimal(id.as_u64().unwrap_or_default()).into();
    }
}

fn push_vlan(text: &mut String, data: &Value) {
    for key in ["protocol", "id"] {
        push(text, format_args!(" {key} {}", plain(&data[key])));
    }
    let list = |key: &str, form: fn(&Value) -> String| {
        let values = data[key].as_array().into_iter().flatten();
        values.map(form).collect::<Vec<_>>()
    };
    let flags = list("flags", plain);
    if !flags.is_empty() {
        push(text, format_args!(" <{}>", flags.join(",")));
    }
    for (key, word) in [
        ("ingress_qos", "ingress-qos-map"),
        ("egress_qos", "egress-qos-map"),
    ] {
        let maps = list(key, |map| {
            format!("{}:{}", plain(&map["from"]), plain(&map["to"]))
        });
        if !maps.is_empty() {
            push(
                text,
                format_args!("\n      {word} {{ {} }}", maps.join(" ")),
            );
        }
    }
}

/// Values that ip(8) does not print.
const DEFAULTS: [(&str, &str); 7] = [
    ("tos", "0x0"),
    ("df", "unset"),
    ("flowlabel", "0"),
    ("label_policy", "fixed"),
    ("maxaddress", "0"),
    ("learning", "on"),
    ("localbypass", "on"),
];

/// Switches that ip(8) prints as `noNAME` if they are off.
const PRINTED_OFF: [&str; 5] = [
    "learning",
    "pmtudisc",
    "udpcsum",
    "udp6zerocsumtx",
    "udp6zerocsumrx",
];

fn push_kind(text: &mut String, kind: &LinkKind, names: &mut Names) {
    let ttl_inherit = match kind {
        LinkKind::Vxlan(vxlan) => vxlan.ttl_inherit == Some(true),
        LinkKind::Geneve(geneve) => geneve.ttl_inherit == Some(true),
        _ => false,
    };
    let is_tun = matches!(kind, LinkKind::Tun(_));
    kind.format_fields(names, &mut |word, value| match (word, value.as_str()) {
        (word, value) if DEFAULTS.contains(&(word, value)) => {}
        ("mode", value) if is_tun => push(text, format_args!(" type {value}")),
        ("pi" | "vnet_hdr", value) => push(text, format_args!(" {word} {value}")),
        ("ttl", _) if ttl_inherit => push(text, format_args!(" ttl inherit")),
        (word, "on") => push(text, format_args!(" {word}")),
        (word, "off") if PRINTED_OFF.contains(&word) => push(text, format_args!(" no{word}")),
        (_, "off") => {}
        (word, value) => push(text, format_args!(" {word} {value}")),
    });
}

/// Prints every key of `data`, renamed as in `words`.
fn push_data(text: &mut String, data: &Value, words: &[(&str, &str)]) {
    for (key, value) in data.as_object().into_iter().flatten() {
        let renamed = words.iter().find(|(known, _)| known == key);
        let word = renamed.map_or(key.as_str(), |(_, word)| word);
        let value = match value {
            Value::Number(number) if key.ends_with("_timer") => {
                format!("{:7.2}", number.as_f64().unwrap_or_default())
            }
            value => plain(value),
        };
        push(text, format_args!(" {word} {value}"));
        if word == "mcast_router" && !data["fastleave"].is_null() {
            // ip(8) prints this switch twice, under two names.
            let fastleave = plain(&data["fastleave"]);
            push(text, format_args!(" mcast_fast_leave {fastleave}"));
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

/// As C's `%#x`, which prints 0 without a prefix.
fn hexadecimal(number: u64) -> String {
    if number == 0 {
        "0".to_owned()
    } else {
        format!("{number:#x}")
    }
}

/// The link-local groups in a mask, by name or as a bit.
fn group_names(mask: u64) -> String {
    let bits = (0..16).filter(|bit| mask >> bit & 1 == 1);
    let names: Vec<_> = bits
        .map(|bit| match bit {
            0 => "stp".to_owned(),
            2 => "lacp".to_owned(),
            14 => "lldp".to_owned(),
            _ => format!("{:#x}", 1u64 << bit),
        })
        .collect();
    if names.is_empty() {
        "0x0".to_owned()
    } else {
        names.join(",")
    }
}
