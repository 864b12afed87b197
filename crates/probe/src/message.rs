//! Received ICMP messages, parsed but not yet matched to a probe.

use std::net::IpAddr;

/// An ICMP message that may answer a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpMessage<'a> {
    /// An echo reply.
    Reply(EchoReply<'a>),
    /// An ICMP error about an echo request.
    Error(IcmpError<'a>),
}

/// An echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoReply<'a> {
    /// Source address.
    pub source: IpAddr,
    /// TTL or hop limit on arrival; `None` if the back end does not report it.
    pub hops: Option<u8>,
    /// Identifier in the ICMP header.
    pub identifier: u16,
    /// Sequence number in the ICMP header.
    pub sequence: u16,
    /// Whether the checksum is right; true if the kernel has verified it.
    pub intact: bool,
    /// The bytes after the ICMP header.
    pub payload: &'a [u8],
}

/// An ICMP error about an echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError<'a> {
    /// Source address of the error.
    pub router: IpAddr,
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// The second word of the ICMP header: MTU, next hop or pointer, depending on the type (RFC 792,
    /// RFC 1191, RFC 4443).
    pub parameter: [u8; 4],
    /// Whether the checksum is right; true if the kernel has verified it.
    pub intact: bool,
    /// The quoted echo request.
    pub quote: QuotedProbe<'a>,
}

/// An echo request quoted by an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedProbe<'a> {
    /// Destination address of the request.
    pub destination: IpAddr,
    /// Identifier in the ICMP header.
    pub identifier: u16,
    /// Sequence number in the ICMP header.
    pub sequence: u16,
    /// Checksum in the ICMP header.
    pub checksum: u16,
    /// The quoted part of the payload. It may be empty (RFC 792 requires 8 bytes after the IP header).
    pub payload: &'a [u8],
}
