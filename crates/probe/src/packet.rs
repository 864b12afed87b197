//! Encoding of echo requests and parsing of what comes back.
//!
//! The parsers accept any bytes without a panic, an allocation or an unbounded loop.

use std::net::{IpAddr, Ipv6Addr};

use wire::checksum::{Sum, internet};
use wire::protocol::ip;
use wire::{Extensions, Icmpv4, Icmpv4Fields, Icmpv6, Ipv4, Ipv6};

use crate::cookie::COOKIE_BYTES;
use crate::message::{EchoReply, IcmpError, IcmpMessage, QuotedProbe};
use crate::path::BALANCE_BYTES;

const CHECKSUM_AT: usize = 2;
const SEQUENCE_AT: usize = 6;
const PAYLOAD_AT: usize = Icmpv4::LEN;
const BALANCE_AT: usize = PAYLOAD_AT + COOKIE_BYTES;

/// An echo request, built once and updated for each probe.
///
/// ```text
/// | type, code, checksum, identifier, sequence | cookie (16 bytes) | filler |
/// ```
///
/// The checksum of the constant bytes is computed once, so each probe costs the checksum of 18 bytes.
#[derive(Clone, Debug)]
pub struct EchoRequest {
    bytes: Box<[u8]>,
    /// Bytes of the cookie: all, unless the payload is shorter.
    cookie_bytes: usize,
    /// Sum of the constant bytes.
    constant_sum: Sum,
}

impl EchoRequest {
    /// An ICMPv4 echo request with `filler` after the cookie.
    pub fn icmpv4(identifier: u16, filler: &[u8]) -> Self {
        Self::new(Icmpv4::ECHO_REQUEST, identifier, filler)
    }

