//! Answers, as they arrive. Any bytes are read without a panic, an allocation or an unbounded loop.

use std::net::{IpAddr, Ipv6Addr};

use wire::checksum::{Sum, internet};
use wire::protocol::ip;
use wire::{Extensions, Icmpv4, Icmpv6, Ipv4, Ipv6};

use crate::machine::{ErrorMessage, Message, Quote, Reply};

/// Reads an IPv4 packet, from its header on: an ICMP echo reply, or an ICMP error about an echo
/// request. `None` for everything else, fragments among it.
///
/// # Source
/// RFC 791; RFC 792; RFC 1812, 4.3.2.3, for how much an error quotes.
#[inline]
pub fn read_ipv4(packet: &[u8]) -> Option<Message<'_>> {
    let (header, rest) = Ipv4::split(packet, 0).ok()?;
    let (_, payload) = header.split_options(rest, 0).ok()?;
    let is_whole = !header.more_fragments() && header.fragment_offset() == 0;
    if header.protocol() != ip::ICMPV4 || !is_whole {
        return None;
    }
    read_icmpv4(header.source().into(), Some(header.ttl()), payload, false)
}

/// Reads an IPv6 packet, from its header on, as [`read_ipv4`] does. Extension headers are walked over,
/// eight at most.
///
/// # Source
/// RFC 8200; RFC 4443.
pub fn read_ipv6(packet: &[u8]) -> Option<Message<'_>> {
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

/// Reads an ICMP message that came from `source`, as a ping socket gives it. `is_checked` says that
/// the kernel has found its checksum right.
#[inline]
pub fn read_icmpv4(
    source: IpAddr,
    hops: Option<u8>,
    message: &[u8],
    is_checked: bool,
) -> Option<Message<'_>> {
    let (header, rest) = Icmpv4::split(message, 0).ok()?;
    let intact = is_checked || internet(message) == 0;
    match header.kind() {
        Icmpv4::ECHO_REPLY => {
            let (identifier, sequence) = header.echo()?;
            Some(Message::Reply(Reply {
                source,
                hops,
                identifier,
                sequence,
                intact,
                payload: rest,
            }))
        }
        // Unreachable, source quench, redirect, time exceeded, parameter problem: those that quote.
        kind @ (3 | 4 | 5 | 11 | 12) => Some(Message::Error(ErrorMessage {
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

/// Reads an ICMPv6 message that came from `source`, as raw and ping sockets give it: the kernel has
/// found its checksum right.
pub fn read_icmpv6(source: Ipv6Addr, hops: Option<u8>, message: &[u8]) -> Option<Message<'_>> {
    icmpv6(source, hops, message, true)
}

fn icmpv6(source: Ipv6Addr, hops: Option<u8>, message: &[u8], intact: bool) -> Option<Message<'_>> {
    let (header, rest) = Icmpv6::split(message, 0).ok()?;
    match header.kind() {
        Icmpv6::ECHO_REPLY => {
            let (identifier, sequence) = header.echo()?;
            Some(Message::Reply(Reply {
                source: source.into(),
                hops,
                identifier,
                sequence,
                intact,
                payload: rest,
            }))
        }
        kind @ 1..=4 => Some(Message::Error(ErrorMessage {
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

/// The echo request at the front of what an ICMP error quotes. Its lengths are those of the whole
/// packet, so only what is there ends it.
fn quoted_ipv4(quoted: &[u8]) -> Option<Quote<'_>> {
    let (header, rest) = Ipv4::split(quoted, 0).ok()?;
    let (_, payload) = header.split_options(rest, 0).ok()?;
    if header.protocol() != ip::ICMPV4 || header.fragment_offset() != 0 {
        return None;
    }
    let (request, payload) = Icmpv4::split(payload, 0).ok()?;
    let (identifier, sequence) = request.echo()?;
    (request.kind() == Icmpv4::ECHO_REQUEST).then_some(Quote {
        destination: header.destination().into(),
        identifier,
        sequence,
        payload,
    })
}

fn quoted_ipv6(quoted: &[u8]) -> Option<Quote<'_>> {
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
    (request.kind() == Icmpv6::ECHO_REQUEST).then_some(Quote {
        destination: header.destination().into(),
        identifier,
        sequence,
        payload,
    })
}
