//! `tapline mdb`: multicast groups of bridges, as `bridge mdb`.

use serde_json::{Value, json};
use tapline::net::schema::{Arguments, Parsed};
use tapline::net::{Family, Mdb, MdbFlags, MdbSource, Timer, Verb};

use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record};
use crate::net::syntax::{CommandSyntax, parse_fields};
use crate::net::verbs::{self, Verbs};

impl CommandSyntax for Mdb {
    const OBJECT: &'static str = "mdb";
    const VERBS: Verbs = verbs::BRIDGE;

    fn parse_arguments(_: Verb, _: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        parse_fields(Self::new(), words)
    }

    /// In the order of `print_mdb_entry`, bridge/mdb.c.
    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        record.json("index", self.dev.map(|dev| dev.0));
        let dev = self.dev.map(|dev| names.link(dev)).unwrap_or_default();
        record.text(format_args!("dev {dev}"));
        record.json("dev", Some(dev));
        record.field("port", "port", self.port.map(|port| names.link(port)));
        record.string("grp", "grp", self.grp);
        record.string("src", "src", self.src);
        if let Some(state) = self.state {
            record.text(format_args!(" {state}"));
            record.json("state", Some(state.to_string()));
        }
        if level.details {
            record.string("filter_mode", "filter_mode", self.filter_mode);
            if let Some(sources) = &self.source_list {
                let texts: Vec<_> = sources.iter().map(source_text).collect();
                record.text(format_args!(" source_list {}", texts.join(",")));
                record.json(
                    "source_list",
                    Some(sources.iter().map(source_json).collect::<Vec<_>>()),
                );
            }
            record.string("protocol", "proto", self.protocol);
            if self.protocol.is_some() {
                record.text(format_args!(" "));
            }
        }
        record.json("flags", self.flags.map(MdbFlags::names));
        for flag in self.flags.unwrap_or_default().names() {
            record.text(format_args!(" {flag}"));
        }
        record.field("vid", "vid", self.vid);
        if let Some(timer) = self.timer.filter(|_| level.statistics) {
            record.text(format_args!(" {timer}"));
            record.json("timer", Some(timer.to_string()));
        }
        if let Record::Text(text) = record {
            text.truncate(text.trim_end().len());
        }
    }
}

fn seconds(timer: Timer) -> String {
    timer.to_string().trim().to_owned()
}

fn source_text(source: &MdbSource) -> String {
    match source.timer {
        Some(timer) => format!("{}/{}", source.address, seconds(timer)),
        None => source.address.to_string(),
    }
}

fn source_json(source: &MdbSource) -> Value {
    let mut shown = json!({ "address": source.address });
    if let Some(timer) = source.timer {
        shown["timer"] = seconds(timer).into();
    }
    shown
}
