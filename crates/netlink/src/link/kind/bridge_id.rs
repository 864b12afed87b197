use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request};
use crate::interface::MacAddress;
use crate::table::{BadWord, Code, Native, Shape};

/// A bridge's number in the spanning tree (`struct ifla_bridge_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BridgeId {
    /// The lower the sooner it is the root.
    pub priority: u16,
    /// Its hardware address.
    pub address: MacAddress,
}

impl fmt::Display for BridgeId {
    /// As `ip(8)` writes it: without leading zeros in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.address.0;
        write!(f, "{:04x}.{first:x}", self.priority)?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:x}"))
    }
}

impl FromStr for BridgeId {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let parts = text.split_once('.').and_then(|(priority, address)| {
            Some(Self {
                priority: u16::from_str_radix(priority, 16).ok()?,
                address: address.parse().ok()?,
            })
        });
        parts.ok_or_else(|| BadWord {
            wanted: "bridge id".to_owned(),
            found: Some(text.to_owned()),
        })
    }
}

impl From<BridgeId> for String {
    fn from(id: BridgeId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for BridgeId {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl Code<BridgeId> for Native {
    const SHAPE: Shape = Shape::Bytes;

    fn put(value: &BridgeId, kind: u16, request: &mut Request) {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&value.priority.to_be_bytes());
        bytes[2..].copy_from_slice(&value.address.0);
        request.attribute(kind, &bytes);
    }

    fn take(attribute: Attribute<'_>) -> Result<BridgeId, Malformed> {
        let [p0, p1, address @ ..] = attribute.array::<8>()?;
        Ok(BridgeId {
            priority: u16::from_be_bytes([p0, p1]),
            address: MacAddress(address),
        })
    }

    fn matches(value: &BridgeId, wanted: &BridgeId) -> bool {
        value == wanted
    }

    fn merge(value: &mut BridgeId, change: BridgeId) {
        *value = change;
    }
}
