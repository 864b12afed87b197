//! Addresses, in the words of ip-address(8), a line each.

use netlink::table::{BadWord, Lookup, Table, Words};
use netlink::{Addr, Family, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::spelled::{Extent, NO_LINK, Spelled};

impl Spelled for Addr {
    const NOUN: &'static str = "addr";

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        let mut addr = Self::new();
        addr.family = family;
        if verb == Verb::List
            && let Some(word) = words.peek()
            && let Some(index) = words.lookup().index(word)
        {
            words.next();
            addr.dev = Some(index);
        }
        while let Some(word) = words.next() {
            if word == "dev" {
                let name: String = words.value("dev")?;
                let index = words.lookup().index(&name);
                addr.dev = Some(index.ok_or_else(|| BadWord::new(NO_LINK, Some(&name)))?);
            } else if !addr.word(word, words)? {
                return Err(super::spelled::unknown(word));
            }
        }
        Ok(addr)
    }

    /// As `ip -oneline address` has it.
    fn text(&self, names: &mut Names, _: Extent) -> String {
        let dev = self.ifindex();
        let name = names.name(dev).unwrap_or_else(|| format!("if{dev}"));
        let mut text = format!("{dev}: {name}   ");
        // In the order of ip(8), which the fields' is not.
        let mut words: Vec<(&str, String)> = Vec::new();
        self.show(names, &mut |word, value| words.push((word, value)));
        let take = |wanted: &str| {
            let of = |(word, _): &&(&str, String)| *word == wanted;
            words.iter().find(of).map(|(_, value)| value.clone())
        };
        let family = if self.local.is_some_and(|local| local.is_ipv6()) {
            "inet6"
        } else {
            "inet"
        };
        let first = [
            (family, take("local")),
            ("peer", take("peer")),
            ("metric", take("metric")),
            ("brd", take("broadcast")),
            ("scope", take("scope")),
        ];
        for (word, value) in first {
            if let Some(value) = value {
                fields::put(&mut text, format_args!(" {word} {value}"));
            }
        }
        let told = [
            "local",
            "peer",
            "metric",
            "broadcast",
            "scope",
            "dev",
            "label",
        ];
        for (word, value) in words.iter().filter(|(word, _)| !told.contains(word)) {
            let blank = if value.is_empty() { "" } else { " " };
            fields::put(&mut text, format_args!(" {word}{blank}{value}"));
        }
        if let Some(label) = take("label") {
            fields::put(&mut text, format_args!(" {label}"));
        }
        text
    }

    fn json(&self, names: &mut Names, _: Extent) -> Value {
        let mut shown = fields::json(self, &[], names);
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("dev");
            fields.insert("ifindex".to_owned(), self.ifindex().0.into());
            fields.insert("ifname".to_owned(), names.name(self.ifindex()).into());
        }
        shown
    }
}
