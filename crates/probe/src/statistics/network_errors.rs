//! ICMP errors by router, type and code.

use std::net::IpAddr;

/// Maximum distinct errors counted separately; further ones are counted together.
pub const MAX_ERROR_KINDS: usize = 1024;

/// An ICMP error, as counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkError {
    /// Address of the router or host that sent it. Its family selects between ICMP and ICMPv6.
    pub router: IpAddr,
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
}

impl NetworkError {
    /// Whether the error ends its probe. Unreachable and time exceeded do; a redirect does not.
    pub fn is_final(&self) -> bool {
        match self.router {
            IpAddr::V4(_) => matches!(self.kind, 3 | 11 | 12),
            IpAddr::V6(_) => matches!(self.kind, 1..=4),
        }
    }
}

/// The ICMP errors of a run.
#[derive(Debug)]
pub struct NetworkErrors {
    /// Sorted, for binary search.
    known: Vec<(NetworkError, u64)>,
    others: u64,
}

impl NetworkErrors {
    pub(crate) fn new() -> Self {
        Self {
            known: Vec::with_capacity(MAX_ERROR_KINDS),
            others: 0,
        }
    }

    pub(crate) fn count(&mut self, error: NetworkError) {
        self.add(error, 1);
    }

    pub(crate) fn add(&mut self, error: NetworkError, count: u64) {
        match self.known.binary_search_by_key(&error, |(known, _)| *known) {
            Ok(at) => self.known[at].1 += count,
            Err(_) if self.known.len() == MAX_ERROR_KINDS => self.others += count,
            Err(at) => self.known.insert(at, (error, count)),
        }
    }

    /// Forgets all errors but `others` of unknown kinds.
    pub(crate) fn reset(&mut self, others: u64) {
        self.known.clear();
        self.others = others;
    }

    /// Each distinct error with its count.
    pub fn iter(&self) -> impl Iterator<Item = (NetworkError, u64)> {
        self.known.iter().copied()
    }

    /// Number of errors beyond the first [`MAX_ERROR_KINDS`] distinct ones.
    pub fn others(&self) -> u64 {
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_beyond_the_maximum_of_kinds_are_still_counted() {
        let mut errors = NetworkErrors::new();
        for router in 0..3000_u32 {
            let error = NetworkError {
                router: IpAddr::V4((router % 1500).into()),
                kind: 3,
                code: 1,
            };
            errors.count(error);
        }
        assert_eq!(errors.iter().count(), MAX_ERROR_KINDS);
        let known: u64 = errors.iter().map(|(_, count)| count).sum();
        assert_eq!((known, errors.others()), (2048, 952));
    }
}
