//! VLANs as bridge(8) shows them.

use std::fmt::Write;

use netlink::table::Lookup;
use netlink::{PortVlan, VlanStatistics};
use serde_json::{Map, Value, json};

use crate::net::names::Names;
use crate::net::spelled::Extent;

/// What stands above the ports.
pub const HEADING: &str = "port              vlan-id";

/// VLANs of a port that are shown as one: the first, and the number of the last.
pub struct Row {
    vlan: PortVlan,
    last: u16,
}

/// The VLANs port by port: the kernel tells those of a port together.
pub fn ports(vlans: &[PortVlan]) -> impl Iterator<Item = &[PortVlan]> {
    vlans.chunk_by(|one, next| one.ifindex() == next.ifindex())
}

/// VLANs of a port that follow each other and of which `is_same` holds become one.
pub fn rows(vlans: &[PortVlan], is_same: impl Fn(&PortVlan, &PortVlan) -> bool) -> Vec<Row> {
    let number = |vlan: &PortVlan| vlan.vlan.unwrap_or_default();
    let runs = vlans.chunk_by(|one, next| number(one) + 1 == number(next) && is_same(one, next));
    let rows = runs.filter_map(|run| {
        Some(Row {
            vlan: run.first()?.clone(),
            last: number(run.last()?),
        })
    });
    rows.collect()
}

/// The rows of a port, a line or more each.
pub fn text(rows: &[Row], names: &mut Names, extent: Extent) -> String {
    let mut text = String::new();
    for (at, Row { vlan, last }) in rows.iter().enumerate() {
        let port = if at == 0 {
            name(vlan, names)
        } else {
            String::new()
        };
        let lines = lines(vlan, *last, &port, extent);
        // A String takes whatever is written to it.
        let _ = write!(text, "{}{lines}", if at == 0 { "" } else { "\n" });
    }
    text
}

fn lines(vlan: &PortVlan, last: u16, port: &str, extent: Extent) -> String {
    let first = vlan.vlan.unwrap_or_default();
    let range = if last == first {
        first.to_string()
    } else {
        format!("{first}-{last}")
    };
    let flags = vlan.flags.unwrap_or_default().names();
    let flags = flags.iter().map(|flag| format!(" {flag}"));
    let mut text = format!("{port:<16}  {range}{}", flags.collect::<String>());
    if extent.details {
        let state = vlan.state.map(|state| format!("state {state}"));
        let router = vlan
            .mcast_router
            .map(|router| format!("mcast_router {router}"));
        let words: Vec<_> = state.into_iter().chain(router).collect();
        let _ = write!(text, "\n{:20}{}", "", words.join(" "));
    }
    if let Some(counts) = vlan.statistics.as_ref().filter(|_| extent.statistics) {
        let VlanStatistics {
            rx_bytes,
            rx_packets,
            tx_bytes,
            tx_packets,
            ..
        } = counts;
        for (way, bytes, packets) in [("RX", rx_bytes, rx_packets), ("TX", tx_bytes, tx_packets)] {
            let [bytes, packets] = [bytes, packets].map(|count| count.unwrap_or_default());
            let _ = write!(text, "\n{:20}{way}: {bytes} bytes {packets} packets", "");
        }
    }
    text
}

/// The rows of a port, with the keys of `bridge -json`.
pub fn json(rows: &[Row], names: &mut Names, extent: Extent) -> Value {
    let port = rows.first().map(|row| name(&row.vlan, names));
    let vlans: Vec<_> = rows.iter().map(|row| row_json(row, extent)).collect();
    json!({ "ifname": port, "vlans": vlans })
}

fn row_json(Row { vlan, last }: &Row, extent: Extent) -> Value {
    let mut shown = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown.insert(key.to_owned(), value);
        }
    };
    // bridge(8) has two names for it.
    let key = if extent.statistics && !extent.details {
        "vid"
    } else {
        "vlan"
    };
    put(key, vlan.vlan.map(Value::from));
    put(
        "vlanEnd",
        Some(*last)
            .filter(|last| vlan.vlan != Some(*last))
            .map(Value::from),
    );
    let flags = vlan.flags.unwrap_or_default().names();
    put(
        "flags",
        Some(flags)
            .filter(|flags| !flags.is_empty())
            .map(Value::from),
    );
    if extent.details {
        put("state", vlan.state.map(|state| state.to_string().into()));
        put("mcast_router", vlan.mcast_router.map(Value::from));
    }
    if let Some(counts) = vlan.statistics.as_ref().filter(|_| extent.statistics) {
        put("rx_bytes", counts.rx_bytes.map(Value::from));
        put("rx_packets", counts.rx_packets.map(Value::from));
        put("tx_bytes", counts.tx_bytes.map(Value::from));
        put("tx_packets", counts.tx_packets.map(Value::from));
    }
    shown.into()
}

fn name(vlan: &PortVlan, names: &mut Names) -> String {
    let index = vlan.ifindex();
    names.name(index).unwrap_or_else(|| format!("if{index}"))
}
