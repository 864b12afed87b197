//! The roles of flows, learned from a recording before it is sent.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use wire::dissect::{Summary, Transport};
use wire::protocol::link_type;
use wire::{TcpFlags, dissect};

use crate::read::{Read, ReadError};

/// Flows whose roles are not those that their packets alone suggest, at most: about 20 MiB.
const MAX_REVERSED: usize = 1 << 20;

const DNS_PORT: u16 = 53;
/// The header of a DNS message, with a bit in its third byte: it is a response (RFC 1035, 4.1.1).
const DNS_HEADER_BYTES: usize = 12;
const DNS_RESPONSE: u8 = 0x80;

/// Which end of each flow is the client, by its packets: who sends a SYN or a DNS query is a client, who sends a SYN-ACK or
/// a DNS response is a server. In other flows each packet decides, as with [`Clients::Auto`](super::Clients::Auto).
///
/// Memory: 8 bytes for each flow that a packet alone would put on the wrong side, and for the other flows none. It knows
/// the first 1048576 of them.
///
/// ```
/// let mut roles = tapline::send::FlowRoles::default();
/// roles.learn(&[0xff; 60]);
/// assert_eq!(roles.reversed(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowRoles {
    reversed: HashSet<u64>,
}

impl FlowRoles {
    /// Reads all packets of `read`.
    ///
    /// # Errors
    /// Those of [`Read::next`].
    pub fn read(read: &mut Read) -> Result<Self, ReadError> {
        let mut roles = Self::default();
        while let Some(packet) = read.next()? {
            roles.learn(packet.data());
        }
        Ok(roles)
    }

    /// Learns from an Ethernet frame. Of contradicting ones the last counts: the ports may have been used again.
    pub fn learn(&mut self, frame: &[u8]) {
        let summary = dissect(link_type::ETHERNET, frame);
        let (Some(role), Some(flow)) = (role(&summary), flow(&summary)) else {
            return;
        };
        if by_packet(&summary) == role {
            self.reversed.remove(&flow);
        } else if self.reversed.len() < MAX_REVERSED {
            self.reversed.insert(flow);
        }
    }

    /// Number of flows that packets alone would put on the wrong side.
    pub fn reversed(&self) -> usize {
        self.reversed.len()
    }

    /// Whether a client sends this packet.
    pub(super) fn client_sends(&self, summary: &Summary<'_>) -> bool {
        let is_reversed = || flow(summary).is_some_and(|flow| self.reversed.contains(&flow));
        by_packet(summary) != (!self.reversed.is_empty() && is_reversed())
    }
}

/// Whether a client sends this packet, if it says so.
fn role(summary: &Summary<'_>) -> Option<bool> {
    match summary.transport {
        Transport::Tcp(header) => {
            let flags = header.flags();
            (flags.contains(TcpFlags::SYN)).then(|| !flags.contains(TcpFlags::ACK))
        }
        Transport::Udp(header) => {
            let is_dns = [header.source_port(), header.destination_port()].contains(&DNS_PORT);
            let header: &[u8; DNS_HEADER_BYTES] = summary.payload.first_chunk()?;
            is_dns.then_some(header[2] & DNS_RESPONSE == 0)
        }
        _ => None,
    }
}

/// A number that the packets of both directions of a flow share; `None` without ports.
fn flow(summary: &Summary<'_>) -> Option<u64> {
    let (source, destination) = summary.addresses()?;
    let (source_port, destination_port) =
        (summary.ports()).filter(|_| summary.fragment.is_none())?;
    let mut ends: [(IpAddr, u16); 2] = [(source, source_port), (destination, destination_port)];
    ends.sort_unstable();
    let mut hasher = DefaultHasher::new();
    (ends, summary.protocol).hash(&mut hasher);
    Some(hasher.finish())
}

/// As [`Clients::Auto`](super::Clients::Auto) decides.
pub fn by_packet(summary: &Summary<'_>) -> bool {
    let is_lower = |(source, destination)| source <= destination;
    by_ports(summary)
        .or_else(|| by_echo(summary))
        .unwrap_or_else(|| summary.addresses().is_none_or(is_lower))
}

/// `None` without ports, and for fragments: only the first one has them.
fn by_ports(summary: &Summary<'_>) -> Option<bool> {
    let (source, destination) = summary.ports().filter(|_| summary.fragment.is_none())?;
    (source != destination).then_some(source > destination)
}

fn by_echo(summary: &Summary<'_>) -> Option<bool> {
    let (kind, request, reply) = match summary.transport {
        Transport::Icmpv4(header) => (
            header.kind(),
            wire::Icmpv4::ECHO_REQUEST,
            wire::Icmpv4::ECHO_REPLY,
        ),
        Transport::Icmpv6(header) => (
            header.kind(),
            wire::Icmpv6::ECHO_REQUEST,
            wire::Icmpv6::ECHO_REPLY,
        ),
        _ => return None,
    };
    let is_echo = summary.fragment.is_none() && (kind == request || kind == reply);
    is_echo.then_some(kind == request)
}
