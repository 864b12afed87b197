//! When the reader wakes: at once while packets are rare, seldom while they are dense.
//!
//! ```text
//!           4 packets within a target
//!   rare ────────────────────────────▶ dense
//!   wake for the next packet           sleep for a target, take what is there
//!        ◀────────────────────────────
//!           fewer than 2 in a sleep
//! ```
//!
//! There is no clock in here: the moments come from outside.

/// Packets within a target that make them dense. One wake-up then does the work of as many.
const DENSE: u64 = 4;

/// Packets in a sleep below which they are rare again.
const RARE: u64 = 2;

/// How the reader waits next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until there is a packet.
    ForPacket,
    /// Until this moment, whatever comes.
    Until(u64),
}

/// Decides how the reader waits, so that a packet waits at most for the target.
///
/// Nothing is averaged: four packets in a row are enough to go one way, a single sleep to go the
/// other, so that at a change of rate no packet waits longer than at any other time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moderation {
    target_ns: u64,
    is_dense: bool,
    /// While packets are rare: when the first of them was read that are counted, and how many are.
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

    /// At `now_ns` the rings have been emptied, of `packets` since they were the last time.
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
        // Without a target there is nothing to sleep for.
        if self.is_dense && self.target_ns > 0 {
            Wait::Until(now_ns.saturating_add(self.target_ns))
        } else {
            Wait::ForPacket
        }
    }
}

#[cfg(test)]
mod tests;
