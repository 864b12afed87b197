//! What the kernel filter in front of an interface's rings counts.

use std::sync::Arc;

use bpf::XdpLink;
use bpf::socket_filter::CountingFilterError;

/// Counters of a kernel filter; `None` where it does not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterCounters {
    /// Packets refused, sampled-out packets among them.
    pub refused: Option<u64>,
    /// Packets that sampling left out.
    pub sampled_out: Option<u64>,
    /// Packets accepted, each of which a ring has in its account or will have.
    pub accepted: Option<u64>,
    /// Packets that were accepted and reach no ring.
    pub lost: u64,
}

/// The filter or XDP program in front of the rings of one interface.
pub trait KernelFilter: Send {
    /// What it has counted so far.
    fn counters(&self) -> FilterCounters;

    /// Ends the flow of packets, if that takes more than replacing the filter of a ring.
    fn detach(&mut self) {}

    /// The attachment of an XDP program.
    fn xdp(&self) -> Option<&XdpLink> {
        None
    }

    /// Why it does not count refused packets.
    fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        None
    }

    /// Whether accepted packets can be lost before their ring counts them.
    fn loses_before_ring(&self) -> bool {
        false
    }

    /// Whether it failed to stamp a packet that it should have stamped.
    fn has_unstamped(&self) -> bool {
        false
    }
}

/// No filter: every packet is accepted.
pub struct AcceptAll;

impl KernelFilter for AcceptAll {
    fn counters(&self) -> FilterCounters {
        FilterCounters {
            refused: Some(0),
            sampled_out: Some(0),
            ..FilterCounters::default()
        }
    }
}
