//! Multicast groups, in the words of bridge(8).

use netlink::table::{BadWord, Lookup, Words};
use netlink::{Family, Mdb, MdbSource, Verb};
use serde_json::{Value, json};

use super::fields;
use super::names::Names;
use super::spelled::{Extent, Spelled};

impl Spelled for Mdb {
    const NOUN: &'static str = "mdb";

    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut group = Self::new();
        fields::read(&mut group, words)?;
        Ok(group)
    }

    /// In the order of bridge(8), which the fields' is not.
    fn text(&self, names: &mut Names, extent: Extent) -> String {
        let mut text = String::new();
        let mut name = |word, link| {
            if let Some(link) = link {
                let name = names.name(link).unwrap_or_else(|| format!("if{link}"));
                fields::put(&mut text, format_args!("{word} {name} "));
            }
        };
        name("dev", self.dev);
        name("port", self.port);
        let shown = |value: &dyn std::fmt::Display| Some(value.to_string());
        let words = [
            ("grp ", self.grp.as_ref().and_then(|grp| shown(grp))),
            (" src ", self.src.as_ref().and_then(|src| shown(src))),
            (" ", self.state.as_ref().and_then(|state| shown(state))),
        ];
        let details = [
            (
                " filter_mode ",
                self.filter_mode.as_ref().and_then(|mode| shown(mode)),
            ),
            (" source_list ", self.source_list.as_deref().map(senders)),
            (" proto ", self.protocol.as_ref().and_then(|by| shown(by))),
        ];
        let details = details.into_iter().filter(|_| extent.details);
        let flags = self.flags.map(|flags| flags.names().join(" "));
        let rest = [
            (" ", flags.filter(|flags| !flags.is_empty())),
            (" vid ", self.vid.as_ref().and_then(|vid| shown(vid))),
            (
                " ",
                self.timer
                    .filter(|_| extent.statistics)
                    .as_ref()
                    .and_then(|timer| shown(timer)),
            ),
        ];
        for (word, value) in words.into_iter().chain(details).chain(rest) {
            if let Some(value) = value {
                fields::put(&mut text, format_args!("{word}{value}"));
            }
        }
        text
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "port"], names);
        if let Some(fields) = shown.as_object_mut() {
            if let Some(dev) = self.dev {
                fields.insert("index".to_owned(), json!(dev.0));
            }
            let of_details = ["filter_mode", "source_list", "protocol"];
            fields.retain(|key, _| {
                (extent.details || !of_details.contains(&key.as_str()))
                    && (extent.statistics || key != "timer")
            });
        }
        shown
    }
}

/// As bridge(8) shows them: each with its time.
fn senders(list: &[MdbSource]) -> String {
    let senders = list.iter().map(|sender| match sender.timer {
        Some(timer) => format!("{}/{}", sender.address, timer.to_string().trim()),
        None => sender.address.to_string(),
    });
    senders.collect::<Vec<_>>().join(",")
}
