//! ICMP errors by what they say and who says it.

use std::net::IpAddr;

/// Routers and messages told apart; what comes beyond counts together.
pub const MAX_ERROR_KINDS: usize = 1024;

/// An ICMP error as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkError {
    /// Who sent it; its family tells whether kind and code are those of ICMP or ICMPv6.
    pub router: IpAddr,
    /// Its type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
}

impl NetworkError {
    /// Whether it says that the probe will not arrive, as unreachable and time exceeded do, and a
    /// redirect does not.
    pub fn is_final(&self) -> bool {
        match self.router {
            IpAddr::V4(_) => matches!(self.kind, 3 | 11 | 12),
            IpAddr::V6(_) => matches!(self.kind, 1..=4),
        }
    }
}

/// The errors of a run.
#[derive(Debug)]
pub struct NetworkErrors {
    /// In order, so that an error is found by halving.
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
        match self.known.binary_search_by_key(&error, |(known, _)| *known) {
            Ok(at) => self.known[at].1 += 1,
            Err(_) if self.known.len() == MAX_ERROR_KINDS => self.others += 1,
            Err(at) => self.known.insert(at, (error, 1)),
        }
    }

    /// Each error by router and message, with its number.
    pub fn iter(&self) -> impl Iterator<Item = (NetworkError, u64)> {
        self.known.iter().copied()
    }

    /// Errors of further routers or messages than [`MAX_ERROR_KINDS`].
    pub fn others(&self) -> u64 {
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_is_forgotten_when_there_are_too_many_kinds() {
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
