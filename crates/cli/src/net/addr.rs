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
        let family = self.local.map_or(
            "inet",
            |local| if local.is_ipv4() { "inet" } else { "inet6" },
        );
        let mut text = format!("{dev}: {name}    {family}");
        self.show(names, &mut |word, value| {
            text += &match (word, value.as_str()) {
                ("dev" | "family", _) => String::new(),
                ("local", value) => format!(" {value}"),
                ("broadcast", value) => format!(" brd {value}"),
                (word, "") => format!(" {word}"),
                (word, value) => format!(" {word} {value}"),
            };
        });
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
