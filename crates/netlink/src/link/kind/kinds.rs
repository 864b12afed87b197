//! The kinds of links.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::data::KindSettings;
use super::untyped::{UntypedValue, ValueError};
use super::{
    Bond, Bridge, Geneve, Gre, Ip6Gre, Ip6Tnl, Ipip, Ipvlan, Macvlan, Netkit, Sit, Tun, Veth, Vlan,
    Vrf, Vxlan,
};
use crate::codec::{Attribute, Malformed, Request};
use crate::error::InvalidRequest;
use crate::link::Link;
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeSpec, InvalidValue, NameLookup, Nested,
};

macro_rules! kinds {
    (
        $( $(#[$meta:meta])* $variant:ident ( $type:ty ) = $name:literal ; )*
        @like { $( $(#[$lmeta:meta])* $like:ident ( $ltype:ty ) = $lname:literal ; )* }
        @plain { $( $(#[$pmeta:meta])* $plain:ident = $pname:literal ; )* }
    ) => {
        /// The kind of a link, with its settings.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "info_kind", content = "info_data")]
        #[non_exhaustive]
        pub enum LinkKind {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($type), )*
            $( $(#[$lmeta])* #[serde(rename = $lname)] $like($ltype), )*
            $( $(#[$pmeta])* #[serde(rename = $pname)] $plain, )*
            /// Another kind.
            #[serde(untagged)]
            Other {
                /// Its name.
                info_kind: String,
            },
        }

        impl LinkKind {
            /// The kind called `name`, without settings.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$variant(Default::default()),)*
                    $($lname => Self::$like(Default::default()),)*
                    $($pname => Self::$plain,)*
                    _ => Self::Other { info_kind: name.to_owned() },
                }
            }

            /// The kind called `name` with deserialized settings.
            pub(super) fn from_untyped(name: &str, data: Option<UntypedValue>) -> Result<Self, ValueError> {
                let Some(data) = data else {
                    return Ok(Self::named(name));
                };
                match name {
                    $($name => <$type>::deserialize(data).map(Self::$variant),)*
                    $($lname => <$ltype>::deserialize(data).map(Self::$like),)*
                    _ => Ok(Self::named(name)),
                }
            }

            /// Its name (`IFLA_INFO_KIND`).
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    $(Self::$like(_) => $lname,)*
                    $(Self::$plain => $pname,)*
                    Self::Other { info_kind } => info_kind,
                }
            }

            /// The attributes in `IFLA_INFO_DATA` of the kind called `name`.
            pub(super) fn specs(name: &[u8]) -> &'static [AttributeSpec] {
                $(if name == $name.as_bytes() {
                    return <$type as AttributeSet>::specs();
                })*
                $(if name == $lname.as_bytes() {
                    return <$ltype as AttributeSet>::specs();
                })*
                &[]
            }

            pub(super) fn put(&self, request: &mut Request) {
                match self {
                    $(Self::$variant(data) => data.encode_data(request),)*
                    $(Self::$like(data) => data.encode_data(request),)*
                    _ => {}
                }
            }

            /// Whether the kernel resets settings that a change omits.
            pub(crate) fn resets_omitted_fields(&self) -> bool {
                match self {
                    $(Self::$variant(data) => {
                        <$type as KindSettings>::RESETS_OMITTED_FIELDS && *data != <$type>::default()
                    })*
                    $(Self::$like(data) => {
                        <$ltype as KindSettings>::RESETS_OMITTED_FIELDS && *data != <$ltype>::default()
                    })*
                    _ => false,
                }
            }

            /// As [`KindSettings::suspect_attribute`].
            pub(crate) fn suspect_attribute(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(data) => data.suspect_attribute(),)*
                    $(Self::$like(data) => data.suspect_attribute(),)*
                    _ => None,
                }
            }

            /// As [`KindSettings::check_new`].
            pub(crate) fn check_new(&self) -> Result<(), InvalidRequest> {
                match self {
                    $(Self::$variant(data) => data.check_new(),)*
                    $(Self::$like(data) => data.check_new(),)*
                    _ => Ok(()),
                }
            }

            pub(super) fn take(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
                match self {
                    $(Self::$variant(data) => {
                        *data = Nested::decode(attribute)?;
                        data.remove_unset();
                    })*
                    $(Self::$like(data) => {
                        *data = Nested::decode(attribute)?;
                        data.remove_unset();
                    })*
                    _ => {}
                }
                Ok(())
            }

            /// Whether it is the `wanted` kind with the settings given there.
            pub(super) fn matches(&self, wanted: &Self) -> bool {
                match (self, wanted) {
                    $((Self::$variant(data), Self::$variant(wanted)) => data.fields_match(wanted),)*
                    $((Self::$like(data), Self::$like(wanted)) => data.fields_match(wanted),)*
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

            pub(super) fn retain_fields(&mut self, to: &Self) {
                match (self, to) {
                    $((Self::$variant(data), Self::$variant(to)) => data.retain_fields(to),)*
                    $((Self::$like(data), Self::$like(to)) => data.retain_fields(to),)*
                    _ => {}
                }
            }

            /// As [`AttributeSet::parse_keyword`], for the settings of the kind.
            ///
            /// # Errors
            /// [`InvalidValue`] if the value is missing or invalid.
            pub fn parse_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Result<bool, InvalidValue> {
                match self {
                    $(Self::$variant(data) => {
                        Ok(data.parse_special_keyword(word, words)? || data.parse_keyword(word, words)?)
                    })*
                    $(Self::$like(data) => {
                        Ok(data.parse_special_keyword(word, words)? || data.parse_keyword(word, words)?)
                    })*
                    _ => Ok(false),
                }
            }

            /// As [`AttributeSet::format_fields`], for the settings of the kind.
            pub fn format_fields(
                &self,
                lookup: &mut dyn NameLookup,
                show: &mut dyn FnMut(&'static str, String),
            ) {
                match self {
                    $(Self::$variant(data) => data.format_fields(lookup, show),)*
                    $(Self::$like(data) => data.format_fields(lookup, show),)*
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
    /// A bond of several links.
    Bond(Bond) = "bond";
    /// A software switch.
    Bridge(Bridge) = "bridge";
    /// Ethernet over UDP with options (Geneve).
    Geneve(Geneve) = "geneve";
    /// IP over GRE.
    Gre(Gre) = "gre";
    /// IP over GRE over IPv6.
    Ip6Gre(Ip6Gre) = "ip6gre";
    /// IP over IPv6.
    Ip6Tnl(Ip6Tnl) = "ip6tnl";
    /// IP over IPv4.
    Ipip(Ipip) = "ipip";
    /// A link with its own IP addresses on a lower link.
    Ipvlan(Ipvlan) = "ipvlan";
    /// A link with its own hardware address on a lower link.
    Macvlan(Macvlan) = "macvlan";
    /// One end of a pair with eBPF programs.
    Netkit(Netkit) = "netkit";
    /// IPv6 over IPv4.
    Sit(Sit) = "sit";
    /// A tun or tap device.
    Tun(Tun) = "tun";
    /// One end of a virtual Ethernet pair.
    Veth(Veth) = "veth";
    /// A VLAN of a lower link.
    Vlan(Vlan) = "vlan";
    /// A virtual routing and forwarding domain.
    Vrf(Vrf) = "vrf";
    /// Ethernet over UDP.
    Vxlan(Vxlan) = "vxlan";
    @like {
        /// Ethernet over GRE.
        Gretap(Gre) = "gretap";
        /// Ethernet over GRE over IPv6.
        Ip6Gretap(Ip6Gre) = "ip6gretap";
        /// An ipvlan with a tap character device.
        Ipvtap(Ipvlan) = "ipvtap";
        /// A macvlan with a tap character device.
        Macvtap(Macvlan) = "macvtap";
    }
    @plain {
        /// Drops all packets.
        Dummy = "dummy";
        /// An intermediate functional block: queues packets and reinjects them.
        Ifb = "ifb";
        /// An encrypted tunnel; its peers are configured by generic netlink.
        Wireguard = "wireguard";
    }
}

/// Rejects invalid settings of known kinds.
impl<'de> Deserialize<'de> for LinkKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Serialized {
            info_kind: String,
            #[serde(default)]
            info_data: Option<UntypedValue>,
        }

        let Serialized {
            info_kind,
            info_data,
        } = Serialized::deserialize(from)?;
        Self::from_untyped(&info_kind, info_data)
            .map_err(|error| D::Error::custom(error.within("info_data")))
    }
}

impl LinkKind {
    /// The peer of a pair that is to be created.
    pub(crate) fn peer(&self) -> Option<&Link> {
        match self {
            Self::Veth(Veth { peer, .. }) | Self::Netkit(Netkit { peer, .. }) => peer.as_deref(),
            _ => None,
        }
    }
}
