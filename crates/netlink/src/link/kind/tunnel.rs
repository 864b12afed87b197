//! What tunnels of several kinds have alike.

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Be, Code, Lookup, Native, Shape, Word, Words, bits, names};

names! {
    /// What an IP tunnel puts before its packets, behind its own IP header.
    pub enum TunnelEncap: u16 {
        /// Nothing.
        None = 0, "none";
        /// A UDP header (foo over UDP).
        Fou = 1, "fou";
        /// A UDP header and one that says what follows (generic UDP encapsulation).
        Gue = 2, "gue";
        /// MPLS labels.
        Mpls = 3, "mpls";
    }
}

bits! {
    /// Switches of that.
    pub struct EncapFlags {
        /// Whether UDP over IPv4 has a checksum.
        "encap-csum" csum = 0x1;
        /// Whether UDP over IPv6 has one.
        "encap-csum6" | "encap-udp6-csum" csum6 = 0x2;
        /// Whether the checksum of the inner packet is left to the receiver.
        "encap-remcsum" remcsum = 0x4;
    }
}

names! {
    /// Whether the outer IPv4 header forbids fragments.
    pub enum DontFragment: u8 {
        /// It does not.
        Unset = 0, "unset";
        /// It does.
        Set = 1, "set";
        /// As the inner one.
        Inherit = 2, "inherit";
    }
}

macro_rules! octet {
    ($(#[$meta:meta])* $name:ident, $number:literal, $word:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name(pub u8);

        impl Word for $name {
            fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
                match text {
                    $word => Some(Self($number)),
                    _ => Word::read(text, lookup).map(Self),
                }
            }

            fn write(&self, lookup: &mut dyn Lookup) -> String {
                match self.0 {
                    $number => $word.to_owned(),
                    number => number.write(lookup),
                }
            }
        }

        impl Code<$name> for Native {
            const SHAPE: Shape = Shape::Number;

            fn put(value: &$name, kind: u16, request: &mut Request) {
                request.attribute(kind, &[value.0]);
            }

            fn take(attribute: Attribute<'_>) -> Result<$name, Malformed> {
                attribute.u8().map($name)
            }

            fn matches(value: &$name, wanted: &$name) -> bool {
                value == wanted
            }

            fn merge(value: &mut $name, change: $name) {
                *value = change;
            }
        }
    };
}

octet! {
    /// Hops of the outer packet: 1 to 255, 0 is the inner packet's.
    Ttl, 0, "inherit"
}
octet! {
    /// Hops of the outer packet: 1 to 255, 0 is the system's.
    Hops, 0, "auto"
}
octet! {
    /// Type of service or traffic class of the outer packet; 1 is the inner packet's.
    Tos, 1, "inherit"
}

/// The source port of an encapsulation: 0 is chosen by the packet's flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncapPort(pub u16);

impl Word for EncapPort {
    /// A port, or `auto`.
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
        match text {
            "auto" => Some(Self(0)),
            _ => Word::read(text, lookup).map(Self),
        }
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        match self.0 {
            0 => "auto".to_owned(),
            port => port.to_string(),
        }
    }
}

impl Code<EncapPort> for Be {
    const SHAPE: Shape = Shape::NumberBe;

    fn put(value: &EncapPort, kind: u16, request: &mut Request) {
        Self::put(&value.0, kind, request);
    }

    fn take(attribute: Attribute<'_>) -> Result<EncapPort, Malformed> {
        Self::take(attribute).map(EncapPort)
    }

    fn matches(value: &EncapPort, wanted: &EncapPort) -> bool {
        value == wanted
    }

    fn merge(value: &mut EncapPort, change: EncapPort) {
        *value = change;
    }
}

/// The ports an outer packet may come from (`struct ifla_vxlan_port_range`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// The first.
    pub low: u16,
    /// The last.
    pub high: u16,
}

impl Word for PortRange {
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
        let (low, high) = text.split_once(' ')?;
        Some(Self {
            low: Word::read(low, lookup)?,
            high: Word::read(high, lookup)?,
        })
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        format!("{} {}", self.low, self.high)
    }

    /// Two words: the first and the last.
    fn field(name: &str, word: &str, words: &mut Words<'_>) -> Result<Option<Self>, BadWord> {
        if word != name {
            return Ok(None);
        }
        Ok(Some(Self {
            low: words.value(name)?,
            high: words.value(name)?,
        }))
    }
}

impl Code<PortRange> for Be {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &PortRange, kind: u16, request: &mut Request) {
        let bytes = [value.low.to_be_bytes(), value.high.to_be_bytes()];
        request.attribute(kind, bytes.as_flattened());
    }

    fn take(attribute: Attribute<'_>) -> Result<PortRange, Malformed> {
        let [a, b, c, d] = attribute.array()?;
        Ok(PortRange {
            low: u16::from_be_bytes([a, b]),
            high: u16::from_be_bytes([c, d]),
        })
    }

    fn matches(value: &PortRange, wanted: &PortRange) -> bool {
        value == wanted
    }

    fn merge(value: &mut PortRange, change: PortRange) {
        *value = change;
    }
}

/// The key of a GRE tunnel; written like an IPv4 address, as `ip(8)` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreKey(pub u32);

impl fmt::Display for GreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv4Addr::from_bits(self.0).fmt(f)
    }
}

impl Serialize for GreKey {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GreKey {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ipv4Addr::deserialize(from).map(|address| Self(address.to_bits()))
    }
}

impl Word for GreKey {
    /// A number, or four with dots.
    fn read(text: &str, lookup: &mut dyn Lookup) -> Option<Self> {
        let dotted = text.parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits);
        dotted.or_else(|| Word::read(text, lookup)).map(Self)
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}

impl Code<GreKey> for Be {
    const SHAPE: Shape = Shape::NumberBe;

    fn put(value: &GreKey, kind: u16, request: &mut Request) {
        Self::put(&value.0, kind, request);
    }

    fn take(attribute: Attribute<'_>) -> Result<GreKey, Malformed> {
        Self::take(attribute).map(GreKey)
    }

    fn matches(value: &GreKey, wanted: &GreKey) -> bool {
        value == wanted
    }

    fn merge(value: &mut GreKey, change: GreKey) {
        *value = change;
    }
}
