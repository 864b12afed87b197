//! The settings that a master has for its ports.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::untyped::{UntypedValue, ValueError};
use super::{BondPort, BridgePort, VrfPort};
use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeSpec, InvalidValue, NameLookup, Nested,
};
use crate::uapi::IFLA_INFO_SLAVE_DATA;

macro_rules! ports {
    ($( $(#[$meta:meta])* $variant:ident ( $type:ty ) = $name:literal ; )*) => {
        /// The kind of a link's master, with its settings for the link.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "info_slave_kind", content = "info_slave_data")]
        #[non_exhaustive]
        pub enum PortKind {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($type), )*
            /// Another kind.
            #[serde(untagged)]
            Other {
                /// Its name.
                info_slave_kind: String,
            },
        }

        impl PortKind {
            /// The kind called `name`, without settings.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$variant(Default::default()),)*
                    _ => Self::Other { info_slave_kind: name.to_owned() },
                }
            }

            /// The kind called `name` with deserialized settings.
            pub(super) fn from_untyped(name: &str, data: Option<UntypedValue>) -> Result<Self, ValueError> {
                match (name, data) {
                    $(($name, Some(data)) => <$type>::deserialize(data).map(Self::$variant),)*
                    _ => Ok(Self::named(name)),
                }
            }

            /// Its name (`IFLA_INFO_SLAVE_KIND`).
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Other { info_slave_kind } => info_slave_kind,
                }
            }

            /// The attributes in `IFLA_INFO_SLAVE_DATA` of the kind called `name`.
            pub(super) fn specs(name: &[u8]) -> &'static [AttributeSpec] {
                $(if name == $name.as_bytes() {
                    return <$type as AttributeSet>::specs();
                })*
                &[]
            }

            pub(super) fn put(&self, request: &mut Request) {
                match self {
                    $(Self::$variant(data) => Nested::encode(data, IFLA_INFO_SLAVE_DATA, request),)*
                    Self::Other { .. } => {}
                }
            }

            pub(super) fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                match self {
                    $(Self::$variant(data) => *data = Nested::decode(attribute)?,)*
                    Self::Other { .. } => {}
                }
                Ok(())
            }

            /// Whether it is the `wanted` kind with the settings given there.
            pub(super) fn matches(&self, wanted: &Self) -> bool {
                match (self, wanted) {
                    $((Self::$variant(data), Self::$variant(wanted)) => data.fields_match(wanted),)*
                    _ => self == wanted,
                }
            }

            pub(super) fn merge(&mut self, change: Self) {
                match (self, change) {
                    $((Self::$variant(data), Self::$variant(change)) => data.merge(change),)*
                    (place, change) => *place = change,
                }
            }

            pub(super) fn retain_fields(&mut self, to: &Self) {
                match (self, to) {
                    $((Self::$variant(data), Self::$variant(to)) => data.retain_fields(to),)*
                    _ => {}
                }
            }

            /// As [`AttributeSet::parse_keyword`], for the settings of the port.
            ///
            /// # Errors
            /// [`InvalidValue`] if the value is missing or invalid.
            pub fn parse_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Result<bool, InvalidValue> {
                match self {
                    $(Self::$variant(data) => data.parse_keyword(word, words),)*
                    Self::Other { .. } => Ok(false),
                }
            }

            /// As [`AttributeSet::format_fields`], for the settings of the port.
            pub fn format_fields(
                &self,
                lookup: &mut dyn NameLookup,
                show: &mut dyn FnMut(&'static str, String),
            ) {
                match self {
                    $(Self::$variant(data) => data.format_fields(lookup, show),)*
                    Self::Other { .. } => {}
                }
            }
        }

        $(impl From<$type> for PortKind {
            fn from(data: $type) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

ports! {
    /// A bond.
    Bond(BondPort) = "bond";
    /// A bridge.
    Bridge(BridgePort) = "bridge";
    /// A VRF.
    Vrf(VrfPort) = "vrf";
}

/// Rejects invalid settings of known kinds.
impl<'de> Deserialize<'de> for PortKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Serialized {
            info_slave_kind: String,
            #[serde(default)]
            info_slave_data: Option<UntypedValue>,
        }

        let serialized = Serialized::deserialize(from)?;
        Self::from_untyped(&serialized.info_slave_kind, serialized.info_slave_data)
            .map_err(|error| D::Error::custom(error.within("info_slave_data")))
    }
}
