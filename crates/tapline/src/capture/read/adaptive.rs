//! Adaptive delivery: when the reader sleeps. It wakes for each packet at low rates and once per latency
//! target at high rates.
//!
//! ```text
//!           4 packets within a target
//!   rare ────────────────────────────▶ dense
//!   wake for the next packet           sleep for a target, take what is there
//!        ◀────────────────────────────
//!           fewer than 2 in a sleep
//! ```
//!
//! The module reads no clock: its caller passes the time.

/// Packets within a target from which on the rate is high: one wake-up then handles as many.
const DENSE: u64 = 4;

/// Packets in a sleep below which the rate is low again.
const RARE: u64 = 2;

/// How the reader waits next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until a packet arrives.
    ForPacket,
    /// Until this time (`CLOCK_MONOTONIC`), even if packets arrive.
    Until(u64),
}

/// Decides how the reader waits, so that a packet waits at most for the target.
///
/// Nothing is averaged: four packets in a row switch to the high rate, a single sleep switches back. So a
/// change of rate delays no packet longer.
#[derive(Clone, Copy, Debug)]
pub struct Moderation {
    target_ns: u64,
    is_dense: bool,
    /// At a low rate: when the first counted packet was read, and how many have been counted.
    since_ns: u64,
    packets: u64,
}

impl Moderation {
    pub fn new(target_ns: u64) -> Self {
        Self {
            target_ns,
            is_dense: false,
            since_ns: 0,
            packets: 0,
        }
    }

    /// At `now_ns` the rings are empty; `packets` were read since they were empty last.
    pub fn emptied(&mut self, now_ns: u64, packets: u64) -> Wait {
        if self.is_dense {
            self.is_dense = packets >= RARE;
            self.packets = 0;
        } else {
            if self.packets == 0 || now_ns.saturating_sub(self.since_ns) > self.target_ns {
                (self.since_ns, self.packets) = (now_ns, 0);
            }
            self.packets += packets;
            self.is_dense = self.packets >= DENSE;
        }
        // A target of 0 never sleeps.
        if self.is_dense && self.target_ns > 0 {
            Wait::Until(now_ns.saturating_add(self.target_ns))
        } else {
            Wait::ForPacket
        }
    }
}

#[cfg(test)]
mod tests;
