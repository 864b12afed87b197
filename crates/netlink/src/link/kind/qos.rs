use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Entry, Lookup, Shape, Word, Words};
use crate::uapi::IFLA_VLAN_QOS_MAPPING;

/// A priority that is made into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosMapping {
    /// The priority that is found.
    pub from: u32,
    /// The priority it becomes.
    pub to: u32,
}

/// Priorities, an attribute for each; those that are not given stay as they are.
#[derive(Clone, Copy, Debug)]
pub struct QosMap;

const ENTRIES: &[Entry] = &[Entry {
    kind: IFLA_VLAN_QOS_MAPPING,
    constant: "IFLA_VLAN_QOS_MAPPING",
    shape: Shape::Bytes,
}];

impl Code<Vec<QosMapping>> for QosMap {
    const SHAPE: Shape = Shape::Nest {
        skip: 0,
        entries: || ENTRIES,
    };

    fn put(value: &Vec<QosMapping>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for QosMapping { from, to } in value {
                let bytes = [from.to_ne_bytes(), to.to_ne_bytes()];
                request.attribute(IFLA_VLAN_QOS_MAPPING, bytes.as_flattened());
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<QosMapping>, Malformed> {
        let mappings = attribute.attributes().map(|mapping| {
            let [a, b, c, d, to @ ..] = mapping?.array::<8>()?;
            Ok(QosMapping {
                from: u32::from_ne_bytes([a, b, c, d]),
                to: u32::from_ne_bytes(to),
            })
        });
        mappings.collect()
    }

    fn matches(value: &Vec<QosMapping>, wanted: &Vec<QosMapping>) -> bool {
        wanted.iter().all(|mapping| value.contains(mapping))
    }

    fn merge(value: &mut Vec<QosMapping>, change: Vec<QosMapping>) {
        value.retain(|old| change.iter().all(|new| new.from != old.from));
        value.extend(change);
    }
}

impl Word for QosMapping {
    /// `FROM:TO`.
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
        let (from, to) = text.split_once(':')?;
        Some(Self {
            from: Word::read(from, lookup)?,
            to: Word::read(to, lookup)?,
        })
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        format!("{}:{}", self.from, self.to)
    }

    fn many(words: &mut Words<'_>, name: &str) -> Result<Vec<Self>, BadWord> {
        let mut mappings = vec![words.value(name)?];
        while words.peek().is_some_and(|word| word.contains(':')) {
            mappings.push(words.value(name)?);
        }
        Ok(mappings)
    }

    fn write_many(values: &[Self], lookup: &mut dyn Lookup) -> String {
        let words: Vec<_> = values.iter().map(|value| value.write(lookup)).collect();
        words.join(" ")
    }
}
