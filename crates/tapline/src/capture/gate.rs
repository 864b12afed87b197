//! What decides in the kernel which packets of an interface come into its rings.

use std::sync::Arc;

use bpf::socket_filter::{CountingFilter, CountingFilterError};
use bpf::{Intake, IntakeCounts, Mirror, Redirect, XdpLink};

/// What lets packets in, and counts.
pub(super) enum Gate {
    /// All come in.
    Open,
    /// A filter that counts.
    Counted(CountingFilter),
    /// A filter that does not count, and why.
    Uncounted(Arc<CountingFilterError>),
    /// A program that takes packets from the driver, as long as it has its link.
    Steered(Redirect, Option<XdpLink>),
    /// A program that takes packets from the driver into shared memory, as long as it has its link, which
    /// goes first; and what those before it counted.
    Taken(Option<XdpLink>, Arc<Intake>, IntakeCounts),
    /// A program that copies packets, as long as it has its link.
    Mirrored(Arc<Mirror>, Option<XdpLink>),
}

/// What a gate counted; `None` where it does not or cannot tell.
pub(super) struct Passed {
    /// Packets not let in.
    pub refused: Option<u64>,
    /// Those of them that sampling left out.
    pub sampled_out: Option<u64>,
    /// Packets let in, each of which a ring has or will have in its account.
    pub let_in: Option<u64>,
    /// Packets that were to come in and that no ring will have.
    pub lost: u64,
}

impl Gate {
    /// What it counted so far.
    pub fn passed(&self) -> Passed {
        const NOTHING: Passed = Passed {
            refused: None,
            sampled_out: None,
            let_in: None,
            lost: 0,
        };
        match self {
            Self::Open => Passed {
                refused: Some(0),
                sampled_out: Some(0),
                ..NOTHING
            },
            Self::Uncounted(_) => NOTHING,
            Self::Counted(filter) => filter.counts().map_or(NOTHING, |counts| Passed {
                refused: Some(counts.offered - counts.accepted),
                sampled_out: Some(counts.sampled_out),
                let_in: Some(counts.accepted),
                lost: 0,
            }),
            Self::Steered(redirect, _) => redirect.counts().map_or(NOTHING, |counts| Passed {
                refused: Some(counts.others + counts.sampled_out),
                sampled_out: Some(counts.sampled_out),
                let_in: Some(counts.redirected),
                lost: counts.unsteered,
            }),
            Self::Taken(_, intake, before) => {
                let counts = *before + intake.counts();
                Passed {
                    refused: Some(counts.others + counts.sampled_out),
                    sampled_out: Some(counts.sampled_out),
                    let_in: Some(counts.taken),
                    lost: counts.lost,
                }
            }
            Self::Mirrored(mirror, _) => mirror.counts().map_or(NOTHING, |counts| Passed {
                refused: Some(counts.others + counts.sampled_out),
                sampled_out: Some(counts.sampled_out),
                let_in: Some(counts.mirrored),
                lost: counts.lost,
            }),
        }
    }

    /// Has `next` count from here on: it took over, and the program before it counts no more.
    pub fn follow(&mut self, next: Arc<Intake>) {
        if let Self::Taken(_, intake, before) = self {
            *before = *before + intake.counts();
            *intake = next;
        }
    }

    /// Lets nothing in any more, where it is more than the filter of a ring.
    pub fn stop(&mut self) {
        if let Self::Steered(_, link) | Self::Mirrored(_, link) | Self::Taken(link, ..) = self {
            *link = None;
        }
    }

    /// What ties its program to the interface.
    pub fn xdp(&self) -> Option<&XdpLink> {
        match self {
            Self::Steered(_, link) | Self::Mirrored(_, link) | Self::Taken(link, ..) => {
                link.as_ref()
            }
            Self::Open | Self::Counted(_) | Self::Uncounted(_) => None,
        }
    }

    /// Why it does not count what it refuses, if that is so.
    pub fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        match self {
            Self::Uncounted(reason) => Some(reason),
            _ => None,
        }
    }

    /// Whether packets that it let in can be lost before their ring has counted them.
    pub fn is_apart(&self) -> bool {
        matches!(self, Self::Steered(..))
    }

    /// Whether it let packets in without a time stamp, though it stamps.
    pub fn has_unstamped(&self) -> bool {
        match self {
            Self::Steered(redirect, _) => {
                redirect.counts().is_ok_and(|counts| counts.unstamped > 0)
            }
            Self::Open
            | Self::Counted(_)
            | Self::Uncounted(_)
            | Self::Taken(..)
            | Self::Mirrored(..) => false,
        }
    }
}
