use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::interface::MacAddress;
use crate::table::{BadWord, Lookup, Word};

/// A multicast group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum MdbGroup {
    /// Of IPv4 or IPv6.
    Ip(IpAddr),
    /// Of the link layer.
    Mac(MacAddress),
}

impl fmt::Display for MdbGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Mac(mac) => mac.fmt(f),
        }
    }
}

impl fmt::Debug for MdbGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MdbGroup {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let ip = text.parse().map(Self::Ip).ok();
        let group = ip.or_else(|| text.parse().map(Self::Mac).ok());
        group.ok_or_else(|| BadWord {
            wanted: "grp".to_owned(),
            found: Some(text.to_owned()),
        })
    }
}

impl From<MdbGroup> for String {
    fn from(group: MdbGroup) -> Self {
        group.to_string()
    }
}

impl TryFrom<String> for MdbGroup {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl Word for MdbGroup {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}
