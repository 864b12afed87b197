//! What waiting costs at a high rate, in CPU time: a sleep for the latency target, or a wake-up for each packet. Where programming
//! a timer is expensive (nested virtualisation: 30 to 60 us), a sleep costs more than ten wake-ups.
//!
//! ```text
//!  16 sleeps ──▶ 64 packets, a wake-up each ──▶ the cheaper way for a second, then again
//!      └── so many packets that no sleep is that expensive ──▶ sleeps for a second
//! ```

/// Sleeps of a measurement.
const SLEEPS: u64 = 16;

/// Packets of a measurement with a wake-up for each.
const PACKETS: u64 = 64;

/// With more packets in a sleep, no sleep costs as much as waking for each.
pub(super) const PACKETS_IN_SLEEP_MAX: u64 = 16;

/// How long the result of a measurement holds.
const HOLDS_NS: u64 = 1_000_000_000;

/// CPU time for packets.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    cpu_ns: u64,
    packets: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing is known, or what was known is old.
    Begin,
    /// Measures sleeps. `since` has the CPU time at the start.
    Sleeps { since: Cost, sleeps: u64 },
    /// Measures wake-ups for packets.
    WakeUps { since: Cost, sleeps: Cost },
    /// The cheaper way is known.
    Settled { until_ns: u64, sleeps: bool },
}

/// Measures what both ways of waiting cost, and chooses the cheaper one.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitChooser(Phase);

impl WaitChooser {
    pub(super) fn new() -> Self {
        Self(Phase::Begin)
    }

    /// The rate is low: a measurement that is not complete is void.
    pub(super) fn interrupt(&mut self) {
        if !matches!(self.0, Phase::Settled { .. }) {
            self.0 = Phase::Begin;
        }
    }

    /// The rate is so high that sleeps are cheaper.
    pub(super) fn settle_on_sleep(&mut self, now_ns: u64) {
        self.0 = Phase::settled(now_ns, true);
    }

    /// Whether to sleep next, after `packets` were read. `cpu_ns` returns the thread's CPU time; it is called four times
    /// per measurement at most.
    pub(super) fn sleeps(&mut self, now_ns: u64, packets: u64, cpu_ns: impl Fn() -> u64) -> bool {
        let from = || Cost {
            cpu_ns: cpu_ns(),
            packets: 0,
        };
        self.0 = match self.0 {
            Phase::Settled { until_ns, .. } if now_ns < until_ns => self.0,
            Phase::Begin | Phase::Settled { .. } => Phase::Sleeps {
                since: from(),
                sleeps: 0,
            },
            Phase::Sleeps { mut since, sleeps } => {
                since.packets += packets;
                let sleeps = sleeps + 1;
                if sleeps < SLEEPS {
                    Phase::Sleeps { since, sleeps }
                } else if since.packets > SLEEPS * PACKETS_IN_SLEEP_MAX {
                    Phase::settled(now_ns, true)
                } else {
                    let cost = since.until(cpu_ns());
                    Phase::WakeUps {
                        since: from(),
                        sleeps: cost,
                    }
                }
            }
            Phase::WakeUps { mut since, sleeps } => {
                since.packets += packets;
                if since.packets < PACKETS {
                    Phase::WakeUps { since, sleeps }
                } else {
                    let is_cheaper = sleeps.is_at_most(since.until(cpu_ns()));
                    Phase::settled(now_ns, is_cheaper)
                }
            }
        };
        match self.0 {
            Phase::Settled { sleeps, .. } => sleeps,
            phase => !matches!(phase, Phase::WakeUps { .. }),
        }
    }
}

impl Phase {
    fn settled(now_ns: u64, sleeps: bool) -> Self {
        Self::Settled {
            until_ns: now_ns.saturating_add(HOLDS_NS),
            sleeps,
        }
    }
}

impl Cost {
    /// The difference of CPU times, for the packets since.
    fn until(self, cpu_ns: u64) -> Self {
        Self {
            cpu_ns: cpu_ns.saturating_sub(self.cpu_ns),
            ..self
        }
    }

    /// Whether a packet costs at most as much as one of `other`.
    fn is_at_most(self, other: Self) -> bool {
        let cross = |one: Self, two: Self| u128::from(one.cpu_ns) * u128::from(two.packets);
        cross(self, other) <= cross(other, self)
    }
}
