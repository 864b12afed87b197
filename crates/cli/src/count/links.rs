//! Interfaces at which nothing can be counted for a time.

use std::io::{self, Write};

use serde_json::json;
use tapline::count::{CountedLink, LinkState};

use crate::json;

/// Prints that an interface changed, as an event.
pub fn event(link: &CountedLink) -> io::Result<()> {
    json::print(&json!({
        "event": "link",
        "name": link.link,
        "index": link.index,
        "state": link.state.name(),
        "at_ns": abi::clock::realtime_ns(),
    }))
}

/// Says so, on standard error.
pub fn warn(link: &CountedLink) {
    let name = &link.link;
    let line = match link.state {
        LinkState::Up => format!("{name} is up again"),
        LinkState::Down => format!(
            "warning: {name} is down, so there is nothing to count (bring it up with 'ip link set \
             {name} up')"
        ),
        _ => format!(
            "warning: {name} has no carrier: nothing comes in, and what goes out does not get far"
        ),
    };
    // A closed standard error ends nothing.
    let _ = writeln!(io::stderr(), "{line}");
}
