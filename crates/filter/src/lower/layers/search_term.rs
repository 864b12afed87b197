//! Header fields that a term with `any` or `inner` searches for.

use crate::language::tree::{Direction, Protocol};
use crate::names::Transport;

/// A header field and its values that a term with `any` or `inner` searches for.
pub(in crate::lower) enum SearchTerm {
    /// An address in IPv4 networks, in IPv4, ARP or RARP headers, or in those of one protocol.
    Hosts(Vec<(u32, u32)>, Option<Protocol>, Option<Direction>),
    /// An address in IPv6 networks.
    Hosts6(Vec<(u128, u128)>, Option<Direction>),
    /// A port in ranges.
    Ports(Vec<(u32, u32)>, Option<Transport>, Option<Direction>),
    /// An IP protocol, over IPv4, IPv6 or both.
    Proto(u32, Option<Protocol>),
    /// A protocol with this EtherType.
    Link(u32),
}

impl SearchTerm {
    /// Adds `other` if both search the same fields for numbers.
    pub(super) fn take(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Hosts(all, protocol, direction), Self::Hosts(more, p, d))
                if (&*protocol, &*direction) == (p, d) =>
            {
                all.extend(more);
            }
            (Self::Hosts6(all, direction), Self::Hosts6(more, d)) if direction == d => {
                all.extend(more);
            }
            (Self::Ports(all, transport, direction), Self::Ports(more, t, d))
                if (&*transport, &*direction) == (t, d) =>
            {
                all.extend(more);
            }
            _ => return false,
        }
        true
    }

    /// The IP protocol number to find after an IPv6 header.
    pub(super) fn next_header(&self) -> Option<u32> {
        match self {
            Self::Proto(number, None | Some(Protocol::Ip6)) => Some(*number),
            _ => None,
        }
    }

    /// The IP protocol number to find after an IPv4 header.
    pub(super) fn ipv4_protocol(&self) -> Option<u32> {
        match self {
            Self::Proto(number, None | Some(Protocol::Ip)) => Some(*number),
            _ => None,
        }
    }
}
