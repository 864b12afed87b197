//! A ring of a capture and what its reader does.

use std::io;
use std::sync::Arc;

use ring::Account;

use super::counters::Counters;
use super::reading::Reading;
use super::source::Source;

/// One ring: all packets of an interface, or those of one of its queues.
pub(super) struct Lane {
    pub source: Source,
    /// The ring that takes over from `source`, which is read to its end first.
    pub next: Option<Source>,
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
            next.refresh();
        }
    }

    /// Stops the flow, where a filter of its own can; what is in the rings stays there to be read.
    pub fn stop(&self) {
        self.source.stop();
        if let Some(next) = &self.next {
            next.stop();
        }
    }

    /// Whether there is a next ring and the one before it is at its end.
    pub fn is_to_advance(&mut self) -> io::Result<bool> {
        Ok(self.next.is_some() && self.source.is_at_end()?)
    }

    /// Goes on with the next ring, if there is one.
    pub fn advance(&mut self) {
        if let Some(next) = self.next.take() {
            let before = std::mem::replace(&mut self.source, next);
            self.source.follow(before);
        }
    }
}
