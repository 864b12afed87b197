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

impl FilterCounters {
    /// The sum; unknown where one of both is.
    fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Self {
            refused: sum(self.refused, other.refused),
            sampled_out: sum(self.sampled_out, other.sampled_out),
            accepted: sum(self.accepted, other.accepted),
            lost: self.lost + other.lost,
        }
    }
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

/// The filter of an interface, and those that it followed while the capture runs: their counters as one.
pub struct FilterHistory {
    current: Box<dyn KernelFilter>,
    /// The filter before, whose ring may still be filling. A ring is replaced only when the one before the last
    /// has been read to its end, so one is enough.
    previous: Option<Box<dyn KernelFilter>>,
    /// Counters of those before.
    ended: FilterCounters,
}

impl FilterHistory {
    pub fn new(current: Box<dyn KernelFilter>) -> Self {
        let nothing = Some(0);
        Self {
            current,
            previous: None,
            ended: FilterCounters {
                refused: nothing,
                sampled_out: nothing,
                accepted: nothing,
                lost: 0,
            },
        }
    }

    /// `next` decides from now on.
    pub fn follow(&mut self, next: Box<dyn KernelFilter>) {
        if let Some(previous) = self.previous.take() {
            self.ended = self.ended.and(previous.counters());
        }
        self.previous = Some(std::mem::replace(&mut self.current, next));
    }
}

impl KernelFilter for FilterHistory {
    fn counters(&self) -> FilterCounters {
        let counters = self.current.counters();
        match &self.previous {
            None => counters,
            Some(previous) => self.ended.and(previous.counters()).and(counters),
        }
    }

    fn detach(&mut self) {
        self.current.detach();
    }

    fn xdp(&self) -> Option<&XdpLink> {
        self.current.xdp()
    }

    fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        self.current.uncounted()
    }

    fn loses_before_ring(&self) -> bool {
        self.current.loses_before_ring()
    }
}
