//! What decides in the kernel which packets of an interface come into its rings.

use bpf::socket_filter::CountingFilter;

/// What lets packets in, and counts.
pub(super) enum Gate {
    /// All come in.
    Open,
    /// A filter that counts.
    Counted(CountingFilter),
    /// A filter that does not count.
    Uncounted,
}

/// What a gate counted; `None` where it does not or cannot tell.
pub(super) struct Passed {
    /// Packets not let in.
    pub refused: Option<u64>,
    /// Packets let in, each of which a ring has or will have in its account.
    pub let_in: Option<u64>,
    /// Packets that were to come in and that no ring will have.
    pub lost: u64,
}

impl Gate {
    /// What it counted so far.
    pub fn passed(&self) -> Passed {
        let (refused, let_in) = match self {
            Self::Open => (Some(0), None),
            Self::Counted(filter) => match filter.counts() {
                Ok(counts) => (
                    Some(counts.offered - counts.accepted),
                    Some(counts.accepted),
                ),
                Err(_) => (None, None),
            },
            Self::Uncounted => (None, None),
        };
        Passed {
            refused,
            let_in,
            lost: 0,
        }
    }
}
