//! `tapline vlan`.

use std::io::{self, Write};

use netlink::{PortVlan, Verb, VlanStatistics};
use serde_json::json;

use super::show::{HEADING, json, ports, rows, text};
use crate::args::{NetArgs, VlanArgs};
use crate::failure::{Exit, Failure};
use crate::json as lines;
use crate::net::door::Noun;
use crate::net::fields::printable;
use crate::net::job::{self, Stack, family, read};
use crate::net::spelled::Extent;
use crate::net::verb;

/// Runs `tapline vlan`.
pub fn run(args: &VlanArgs) -> Result<Exit, Failure> {
    let net = &args.net;
    match verb::split(&net.words)? {
        (Verb::List, words) if args.compressvlans => {
            let mut stack = Stack::open(net.netns.as_deref())?;
            show(&mut stack, words, net, true)
        }
        _ => job::run(Noun::Vlan, net),
    }
}

/// Shows VLANs port by port; those in a row as one where that is asked for, or where details are, as bridge(8)
/// does it.
pub fn show(
    stack: &mut Stack,
    words: &[String],
    args: &NetArgs,
    compressed: bool,
) -> Result<Exit, Failure> {
    let extent = Extent {
        details: args.details,
        statistics: args.statistics,
    };
    let mut asked: PortVlan = read(stack, Verb::List, family(args), words)?;
    if extent.statistics {
        asked.statistics = Some(VlanStatistics::new());
    }
    let listing = stack.netlink.list(&asked)?;
    stack.names.load();
    let is_same = |one: &PortVlan, next: &PortVlan| {
        (compressed || extent.details)
            && !extent.statistics
            && !one.is_pvid()
            && one.flags == next.flags
            && (!extent.details || (one.state, one.mcast_router) == (next.state, next.mcast_router))
    };
    let mut out = io::stdout().lock();
    if !args.json {
        writeln!(out, "{HEADING}")?;
    }
    let mut count = 0;
    for port in ports(&listing.items) {
        let rows = rows(port, is_same);
        count += 1;
        if args.json {
            let port = json(&rows, &mut stack.names, extent);
            writeln!(out, "{}", lines::line(&port))?;
        } else {
            let text = text(&rows, &mut stack.names, extent);
            writeln!(out, "{}", printable(&text))?;
        }
    }
    if args.json {
        let summary = json!({
            "event": "summary", "objects": count, "interrupted": listing.interrupted,
        });
        writeln!(out, "{}", lines::line(&summary))?;
    } else if listing.interrupted {
        let line = "the list changed while it was made: some may be missing or shown twice";
        writeln!(io::stderr(), "tapline: {line}")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
