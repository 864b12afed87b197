//! What comes back, read but not judged.

use std::net::IpAddr;

/// An ICMP message that may concern a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Somebody answers an echo request.
    Reply(Reply<'a>),
    /// Somebody says why an echo request did not arrive.
    Error(ErrorMessage<'a>),
}

/// An echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Who answers.
    pub source: IpAddr,
    /// Its TTL or hop limit on arrival; `None` where the back end does not tell.
    pub hops: Option<u8>,
    /// Identifier in its header.
    pub identifier: u16,
    /// Sequence number in its header.
    pub sequence: u16,
    /// Whether its checksum is right; true where the kernel has checked it.
    pub intact: bool,
    /// What follows the header.
    pub payload: &'a [u8],
}

/// An ICMP error about an echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorMessage<'a> {
    /// Who says so.
    pub router: IpAddr,
    /// Its type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// What follows in its header: the MTU, the next hop or the place of the fault, where its type has one (RFC 792,
    /// RFC 1191, RFC 4443).
    pub parameter: [u8; 4],
    /// Whether its checksum is right; true where the kernel has checked it.
    pub intact: bool,
    /// The request, as far as it is quoted.
    pub quote: Quote<'a>,
}

/// An echo request that an error quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<'a> {
    /// To whom it went.
    pub destination: IpAddr,
    /// Identifier in its header.
    pub identifier: u16,
    /// Sequence number in its header.
    pub sequence: u16,
    /// As much of its payload as is quoted, which may be nothing (RFC 792 asks for 8 bytes of it).
    pub payload: &'a [u8],
}
