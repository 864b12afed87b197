//! Parts of a list of targets.

use std::net::IpAddr;

use super::span::{Span, address};

/// Targets that follow one another in the list.
#[derive(Clone, Debug)]
pub(super) enum Block {
    /// Addresses in order, of which nothing but the first is kept.
    Span(Span),
    /// IPv4 addresses as they were given.
    V4(Vec<u32>),
    /// IPv6 addresses as they were given.
    V6(Vec<u128>),
}

impl Block {
    #[inline]
    pub fn address(&self, at: usize) -> IpAddr {
        match self {
            Self::Span(span) => address(span.first + at as u128),
            Self::V4(list) => IpAddr::V4(list[at].into()),
            Self::V6(list) => IpAddr::V6(list[at].into()),
        }
    }

    /// Takes in one more address, if it is of the block's kind.
    pub fn push(&mut self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4(list), IpAddr::V4(address)) => list.push(address.to_bits()),
            (Self::V6(list), IpAddr::V6(address)) => list.push(address.to_bits()),
            _ => return false,
        }
        true
    }
}
