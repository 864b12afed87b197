//! Neighbours, in the words of ip-neighbour(8).

use netlink::table::{BadWord, Table, Words};
use netlink::{Family, Neigh, NeighState, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::spelled::{Extent, Spelled};

impl Spelled for Neigh {
    const NOUN: &'static str = "neigh";

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut neigh = Self::new();
        neigh.family = family;
        fields::read(&mut neigh, words)?;
        // As ip(8) has it: what is entered by hand stays.
        if matches!(verb, Verb::Add | Verb::Replace) && neigh.proxy.is_none() {
            neigh.state.get_or_insert(NeighState::Permanent);
        }
        Ok(neigh)
    }

    /// Entries that only the kernel needs, of multicast and the like, are shown when asked for.
    fn is_shown(&self, asked: &Self) -> bool {
        asked.state.is_some() || self.state != Some(NeighState::Noarp)
    }

    fn text(&self, names: &mut Names, _: Extent) -> String {
        let mut text = String::new();
        let mut state = String::new();
        self.show(names, &mut |word, value| match (word, value.as_str()) {
            ("to", value) => text = format!("{value}{text}"),
            ("nud" | "state", value) => state = format!(" {}", value.to_uppercase()),
            (word, "") => fields::put(&mut text, format_args!(" {word}")),
            (word, value) => fields::put(&mut text, format_args!(" {word} {value}")),
        });
        text + &state
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "master"], names);
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            let counters = ["used", "confirmed", "updated", "refcnt", "probes"];
            fields.retain(|key, _| extent.statistics || !counters.contains(&key.as_str()));
        }
        shown
    }
}
