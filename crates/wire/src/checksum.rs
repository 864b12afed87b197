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

/// A computed `checksum` as it stands in a UDP header, where 0 means that there is none.
///
/// # Source
/// RFC 768; all ones is the other form of 0 in ones' complement.
pub const fn udp_field(checksum: u16) -> u16 {
    match checksum {
        0 => u16::MAX,
        checksum => checksum,
    }
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

    /// Adds a number of 32 bits that starts at an even offset, or one of 16 bits.
    #[must_use]
    pub const fn number(self, number: u32) -> Self {
        self.add(number)
    }

    /// The sum if all its pieces started at an odd offset instead.
    ///
    /// # Source
    /// RFC 1071, 2 (B): a sum of swapped words is the swapped sum.
    #[must_use]
    pub const fn at_odd_offset(self) -> Self {
        Self((!self.finish()).swap_bytes() as u64)
    }

    /// Ones' complement sums of 16-bit words can be taken 32 bits at a time and folded at the end.
    /// 2^32 such words fit: 16 GiB of packet.
    const fn add(self, word: u32) -> Self {
        Self(self.0.wrapping_add(word as u64))
    }
}

/// A change of bytes that a checksum covers. It corrects the checksum without reading the other bytes, and keeps a
/// wrong checksum wrong.
///
/// ```
/// use tapline_wire::checksum::Change;
///
/// // The example of RFC 1624, section 4.
/// assert_eq!(Change::new().bytes(&[0x55, 0x55], &[0x32, 0x85]).apply(0xdd2f), 0x0000);
/// ```
///
/// # Source
/// RFC 1624, equation 3.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    old: Sum,
    new: Sum,
}

impl Change {
    /// No change.
    pub const fn new() -> Self {
        Self {
            old: Sum::new(),
            new: Sum::new(),
        }
    }

    /// Zeros are replaced by bytes of this sum.
    pub const fn added(new: Sum) -> Self {
        Self {
            old: Sum::new(),
            new,
        }
    }

    /// Bytes at an even offset of what the checksum covers: `old` is replaced by `new`.
    #[must_use]
    pub fn bytes(self, old: &[u8], new: &[u8]) -> Self {
        Self {
            old: self.old.bytes(old),
            new: self.new.bytes(new),
        }
    }

    /// The checksum after the change.
    pub const fn apply(self, checksum: u16) -> u16 {
        // The complement of the old sum, as `finish` returns it, subtracts it.
        let rest = Sum::new()
            .number(!checksum as u32)
            .number(self.old.finish() as u32);
        rest.and(self.new).finish()
    }
}
