//! Adaptive delivery: when the reader sleeps. It wakes for each packet at low rates and once per latency
//! target at high rates, unless waking for each packet costs less CPU time there ([`wait_cost`]).
//!
//! ```text
//!           4 packets within a target
//!   rare ────────────────────────────▶ dense
//!   wake for the next packet           sleep for a target, take what is there
//!        ◀────────────────────────────
//!           fewer than 2 in a sleep
//! ```
//!
//! The module reads no clock: its caller passes the times.

mod wait_cost;

use wait_cost::WaitChooser;

/// The rate is high from this number of packets within the latency target on: one sleep replaces that many wake-ups.
const DENSE: u64 = 4;

/// The rate is low again if fewer packets than this arrive in a sleep.
const RARE: u64 = 2;

/// From this number of packets within the target on, a sleep is always cheaper than a wake-up for each packet, whatever a
/// measurement at a lower rate said.
const MANY: u64 = 2 * wait_cost::PACKETS_IN_SLEEP_MAX;

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
    /// The last wait was a sleep until a time.
    is_asleep: bool,
    /// While packets wake the reader: when the first counted packet was read, and how many have been counted.
    since_ns: u64,
    packets: u64,
    chooser: WaitChooser,
}

impl Moderation {
    pub fn new(target_ns: u64) -> Self {
        Self {
            target_ns,
            is_dense: false,
            is_asleep: false,
            since_ns: 0,
            packets: 0,
            chooser: WaitChooser::new(),
        }
    }

    /// At `now_ns` the rings are empty; `packets` were read since they were empty last. `cpu_ns` returns the CPU time of the
    /// reader; it is called some hundred times per second at most.
    pub fn emptied(&mut self, now_ns: u64, packets: u64, cpu_ns: impl Fn() -> u64) -> Wait {
        if self.is_asleep {
            self.is_dense = packets >= RARE;
            self.packets = 0;
        } else {
            let is_past = now_ns.saturating_sub(self.since_ns) > self.target_ns;
            if self.packets == 0 || is_past {
                // Right after a sleep none has been counted.
                self.is_dense &= self.packets == 0 || self.packets >= RARE;
                (self.since_ns, self.packets) = (now_ns, 0);
            }
            self.packets += packets;
            self.is_dense |= self.packets >= DENSE;
        }
        self.is_asleep = false;
        // A target of 0 never sleeps.
        if self.target_ns == 0 {
            return Wait::ForPacket;
        }
        if !self.is_dense {
            self.chooser.interrupt(now_ns, packets, cpu_ns);
            return Wait::ForPacket;
        }
        if self.packets > MANY {
            self.chooser.settle_on_sleep(now_ns);
        }
        self.is_asleep = self.chooser.sleeps(now_ns, packets, cpu_ns);
        if self.is_asleep {
            Wait::Until(now_ns.saturating_add(self.target_ns))
        } else {
            Wait::ForPacket
        }
    }
}

#[cfg(test)]
mod tests;
