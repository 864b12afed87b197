//! The kinds of links, one table.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::data::Data;
use super::held::{Held, Wrong};
use super::{
    Bond, Bridge, Geneve, Gre, Ip6Gre, Ip6Tnl, Ipip, Ipvlan, Macvlan, Netkit, Sit, Tun, Veth, Vlan,
    Vrf, Vxlan,
};
use crate::codec::{Attribute, Malformed, Request};
use crate::link::Link;
use crate::object::Unfit;
use crate::table::{BadWord, Code, Entry, Lookup, Nested, Table, Words};

macro_rules! kinds {
    (
        $( $(#[$meta:meta])* $variant:ident ( $type:ty ) = $name:literal ; )*
        @like { $( $(#[$lmeta:meta])* $like:ident ( $ltype:ty ) = $lname:literal ; )* }
        @plain { $( $(#[$pmeta:meta])* $plain:ident = $pname:literal ; )* }
    ) => {
        /// What software made a link, with what is particular to the kind.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "info_kind", content = "info_data")]
        #[non_exhaustive]
        pub enum LinkKind {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($type), )*
            $( $(#[$lmeta])* #[serde(rename = $lname)] $like($ltype), )*
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
                    $($lname => Self::$like(Default::default()),)*
                    $($pname => Self::$plain,)*
                    _ => Self::Other { info_kind: name.to_owned() },
                }
            }

            /// The kind called `name` with what is particular to it, as it was written down.
            pub(super) fn written(name: &str, data: Option<Held>) -> Result<Self, Wrong> {
                let Some(data) = data else {
                    return Ok(Self::named(name));
                };
                match name {
                    $($name => <$type>::deserialize(data).map(Self::$variant),)*
                    $($lname => <$ltype>::deserialize(data).map(Self::$like),)*
                    _ => Ok(Self::named(name)),
                }
            }

            /// Its name, as the kernel has it (`IFLA_INFO_KIND`).
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    $(Self::$like(_) => $lname,)*
                    $(Self::$plain => $pname,)*
                    Self::Other { info_kind } => info_kind,
                }
            }

            /// What there may be in `IFLA_INFO_DATA` of the kind called `name`.
            pub(super) fn entries(name: &[u8]) -> &'static [Entry] {
                $(if name == $name.as_bytes() {
                    return <$type as Table>::entries();
                })*
                $(if name == $lname.as_bytes() {
                    return <$ltype as Table>::entries();
                })*
                &[]
            }

            pub(super) fn put(&self, request: &mut Request) {
                match self {
                    $(Self::$variant(data) => data.put_data(request),)*
                    $(Self::$like(data) => data.put_data(request),)*
                    _ => {}
                }
            }

            /// Whether the kernel resets what a change leaves out.
            pub(crate) fn is_said_whole(&self) -> bool {
                match self {
                    $(Self::$variant(data) => {
                        <$type as Data>::IS_SAID_WHOLE && *data != <$type>::default()
                    })*
                    $(Self::$like(data) => {
                        <$ltype as Data>::IS_SAID_WHOLE && *data != <$ltype>::default()
                    })*
                    _ => false,
                }
            }

            /// As [`Data::suspect`].
            pub(crate) fn suspect(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(data) => data.suspect(),)*
                    $(Self::$like(data) => data.suspect(),)*
                    _ => None,
                }
            }

            /// As [`Data::check_new`].
            pub(crate) fn check_new(&self) -> Result<(), Unfit> {
                match self {
                    $(Self::$variant(data) => data.check_new(),)*
                    $(Self::$like(data) => data.check_new(),)*
                    _ => Ok(()),
                }
            }

            pub(super) fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                match self {
                    $(Self::$variant(data) => {
                        *data = Nested::take(attribute)?;
                        data.tidy();
                    })*
                    $(Self::$like(data) => {
                        *data = Nested::take(attribute)?;
                        data.tidy();
                    })*
                    _ => {}
                }
                Ok(())
            }

            /// Whether it is the kind that is `wanted`, with what is particular there.
            pub(super) fn matches(&self, wanted: &Self) -> bool {
                match (self, wanted) {
                    $((Self::$variant(data), Self::$variant(wanted)) => data.matches(wanted),)*
                    $((Self::$like(data), Self::$like(wanted)) => data.matches(wanted),)*
                    _ => self == wanted,
                }
            }

            pub(crate) fn merge(&mut self, change: Self) {
                match (self, change) {
                    $((Self::$variant(data), Self::$variant(change)) => data.merge(change),)*
                    $((Self::$like(data), Self::$like(change)) => data.merge(change),)*
                    (place, change) => *place = change,
                }
            }

            pub(super) fn restrict(&mut self, to: &Self) {
                match (self, to) {
                    $((Self::$variant(data), Self::$variant(to)) => data.restrict(to),)*
                    $((Self::$like(data), Self::$like(to)) => data.restrict(to),)*
                    _ => {}
                }
            }

            /// As [`Table::word`], for what is particular.
            ///
            /// # Errors
            /// [`BadWord`] when the value cannot be one.
            pub fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
                match self {
                    $(Self::$variant(data) => {
                        Ok(data.more_words(word, words)? || data.word(word, words)?)
                    })*
                    $(Self::$like(data) => {
                        Ok(data.more_words(word, words)? || data.word(word, words)?)
                    })*
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
                    $(Self::$like(data) => data.show(lookup, show),)*
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
    /// Several links as one.
    Bond(Bond) = "bond";
    /// A switch in software.
    Bridge(Bridge) = "bridge";
    /// Ethernet over UDP, with options.
    Geneve(Geneve) = "geneve";
    /// IP over GRE.
    Gre(Gre) = "gre";
    /// IP over GRE over IPv6.
    Ip6Gre(Ip6Gre) = "ip6gre";
    /// IP over IPv6.
    Ip6Tnl(Ip6Tnl) = "ip6tnl";
    /// IP over IPv4.
    Ipip(Ipip) = "ipip";
    /// IP addresses of its own on the link below it.
    Ipvlan(Ipvlan) = "ipvlan";
    /// A hardware address of its own on the link below it.
    Macvlan(Macvlan) = "macvlan";
    /// An end of a pair with eBPF programs.
    Netkit(Netkit) = "netkit";
    /// IPv6 over IPv4.
    Sit(Sit) = "sit";
    /// A program's, tun or tap.
    Tun(Tun) = "tun";
    /// An end of a pair.
    Veth(Veth) = "veth";
    /// A VLAN of the link below it.
    Vlan(Vlan) = "vlan";
    /// A routing domain.
    Vrf(Vrf) = "vrf";
    /// Ethernet over UDP.
    Vxlan(Vxlan) = "vxlan";
    @like {
        /// Ethernet over GRE.
        Gretap(Gre) = "gretap";
        /// Ethernet over GRE over IPv6.
        Ip6Gretap(Ip6Gre) = "ip6gretap";
        /// An ipvlan whose packets a program reads and writes.
        Ipvtap(Ipvlan) = "ipvtap";
        /// A macvlan whose packets a program reads and writes.
        Macvtap(Macvlan) = "macvtap";
    }
    @plain {
        /// Swallows all packets.
        Dummy = "dummy";
        /// Sends packets back in, after a queue.
        Ifb = "ifb";
        /// An encrypted tunnel; its peers are configured by generic netlink.
        Wireguard = "wireguard";
    }
}

/// As written down: what is particular to a known kind has to be as it can be.
impl<'de> Deserialize<'de> for LinkKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            info_kind: String,
            #[serde(default)]
            info_data: Option<Held>,
        }

        let Written {
            info_kind,
            info_data,
        } = Written::deserialize(from)?;
        Self::written(&info_kind, info_data)
            .map_err(|wrong| D::Error::custom(wrong.within("info_data")))
    }
}

impl LinkKind {
    /// The other end of a pair that is to be made.
    pub(crate) fn peer(&self) -> Option<&Link> {
        match self {
            Self::Veth(Veth { peer, .. }) | Self::Netkit(Netkit { peer, .. }) => peer.as_deref(),
            _ => None,
        }
    }
}
