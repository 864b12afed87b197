//! DHCP and DHCPv6 messages.

use std::fmt;
use std::net::Ipv4Addr;

use crate::error::{Truncated, split_header};
use crate::escaped::{Escaped, u16_at, u32_at};
use crate::link::MacAddress;

/// Most printed bytes of a name.
const NAME_BYTES: usize = 64;

/// A DHCP or BOOTP message for IPv4.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+---------------+---------------+
/// | 1 request, 2  | hardware type | address length|      hops     |
/// +---------------+---------------+---------------+---------------+
/// |                        transaction id                         |
/// +-------------------------------+-------------------------------+
/// |            seconds            |             flags             |
/// +-------------------------------+-------------------------------+
/// |      client, your, server and relay address (4 bytes each)    |
/// +---------------------------------------------------------------+
/// |  client hardware address (16), server name (64), file (128)   |
/// +---------------------------------------------------------------+
/// |      magic 0x63825363, then options (kind, length, data)      |
/// +---------------------------------------------------------------+
/// ```
///
/// `Display` prints the message type, the client and the addresses at stake.
///
/// # Source
/// RFC 2131, 2; RFC 2132 for the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp<'a> {
    header: &'a [u8; 236],
    options: &'a [u8],
}

impl<'a> Dhcp<'a> {
    /// Parses the message `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes for the fixed part.
    pub fn parse(bytes: &'a [u8], at: usize) -> Result<Self, Truncated> {
        let (header, rest) = split_header("DHCP", bytes, at)?;
        let options = rest.strip_prefix(&[0x63, 0x82, 0x53, 0x63]);
        Ok(Self {
            header,
            options: options.unwrap_or_default(),
        })
    }

    /// Message type, from option 53: 1 is a discover. `None` for BOOTP.
    pub fn kind(&self) -> Option<u8> {
        self.option(53)?.first().copied()
    }

    /// Transaction id.
    pub fn transaction(&self) -> u32 {
        u32_at(self.header, 4).unwrap_or_default()
    }

    /// The client's Ethernet address.
    pub fn client(&self) -> MacAddress {
        MacAddress(std::array::from_fn(|index| self.header[28 + index]))
    }

    /// The address that the server assigns (`yiaddr`), or 0.0.0.0.
    pub fn assigned(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(std::array::from_fn(|index| self.header[16 + index]))
    }

    /// The data of the first option of this kind.
    pub fn option(&self, kind: u8) -> Option<&'a [u8]> {
        let mut rest = self.options;
        loop {
            let (&found, after) = rest.split_first()?;
            rest = match found {
                0 => after,
                255 => return None,
                _ => {
                    let (&len, after) = after.split_first()?;
                    let (data, after) = after.split_at_checked(usize::from(len))?;
                    if found == kind {
                        return Some(data);
                    }
                    after
                }
            };
        }
    }

    fn address(&self, kind: u8) -> Option<Ipv4Addr> {
        let data = self.option(kind)?.first_chunk::<4>()?;
        Some(Ipv4Addr::from_octets(*data))
    }

    fn write_addresses(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.assigned().is_unspecified() {
            write!(f, " your {}", self.assigned())?;
        }
        let options = [(50, "requested"), (54, "server"), (3, "router"), (6, "dns")];
        // Router and name servers are details.
        let count = if f.alternate() { 4 } else { 2 };
        for (kind, word) in &options[..count] {
            if let Some(address) = self.address(*kind) {
                write!(f, " {word} {address}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Dhcp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind(), self.header[0]) {
            (Some(kind), _) => match KINDS.get(usize::from(kind)) {
                Some(name) => f.write_str(name)?,
                None => write!(f, "type {kind}")?,
            },
            (None, 1) => f.write_str("BOOTP request")?,
            (None, _) => f.write_str("BOOTP reply")?,
        }
        write!(f, " xid {:#x} client {}", self.transaction(), self.client())?;
        self.write_addresses(f)?;
        if let Some(name) = self.option(12) {
            write!(f, " name {}", Escaped::new(name, NAME_BYTES))?;
        }
        if let Some(seconds) = self.option(51).and_then(|data| u32_at(data, 0)) {
            write!(f, " lease {seconds}s")?;
        }
        Ok(())
    }
}

const KINDS: [&str; 9] = [
    "type 0", "Discover", "Offer", "Request", "Decline", "ACK", "NAK", "Release", "Inform",
];

/// A DHCPv6 message: a type and a transaction id, then options. `Display` prints both.
///
/// # Source
/// RFC 8415, 7.3 and 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcpv6<'a>(&'a [u8; 4]);

impl<'a> Dhcpv6<'a> {
    /// Parses the message `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn parse(bytes: &'a [u8], at: usize) -> Result<Self, Truncated> {
        Ok(Self(split_header("DHCPv6", bytes, at)?.0))
    }

    /// Message type: 1 is a solicit.
    pub fn kind(&self) -> u8 {
        self.0[0]
    }

    /// Transaction id, 24 bits. Relayed messages have none there.
    pub fn transaction(&self) -> u32 {
        let low = u16_at(self.0, 2).unwrap_or_default();
        u32::from(self.0[1]) << 16 | u32::from(low)
    }
}

impl fmt::Display for Dhcpv6<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            12 => f.write_str("Relay-forward"),
            13 => f.write_str("Relay-reply"),
            kind => {
                match KINDS6.get(usize::from(kind)) {
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "type {kind}")?,
                }
                write!(f, " xid {:#x}", self.transaction())
            }
        }
    }
}

const KINDS6: [&str; 12] = [
    "type 0",
    "Solicit",
    "Advertise",
    "Request",
    "Confirm",
    "Renew",
    "Rebind",
    "Reply",
    "Release",
    "Decline",
    "Reconfigure",
    "Information-request",
];
