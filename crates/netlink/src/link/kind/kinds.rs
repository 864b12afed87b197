//! The kinds of links, one table.

use serde::{Deserialize, Serialize};

use super::{Bridge, Veth, Vlan};
use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Entry, Lookup, Nested, Table, Words};
use crate::uapi::IFLA_INFO_DATA;

macro_rules! kinds {
    (
        $( $(#[$meta:meta])* $variant:ident ( $type:ty ) = $name:literal ; )*
        @plain { $( $(#[$pmeta:meta])* $plain:ident = $pname:literal ; )* }
    ) => {
        /// What software made a link, with what is particular to the kind.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "info_kind", content = "info_data")]
        #[non_exhaustive]
        pub enum LinkKind {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($type), )*
            $( $(#[$pmeta])* #[serde(rename = $pname)] $plain, )*
            /// Another, by its name.
            #[serde(untagged)]
            Other {
                /// Its name.
                info_kind: String,
            },
        }

        impl LinkKind {
            /// The kind called `name`, with nothing particular said.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$variant(Default::default()),)*
                    $($pname => Self::$plain,)*
                    _ => Self::Other { info_kind: name.to_owned() },
                }
            }

            /// Its name, as the kernel has it (`IFLA_INFO_KIND`).
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    $(Self::$plain => $pname,)*
                    Self::Other { info_kind } => info_kind,
                }
            }

            /// What there may be in `IFLA_INFO_DATA` of the kind called `name`.
            pub(super) fn entries(name: &[u8]) -> &'static [Entry] {
                $(if name == $name.as_bytes() {
                    return <$type as Table>::entries();
                })*
                &[]
            }

            pub(super) fn put(&self, request: &mut Request) {
                match self {
                    $(Self::$variant(data) if *data != <$type>::default() => {
                        Nested::put(data, IFLA_INFO_DATA, request);
                    })*
                    _ => {}
                }
            }

            pub(super) fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                match self {
                    $(Self::$variant(data) => *data = Nested::take(attribute)?,)*
                    _ => {}
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
                    _ => Ok(false),
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
                    _ => {}
                }
            }
        }

        $(impl From<$type> for LinkKind {
            fn from(data: $type) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

kinds! {
    /// A switch in software.
    Bridge(Bridge) = "bridge";
    /// An end of a pair.
    Veth(Veth) = "veth";
    /// A VLAN of the link below it.
    Vlan(Vlan) = "vlan";
    @plain {
        /// Swallows all packets.
        Dummy = "dummy";
        /// Sends packets back in, after a queue.
        Ifb = "ifb";
    }
}
