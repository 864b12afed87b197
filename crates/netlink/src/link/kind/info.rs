use serde::{Deserialize, Serialize};

use super::LinkKind;
use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::table::{BadWord, Entry, Lookup, Shape, Table, Words};
use crate::uapi::{IFLA_INFO_DATA, IFLA_INFO_KIND};

/// What a link is, and what is particular to it (`IFLA_LINKINFO`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LinkInfo {
    /// What software made it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LinkKind>,
}

const ENTRIES: &[Entry] = &[
    Entry {
        kind: IFLA_INFO_KIND,
        constant: "kind",
        shape: Shape::Text,
    },
    Entry {
        kind: IFLA_INFO_DATA,
        constant: "data",
        shape: Shape::Chosen {
            by: |around| LinkKind::entries(text_of(around, IFLA_INFO_KIND)),
        },
    },
];

/// The text of the attribute `kind` among those in `around`.
fn text_of(around: &[u8], kind: u16) -> &[u8] {
    let mut found = attributes(around, 0).flatten();
    found
        .find(|attribute| attribute.kind == kind)
        .map_or(&[], |attribute| attribute.c_string())
}

impl Table for LinkInfo {
    fn entries() -> &'static [Entry] {
        ENTRIES
    }

    fn put(&self, request: &mut Request) {
        if let Some(kind) = &self.kind {
            request.text(IFLA_INFO_KIND, kind.name().as_bytes());
            kind.put(request);
        }
    }

    /// The kernel names the kind before what is particular to it.
    fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match (attribute.kind, &mut self.kind) {
            (IFLA_INFO_KIND, place) => *place = Some(LinkKind::named(&attribute.text())),
            (IFLA_INFO_DATA, Some(kind)) => kind.take(attribute)?,
            _ => {}
        }
        Ok(())
    }

    fn matches(&self, wanted: &Self) -> bool {
        match (&self.kind, &wanted.kind) {
            (_, None) => true,
            (Some(kind), Some(wanted)) => kind.matches(wanted),
            (None, Some(_)) => false,
        }
    }

    fn merge(&mut self, change: Self) {
        match (&mut self.kind, change.kind) {
            (_, None) => {}
            (Some(kind), Some(change)) => kind.merge(change),
            (place, change) => *place = change,
        }
    }

    fn restrict(&mut self, to: &Self) {
        match (&mut self.kind, &to.kind) {
            (Some(kind), Some(to)) => kind.restrict(to),
            (place, _) => *place = None,
        }
    }

    fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        self.kind
            .as_mut()
            .map_or(Ok(false), |kind| kind.word(word, words))
    }

    fn show(&self, lookup: &mut dyn Lookup, show: &mut dyn FnMut(&'static str, String)) {
        if let Some(kind) = &self.kind {
            kind.show(lookup, show);
        }
    }
}
