use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::untyped::{UntypedValue, ValueError};
use super::{LinkKind, PortKind};
use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::schema::{
    Arguments, AttributeSet, AttributeSpec, AttributeType, InvalidValue, NameLookup,
};
use crate::uapi::{IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_INFO_SLAVE_DATA, IFLA_INFO_SLAVE_KIND};

/// The kind of a link and that of its master, with their settings (`IFLA_LINKINFO`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkInfo {
    /// Its kind.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LinkKind>,
    /// The kind of its master, with its settings for this port.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub port: Option<PortKind>,
}

impl<'de> Deserialize<'de> for LinkInfo {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Serialized {
            #[serde(rename = "info_kind")]
            kind: Option<String>,
            #[serde(rename = "info_data")]
            data: Option<UntypedValue>,
            #[serde(rename = "info_slave_kind")]
            port: Option<String>,
            #[serde(rename = "info_slave_data")]
            port_data: Option<UntypedValue>,
        }

        let Serialized {
            kind,
            data,
            port,
            port_data,
        } = Serialized::deserialize(from)?;
        let invalid = |field| move |error: ValueError| D::Error::custom(error.within(field));
        let kind = kind.map(|name| LinkKind::from_untyped(&name, data));
        let port = port.map(|name| PortKind::from_untyped(&name, port_data));
        Ok(Self {
            kind: kind.transpose().map_err(invalid("info_data"))?,
            port: port.transpose().map_err(invalid("info_slave_data"))?,
        })
    }
}

const ENTRIES: &[AttributeSpec] = &[
    AttributeSpec {
        kind: IFLA_INFO_KIND,
        constant: "kind",
        contents: AttributeType::Text,
    },
    AttributeSpec {
        kind: IFLA_INFO_DATA,
        constant: "data",
        contents: AttributeType::Dependent {
            choose: |siblings| LinkKind::specs(text_of(siblings, IFLA_INFO_KIND)),
        },
    },
    AttributeSpec {
        kind: IFLA_INFO_SLAVE_KIND,
        constant: "slave-kind",
        contents: AttributeType::Text,
    },
    AttributeSpec {
        kind: IFLA_INFO_SLAVE_DATA,
        constant: "slave-data",
        contents: AttributeType::Dependent {
            choose: |siblings| PortKind::specs(text_of(siblings, IFLA_INFO_SLAVE_KIND)),
        },
    },
];

/// The text of the attribute `kind` among those in `siblings`.
fn text_of(siblings: &[u8], kind: u16) -> &[u8] {
    let mut found = attributes(siblings, 0).flatten();
    found
        .find(|attribute| attribute.kind == kind)
        .map_or(&[], |attribute| attribute.c_string())
}

impl AttributeSet for LinkInfo {
    fn specs() -> &'static [AttributeSpec] {
        ENTRIES
    }

    fn encode_attributes(&self, request: &mut Request) {
        if let Some(kind) = &self.kind {
            request.text(IFLA_INFO_KIND, kind.name().as_bytes());
            kind.put(request);
        }
        if let Some(port) = &self.port {
            request.text(IFLA_INFO_SLAVE_KIND, port.name().as_bytes());
            port.put(request);
        }
    }

    /// The kernel sends the name of the kind before its settings.
    fn decode_attribute(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match (attribute.kind, &mut self.kind, &mut self.port) {
            (IFLA_INFO_KIND, field, _) => *field = Some(LinkKind::named(&attribute.text())),
            (IFLA_INFO_DATA, Some(kind), _) => kind.take(attribute)?,
            (IFLA_INFO_SLAVE_KIND, _, field) => {
                *field = Some(PortKind::named(&attribute.text()));
            }
            (IFLA_INFO_SLAVE_DATA, _, Some(port)) => port.take(attribute)?,
            _ => {}
        }
        Ok(())
    }

    fn fields_match(&self, wanted: &Self) -> bool {
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
            (field, change) => *field = change,
        }
        match (&mut self.port, change.port) {
            (_, None) => {}
            (Some(port), Some(change)) => port.merge(change),
            (field, change) => *field = change,
        }
    }

    fn retain_fields(&mut self, to: &Self) {
        match (&mut self.kind, &to.kind) {
            (Some(kind), Some(to)) => kind.retain_fields(to),
            (field, _) => *field = None,
        }
        match (&mut self.port, &to.port) {
            (Some(port), Some(to)) => port.retain_fields(to),
            (field, _) => *field = None,
        }
    }

    fn parse_keyword(
        &mut self,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Result<bool, InvalidValue> {
        if let Some(kind) = &mut self.kind
            && kind.parse_keyword(word, words)?
        {
            return Ok(true);
        }
        self.port
            .as_mut()
            .map_or(Ok(false), |port| port.parse_keyword(word, words))
    }

    fn format_fields(
        &self,
        lookup: &mut dyn NameLookup,
        show: &mut dyn FnMut(&'static str, String),
    ) {
        if let Some(kind) = &self.kind {
            kind.format_fields(lookup, show);
        }
        if let Some(port) = &self.port {
            port.format_fields(lookup, show);
        }
    }
}
