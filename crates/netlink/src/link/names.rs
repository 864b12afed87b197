use crate::codec::{Attribute, Malformed, Request};
use crate::table::{Code, Entry, Shape};
use crate::uapi::IFLA_ALT_IFNAME;

/// Alternative names of a link, an attribute each.
#[derive(Clone, Copy, Debug)]
pub struct AlternativeNames;

const ENTRIES: &[Entry] = &[Entry {
    kind: IFLA_ALT_IFNAME,
    constant: "IFLA_ALT_IFNAME",
    shape: Shape::Text,
}];

impl Code<Vec<String>> for AlternativeNames {
    const SHAPE: Shape = Shape::Nest {
        skip: 0,
        entries: || ENTRIES,
    };

    fn put(value: &Vec<String>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for name in value {
                request.text(IFLA_ALT_IFNAME, name.as_bytes());
            }
        });
    }

    fn take(attribute: Attribute<'_>) -> Result<Vec<String>, Malformed> {
        let names = attribute.attributes().filter(|name| {
            name.as_ref()
                .map_or(true, |name| name.kind == IFLA_ALT_IFNAME)
        });
        names.map(|name| Ok(name?.text())).collect()
    }

    fn matches(value: &Vec<String>, wanted: &Vec<String>) -> bool {
        wanted.iter().all(|name| value.contains(name))
    }

    fn merge(value: &mut Vec<String>, change: Vec<String>) {
        *value = change;
    }
}
