//! The counters of `monitor`.

use std::collections::BTreeMap;

use super::family::{Family, Sample, Samples};

/// Changes by the type of object and what happened to it: both are among a few words.
pub fn families(changes: &BTreeMap<(&'static str, &'static str), u64>) -> Vec<Family> {
    let samples = changes.iter().map(|((object, event), value)| Sample {
        labels: vec![
            ("object", (*object).to_owned()),
            ("event", (*event).to_owned()),
        ],
        value: *value,
    });
    vec![Family {
        name: "monitor_changes",
        help: "Objects that were added, changed or removed, and overruns, after which all are compared again",
        is_bytes: false,
        samples: Samples::Counters(samples.collect()),
    }]
}
