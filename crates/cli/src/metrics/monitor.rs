//! The counters of `monitor`.

use std::collections::BTreeMap;

use super::family::{Family, Sample};

/// Changes by the type of object and what happened to it: both are among a few words.
pub fn families(changes: &BTreeMap<(&'static str, &'static str), u64>) -> Vec<Family> {
    let samples = changes.iter().map(|((object, event), value)| {
        Sample::new([("object", object), ("event", event)], *value)
    });
    vec![Family::counters(
        "monitor_changes",
        "Objects that were added, changed or removed, and overruns, after which all are compared again",
        samples.collect::<Vec<_>>(),
    )]
}
