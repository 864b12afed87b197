//! The counters of a capture while it goes on.

use std::sync::Arc;

use super::account::Account;
use super::counters::Counters;

/// What became of one interface's packets so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveAccount {
    /// The interface.
    pub link: String,
    /// What became of its packets: those delivered as of now, the rest as of the last
    /// [`tick`](super::Consumer::tick).
    pub account: Account,
    /// Bytes that the delivered packets had on the wire.
    pub bytes: u64,
}

/// Reads a running capture's counters, from any thread; it goes on to tell the last ones when the
/// capture is over.
#[derive(Clone, Debug)]
pub struct Live {
    pub(super) ports: Vec<(String, Arc<Counters>)>,
}

impl Live {
    /// The accounts, in the order of the interfaces.
    pub fn accounts(&self) -> Vec<LiveAccount> {
        let ports = self.ports.iter().map(|(link, counters)| LiveAccount {
            link: link.clone(),
            account: counters.account(),
            bytes: counters.bytes(),
        });
        ports.collect()
    }

    /// Packets of all interfaces that the consumer took, and the bytes they had on the wire.
    pub fn taken(&self) -> (u64, u64) {
        self.ports.iter().fold((0, 0), |(packets, bytes), (_, of)| {
            (packets + of.delivered(), bytes + of.bytes())
        })
    }
}
