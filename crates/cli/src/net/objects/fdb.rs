//! `tapline fdb`: forwarding entries, as `bridge fdb`.

use std::collections::HashSet;

use tapline::net::schema::{Arguments, Parsed};
use tapline::net::{
    Family, Fdb, FdbFlags, FdbFlush, FdbState, Link, Netlink, NetlinkError, PortKind, Verb,
};

use crate::args::NetArgs;
use crate::failure::{Exit, Failure};
use crate::net::handle::{NetHandle, usage_failure};
use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record};
use crate::net::syntax::{
    CommandSyntax, GetError, Purpose, Selection, no_device, parse_fields, select, show_selected,
};

/// Flags in the order of `print_fdb`, bridge/fdb.c.
const FLAGS: [(FdbFlags, &str); 6] = [
    (FdbFlags::SELF, "self"),
    (FdbFlags::ROUTER, "router"),
    (FdbFlags::EXTERN_LEARN, "extern_learn"),
    (FdbFlags::OFFLOAD, "offload"),
    (FdbFlags::MASTER, "master"),
    (FdbFlags::STICKY, "sticky"),
];

impl CommandSyntax for Fdb {
    const OBJECT: &'static str = "fdb";

    fn parse_arguments(_: Verb, _: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        parse_fields(Self::new(), words)
    }

    /// The entry of a port is that of its bridge unless `self` is given, as in bridge(8).
    fn get(
        netlink: &mut Netlink,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Result<Self, GetError> {
        let mut key = Self::parse_arguments(Verb::Get, family, words)?;
        let flags = key.flags.unwrap_or_default();
        let has_place = flags.contains(FdbFlags::SELF) || flags.contains(FdbFlags::MASTER);
        if !has_place && key.master.is_none() && key.ifindex().0 != 0 {
            let link = netlink.link(key.ifindex())?;
            if matches!(link.port_kind(), Some(PortKind::Bridge(_))) {
                key.flags = Some(flags | FdbFlags::MASTER);
            }
        }
        Ok(netlink.get(&key)?)
    }

    /// The entries of a bridge include those of its ports' and its own tables, which do not name the bridge.
    fn show(handle: &mut NetHandle, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        let mut selection: Selection<Self> = select(handle, Purpose::Show, args.family(), words)?;
        if let Some(bridge) = selection.filter.master.take() {
            let ports = handle.netlink.list(&Link::new().master(bridge))?.items;
            let ports = ports.iter().map(Link::ifindex);
            let members: HashSet<_> = ports.chain([bridge]).collect();
            selection.accepts = Box::new(move |entry| members.contains(&entry.ifindex()));
        }
        show_selected(handle, selection, args)
    }

    /// One message, as in bridge(8). Removing entries one by one would also remove the addresses that a device
    /// itself receives.
    fn flush(handle: &mut NetHandle, words: &[String], _: &NetArgs) -> Result<Exit, Failure> {
        let parse = |words: &mut Arguments<'_>| parse_fields(FdbFlush::new(), words);
        let which = handle.parse(Self::OBJECT, words, parse)?;
        let result = handle.netlink.flush_fdb(&which);
        result.map_err(|error| handle.failure(error))?;
        Ok(Exit::Done)
    }

    fn flush_list(
        _: &mut NetHandle,
        _: Option<Family>,
        _: &[String],
    ) -> Result<Vec<Self>, Failure> {
        let problem = "flush cannot be an item of a batch";
        Err(usage_failure(Self::OBJECT, problem))
    }

    fn drop_filtered(&mut self, filter: &Self) {
        self.dev = self.dev.filter(|_| filter.dev.is_none());
    }

    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        record.json("mac", self.lladdr.map(|lladdr| lladdr.to_string()));
        if let Some(lladdr) = self.lladdr {
            record.text(format_args!("{lladdr}"));
        }
        record.field("ifname", "dev", self.dev.map(|dev| names.link(dev)));
        record.string("dst", "dst", self.dst);
        record.field("vlan", "vlan", self.vlan);
        record.field("port", "port", self.port);
        record.field("vni", "vni", self.vni);
        record.field("viaIf", "via", self.via.map(|link| names.link(link)));
        record.field("src_vni", "src_vni", self.src_vni);
        record.field("nhid", "nhid", self.nhid);
        if level.statistics {
            record.json("used", self.used);
            record.json("updated", self.updated);
            if let (Some(used), Some(updated)) = (self.used, self.updated) {
                record.text(format_args!(" used {used}/{updated}"));
            }
        }
        record.json("flags", self.flags.map(FdbFlags::names));
        for (flag, word) in FLAGS {
            if self.flags.is_some_and(|flags| flags.contains(flag)) {
                record.text(format_args!(" {word}"));
            }
        }
        record.field("master", "master", self.master.map(|link| names.link(link)));
        match self.state {
            Some(FdbState::Permanent | FdbState::Static) => {
                let state = self.state.map(|state| state.to_string());
                record.text(format_args!(" {}", state.clone().unwrap_or_default()));
                record.json("state", state);
            }
            Some(FdbState::Dynamic) => record.json("state", Some("")),
            state => record.json("state", state.map(|state| state.to_string())),
        }
    }

    fn refusal_advice(&self, _: Verb, error: &NetlinkError) -> Option<String> {
        self.lladdr.and_then(|_| no_device(error, self.ifindex()))
    }
}
