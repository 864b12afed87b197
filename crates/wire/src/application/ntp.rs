//! NTP packets.

use std::fmt;
use std::net::Ipv4Addr;

use crate::error::{Truncated, split_header};
use crate::escaped::Escaped;

/// The fixed part of an NTP packet.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---+-----+-----+---------------+---------------+---------------+
/// |LI |vers.|mode |    stratum    |     poll      |   precision   |
/// +---+-----+-----+---------------+---------------+---------------+
/// |             root delay, root dispersion (4 bytes each)        |
/// +---------------------------------------------------------------+
/// |                         reference id                          |
/// +---------------------------------------------------------------+
/// |  time of reference, origin, receive and transmit (8 each)     |
/// +---------------------------------------------------------------+
/// ```
///
/// `Display` prints `v4 server stratum 1 poll 6 ref GPS`.
///
/// # Source
/// RFC 5905, 7.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ntp<'a>(&'a [u8; 48]);

impl<'a> Ntp<'a> {
    /// Parses the packet `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn parse(bytes: &'a [u8], at: usize) -> Result<Self, Truncated> {
        Ok(Self(split_header("NTP", bytes, at)?.0))
    }

    /// Version, 0 to 7.
    pub fn version(&self) -> u8 {
        self.0[0] >> 3 & 7
    }

    /// Mode: 3 client, 4 server, 5 broadcast.
    pub fn mode(&self) -> u8 {
        self.0[0] & 7
    }

    /// Distance to the reference clock; 1 is next to it, 0 unspecified, 16 unsynchronised.
    pub fn stratum(&self) -> u8 {
        self.0[1]
    }

    /// Poll interval, log2 seconds.
    pub fn poll(&self) -> i8 {
        self.0[2].cast_signed()
    }

    /// Reference id: of stratum 0 and 1 four letters, otherwise usually an IPv4 address.
    pub fn reference(&self) -> [u8; 4] {
        std::array::from_fn(|index| self.0[12 + index])
    }
}

impl fmt::Display for Ntp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode() {
            1 => "symmetric active",
            2 => "symmetric passive",
            3 => "client",
            4 => "server",
            5 => "broadcast",
            6 => "control",
            7 => "private",
            _ => "reserved",
        };
        write!(f, "v{} {mode}", self.version())?;
        if matches!(self.mode(), 0 | 6 | 7) {
            return Ok(());
        }
        write!(f, " stratum {} poll {}", self.stratum(), self.poll())?;
        match (self.stratum(), self.reference()) {
            (_, [0, 0, 0, 0]) => Ok(()),
            (0 | 1, letters) => {
                let len = letters
                    .iter()
                    .rposition(|&byte| byte != 0)
                    .map_or(0, |at| at + 1);
                write!(f, " ref {}", Escaped::new(&letters[..len], 4))
            }
            (_, octets) => write!(f, " ref {}", Ipv4Addr::from_octets(octets)),
        }
    }
}
