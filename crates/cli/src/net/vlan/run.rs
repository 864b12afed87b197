//! `tapline vlan`.

use netlink::{PortVlan, Verb, VlanStatistics};

use super::show::{HEADING, json, ports, rows, text};
use crate::args::{NetArgs, VlanArgs};
use crate::failure::{Exit, Failure};
use crate::net::door::Noun;
use crate::net::job::{self, Stack, read};
use crate::net::page::Page;
use crate::net::spelled::Spelled;
use crate::net::verb::{self, Act};

/// Runs `tapline vlan`.
pub fn run(args: &VlanArgs) -> Result<Exit, Failure> {
    let net = &args.net;
    match verb::split(PortVlan::VERBS, &net.words)? {
        (Act::Do(Verb::List), words) if args.compressvlans => {
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
    let mut asked: PortVlan = read(stack, Verb::List, args.family(), words)?;
    if args.show.statistics > 0 {
        asked.statistics = Some(VlanStatistics::new());
    }
    let listing = stack.netlink.list(&asked)?;
    stack.names.load();
    let is_same = |one: &PortVlan, next: &PortVlan| {
        (compressed || args.show.details)
            && args.show.statistics == 0
            && !one.is_pvid()
            && one.flags == next.flags
            && (!args.show.details
                || (one.state, one.mcast_router) == (next.state, next.mcast_router))
    };
    let mut page = Page::new(args);
    let extent = page.extent();
    if !page.is_json() {
        page.text(HEADING)?;
    }
    for port in ports(&listing.items) {
        let rows = rows(port, is_same);
        if page.is_json() {
            page.json(&json(&rows, &mut stack.names, extent))?;
        } else {
            page.text(&text(&rows, &mut stack.names, extent))?;
        }
    }
    page.end(listing.interrupted)
}
