//! Figures as JSON Lines.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tapline::count::{CountedLink, GroupKey, Traffic};

use super::figures::{ClassFigures, Figures, Groups};
use crate::output::json;

/// Prints an event for an interface that changed.
pub fn link(link: &CountedLink) -> io::Result<()> {
    json::print(&json!({
        "event": "link",
        "name": link.link,
        "index": link.index,
        "state": link.state.name(),
        "at_ns": realtime_ns(),
    }))
}

/// The wall-clock time, nanoseconds since 1970.
pub fn realtime_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

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

/// Name, packets, bytes and groups of a class.
pub fn object(class: &ClassFigures) -> Map<String, Value> {
    let mut object = Map::from_iter([("class".to_owned(), class.name.clone().into())]);
    object.extend(traffic(class.traffic));
    if let Some(groups) = &class.groups {
        object.extend(split(groups));
    }
    object
}

pub fn traffic(traffic: Traffic) -> [(String, Value); 2] {
    [
        ("packets".into(), traffic.packets.into()),
        ("bytes".into(), traffic.bytes.into()),
    ]
}

fn split(groups: &Groups) -> [(String, Value); 4] {
    let sum = |sum: Traffic| Value::Object(traffic(sum).into_iter().collect());
    let top = groups.top.iter().map(|&(key, counted)| {
        let mut group = Map::from_iter([("key".to_owned(), value(key))]);
        group.extend(traffic(counted));
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

/// Numeric keys are JSON numbers; others are strings.
fn value(key: GroupKey) -> Value {
    match key {
        GroupKey::Port(number) | GroupKey::Vlan(number) => number.into(),
        GroupKey::Protocol(number) => number.into(),
        _ => key.to_string().into(),
    }
}
