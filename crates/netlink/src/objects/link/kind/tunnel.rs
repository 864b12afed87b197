//! Values shared by several kinds of tunnels.

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::schema::{
    Arguments, BigEndian, NameLookup, Native, Parsed, TextValue, field_values, fixed_size, join,
    number_enum, switches, text_field_values,
};
use crate::values::ds_field::DsField;

number_enum! {
    /// The encapsulation between the outer IP header and the packet.
    pub enum TunnelEncap: u16 {
        /// Nothing.
        None = 0, "none";
        /// Foo over UDP.
        Fou = 1, "fou";
        /// Generic UDP encapsulation.
        Gue = 2, "gue";
        /// MPLS labels.
        Mpls = 3, "mpls";
    }
}

switches! {
    /// Switches of the encapsulation.
    pub struct EncapFlags {
        /// Whether UDP over IPv4 has a checksum.
        "encap-csum" csum = 0x1;
        /// Whether UDP over IPv6 has one.
        "encap-csum6" | "encap-udp6-csum" csum6 = 0x2;
        /// Remote checksum offload.
        "encap-remcsum" remcsum = 0x4;
    }
}

number_enum! {
    /// The don't-fragment bit of the outer IPv4 header.
    pub enum DontFragment: u8 {
        /// Clear.
        Unset = 0, "unset";
        Set = 1, "set";
        /// Copied from the inner header.
        Inherit = 2, "inherit";
    }
}

macro_rules! octet {
    ($(#[$meta:meta])* $name:ident, $number:literal, $word:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name(pub u8);

        impl TextValue for $name {
            fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
                match text {
                    $word => Some(Self($number)),
                    _ => TextValue::parse(text, lookup).map(Self),
                }
            }

            fn format(&self, lookup: &mut dyn NameLookup) -> String {
                match self.0 {
                    $number => $word.to_owned(),
                    number => number.format(lookup),
                }
            }
        }

        fixed_size! {
            Native: $name = Number, |octet| [octet.0], |[octet]| $name(octet);
        }
    };
}

octet! {
    /// TTL of outer packets: 1 to 255; 0 copies the inner TTL.
    Ttl, 0, "inherit"
}
octet! {
    /// TTL of outer packets: 1 to 255; 0 is the system's default.
    Hops, 0, "auto"
}

/// The DS field or traffic class of outer packets; 1 copies the inner one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tos(pub u8);

impl TextValue for Tos {
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        match text {
            "inherit" => Some(Self(1)),
            _ => DsField::parse(text, lookup).map(|field| Self(field.0)),
        }
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        match self.0 {
            1 => "inherit".to_owned(),
            bits => format!("{bits:#x}"),
        }
    }
}

fixed_size! {
    Native: Tos = Number, |tos| [tos.0], |[bits]| Tos(bits);
}

/// The source port of an encapsulation; 0 chooses it by flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncapPort(pub u16);

impl TextValue for EncapPort {
    /// A port, or `auto`.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        match text {
            "auto" => Some(Self(0)),
            _ => TextValue::parse(text, lookup).map(Self),
        }
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        match self.0 {
            0 => "auto".to_owned(),
            port => port.to_string(),
        }
    }
}

/// The source ports of outer packets (`struct ifla_vxlan_port_range`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// The first.
    pub low: u16,
    /// The last.
    pub high: u16,
}

impl TextValue for PortRange {
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        let (low, high) = text.split_once(' ')?;
        Some(Self {
            low: TextValue::parse(low, lookup)?,
            high: TextValue::parse(high, lookup)?,
        })
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        format!("{} {}", self.low, self.high)
    }

    /// Two arguments: the first and the last.
    fn parse_field(
        name: &'static str,
        word: &str,
        words: &mut Arguments<'_>,
    ) -> Parsed<Option<Self>> {
        words.offer(&[name]);
        if word != name {
            return Ok(None);
        }
        Ok(Some(Self {
            low: words.value(name)?,
            high: words.value(name)?,
        }))
    }
}

fixed_size! {
    BigEndian: EncapPort = BigEndianNumber, |port| port.0.to_be_bytes(), |bytes| EncapPort(u16::from_be_bytes(bytes));
    BigEndian: GreKey = BigEndianNumber, |key| key.0.to_be_bytes(), |bytes| GreKey(u32::from_be_bytes(bytes));
    BigEndian: PortRange = Bytes, |range| join::<2, 4>(range.low.to_be_bytes(), range.high.to_be_bytes()),
        |[a, b, c, d]| PortRange { low: u16::from_be_bytes([a, b]), high: u16::from_be_bytes([c, d]) };
}

field_values! {
    Ttl: Unsigned(1), |it| it.0.to_ne_bytes(), |bytes| Self(u8::from_ne_bytes(bytes));
    Hops: Unsigned(1), |it| it.0.to_ne_bytes(), |bytes| Self(u8::from_ne_bytes(bytes));
    Tos: Unsigned(1), |it| it.0.to_ne_bytes(), |bytes| Self(u8::from_ne_bytes(bytes));
    EncapPort: Unsigned(2), |it| it.0.to_ne_bytes(), |bytes| Self(u16::from_ne_bytes(bytes));
    GreKey: Unsigned(4), |it| it.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

text_field_values!(PortRange);

/// The key of a GRE tunnel, formatted like an IPv4 address as in `ip(8)`.
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

impl TextValue for GreKey {
    /// A number or dotted quad.
    fn parse(text: &str, lookup: &mut dyn NameLookup) -> Option<Self> {
        let dotted = text.parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits);
        dotted.or_else(|| TextValue::parse(text, lookup)).map(Self)
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.to_string()
    }
}
