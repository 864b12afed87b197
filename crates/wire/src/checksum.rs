//! The Internet checksum, and the pseudo headers of TCP, UDP and `ICMPv6`.
//!
//! ```
//! use tapline_wire::checksum::{Sum, internet};
//!
//! // The example of RFC 1071, section 3: the sum is ddf2, the checksum its complement.
//! assert_eq!(internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
//! assert_eq!(Sum::new().bytes(&[0x00, 0x01, 0xf2, 0x03]).bytes(&[0xf4, 0xf5, 0xf6, 0xf7]).finish(), !0xddf2);
//! ```

use std::net::{Ipv4Addr, Ipv6Addr};

/// The checksum of `bytes`; 0 if they contain a correct checksum.
///
/// # Source
/// RFC 1071.
pub fn internet(bytes: &[u8]) -> u16 {
    Sum::new().bytes(bytes).finish()
}

/// A partial checksum over several pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// An empty sum.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Adds `bytes`. Every piece except the last must have an even length; an odd last byte is
    /// padded with a zero.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut sum = self;
        for word in words {
            sum = sum.add(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        sum.add(u32::from_be_bytes(last))
    }

    /// Adds another sum, whose pieces must have an even length in total.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Adds the pseudo header of IPv4; `length` is that of the transport header and payload.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------------------------------------------------------+
    /// |                        source address                         |
    /// +---------------------------------------------------------------+
    /// |                      destination address                      |
    /// +---------------+---------------+-------------------------------+
    /// |       0       |   protocol    |            length             |
    /// +---------------+---------------+-------------------------------+
    /// ```
    ///
    /// # Source
    /// RFC 9293, 3.1.
    #[must_use]
    pub fn pseudo_ipv4(
        self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        length: u32,
    ) -> Self {
        self.add(source.to_bits())
            .add(destination.to_bits())
            .add(u32::from(protocol))
            .add(length)
    }

    /// Adds the pseudo header of IPv6: addresses, length (32 bits), three zeros, protocol.
    ///
    /// # Source
    /// RFC 8200, 8.1.
    #[must_use]
    pub fn pseudo_ipv6(
        self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        protocol: u8,
        length: u32,
    ) -> Self {
        self.bytes(&source.octets())
            .bytes(&destination.octets())
            .add(u32::from(protocol))
            .add(length)
    }

    /// The checksum for a header field.
    pub const fn finish(self) -> u16 {
        // Five folds bring any 64-bit sum below 2^16; the bounds after each are 2^49, 2^34, 2^19,
        // 2^16 + 8 and 2^16.
        let mut sum = self.0;
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        !(sum as u16)
    }

    /// Ones' complement sums of 16-bit words can be taken 32 bits at a time and folded at the end.
    /// 2^32 such words fit: 16 GiB of packet.
    const fn add(self, word: u32) -> Self {
        Self(self.0.wrapping_add(word as u64))
    }
}
