//! `tapline neigh`: neighbours, as ip-neighbour(8).

use tapline::net::schema::{Arguments, Flatten, InvalidValue, Parsed};
use tapline::net::{Family, Neigh, NeighState, NetlinkError, Prefix, Verb};

use crate::net::handle::unknown_word;
use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record};
use crate::net::syntax::{CommandSyntax, Purpose, Selection, no_device, parse_fields};

/// Networks that mean every address.
const ALL: [&str; 3] = ["all", "any", "default"];

impl CommandSyntax for Neigh {
    const OBJECT: &'static str = "neigh";

    fn parse_arguments(
        verb: Verb,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Self> {
        let mut neigh = Self::new();
        neigh.family = family;
        let mut neigh = parse_fields(neigh, words)?;
        // As in ip(8), added entries are permanent.
        if matches!(verb, Verb::Add | Verb::Replace)
            && neigh.proxy.is_none()
            && neigh.managed.is_none()
        {
            neigh.state.get_or_insert(NeighState::Permanent);
        }
        Ok(neigh)
    }

    /// `show` omits the kernel's own entries (of multicast and the like), and `flush` permanent entries as well,
    /// unless the arguments name a state.
    fn select(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Arguments<'_>,
    ) -> Parsed<Selection<Self>> {
        let (mut filter, mut all, mut network) = (Self::new(), false, None);
        filter.family = family;
        while let Some(word) = words.next() {
            words.offer(&["nud", "state", "vrf", "to"]);
            match word {
                "nud" | "state" if words.skip(&["all"]) => all = true,
                "vrf" => filter.master = Some(words.vrf()?.0),
                _ if ALL.contains(&word) => {}
                "to" if ALL.iter().any(|all| words.skip(&[all])) => {}
                "to" => network = Some(words.value::<Prefix>(word)?),
                _ if network.is_none() && word.contains(['.', ':', '/']) => {
                    let bad = |_| InvalidValue::new("a network", Some(word));
                    network = Some(word.parse::<Prefix>().map_err(bad)?);
                }
                _ if filter.parse_keyword(word, words)? => {}
                _ => return Err(unknown_word(word)),
            }
        }
        if let Some(network) = network {
            filter.family.get_or_insert(network.family());
        }
        let is_show = purpose == Purpose::Show;
        let any = all || filter.state.is_some() || filter.proxy == Some(true);
        let accepts = Box::new(move |neigh: &Self| {
            let is_in = |network: Prefix| neigh.dst.is_some_and(|ip| network.contains(ip.into()));
            let has_state = match neigh.state {
                Some(NeighState::Noarp | NeighState::None) => {
                    any || is_show && neigh.extern_learn == Some(true)
                }
                Some(NeighState::Permanent) => any || is_show,
                _ => true,
            };
            has_state && network.is_none_or(is_in)
        });
        Ok(Selection { filter, accepts })
    }

    fn drop_filtered(&mut self, filter: &Self) {
        self.dev = self.dev.filter(|_| filter.dev.is_none());
    }

    /// In the order of `print_neigh`, ip/ipneigh.c.
    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        let dev = self.dev.map(|dev| names.link(dev));
        if let (true, Record::Text(text)) = (level.brief, &mut *record) {
            let dst = self.dst.map_or_else(String::new, |dst| dst.to_string());
            let lladdr = self.lladdr.map_or_else(String::new, |it| it.to_string());
            *text = format!("{dst:<39} {:<16} {lladdr}", dev.unwrap_or_default());
            return;
        }
        record.json("dst", self.dst.map(|dst| dst.to_string()));
        if let Some(dst) = self.dst {
            record.text(format_args!("{dst}"));
        }
        record.field("dev", "dev", dev);
        record.string("lladdr", "lladdr", self.lladdr);
        if level.brief {
            return;
        }
        record.field("master", "master", self.master.map(|link| names.link(link)));
        for (word, on) in [
            ("proxy", self.proxy),
            ("router", self.router),
            ("extern_learn", self.extern_learn),
            ("managed", self.managed),
        ] {
            record.flag(word, on);
        }
        if let Record::Json(_) = record {
            record.flag("offload", self.offload);
        }
        if level.statistics {
            let refcnt = self.refcnt.filter(|count| *count > 0);
            record.field("refcnt", "ref", refcnt);
            let times = [self.used, self.confirmed, self.updated];
            for (key, time) in ["used", "confirmed", "updated"].into_iter().zip(times) {
                record.json(key, time);
            }
            let [used, confirmed, updated] = times.map(Option::unwrap_or_default);
            record.text(format_args!(" used {used}/{confirmed}/{updated}"));
            record.field("probes", "probes", self.probes);
        }
        if let Some(state) = self.state.filter(|state| *state != NeighState::None) {
            let state = state.to_string().to_uppercase();
            record.text(format_args!(" {state}"));
            record.json("state", Some(vec![state]));
        }
        record.string("protocol", "proto", self.protocol);
    }

    fn refusal_advice(&self, _: Verb, error: &NetlinkError) -> Option<String> {
        self.dst.and_then(|_| no_device(error, self.ifindex()))
    }
}
