//! What netlink-packet-route sees in a message, under our names.

use netlink_packet_core::ParseableParametrized;
use netlink_packet_route::RouteNetlinkMessage;

use super::rows::{Rows, of_debug};

/// The rows of a message; an error when that crate cannot read it.
pub fn rows(kind: u16, body: &[u8]) -> Result<Rows, String> {
    let parsed = RouteNetlinkMessage::parse_with_param(body, kind).map_err(|it| it.to_string())?;
    let mut rows = Rows::new();
    for (path, values) in of_debug(&format!("{parsed:?}")) {
        // The type of the message is at the front.
        let path = path.split_once('.').map_or("", |(_, path)| path);
        let path = path.strip_prefix("attributes.").unwrap_or(path);
        rows.entry(ours(path)).or_default().extend(values);
    }
    Ok(rows)
}

/// A path as ours has it: what is in a link's kind is called by the kind, and the family of an address is none
/// of its name.
fn ours(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    let mut parts = match parts.as_slice() {
        ["linkinfo", "data", _, rest @ ..] => [&["linkinfo", "infodata"], rest].concat(),
        ["linkinfo", "portdata", _, rest @ ..] => [&["linkinfo", "infoslavedata"], rest].concat(),
        ["linkinfo", "portkind"] => vec!["linkinfo", "infoslavekind"],
        ["linkinfo", "kind"] => vec!["linkinfo", "infokind"],
        _ => parts,
    };
    if parts.len() > 1 && matches!(parts.last(), Some(&("inet" | "inet6"))) {
        parts.pop();
    }
    parts.join(".")
}
