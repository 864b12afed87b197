//! Neighbours, in the words of ip-neighbour(8).

use netlink::table::{BadWord, Table, Word, Words};
use netlink::{Family, Neigh, NeighState, Prefix, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::spelled::{Choice, Extent, Purpose, Spelled, unknown};

impl Spelled for Neigh {
    const NOUN: &'static str = "neigh";

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut neigh = Self::new();
        neigh.family = family;
        fields::read(&mut neigh, words)?;
        // As ip(8) has it: what is entered by hand stays.
        if matches!(verb, Verb::Add | Verb::Replace)
            && neigh.proxy.is_none()
            && neigh.managed.is_none()
        {
            neigh.state.get_or_insert(NeighState::Permanent);
        }
        Ok(neigh)
    }

    /// Entries that only the kernel needs, of multicast and the like, are shown when asked for; and none that
    /// somebody has entered by hand goes without that.
    fn choose(
        purpose: Purpose,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Choice<Self>, BadWord> {
        let (mut like, mut all, mut network) = (Self::new(), false, None);
        like.family = family;
        while let Some(word) = words.next() {
            match word {
                "nud" | "state" if words.skip(&["all"]) => all = true,
                "vrf" => like.master = Some(words.vrf()?.0),
                "all" | "any" | "default" => {}
                "to" if ["all", "any", "default"].iter().any(|it| words.skip(&[it])) => {}
                "to" => network = Some(words.value::<Prefix>(word)?),
                _ if network.is_none() && word.contains(['.', ':', '/']) => {
                    let bad = |_| BadWord::new("a network", Some(word));
                    network = Some(word.parse::<Prefix>().map_err(bad)?);
                }
                _ if like.word(word, words)? => {}
                _ => return Err(unknown(word)),
            }
        }
        if let Some(network) = network {
            like.family.get_or_insert(network.family());
        }
        let any = all || like.state.is_some() || like.proxy == Some(true);
        let fits = Box::new(move |neigh: &Self| {
            let is_in = |network: Prefix| neigh.dst.is_some_and(|ip| network.contains(ip.into()));
            // What a program has learned of is shown, whatever it is.
            let any = any || neigh.extern_learn == Some(true) && purpose == Purpose::Show;
            let wanted = match neigh.state {
                Some(NeighState::Noarp | NeighState::None) => any,
                Some(NeighState::Permanent) => any || purpose == Purpose::Show,
                _ => true,
            };
            wanted && network.is_none_or(is_in)
        });
        Ok(Choice { like, fits })
    }

    fn leave_unsaid(&mut self, asked: &Self) {
        self.dev = self.dev.filter(|_| asked.dev.is_none());
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        if extent.brief {
            let dst = self.dst.map_or_else(String::new, |dst| dst.to_string());
            let dev = self.ifindex().write(names);
            let lladdr = self.lladdr.map_or_else(String::new, |it| it.to_string());
            return format!("{dst:<39} {dev:<16} {lladdr}");
        }
        let (mut text, mut flags) = (String::new(), String::new());
        let (mut state, mut protocol) = (String::new(), String::new());
        self.show(names, &mut |word, value| match (word, value.as_str()) {
            ("to", value) => text = format!("{value}{text}"),
            ("nud" | "state", "none") => {}
            ("nud" | "state", value) => state = format!(" {}", value.to_uppercase()),
            ("protocol", value) => protocol = format!(" proto {value}"),
            (word, "") => fields::put(&mut flags, format_args!(" {word}")),
            (word, value) => fields::put(&mut text, format_args!(" {word} {value}")),
        });
        text += &flags;
        if extent.statistics {
            if let Some(count) = self.refcnt.filter(|count| *count > 0) {
                fields::put(&mut text, format_args!(" ref {count}"));
            }
            let moments = [self.used, self.confirmed, self.updated];
            let [used, confirmed, updated] = moments.map(Option::unwrap_or_default);
            fields::put(
                &mut text,
                format_args!(" used {used}/{confirmed}/{updated}"),
            );
            if let Some(count) = self.probes {
                fields::put(&mut text, format_args!(" probes {count}"));
            }
        }
        text + &state + &protocol
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "master"], names);
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            if extent.brief {
                fields.retain(|key, _| ["dst", "dev", "lladdr"].contains(&key.as_str()));
            }
            let counters = ["used", "confirmed", "updated", "refcnt", "probes"];
            fields.retain(|key, _| extent.statistics || !counters.contains(&key.as_str()));
            if self.refcnt == Some(0) {
                fields.remove("refcnt");
            }
            if self.state == Some(NeighState::None) {
                fields.remove("state");
            }
        }
        let switches = ["proxy", "router", "extern_learn", "managed", "offload"];
        fields::switch(&mut shown, &switches);
        shown
    }
}
