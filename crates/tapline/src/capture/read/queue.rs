//! One receive queue of a capture: its ring, and what the reader does with the packets.

use std::io;
use std::sync::Arc;

use ring::RingCounters;

use super::super::account::counters::Counters;
use super::super::account::stamp_counts::TimestampCounts;
use super::exact_filter::ExactFilter;
use super::ring::{RingReader, RxRing};

/// One ring and its reader: all packets of an interface, or those of one hardware queue or CPU.
/// Written for every packet, it shares no cache line with the queue of another reader.
#[repr(align(128))]
pub struct RxQueue {
    pub reader: RingReader,
    /// The ring that takes over from `reader`, which is read to its end first.
    pub next: Option<RingReader>,
    /// The filter of `next`, if it has another one than `reader`.
    pub next_filter: Option<ReaderFilter>,
    pub reading: Reading,
    /// Number of its interface.
    pub interface: u32,
    /// Counters of its interface.
    pub counters: Arc<Counters>,
}

/// The reader's part of a filter: the exact one, if the kernel runs a coarse one.
pub struct ReaderFilter(pub Option<ExactFilter>);

/// The reader's part of the filter, and the packets that it did not deliver.
#[derive(Default)]
pub struct Reading {
    /// The exact filter, if the kernel runs a coarse one.
    pub exact: Option<ExactFilter>,
    /// Packets that `exact` refused.
    pub refused: u64,
    /// Packets that the ring lost since the last one that was delivered.
    pub lost_before: u64,
    /// Packets read after the packet limit was reached.
    pub surplus: u64,
    /// Packets read after the consumer had failed.
    pub unwritten: u64,
    /// Delivered packets that the kernel did not stamp, by the source of their time stamps.
    pub stamps: TimestampCounts,
    /// Hardware time stamps were selected: packets without one are marked.
    pub marks_unstamped: bool,
}

impl RxQueue {
    /// The ring that is read.
    #[inline]
    pub fn ring(&self) -> &dyn RxRing {
        self.reader.ring()
    }

    /// What became of the packets of its rings, as of the last [`refresh`](Self::refresh).
    pub fn account(&self) -> RingCounters {
        let next = self.next.as_ref().map(|next| *next.ring().counters());
        *self.ring().counters() + next.unwrap_or_default()
    }

    /// Updates the kernel's part of the account. A failure leaves it as it was.
    pub fn refresh(&mut self) {
        self.reader.ring_mut().refresh();
        if let Some(next) = &mut self.next {
            next.ring_mut().refresh();
        }
    }

    /// Ends the flow, if the rings have filters of their own. Packets in them can still be read.
    pub fn stop(&self) {
        self.ring().stop();
        if let Some(next) = &self.next {
            next.ring().stop();
        }
    }

    /// Whether a replacement waits and the ring before it is at its end.
    pub fn can_advance(&mut self) -> io::Result<bool> {
        Ok(self.next.is_some() && self.reader.ring_mut().is_at_end()?)
    }

    /// Continues with the replacement, if there is one.
    pub fn advance(&mut self) {
        if let Some(next) = self.next.take() {
            let before = std::mem::replace(&mut self.reader, next);
            self.reader.follow(before);
            if let Some(ReaderFilter(exact)) = self.next_filter.take() {
                self.reading.exact = exact;
            }
        }
    }
}
