use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::held::{Held, Wrong};
use super::{LinkKind, PortKind};
use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::table::{BadWord, Entry, Lookup, Shape, Table, Words};
use crate::uapi::{IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_INFO_SLAVE_DATA, IFLA_INFO_SLAVE_KIND};

/// What a link is, and what is particular to it (`IFLA_LINKINFO`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkInfo {
    /// What software made it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LinkKind>,
    /// What its master is, and keeps of it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub port: Option<PortKind>,
}

impl<'de> Deserialize<'de> for LinkInfo {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Written {
            #[serde(rename = "info_kind")]
            kind: Option<String>,
            #[serde(rename = "info_data")]
            data: Option<Held>,
            #[serde(rename = "info_slave_kind")]
            port: Option<String>,
            #[serde(rename = "info_slave_data")]
            kept: Option<Held>,
        }

        let Written {
            kind,
            data,
            port,
            kept,
        } = Written::deserialize(from)?;
        let wrong = |field| move |wrong: Wrong| D::Error::custom(wrong.within(field));
        let kind = kind.map(|name| LinkKind::written(&name, data));
        let port = port.map(|name| PortKind::written(&name, kept));
        Ok(Self {
            kind: kind.transpose().map_err(wrong("info_data"))?,
            port: port.transpose().map_err(wrong("info_slave_data"))?,
        })
    }
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
    Entry {
        kind: IFLA_INFO_SLAVE_KIND,
        constant: "slave-kind",
        shape: Shape::Text,
    },
    Entry {
        kind: IFLA_INFO_SLAVE_DATA,
        constant: "slave-data",
        shape: Shape::Chosen {
            by: |around| PortKind::entries(text_of(around, IFLA_INFO_SLAVE_KIND)),
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
        if let Some(port) = &self.port {
            request.text(IFLA_INFO_SLAVE_KIND, port.name().as_bytes());
            port.put(request);
        }
    }

    /// The kernel names the kind before what is particular to it.
    fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match (attribute.kind, &mut self.kind, &mut self.port) {
            (IFLA_INFO_KIND, place, _) => *place = Some(LinkKind::named(&attribute.text())),
            (IFLA_INFO_DATA, Some(kind), _) => kind.take(attribute)?,
            (IFLA_INFO_SLAVE_KIND, _, place) => {
                *place = Some(PortKind::named(&attribute.text()));
            }
            (IFLA_INFO_SLAVE_DATA, _, Some(port)) => port.take(attribute)?,
            _ => {}
        }
        Ok(())
    }

    fn matches(&self, wanted: &Self) -> bool {
        let kind = match (&self.kind, &wanted.kind) {
            (_, None) => true,
            (Some(kind), Some(wanted)) => kind.matches(wanted),
            (None, Some(_)) => false,
        };
        let port = match (&self.port, &wanted.port) {
            (_, None) => true,
            (Some(port), Some(wanted)) => port.matches(wanted),
            (None, Some(_)) => false,
        };
        kind && port
    }

    fn merge(&mut self, change: Self) {
        match (&mut self.kind, change.kind) {
            (_, None) => {}
            (Some(kind), Some(change)) => kind.merge(change),
            (place, change) => *place = change,
        }
        match (&mut self.port, change.port) {
            (_, None) => {}
            (Some(port), Some(change)) => port.merge(change),
            (place, change) => *place = change,
        }
    }

    fn restrict(&mut self, to: &Self) {
        match (&mut self.kind, &to.kind) {
            (Some(kind), Some(to)) => kind.restrict(to),
            (place, _) => *place = None,
        }
        match (&mut self.port, &to.port) {
            (Some(port), Some(to)) => port.restrict(to),
            (place, _) => *place = None,
        }
    }

    fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        if let Some(kind) = &mut self.kind
            && kind.word(word, words)?
        {
            return Ok(true);
        }
        self.port
            .as_mut()
            .map_or(Ok(false), |port| port.word(word, words))
    }

    fn show(&self, lookup: &mut dyn Lookup, show: &mut dyn FnMut(&'static str, String)) {
        if let Some(kind) = &self.kind {
            kind.show(lookup, show);
        }
        if let Some(port) = &self.port {
            port.show(lookup, show);
        }
    }
}
