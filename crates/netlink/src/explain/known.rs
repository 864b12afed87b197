//! Which attributes a message may have, by its type.

use crate::object::Object;
use crate::table::Entry;
use crate::uapi::{NLMSG_DONE, NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN};
use crate::{Addr, Fdb, Link, Mdb, NamespaceNumber, Nexthop, PortVlan, Route, Rule, Stats};

/// How a message is laid out.
pub(super) struct Known {
    /// Its fixed header, by the name of the struct.
    pub header: &'static str,
    pub header_bytes: usize,
    pub entries: fn() -> &'static [Entry],
}

fn layout<O: Object>(header: &'static str) -> Known {
    Known {
        header,
        header_bytes: O::HEADER_BYTES,
        entries: O::entries,
    }
}

impl Known {
    /// How messages of `kind` are laid out.
    pub(super) fn of(kind: u16) -> Option<Self> {
        Some(match kind {
            16..=19 | 108..=110 => layout::<Link>("ifinfomsg"),
            20..=22 => layout::<Addr>("ifaddrmsg"),
            24..=26 => layout::<Route>("rtmsg"),
            28..=30 => layout::<Fdb>("ndmsg"),
            32..=34 => layout::<Rule>("fib_rule_hdr"),
            84..=86 => layout::<Mdb>("br_port_msg"),
            88..=90 => layout::<NamespaceNumber>("rtgenmsg"),
            92..=94 => layout::<Stats>("if_stats_msg"),
            104..=106 => layout::<Nexthop>("nhmsg"),
            112..=114 => layout::<PortVlan>("br_vlan_msg"),
            _ => return None,
        })
    }
}

/// The kinds of objects, by the types of their messages: from each on there are four.
const OBJECTS: [(u16, &str); 12] = [
    (16, "LINK"),
    (20, "ADDR"),
    (24, "ROUTE"),
    (28, "NEIGH"),
    (32, "RULE"),
    (64, "NEIGHTBL"),
    (84, "MDB"),
    (88, "NSID"),
    (92, "STATS"),
    (104, "NEXTHOP"),
    (108, "LINKPROP"),
    (112, "VLAN"),
];

/// The name of a message's type, by the kernel's headers.
pub(super) fn name(kind: u16) -> String {
    let control = [
        (NLMSG_NOOP, "NLMSG_NOOP"),
        (NLMSG_ERROR, "NLMSG_ERROR"),
        (NLMSG_DONE, "NLMSG_DONE"),
        (NLMSG_OVERRUN, "NLMSG_OVERRUN"),
    ];
    if let Some((_, name)) = control.iter().find(|(control, _)| *control == kind) {
        return (*name).to_owned();
    }
    let verb = ["NEW", "DEL", "GET", "SET"][usize::from(kind % 4)];
    match OBJECTS.iter().find(|(first, _)| *first == kind & !3) {
        Some((_, object)) => format!("RTM_{verb}{object}"),
        None => format!("message {kind}"),
    }
}
