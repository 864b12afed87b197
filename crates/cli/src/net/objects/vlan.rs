//! `tapline vlan`: VLANs of bridge ports, as `bridge vlan`.

use serde_json::Value;
use tapline::net::schema::{Arguments, Parsed};
use tapline::net::{Family, Listing, PortVlan, Verb, VlanStatistics};

use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::handle::NetHandle;
use crate::net::names::Names;
use crate::net::output::{DetailLevel, ObjectWriter, Record};
use crate::net::syntax::{self, CommandSyntax, parse_fields};
use crate::net::verbs::{self, Verbs};

const HEADING: &str = "port              vlan-id";

impl CommandSyntax for PortVlan {
    const OBJECT: &'static str = "vlan";
    const VERBS: Verbs = verbs::BRIDGE;

    fn parse_arguments(_: Verb, _: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        parse_fields(Self::new(), words)
    }

    /// Prints one object per port. `--compressvlans` and `-d` print consecutive equal VLANs as a range, as
    /// bridge(8) does.
    fn show(handle: &mut NetHandle, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        let mut filter: Self = syntax::parse(handle, Verb::List, args.family(), words)?;
        let mut writer = ObjectWriter::new(&args.show, args.line);
        let level = writer.level();
        if level.statistics {
            filter.statistics = Some(VlanStatistics::new());
        }
        let listing = match handle.netlink.list(&filter) {
            // A kernel without VLAN filtering has none.
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Listing::default(),
            result => result?,
        };
        handle.names.load();
        let has_ranges = (args.compress_vlans || level.details) && !level.statistics;
        let is_equal = |one: &Self, next: &Self| {
            has_ranges
                && !one.is_pvid()
                && one.flags == next.flags
                && (!level.details
                    || (one.state, one.mcast_router) == (next.state, next.mcast_router))
        };
        if !writer.is_json() {
            writer.write_text(HEADING)?;
        }
        let ports = listing
            .items
            .chunk_by(|one, next| one.ifindex() == next.ifindex());
        for port in ports {
            let mut record = writer.record();
            print_port(port, is_equal, &mut record, &mut handle.names, level);
            writer.write(record)?;
        }
        writer.finish(listing.interrupted)
    }

    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        let vlans = std::slice::from_ref(self);
        print_port(vlans, |_, _| false, record, names, level);
    }
}

/// Prints the VLANs of a port, with a range for consecutive VLANs that `is_equal` accepts.
fn print_port(
    vlans: &[PortVlan],
    is_equal: impl Fn(&PortVlan, &PortVlan) -> bool,
    record: &mut Record,
    names: &mut Names,
    level: DetailLevel,
) {
    let port = vlans.first().map(|vlan| names.link(vlan.ifindex()));
    record.json("ifname", port.clone());
    let mut port = port.unwrap_or_default();
    let vid = |vlan: &PortVlan| vlan.vlan.unwrap_or_default();
    let is_in_range =
        |one: &PortVlan, next: &PortVlan| vid(one) + 1 == vid(next) && is_equal(one, next);
    let mut rows = Vec::new();
    for range in vlans.chunk_by(is_in_range) {
        let (first, last) = (&range[0], &range[range.len() - 1]);
        let mut row = Record::new(matches!(record, Record::Json(_)));
        row.text(format_args!("{port:<16}  "));
        print_row(first, vid(last), &mut row, level);
        port.clear();
        match row {
            Record::Json(row) => rows.push(Value::from(row)),
            Record::Text(row) => record.text(format_args!("{row}\n")),
        }
    }
    record.json("vlans", Some(rows));
    if let Record::Text(text) = record {
        text.pop();
    }
}

fn print_row(vlan: &PortVlan, last: u16, row: &mut Record, level: DetailLevel) {
    let first = vlan.vlan.unwrap_or_default();
    // bridge(8) has two keys for the VLAN.
    let is_vid = level.statistics && !level.details;
    row.json(if is_vid { "vid" } else { "vlan" }, Some(first));
    row.text(format_args!("{first}"));
    if last != first {
        row.json("vlanEnd", Some(last));
        row.text(format_args!("-{last}"));
    }
    let flags = vlan.flags.unwrap_or_default().names();
    for flag in &flags {
        row.text(format_args!(" {flag}"));
    }
    row.json("flags", Some(flags).filter(|flags| !flags.is_empty()));
    if level.details {
        row.text(format_args!("\n{:19}", ""));
        row.string("state", "state", vlan.state);
        row.field("mcast_router", "mcast_router", vlan.mcast_router);
    }
    if let Some(counters) = vlan.statistics.as_ref().filter(|_| level.statistics) {
        for (direction, keys, counts) in [
            (
                "RX",
                ["rx_bytes", "rx_packets"],
                [counters.rx_bytes, counters.rx_packets],
            ),
            (
                "TX",
                ["tx_bytes", "tx_packets"],
                [counters.tx_bytes, counters.tx_packets],
            ),
        ] {
            keys.into_iter()
                .zip(counts)
                .for_each(|(key, count)| row.json(key, count));
            let [bytes, packets] = counts.map(Option::unwrap_or_default);
            let indent = "";
            row.text(format_args!(
                "\n{indent:20}{direction}: {bytes} bytes {packets} packets"
            ));
        }
    }
}
