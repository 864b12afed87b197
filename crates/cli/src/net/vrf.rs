//! `tapline vrf`: VRFs and their tables, in the words of ip-vrf(8).

use abi::namespace::NetNamespace;
use netlink::table::Lookup;
use netlink::{Family, Link, LinkKind, NetlinkError, Verb, Vrf, Watch};
use serde_json::json;

use super::door::{Door, Follower, Put};
use super::job::Stack;
use super::page::Page;
use super::verb::{Act, OF_VRFS, Verbs};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// What can be done with VRFs: they are links, and are made and changed as such.
pub struct Vrfs;

/// What stands above them (`ipvrf_show`, ip/ipvrf.c).
const HEADING: &str = "Name              Table\n-----------------------";

impl Door for Vrfs {
    fn verbs(&self) -> Verbs {
        OF_VRFS
    }

    fn run(
        &self,
        stack: &mut Stack,
        act: Act,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure> {
        match (act, words) {
            (Act::Do(Verb::List), []) => all(stack, args),
            (Act::Do(Verb::List), [name]) => one(stack, name, args),
            _ => Err(only_shown()),
        }
    }

    fn prepare(
        &self,
        _: &mut Stack,
        _: Act,
        _: Option<Family>,
        _: &[String],
    ) -> Result<Put, Failure> {
        Err(only_shown())
    }

    fn watch(&self, namespace: Option<&NetNamespace>) -> Result<Box<dyn Follower>, NetlinkError> {
        let vrfs = Link::new().kind(Vrf::new());
        Ok(Box::new(match namespace {
            Some(namespace) => Watch::open_in(namespace, vrfs)?,
            None => Watch::open(vrfs)?,
        }))
    }
}

fn only_shown() -> Failure {
    let line = "vrf: only show, with or without a name, is there: they are made as links are \
        ('link add NAME type vrf table N')";
    Failure::new(Exit::Usage, line)
}

fn all(stack: &mut Stack, args: &NetArgs) -> Result<Exit, Failure> {
    let listing = stack.netlink.list(&Link::new().kind(Vrf::new()))?;
    let vrfs: Vec<_> = listing.items.iter().filter_map(named).collect();
    let mut page = Page::new(args);
    if !page.is_json() {
        page.text(HEADING)?;
        if vrfs.is_empty() {
            page.text("No VRF has been configured")?;
        }
    }
    for (name, table) in vrfs {
        if page.is_json() {
            page.json(&json!({ "name": name, "table": table }))?;
        } else {
            page.text(&format!("{name:<16} {table:>5}"))?;
        }
    }
    page.end(listing.interrupted)
}

fn one(stack: &mut Stack, name: &str, args: &NetArgs) -> Result<Exit, Failure> {
    let Some((_, table)) = stack.names.vrf(name) else {
        let line = format!("vrf: {name} is not a VRF");
        return Err(Failure::new(Exit::Failed, line));
    };
    let mut page = Page::new(args);
    if page.is_json() {
        page.json(&json!({ "name": name, "table": table }))?;
    } else {
        page.text(&format!("{name} {table}"))?;
    }
    page.end(false)
}

/// The name of a VRF and its table.
fn named(link: &Link) -> Option<(String, u32)> {
    match link.link_kind()? {
        LinkKind::Vrf(vrf) => Some((link.ifname().to_string(), vrf.table?)),
        _ => None,
    }
}
