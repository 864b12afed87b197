//! `tapline vrf`: VRFs and their tables, as ip-vrf(8). `link` adds and changes VRFs.

use tapline::Namespace;
use tapline::net::schema::NameLookup;
use tapline::net::{Family, Link, LinkKind, NetlinkError, Verb, Vrf};

use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::command::{BatchItems, ChangeStream, ObjectCommand, watch};
use crate::net::handle::{NetHandle, usage_failure};
use crate::net::output::ObjectWriter;
use crate::net::verbs::{self, Action, Verbs};

pub struct Vrfs;

/// The heading of `ipvrf_show`, ip/ipvrf.c.
const HEADING: &str = "Name              Table\n-----------------------";

impl ObjectCommand for Vrfs {
    fn verbs(&self) -> Verbs {
        verbs::SHOW_ONLY
    }

    fn run(
        &self,
        handle: &mut NetHandle,
        action: Action,
        words: &[String],
        args: &NetArgs,
    ) -> Result<Exit, Failure> {
        match (action, words) {
            (Action::Verb(Verb::List), []) => show_all(handle, args),
            (Action::Verb(Verb::List), [name]) => show_one(handle, name, args),
            _ => Err(unsupported()),
        }
    }

    fn prepare(
        &self,
        _: &mut NetHandle,
        _: Action,
        _: Option<Family>,
        _: &[String],
    ) -> Result<BatchItems, Failure> {
        Err(unsupported())
    }

    fn watch(&self, namespace: Option<&Namespace>) -> Result<Box<dyn ChangeStream>, NetlinkError> {
        watch(namespace, Link::new().kind(Vrf::new()))
    }
}

fn unsupported() -> Failure {
    let problem =
        "only show [NAME] is supported; use 'link add NAME type vrf table N' to add a VRF";
    usage_failure("vrf", problem)
}

fn show_all(handle: &mut NetHandle, args: &NetArgs) -> Result<Exit, Failure> {
    let listing = handle.netlink.list(&Link::new().kind(Vrf::new()))?;
    let vrfs: Vec<_> = listing.items.iter().filter_map(name_and_table).collect();
    let mut writer = ObjectWriter::new(&args.show, args.line);
    if !writer.is_json() {
        writer.write_text(HEADING)?;
        if vrfs.is_empty() {
            writer.write_text("No VRF has been configured")?;
        }
    }
    for (name, table) in vrfs {
        let mut record = writer.record();
        record.text(format_args!("{name:<16} {table:>5}"));
        record.json("name", Some(name));
        record.json("table", Some(table));
        writer.write(record)?;
    }
    writer.finish(listing.interrupted)
}

fn show_one(handle: &mut NetHandle, name: &str, args: &NetArgs) -> Result<Exit, Failure> {
    let Some((_, table)) = handle.names.vrf(name) else {
        let line = format!("vrf: {name} is not a VRF");
        return Err(Failure::new(Exit::Failed, line));
    };
    let mut writer = ObjectWriter::new(&args.show, args.line);
    let mut record = writer.record();
    record.text(format_args!("{name} {table}"));
    record.json("name", Some(name));
    record.json("table", Some(table));
    writer.write(record)?;
    writer.finish(false)
}

fn name_and_table(link: &Link) -> Option<(String, u32)> {
    match link.link_kind()? {
        LinkKind::Vrf(vrf) => Some((link.ifname().to_string(), vrf.table?)),
        _ => None,
    }
}
