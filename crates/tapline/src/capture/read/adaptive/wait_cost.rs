//! What waiting costs at a high rate, in CPU time: a sleep for the latency target, or a wake-up for each packet. Where programming
//! a timer is expensive (nested virtualisation: 30 to 60 us), a sleep costs more than ten wake-ups.
//!
//! ```text
//!  16 sleeps ──▶ 64 packets, a wake-up each ──▶ the cheaper way for a second, then again
//!      └── so many packets that no sleep is that expensive ──▶ sleeps for a second
//! ```
//!
//! A measurement that a low rate interrupts continues at the next high rate.

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

/// Measures the CPU time for packets, with interruptions.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    /// Up to the last interruption.
    cost: Cost,
    /// The thread's CPU time when the measurement began or continued. `None` while it is interrupted.
    since_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing is known, or what was known is old.
    Begin,
    /// Measures sleeps.
    Sleeps { meter: Meter, sleeps: u64 },
    /// Measures wake-ups for packets.
    WakeUps { meter: Meter, sleeps: Cost },
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

    /// The rate is low, and `packets` were read. A measurement continues when the rate is high again: if packets come in short
    /// bursts, each burst has a sleep or two.
    pub(super) fn interrupt(&mut self, now_ns: u64, packets: u64, cpu_ns: impl Fn() -> u64) {
        if self.meter().is_some_and(|meter| meter.since_ns.is_some()) {
            self.advance(now_ns, packets, &cpu_ns);
            if let Some(meter) = self.meter() {
                meter.pause(cpu_ns());
            }
        }
    }

    /// The rate is so high that sleeps are cheaper.
    pub(super) fn settle_on_sleep(&mut self, now_ns: u64) {
        self.0 = Phase::settled(now_ns, true);
    }

    /// Whether to sleep next, after `packets` were read. `cpu_ns` returns the thread's CPU time; it is called four times
    /// per measurement at most, and twice for each interruption.
    pub(super) fn sleeps(&mut self, now_ns: u64, packets: u64, cpu_ns: impl Fn() -> u64) -> bool {
        match self.meter() {
            // These packets were read before the measurement continues.
            Some(meter) if meter.since_ns.is_none() => meter.since_ns = Some(cpu_ns()),
            _ => self.advance(now_ns, packets, cpu_ns),
        }
        match self.0 {
            Phase::Settled { sleeps, .. } => sleeps,
            phase => !matches!(phase, Phase::WakeUps { .. }),
        }
    }

    /// The measurement, if there is one.
    fn meter(&mut self) -> Option<&mut Meter> {
        match &mut self.0 {
            Phase::Sleeps { meter, .. } | Phase::WakeUps { meter, .. } => Some(meter),
            Phase::Begin | Phase::Settled { .. } => None,
        }
    }

    /// A wait has ended, with `packets`.
    fn advance(&mut self, now_ns: u64, packets: u64, cpu_ns: impl Fn() -> u64) {
        self.0 = match self.0 {
            Phase::Settled { until_ns, .. } if now_ns < until_ns => self.0,
            Phase::Begin | Phase::Settled { .. } => Phase::Sleeps {
                meter: Meter::begin(cpu_ns()),
                sleeps: 0,
            },
            Phase::Sleeps { mut meter, sleeps } => {
                meter.cost.packets += packets;
                let sleeps = sleeps + 1;
                if sleeps < SLEEPS {
                    Phase::Sleeps { meter, sleeps }
                } else if meter.cost.packets > SLEEPS * PACKETS_IN_SLEEP_MAX {
                    Phase::settled(now_ns, true)
                } else {
                    meter.pause(cpu_ns());
                    Phase::WakeUps {
                        sleeps: meter.cost,
                        meter: Meter::begin(cpu_ns()),
                    }
                }
            }
            Phase::WakeUps { mut meter, sleeps } => {
                meter.cost.packets += packets;
                if meter.cost.packets < PACKETS {
                    Phase::WakeUps { meter, sleeps }
                } else {
                    meter.pause(cpu_ns());
                    Phase::settled(now_ns, sleeps.is_at_most(meter.cost))
                }
            }
        };
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

impl Meter {
    /// Begins at the CPU time `cpu_ns`.
    fn begin(cpu_ns: u64) -> Self {
        Self {
            cost: Cost::default(),
            since_ns: Some(cpu_ns),
        }
    }

    /// Stops at the CPU time `cpu_ns`.
    fn pause(&mut self, cpu_ns: u64) {
        if let Some(since_ns) = self.since_ns.take() {
            self.cost.cpu_ns += cpu_ns.saturating_sub(since_ns);
        }
    }
}

impl Cost {
    /// Whether a packet costs at most as much as one of `other`.
    fn is_at_most(self, other: Self) -> bool {
        let cross = |one: Self, two: Self| u128::from(one.cpu_ns) * u128::from(two.packets);
        cross(self, other) <= cross(other, self)
    }
}
