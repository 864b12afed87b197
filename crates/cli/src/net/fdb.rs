//! Forwarding entries, in the words of bridge(8).

use netlink::table::{BadWord, Table, Words};
use netlink::{Family, Fdb, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::spelled::{Extent, Spelled};

impl Spelled for Fdb {
    const NOUN: &'static str = "fdb";

    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut entry = Self::new();
        fields::read(&mut entry, words)?;
        Ok(entry)
    }

    fn text(&self, names: &mut Names, _: Extent) -> String {
        let mut text = self
            .lladdr
            .map_or_else(String::new, |lladdr| lladdr.to_string());
        self.show(names, &mut |word, value| match (word, value.as_str()) {
            ("lladdr" | "to", _) => {}
            (word, "") => fields::put(&mut text, format_args!(" {word}")),
            (word, value) => fields::put(&mut text, format_args!(" {word} {value}")),
        });
        text
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "master", "viaIf", "via"], names);
        if let Some(fields) = shown.as_object_mut() {
            if let Some(dev) = fields.remove("dev") {
                fields.insert("ifname".to_owned(), dev);
            }
            let counters = ["used", "updated"];
            fields.retain(|key, _| extent.statistics || !counters.contains(&key.as_str()));
        }
        shown
    }
}
