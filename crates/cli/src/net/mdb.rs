//! Multicast groups, in the words of bridge(8).

use netlink::table::{BadWord, Lookup, Words};
use netlink::{Family, IfIndex, Mdb, MdbSource, Verb};
use serde_json::{Value, json};

use super::fields;
use super::names::Names;
use super::spelled::{Extent, Spelled};
use super::verb::{OF_BRIDGES, Verbs};

impl Spelled for Mdb {
    const NOUN: &'static str = "mdb";
    const VERBS: Verbs = OF_BRIDGES;

    fn read(_: Verb, _: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut group = Self::new();
        fields::read(&mut group, words)?;
        Ok(group)
    }

    /// In the order of bridge(8), which the fields' is not.
    fn text(&self, names: &mut Names, extent: Extent) -> String {
        let mut words = Vec::new();
        let mut put = |word: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("{word}{value}")));
        };
        put("dev ", self.dev.map(|dev| name(dev, names)));
        put("port ", self.port.map(|port| name(port, names)));
        put("grp ", self.grp.map(|grp| grp.to_string()));
        put("src ", self.src.map(|src| src.to_string()));
        put("", self.state.map(|state| state.to_string()));
        if extent.details {
            put(
                "filter_mode ",
                self.filter_mode.map(|mode| mode.to_string()),
            );
            put("source_list ", self.source_list.as_deref().map(senders));
            put("proto ", self.protocol.map(|by| format!("{by} ")));
        }
        for flag in self.flags.unwrap_or_default().names() {
            put("", Some(flag));
        }
        put("vid ", self.vid.map(|vid| vid.to_string()));
        if extent.statistics {
            put("", self.timer.map(|timer| timer.to_string()));
        }
        words.join(" ").trim_end().to_owned()
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
            let senders = fields.get_mut("source_list").and_then(Value::as_array_mut);
            for sender in senders.into_iter().flatten() {
                if let Some(timer) = sender.get_mut("timer") {
                    *timer = timer.as_str().unwrap_or_default().trim().into();
                }
            }
        }
        shown
    }
}

fn name(link: IfIndex, names: &mut Names) -> String {
    names.name(link).unwrap_or_else(|| format!("if{link}"))
}

/// As bridge(8) shows them: each with its time.
fn senders(list: &[MdbSource]) -> String {
    let senders = list.iter().map(|sender| match sender.timer {
        Some(timer) => format!("{}/{}", sender.address, timer.to_string().trim()),
        None => sender.address.to_string(),
    });
    senders.collect::<Vec<_>>().join(",")
}
