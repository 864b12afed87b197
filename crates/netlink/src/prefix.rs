//! Networks: an address and how many of its bits count.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::table::{BadWord, Lookup, Word, names};
use crate::uapi::{AF_INET, AF_INET6};

names! {
    /// A family of addresses.
    pub enum Family: u8 {
        /// IPv4.
        V4 = AF_INET, "inet";
        /// IPv6.
        V6 = AF_INET6, "inet6";
    }
}

impl Family {
    /// That of `ip`.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// Bits of an address; 0 of a family that is neither.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
            Self::Other(_) => 0,
        }
    }

    /// The network of all its addresses.
    pub(crate) fn everything(self) -> Prefix {
        let ip: IpAddr = match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            _ => Ipv6Addr::UNSPECIFIED.into(),
        };
        Prefix { ip, len: 0 }
    }
}

/// A network, or a single address: an address and how many of its leading bits count.
///
/// Written as `ip(8)` does, and read as well with the last bytes left out (`10/8`): `10.0.0.0/8`, `10.0.0.1` where all bits count, `default` for all of IPv4. All of
/// IPv6 is `::/0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Prefix {
    /// The address.
    pub ip: IpAddr,
    /// Bits that count: 0 to 32, or to 128.
    pub len: u8,
}

impl Prefix {
    /// The first `len` bits of `ip`.
    pub fn new(ip: impl Into<IpAddr>, len: u8) -> Self {
        Self { ip: ip.into(), len }
    }

    /// `ip` alone.
    pub fn host(ip: impl Into<IpAddr>) -> Self {
        let ip = ip.into();
        Self::new(ip, Family::of(ip).bits())
    }

    /// Its family.
    pub fn family(self) -> Family {
        Family::of(self.ip)
    }

    /// Whether it is all addresses of its family.
    pub fn is_everything(self) -> bool {
        self.len == 0
    }

    /// Whether all addresses of `other` are its own.
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

    /// As `ip(8)` shows it, which calls all of IPv6 `default` as well.
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
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let read = || {
            if matches!(text, "default" | "any" | "all") {
                return Some(Family::V4.everything());
            }
            let Some((ip, len)) = text.split_once('/') else {
                return text.parse().ok().map(|ip: IpAddr| Self::host(ip));
            };
            let ip = ip.parse().ok().or_else(|| abbreviated(ip))?;
            let prefix = Self::new(ip, len.parse().ok()?);
            (prefix.len <= prefix.family().bits()).then_some(prefix)
        };
        read().ok_or_else(|| BadWord {
            wanted: "a network".to_owned(),
            found: Some(text.to_owned()),
        })
    }
}

/// The address of IPv4 whose last bytes are left out, which are 0, as ip(8) has it.
fn abbreviated(text: &str) -> Option<IpAddr> {
    let missing = 3_usize.checked_sub(text.matches('.').count())?;
    let whole = text.to_owned() + &".0".repeat(missing);
    whole.parse().ok().map(IpAddr::V4)
}

impl From<Prefix> for String {
    fn from(prefix: Prefix) -> Self {
        prefix.to_string()
    }
}

impl TryFrom<String> for Prefix {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl Word for Prefix {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.shown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_read_as_it_is_written() {
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
            ["0/0", "10/8", "10.2/16", "10.2.3/24"]
                .map(|text| text.parse::<Prefix>().map(|it| it.to_string())),
            ["default", "10.0.0.0/8", "10.2.0.0/16", "10.2.3.0/24"].map(|text| Ok(text.to_owned()))
        );
        assert_eq!(
            "10.0.0.1/32".parse(),
            Ok(Prefix::host(Ipv4Addr::new(10, 0, 0, 1)))
        );
        for text in [
            "",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0",
            "10.0.0./24",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/-1",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_network_contains_what_begins_as_it_does() {
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
