//! A ring of a capture and what its reader does.

use std::io;
use std::sync::Arc;

use ring::{Account, PacketRing};

use super::counters::Counters;
use super::reading::Reading;
use super::source::Source;

/// One ring: all packets of an interface, or those of one of its queues.
pub(super) struct Lane {
    pub source: Source,
    /// The ring that takes over from `source`, which is read to its end first.
    pub next: Option<PacketRing>,
    pub reading: Reading,
    /// Number of its interface.
    pub interface: u32,
    /// Those of its interface.
    pub counters: Arc<Counters>,
}

impl Lane {
    /// What became of the packets that its rings were offered, as of the last [`refresh`](Self::refresh).
    pub fn account(&self) -> Account {
        let next = self.next.as_ref().map(|next| *next.account());
        *self.source.account() + next.unwrap_or_default()
    }

    /// Brings the kernel's part of the account up to date. A failure leaves it as it was.
    pub fn refresh(&mut self) {
        self.source.refresh();
        if let Some(next) = &mut self.next {
            // The counters of a socket can always be read.
            let _ = next.refresh();
        }
    }

    /// Stops the flow, where a filter of its own can; what is in the rings stays there to be read.
    pub fn stop(&self) {
        self.source.stop();
        if let Some(next) = &self.next {
            // As in `Source::stop`.
            let _ = next.stop();
        }
    }

    /// Goes on with the next ring if the one that is read is at its end; says whether it does.
    pub fn advance(&mut self) -> io::Result<bool> {
        let (Source::Packet(ring), Some(_)) = (&mut self.source, &self.next) else {
            return Ok(false);
        };
        if ring.holds(1) || !ring.is_at_end()? {
            return Ok(false);
        }
        if let Some(next) = self.next.take() {
            let before = std::mem::replace(ring, next);
            ring.follow(before);
        }
        Ok(true)
    }
}
