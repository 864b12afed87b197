//! Rules, in the words of ip-rule(8).

use netlink::table::{BadWord, Words};
use netlink::{Family, RouteTable, Rule, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::route::detail;
use super::spelled::{Extent, Spelled};

impl Spelled for Rule {
    const NOUN: &'static str = "rule";

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        // Without words it would be the first rule of all that is removed.
        if matches!(verb, Verb::Add | Verb::Del) && words.peek().is_none() {
            return Err(BadWord::new("a word about the rule", None));
        }
        let mut rule = Self::read_words(words, family)?;
        // As ip(8) has it.
        match verb {
            Verb::List => _ = rule.family.get_or_insert(Family::V4),
            Verb::Add if rule.action.is_none() && rule.table.is_none() && rule.l3mdev.is_none() => {
                rule.table = Some(RouteTable::Main);
            }
            _ => {}
        }
        Ok(rule)
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        self.line(detail(extent), names)
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &[], names);
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            // As ip(8) has it: networks in two keys, and all of them by that word.
            for (key, network) in [("src", self.src), ("dst", self.dst)] {
                let Some(network) = network else { continue };
                fields.insert(key.to_owned(), network.ip.to_string().into());
                if network.len < if network.ip.is_ipv4() { 32 } else { 128 } {
                    fields.insert(format!("{key}len"), network.len.into());
                }
            }
            for key in ["fwmark", "fwmask"] {
                if let Some(number) = fields.get(key).and_then(Value::as_u64) {
                    fields.insert(key.to_owned(), format!("{number:#x}").into());
                }
            }
            fields.entry("src").or_insert_with(|| "all".into());
        }
        if !extent.details {
            let usual = [
                ("protocol", "kernel"),
                ("protocol", "unspec"),
                ("action", "to_tbl"),
            ];
            fields::forget(&mut shown, &usual);
        }
        shown
    }
}
