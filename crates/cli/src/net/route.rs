//! Routes, in the words of ip-route(8).

use netlink::table::{BadWord, Table, Words};
use netlink::{Detail, Family, Netlink, Route, RouteQuery, RouteTable, Verb};
use serde_json::Value;

use super::fields;
use super::names::Names;
use super::spelled::{Extent, Spelled, Unanswered, unknown};

impl Spelled for Route {
    const NOUN: &'static str = "route";

    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord> {
        if verb != Verb::List {
            return Self::read_words(words, family);
        }
        let all_tables = words.skip(&["table", "all"]);
        let mut route = Self::read_words(words, family)?;
        if route.dst.is_none() && !all_tables {
            // As ip(8) has it: IPv4, and the main table.
            route.family.get_or_insert(Family::V4);
            route.table.get_or_insert(RouteTable::Main);
        }
        Ok(route)
    }

    /// How a destination is reached.
    fn ask(
        netlink: &mut Netlink,
        _: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Self, Unanswered> {
        let mut query = RouteQuery::new();
        while let Some(word) = words.next() {
            match word {
                "dev" | "vrf" => query.oif = Some(words.value(word)?),
                "fibmatch" => query.fibmatch = Some(true),
                _ if query.word(word, words)? => {}
                _ if query.to.is_none() => {
                    let to = word
                        .parse()
                        .map_err(|_| BadWord::new("an address", Some(word)))?;
                    query.to = Some(to);
                }
                _ => return Err(unknown(word).into()),
            }
        }
        Ok(netlink.lookup(&query)?)
    }

    fn text(&self, names: &mut Names, extent: Extent) -> String {
        self.line(detail(extent), names)
    }

    fn json(&self, names: &mut Names, extent: Extent) -> Value {
        let mut shown = fields::json(self, &["dev", "oif", "iif"], names);
        if !extent.details {
            let usual = [
                ("type", "unicast"),
                ("protocol", "boot"),
                ("protocol", "unspec"),
                ("scope", "global"),
            ];
            fields::forget(&mut shown, &usual);
        }
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("family");
            if !extent.details && self.table == Some(RouteTable::Main) {
                fields.remove("table");
            }
            fields
                .entry("flags")
                .or_insert_with(|| Value::Array(Vec::new()));
        }
        shown
    }
}

/// How much of a line is shown.
pub fn detail(extent: Extent) -> Detail {
    if extent.details {
        Detail::All
    } else {
        Detail::Usual
    }
}
