//! Echo requests.

use std::net::Ipv6Addr;

use wire::checksum::Sum;
use wire::protocol::ip;
use wire::{Icmpv4, Icmpv4Fields, Icmpv6};

use crate::machine::COOKIE_BYTES;

const CHECKSUM_AT: usize = 2;
const SEQUENCE_AT: usize = 6;
const PAYLOAD_AT: usize = Icmpv4::LEN;

/// An echo request that is made once and changed for each probe.
///
/// ```text
/// | type, code, checksum, identifier, sequence | cookie (16 bytes) | filler |
/// ```
///
/// The bytes that stay the same are summed once, so a probe costs the checksum of 18 bytes.
#[derive(Clone, Debug)]
pub struct EchoMessage {
    bytes: Box<[u8]>,
    /// Over all that stays the same.
    same: Sum,
}

impl EchoMessage {
    /// An ICMP echo request with `filler` behind the cookie.
    pub fn icmpv4(identifier: u16, filler: &[u8]) -> Self {
        Self::new(Icmpv4::ECHO_REQUEST, identifier, filler)
    }

    /// An ICMPv6 echo request with `filler` behind the cookie.
    pub fn icmpv6(identifier: u16, filler: &[u8]) -> Self {
        Self::new(Icmpv6::ECHO_REQUEST, identifier, filler)
    }

    fn new(kind: u8, identifier: u16, filler: &[u8]) -> Self {
        let fields = Icmpv4Fields {
            kind,
            ..Icmpv4Fields::echo_request(identifier, 0)
        };
        let mut bytes = fields.bytes().to_vec();
        bytes.extend_from_slice(&[0; COOKIE_BYTES]);
        bytes.extend_from_slice(filler);
        Self {
            same: Sum::new().bytes(&bytes),
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// Writes sequence number and cookie, and with them the checksum of ICMP: right as it is for IPv4.
    /// The kernel puts in the one of ICMPv6 itself; for whoever builds whole packets see
    /// [`EchoMessage::with_ipv6`].
    #[inline]
    pub fn write(&mut self, sequence: u16, cookie: &[u8; COOKIE_BYTES]) -> &[u8] {
        self.put(sequence, cookie, Sum::new())
    }

    /// As [`EchoMessage::write`], with the checksum of an ICMPv6 message between two hosts.
    pub fn with_ipv6(
        &mut self,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> &[u8] {
        let length = self.bytes.len() as u32;
        let pseudo = Sum::new().pseudo_ipv6(source, destination, ip::ICMPV6, length);
        self.put(sequence, cookie, pseudo)
    }

    #[inline]
    fn put(&mut self, sequence: u16, cookie: &[u8; COOKIE_BYTES], pseudo: Sum) -> &[u8] {
        let sequence = sequence.to_be_bytes();
        let checksum = self
            .same
            .and(pseudo)
            .bytes(&sequence)
            .bytes(cookie)
            .finish();
        self.bytes[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
        self.bytes[SEQUENCE_AT..PAYLOAD_AT].copy_from_slice(&sequence);
        self.bytes[PAYLOAD_AT..PAYLOAD_AT + COOKIE_BYTES].copy_from_slice(cookie);
        &self.bytes
    }

    /// Its length, header included.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}
