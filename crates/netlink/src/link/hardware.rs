use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::codec::{Attribute, Malformed, Request};
use crate::interface::MacAddress;
use crate::table::{BadWord, Code, Lookup, Native, Shape, Word};

/// Longest hardware address the kernel has (`MAX_ADDR_LEN`, include/linux/netdevice.h).
const MAX_BYTES: usize = 32;

/// Hardware address of a link of any type: 6 bytes of Ethernet, 20 of InfiniBand, the IP address of a
/// tunnel's end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HardwareAddress {
    length: u8,
    /// The first `length` count, the others are 0.
    bytes: [u8; MAX_BYTES],
}

impl HardwareAddress {
    /// The address of these bytes; of more than 32 the first.
    pub fn new(bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
        let mut held = [0; MAX_BYTES];
        held[..bytes.len()].copy_from_slice(bytes);
        Self {
            length: bytes.len() as u8,
            bytes: held,
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// It as an Ethernet address, where it has 6 bytes.
    pub fn ethernet(&self) -> Option<MacAddress> {
        self.as_bytes().try_into().ok().map(MacAddress)
    }
}

impl From<MacAddress> for HardwareAddress {
    fn from(mac: MacAddress) -> Self {
        Self::new(&mac.0)
    }
}

impl fmt::Display for HardwareAddress {
    /// Hexadecimal bytes; 4 bytes are an IPv4 address, as `ip(8)` writes the ends of tunnels.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Ok(ip) = <[u8; 4]>::try_from(self.as_bytes()) {
            return Ipv4Addr::from(ip).fmt(f);
        }
        for (at, byte) in self.as_bytes().iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for HardwareAddress {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Ok(Self::new(&ip.octets()));
        }
        let bytes: Option<Vec<u8>> = text
            .split(':')
            .map(|byte| (byte.len() <= 2).then(|| u8::from_str_radix(byte, 16).ok())?)
            .collect();
        match bytes {
            Some(bytes) if bytes.len() <= MAX_BYTES => Ok(Self::new(&bytes)),
            _ => Err(BadWord {
                wanted: "hardware address".to_owned(),
                found: Some(text.to_owned()),
            }),
        }
    }
}

impl From<HardwareAddress> for String {
    fn from(address: HardwareAddress) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for HardwareAddress {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Self, BadWord> {
        text.parse()
    }
}

impl Word for HardwareAddress {
    fn read(text: &str, _: &mut dyn Lookup) -> Option<Self> {
        text.parse().ok()
    }

    fn write(&self, _: &mut dyn Lookup) -> String {
        self.to_string()
    }
}

impl Code<HardwareAddress> for Native {
    const SHAPE: Shape = Shape::Mac;

    fn put(value: &HardwareAddress, kind: u16, request: &mut Request) {
        request.attribute(kind, value.as_bytes());
    }

    fn take(attribute: Attribute<'_>) -> Result<HardwareAddress, Malformed> {
        Ok(HardwareAddress::new(attribute.bytes))
    }

    fn matches(value: &HardwareAddress, wanted: &HardwareAddress) -> bool {
        value == wanted
    }

    fn merge(value: &mut HardwareAddress, change: HardwareAddress) {
        *value = change;
    }
}
