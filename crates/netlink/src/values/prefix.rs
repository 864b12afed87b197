//! Address families and prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::schema::{
    FieldReader, FieldValue, FieldWriter, InvalidField, InvalidValue, NameLookup, Parsed, Shape,
    TextValue, c_number, number_enum, parse_ip, text_form, wrong_length,
};

number_enum! {
    /// An address family.
    pub enum Family: u8 {
        /// IPv4.
        V4 = AF_INET, "inet";
        /// IPv6.
        V6 = AF_INET6, "inet6";
    }
}

impl Family {
    /// The family of `ip`.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// Number of bits of an address; 0 for other families.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
            Self::Other(_) => 0,
        }
    }

    /// The prefix of all its addresses.
    pub(crate) fn everything(self) -> Prefix {
        let ip: IpAddr = match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            _ => Ipv6Addr::UNSPECIFIED.into(),
        };
        Prefix { ip, len: 0 }
    }
}

/// An address with a prefix length.
///
/// Formatted as in `ip(8)`: `10.0.0.0/8`, `10.0.0.1` for a full prefix length, `default` for `0.0.0.0/0`, `::/0`
/// for all of IPv6. Also parses IPv4 addresses without their trailing zero bytes (`10/8`) and IPv4 netmasks
/// (`10.0.0.0/255.0.0.0`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Prefix {
    /// The address.
    pub ip: IpAddr,
    /// The prefix length: 0 to 32, or to 128.
    pub len: u8,
}

impl Prefix {
    /// The prefix `ip/len`.
    pub fn new(ip: impl Into<IpAddr>, len: u8) -> Self {
        Self { ip: ip.into(), len }
    }

    /// The single address `ip`.
    pub fn host(ip: impl Into<IpAddr>) -> Self {
        let ip = ip.into();
        Self::new(ip, Family::of(ip).bits())
    }

    /// Its family.
    pub fn family(self) -> Family {
        Family::of(self.ip)
    }

    /// Whether it contains all addresses of its family.
    pub fn is_everything(self) -> bool {
        self.len == 0
    }

    /// Whether it contains all addresses of `other`.
    pub fn contains(self, other: Self) -> bool {
        let bits = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let differ = bits(self.ip) ^ bits(other.ip);
        self.family() == other.family()
            && self.len <= other.len
            && differ.leading_zeros() >= u32::from(self.len)
    }

    /// Formats it like the output of `ip(8)`, which shows `::/0` as `default` too.
    pub fn shown(self) -> String {
        if self.is_everything() {
            "default".to_owned()
        } else {
            self.to_string()
        }
    }
}

impl From<IpAddr> for Prefix {
    fn from(ip: IpAddr) -> Self {
        Self::host(ip)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ip == IpAddr::V4(Ipv4Addr::UNSPECIFIED) && self.is_everything() {
            f.pad("default")
        } else if self.len == self.family().bits() {
            self.ip.fmt(f)
        } else {
            write!(f, "{}/{}", self.ip, self.len)
        }
    }
}

impl FromStr for Prefix {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let read = || {
            if matches!(text, "default" | "any" | "all") {
                return Some(Family::V4.everything());
            }
            let Some((ip, len)) = text.split_once('/') else {
                return parse_ip(text).map(Self::host);
            };
            let prefix = Self::new(parse_ip(ip)?, c_number(len).or_else(|| netmask(len))?);
            (prefix.len <= prefix.family().bits()).then_some(prefix)
        };
        read().ok_or_else(|| InvalidValue::new("a network", Some(text)))
    }
}

/// The length of the prefix that an IPv4 netmask selects: ones, then zeros.
fn netmask(text: &str) -> Option<u8> {
    let mask = text.parse().ok().map(Ipv4Addr::to_bits)?;
    let length = mask.leading_ones();
    (length + mask.trailing_zeros() >= 32).then_some(length as u8)
}

text_form!(json Prefix);

impl TextValue for Prefix {
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        text.parse().ok()
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.shown()
    }
}

impl FieldValue for Prefix {
    fn shape() -> Shape {
        Shape::Prefix
    }

    #[inline]
    fn put(&self, out: &mut FieldWriter<'_>) {
        out.raw(&[self.len]);
        self.ip.put(out);
    }

    #[inline]
    fn take(bytes: &[u8], reader: &mut FieldReader<'_>) -> Result<Self, InvalidField> {
        let (len, ip) = bytes.split_first().ok_or_else(|| wrong_length(bytes))?;
        Ok(Self::new(IpAddr::take(ip, reader)?, *len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "default",
            "::/0",
            "10.0.0.0/8",
            "10.0.0.1",
            "fd00::/64",
            "fd00::1",
        ] {
            let prefix: Prefix = text.parse().expect(text);
            assert_eq!(prefix.to_string(), text);
        }
        assert_eq!(
            [
                "0/0",
                "10/8",
                "10.2/16",
                "10.2.3/24",
                "10.0.0",
                "10.1.0.0/255.255.128.0"
            ]
            .map(|text| text.parse::<Prefix>().map(|it| it.to_string())),
            [
                "default",
                "10.0.0.0/8",
                "10.2.0.0/16",
                "10.2.3.0/24",
                "10.0.0.0",
                "10.1.0.0/17"
            ]
            .map(|text| Ok(text.to_owned()))
        );
        assert_eq!(
            "10.0.0.1/32".parse(),
            Ok(Prefix::host(Ipv4Addr::new(10, 0, 0, 1)))
        );
        for text in [
            "",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0./24",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0.0/255.0.255.0",
            "10.0.0.0.0",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn contains_compares_leading_bits() {
        for (outer, inner, contains) in [
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "10.0.0.0/8", true),
            ("10.0.0.0/8", "10.0.0.0/7", false),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("default", "10.1.2.3", true),
            ("default", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8::/33", true),
        ] {
            let (outer, inner): (Prefix, Prefix) = (
                outer.parse().expect("a network"),
                inner.parse().expect("a network"),
            );
            assert_eq!(outer.contains(inner), contains, "{outer} {inner}");
        }
    }
}
