//! A reader's part of a span.

use std::time::Duration;

use abi::clock::realtime_ns;
use abi::process::{ThreadUsage, thread_usage};

use super::span::{Lease, Span};

/// The place of one reader in a [`Span`]: says which packets count. A reader that is dropped with it has
/// ended.
#[derive(Debug)]
pub struct Seat {
    span: Span,
    /// When the reader had its first packet, if that came before it had nothing to do.
    started_ns: Option<u64>,
    /// Whether it has caught up with what had gathered before.
    has_arrived: bool,
    /// Packets that are still to count, and that were lost among them.
    left: u64,
    has_finished: bool,
    /// What counts: nothing, before the span has begun.
    lease: Lease,
    /// What its thread had used before the beginning, and when it had finished.
    at_begin: Option<ThreadUsage>,
    at_end: Option<ThreadUsage>,
}

/// Nothing counts.
const NOTHING: Lease = Lease {
    from_ns: u64::MAX,
    until_ns: 0,
    is_last: false,
};

impl Seat {
    pub(super) fn new(span: Span, packets: Option<u64>) -> Self {
        Self {
            span,
            started_ns: None,
            has_arrived: false,
            left: packets.unwrap_or(u64::MAX),
            has_finished: false,
            lease: NOTHING,
            at_begin: None,
            at_end: None,
        }
    }

    /// Whether a packet that was stamped then counts, before which `lost` others were lost.
    #[inline]
    pub(super) fn admits(&mut self, stamp_ns: u64, lost: u64) -> bool {
        if self.lease.covers(stamp_ns) && self.left > lost {
            self.take(lost);
            return true;
        }
        self.admits_after_all(stamp_ns, lost)
    }

    #[cold]
    fn admits_after_all(&mut self, stamp_ns: u64, lost: u64) -> bool {
        if self.has_finished {
            return false;
        }
        if !self.has_arrived {
            let started_ns = *self.started_ns.get_or_insert_with(realtime_ns);
            if stamp_ns < started_ns {
                return false;
            }
            self.arrive();
        }
        if stamp_ns >= self.lease.until_ns && !self.lease.is_last {
            self.renew();
        }
        if !self.lease.covers(stamp_ns) {
            return false;
        }
        if self.left <= lost {
            self.finish();
            return false;
        }
        self.take(lost);
        true
    }

    #[inline]
    fn take(&mut self, lost: u64) {
        self.left -= lost + 1;
        if self.left == 0 {
            self.finish();
        }
    }

    /// Nothing waits to be read.
    #[inline]
    pub(super) fn rest(&mut self) {
        if !self.has_begun() {
            // The span may begin while it sleeps.
            self.at_begin = Some(thread_usage());
            self.arrive();
            self.renew();
        }
    }

    /// Whether the reader has been told that the span has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.lease != NOTHING
    }

    /// Whether a packet that was stamped then and does not count came too late for it.
    pub(super) fn is_past(&self, stamp_ns: u64) -> bool {
        self.has_begun() && stamp_ns >= self.lease.from_ns
    }

    /// The reader has ended.
    pub(super) fn leave(&mut self) {
        self.arrive();
        self.finish();
    }

    /// What its thread used in the span, once it has ended.
    pub(super) fn used(&self) -> (Duration, u64) {
        let of = |(begin, end): (ThreadUsage, ThreadUsage)| {
            (end.cpu.saturating_sub(begin.cpu), end.waits - begin.waits)
        };
        self.at_begin
            .zip(self.at_end)
            .map_or_else(Default::default, of)
    }

    fn arrive(&mut self) {
        if !self.has_arrived {
            self.has_arrived = true;
            self.span.arrive();
        }
    }

    fn renew(&mut self) {
        if let Some(lease) = self.span.lease() {
            self.at_begin.get_or_insert_with(thread_usage);
            self.lease = lease;
        }
    }

    #[cold]
    fn finish(&mut self) {
        if !self.has_finished {
            self.has_finished = true;
            self.at_end = Some(thread_usage());
            self.span.finish();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}
