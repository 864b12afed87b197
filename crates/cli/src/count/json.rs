//! Figures as JSON Lines.

use std::io;

use serde_json::{Map, Value, json};
use tapline::count::{GroupKey, Tally};

use super::figures::{ClassFigures, Figures, Groups};
use crate::json;

/// Prints an event for each class.
pub fn interval(figures: &Figures) -> io::Result<()> {
    figures.classes.iter().try_for_each(|class| {
        let mut event = Map::from_iter([("event".to_owned(), "interval".into())]);
        event.extend(object(class));
        event.insert("at_ns".into(), figures.at_ns.into());
        event.insert("span_ns".into(), figures.span_ns.into());
        json::print(&event.into())
    })
}

/// Name, packets and bytes of a class, and its groups if it has some.
pub fn object(class: &ClassFigures) -> Map<String, Value> {
    let mut object = Map::from_iter([("class".to_owned(), class.name.clone().into())]);
    object.extend(tally(class.tally));
    if let Some(groups) = &class.groups {
        object.extend(split(groups));
    }
    object
}

pub fn tally(tally: Tally) -> [(String, Value); 2] {
    [
        ("packets".into(), tally.packets.into()),
        ("bytes".into(), tally.bytes.into()),
    ]
}

fn split(groups: &Groups) -> [(String, Value); 4] {
    let sum = |sum: Tally| Value::Object(tally(sum).into_iter().collect());
    let top = groups.top.iter().map(|&(key, counted)| {
        let mut group = Map::from_iter([("key".to_owned(), value(key))]);
        group.extend(tally(counted));
        Value::Object(group)
    });
    let (count, more) = groups.more;
    let more = json!({ "groups": count, "packets": more.packets, "bytes": more.bytes });
    [
        ("groups".into(), top.collect()),
        ("more".into(), more),
        ("other".into(), sum(groups.other)),
        ("without_key".into(), sum(groups.without_key)),
    ]
}

/// Numbers are numbers; what else a key may be is its text.
fn value(key: GroupKey) -> Value {
    match key {
        GroupKey::Port(number) | GroupKey::Vlan(number) => number.into(),
        GroupKey::Protocol(number) => number.into(),
        _ => key.to_string().into(),
    }
}
