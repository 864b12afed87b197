//! Links in a line, as `ip -brief` shows them.

use netlink::table::Lookup;
use netlink::{IfIndex, Link};
use serde_json::{Map, Value};

use super::text::{Part, called};
use super::words::shown_flags;
use crate::net::fields::put;
use crate::net::names::Names;

/// The line; of addresses only what stands before them.
pub fn text(link: &Link, names: &mut Names, part: Part) -> String {
    names.note(link);
    let name = called(link, names);
    let state = link.state.map_or_else(String::new, |it| it.to_string());
    let mut line = format!("{name:<16} {state:<14} ");
    if part == Part::Link {
        if let Some(address) = link.address.filter(|it| !it.as_bytes().is_empty()) {
            put(&mut line, format_args!("{address} "));
        }
        put(
            &mut line,
            format_args!("<{}>", shown_flags(link, names).join(",")),
        );
    }
    line
}

/// The same as JSON.
pub fn json(link: &Link, names: &mut Names, part: Part) -> Value {
    names.note(link);
    let mut shown = Map::new();
    if let Some(lower) = link.lower {
        let name = names.name(lower).filter(|_| link.lower_namespace.is_none());
        match name {
            _ if lower == IfIndex(0) => shown.insert("link".to_owned(), Value::Null),
            Some(name) => shown.insert("link".to_owned(), name.into()),
            None => shown.insert("link_index".to_owned(), lower.0.into()),
        };
    }
    shown.insert("ifname".to_owned(), link.ifname().to_string().into());
    if let Some(state) = link.state {
        shown.insert("operstate".to_owned(), state.to_string().into());
    }
    if part == Part::Link {
        if let Some(address) = link.address.filter(|it| !it.as_bytes().is_empty()) {
            shown.insert("address".to_owned(), address.to_string().into());
        }
        shown.insert("flags".to_owned(), shown_flags(link, names).into());
    }
    shown.into()
}
