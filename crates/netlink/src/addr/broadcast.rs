use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::table::{BadWord, Code, Lookup, Native, Shape, Word};

/// The address of all hosts on an IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Broadcast {
    /// This address; what the kernel tells is always one.
    At(Ipv4Addr),
    /// The prefix and ones behind it (`brd +`).
    Ones,
    /// The prefix and zeros behind it (`brd -`).
    Zeros,
}

impl Broadcast {
    /// The address itself, where `local` with its prefix is the address of the interface.
    pub fn of(self, local: Ipv4Addr, prefix_len: u8) -> Ipv4Addr {
        let hosts = u32::MAX.checked_shr(prefix_len.into()).unwrap_or(0);
        match self {
            Self::At(ip) => ip,
            Self::Ones => Ipv4Addr::from_bits(local.to_bits() | hosts),
            Self::Zeros => Ipv4Addr::from_bits(local.to_bits() & !hosts),
        }
    }
}

impl fmt::Display for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(ip) => ip.fmt(f),
            Self::Ones => f.pad("+"),
            Self::Zeros => f.pad("-"),
        }
    }
}

impl FromStr for Broadcast {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        match text {
            "+" => Ok(Self::Ones),
            "-" => Ok(Self::Zeros),
            _ => text.parse().map(Self::At).map_err(|_| BadWord {
                wanted: "broadcast".to_owned(),
                found: Some(text.to_owned()),
            }),
        }
    }
}

impl From<Broadcast> for String {
    fn from(broadcast: Broadcast) -> Self {
        broadcast.to_string()
    }
}

impl TryFrom<String> for Broadcast {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl Word for Broadcast {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}

impl Code<Broadcast> for Native {
    const SHAPE: Shape = Shape::Ip;

    /// Only an address can be said: the others are worked out before.
    fn put(value: &Broadcast, kind: u16, request: &mut Request) {
        if let Broadcast::At(ip) = value {
            request.attribute(kind, &ip.octets());
        }
    }

    fn take(attribute: Attribute<'_>) -> Result<Broadcast, Malformed> {
        attribute.array::<4>().map(|ip| Broadcast::At(ip.into()))
    }

    fn matches(value: &Broadcast, wanted: &Broadcast) -> bool {
        value == wanted
    }

    fn merge(value: &mut Broadcast, change: Broadcast) {
        *value = change;
    }
}
