//! Counters of a running server.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a server, which other threads may read while it runs. Each number stands alone and only grows.
#[derive(Debug, Default)]
pub struct ServerCounters {
    captures: AtomicU64,
    sent: AtomicU64,
    refused: AtomicU64,
    sampled_out: AtomicU64,
    unsent: AtomicU64,
}

impl ServerCounters {
    /// Captures that were started.
    pub fn captures(&self) -> u64 {
        self.captures.load(Ordering::Relaxed)
    }

    /// Packets for clients, also those that still wait for their client.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Of these, packets that were not sent because the client had gone.
    pub fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Packets that the filter of a client refused, beside those that the kernel refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Packets that were skipped because a client asked for sampling.
    pub fn sampled_out(&self) -> u64 {
        self.sampled_out.load(Ordering::Relaxed)
    }

    /// A capture was started.
    pub(super) fn begin(&self) {
        self.captures.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the difference between the counters `now` and `before` of a capture, and stores `now` in `before`: packets for the
    /// client, refused, sampled out, unsent.
    pub(super) fn add(&self, now: [u64; 4], before: &mut [u64; 4]) {
        let all = [&self.sent, &self.refused, &self.sampled_out, &self.unsent];
        for ((counter, now), before) in all.into_iter().zip(now).zip(before) {
            counter.fetch_add(now - *before, Ordering::Relaxed);
            *before = now;
        }
    }
}