    /// An ICMPv6 echo request with `filler` after the cookie.
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
            cookie_bytes: COOKIE_BYTES,
            constant_sum: Sum::new().bytes(&bytes),
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// The same request with a shorter payload of `payload_bytes`, of which the cookie may be only a part.
    #[must_use]
    pub fn shortened(&self, payload_bytes: usize) -> Self {
        let length = (PAYLOAD_AT + payload_bytes).min(self.bytes.len());
        let mut bytes = self.bytes[..length].to_vec();
        let cookie_bytes = COOKIE_BYTES.min(length - PAYLOAD_AT);
        for place in [
            CHECKSUM_AT..CHECKSUM_AT + 2,
            SEQUENCE_AT..PAYLOAD_AT + cookie_bytes,
        ] {
            bytes[place].fill(0);
        }
        Self {
            cookie_bytes,
            constant_sum: Sum::new().bytes(&bytes),
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// Writes sequence number, cookie and the ICMPv4 checksum. The kernel computes the ICMPv6 checksum of raw
    /// and ping sockets itself; to build whole packets use [`EchoRequest::write_ipv6`].
    #[inline]
    pub fn write(&mut self, sequence: u16, cookie: &[u8; COOKIE_BYTES]) -> &[u8] {
        self.update(sequence, cookie, None, Sum::new())
    }

    /// As [`EchoRequest::write`], with `balance` at the start of the filler, which is two zeros
    /// ([`Prober::balance`](crate::Prober::balance)).
    #[inline]
    pub fn write_balanced(
        &mut self,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
        balance: [u8; BALANCE_BYTES],
    ) -> &[u8] {
        self.update(sequence, cookie, Some(balance), Sum::new())
    }

    /// As [`EchoRequest::write`], with the ICMPv6 checksum for these addresses.
    pub fn write_ipv6(
        &mut self,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> &[u8] {
        let length = self.bytes.len() as u32;
        let pseudo = Sum::new().pseudo_ipv6(source, destination, ip::ICMPV6, length);
        self.update(sequence, cookie, None, pseudo)
    }

    #[inline]
    fn update(
        &mut self,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
        balance: Option<[u8; BALANCE_BYTES]>,
        pseudo: Sum,
    ) -> &[u8] {
        let sequence = sequence.to_be_bytes();
        let cookie = &cookie[..self.cookie_bytes];
        let mut sum = self.constant_sum.and(pseudo).bytes(&sequence).bytes(cookie);
        if let Some(balance) = balance {
            sum = sum.bytes(&balance);
            self.bytes[BALANCE_AT..BALANCE_AT + BALANCE_BYTES].copy_from_slice(&balance);
        }
        let checksum = sum.finish();
        self.bytes[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
        self.bytes[SEQUENCE_AT..PAYLOAD_AT].copy_from_slice(&sequence);
        self.bytes[PAYLOAD_AT..PAYLOAD_AT + cookie.len()].copy_from_slice(cookie);
        &self.bytes
    }

    /// Length of the ICMP message including its header.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Parses an IPv4 packet with an ICMP echo reply, or an ICMP error about an echo request. `None` for
/// anything else, including fragments.
///
/// # Source
/// RFC 791; RFC 792; RFC 1812, 4.3.2.3, for the length of the quote.
#[inline]
pub fn parse_ipv4(packet: &[u8]) -> Option<IcmpMessage<'_>> {
    let (header, rest) = Ipv4::split(packet, 0).ok()?;
    let (_, payload) = header.split_options(rest, 0).ok()?;
    let is_whole = !header.more_fragments() && header.fragment_offset() == 0;
    if header.protocol() != ip::ICMPV4 || !is_whole {
        return None;
    }
    parse_icmpv4(header.source().into(), Some(header.ttl()), payload, false)
}

/// Parses an IPv6 packet as [`parse_ipv4`] does. Skips up to eight extension headers.
///
/// # Source
/// RFC 8200; RFC 4443.
pub fn parse_ipv6(packet: &[u8]) -> Option<IcmpMessage<'_>> {
    let (header, payload) = Ipv6::split(packet, 0).ok()?;
    let walked = Extensions::walk(header.next_header(), payload, Ipv6::LEN).ok()?;
    if walked.protocol != ip::ICMPV6 || walked.fragment.is_some() {
        return None;
    }
    let (source, destination) = (header.source(), header.destination());
    let length = walked.payload.len() as u32;
    let pseudo = Sum::new().pseudo_ipv6(source, destination, ip::ICMPV6, length);
    let intact = pseudo.bytes(walked.payload).finish() == 0;
    icmpv6(source, Some(header.hop_limit()), walked.payload, intact)
}

/// Parses an ICMPv4 message from `source`, as received from a ping socket. `is_checked` states that the
/// kernel has verified the checksum.
#[inline]
pub fn parse_icmpv4(
    source: IpAddr,
    hops: Option<u8>,
    message: &[u8],
    is_checked: bool,
) -> Option<IcmpMessage<'_>> {
    let (header, rest) = Icmpv4::split(message, 0).ok()?;
    let intact = is_checked || internet(message) == 0;
    match header.kind() {
        Icmpv4::ECHO_REPLY => {
            let (identifier, sequence) = header.echo()?;
            Some(IcmpMessage::Reply(EchoReply {
                source,
                hops,
                identifier,
                sequence,
                intact,
                payload: rest,
            }))
        }
        // Unreachable, source quench, redirect, time exceeded, parameter problem: these quote a packet.
        kind @ (3 | 4 | 5 | 11 | 12) => Some(IcmpMessage::Error(IcmpError {
            router: source,
            kind,
            code: header.code(),
            parameter: header.parameter(),
            intact,
            quote: quoted_ipv4(rest)?,
        })),
        _ => None,
    }
}

/// Parses an ICMPv6 message from `source`, as received from a raw or ping socket. The kernel has
/// verified the checksum.
pub fn parse_icmpv6(source: Ipv6Addr, hops: Option<u8>, message: &[u8]) -> Option<IcmpMessage<'_>> {
    icmpv6(source, hops, message, true)
}

fn icmpv6(
    source: Ipv6Addr,
    hops: Option<u8>,
    message: &[u8],
    intact: bool,
) -> Option<IcmpMessage<'_>> {
    let (header, rest) = Icmpv6::split(message, 0).ok()?;
    match header.kind() {
        Icmpv6::ECHO_REPLY => {
            let (identifier, sequence) = header.echo()?;
            Some(IcmpMessage::Reply(EchoReply {
                source: source.into(),
                hops,
                identifier,
                sequence,
                intact,
                payload: rest,
            }))
        }
        kind @ 1..=4 => Some(IcmpMessage::Error(IcmpError {
            router: source.into(),
            kind,
            code: header.code(),
            parameter: header.parameter(),
            intact,
            quote: quoted_ipv6(rest)?,
        })),
        _ => None,
    }
}

/// The echo request that an ICMP error quotes. Its length fields are those of the whole packet, so only
/// the end of the quote bounds it.
fn quoted_ipv4(quoted: &[u8]) -> Option<QuotedProbe<'_>> {
    let (header, rest) = Ipv4::split(quoted, 0).ok()?;
    let (_, payload) = header.split_options(rest, 0).ok()?;
    if header.protocol() != ip::ICMPV4 || header.fragment_offset() != 0 {
        return None;
    }
    let (request, payload) = Icmpv4::split(payload, 0).ok()?;
    let (identifier, sequence) = request.echo()?;
    (request.kind() == Icmpv4::ECHO_REQUEST).then_some(QuotedProbe {
        destination: header.destination().into(),
        identifier,
        sequence,
        checksum: request.checksum(),
        payload,
    })
}

fn quoted_ipv6(quoted: &[u8]) -> Option<QuotedProbe<'_>> {
    let (header, payload) = Ipv6::split(quoted, 0).ok()?;
    let walked = Extensions::walk(header.next_header(), payload, Ipv6::LEN).ok()?;
    let is_first = walked
        .fragment
        .is_none_or(|fragment| fragment.offset() == 0);
    if walked.protocol != ip::ICMPV6 || !is_first {
        return None;
    }
    let (request, payload) = Icmpv6::split(walked.payload, 0).ok()?;
    let (identifier, sequence) = request.echo()?;
    (request.kind() == Icmpv6::ECHO_REQUEST).then_some(QuotedProbe {
        destination: header.destination().into(),
        identifier,
        sequence,
        checksum: request.checksum(),
        payload,
    })
}
