//! What a master keeps of the links in it, one table.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::held::{Held, Wrong};
use super::{BondPort, BridgePort, VrfPort};
use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Entry, Lookup, Nested, Table, Words};
use crate::uapi::IFLA_INFO_SLAVE_DATA;

macro_rules! ports {
    ($( $(#[$meta:meta])* $variant:ident ( $type:ty ) = $name:literal ; )*) => {
        /// The kind of a link's master, with what that keeps of the link.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "info_slave_kind", content = "info_slave_data")]
        #[non_exhaustive]
        pub enum PortKind {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($type), )*
            /// Another, by its name.
            #[serde(untagged)]
            Other {
                /// Its name.
                info_slave_kind: String,
            },
        }

        impl PortKind {
            /// The kind called `name`, with nothing particular said.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$variant(Default::default()),)*
                    _ => Self::Other { info_slave_kind: name.to_owned() },
                }
            }

            /// The kind called `name` with what is kept, as it was written down.
            pub(super) fn written(name: &str, data: Option<Held>) -> Result<Self, Wrong> {
                match (name, data) {
                    $(($name, Some(data)) => <$type>::deserialize(data).map(Self::$variant),)*
                    _ => Ok(Self::named(name)),
                }
            }

            /// Its name, as the kernel has it (`IFLA_INFO_SLAVE_KIND`).
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Other { info_slave_kind } => info_slave_kind,
                }
            }

            /// What there may be in `IFLA_INFO_SLAVE_DATA` of the kind called `name`.
            pub(super) fn entries(name: &[u8]) -> &'static [Entry] {
                $(if name == $name.as_bytes() {
                    return <$type as Table>::entries();
                })*
                &[]
            }

            pub(super) fn put(&self, request: &mut Request) {
                match self {
                    $(Self::$variant(data) => Nested::put(data, IFLA_INFO_SLAVE_DATA, request),)*
                    Self::Other { .. } => {}
                }
            }

            pub(super) fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                match self {
                    $(Self::$variant(data) => *data = Nested::take(attribute)?,)*
                    Self::Other { .. } => {}
                }
                Ok(())
            }

            /// Whether it is the kind that is `wanted`, with what is particular there.
            pub(super) fn matches(&self, wanted: &Self) -> bool {
                match (self, wanted) {
                    $((Self::$variant(data), Self::$variant(wanted)) => data.matches(wanted),)*
                    _ => self == wanted,
                }
            }

            pub(super) fn merge(&mut self, change: Self) {
                match (self, change) {
                    $((Self::$variant(data), Self::$variant(change)) => data.merge(change),)*
                    (place, change) => *place = change,
                }
            }

            pub(super) fn restrict(&mut self, to: &Self) {
                match (self, to) {
                    $((Self::$variant(data), Self::$variant(to)) => data.restrict(to),)*
                    _ => {}
                }
            }

            /// As [`Table::word`], for what is particular.
            ///
            /// # Errors
            /// [`BadWord`] when the value cannot be one.
            pub fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
                match self {
                    $(Self::$variant(data) => data.word(word, words),)*
                    Self::Other { .. } => Ok(false),
                }
            }

            /// As [`Table::show`], for what is particular.
            pub fn show(
                &self,
                lookup: &mut dyn Lookup,
                show: &mut dyn FnMut(&'static str, String),
            ) {
                match self {
                    $(Self::$variant(data) => data.show(lookup, show),)*
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
    /// A routing domain.
    Vrf(VrfPort) = "vrf";
}

/// As written down: what is kept by a known kind of master has to be as it can be.
impl<'de> Deserialize<'de> for PortKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            info_slave_kind: String,
            #[serde(default)]
            info_slave_data: Option<Held>,
        }

        let written = Written::deserialize(from)?;
        Self::written(&written.info_slave_kind, written.info_slave_data)
            .map_err(|wrong| D::Error::custom(wrong.within("info_slave_data")))
    }
}
