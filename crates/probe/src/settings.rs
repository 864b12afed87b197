//! Settings of one target.

use std::time::Duration;

/// Settings of a target that differ from those of the run. `None`: as in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetSettings {
    /// Probes to the target. When they have ended, [`Prober::next_ended`](crate::Prober::next_ended) returns it.
    pub count: Option<u32>,
    /// Time between two probes, rounded up to a multiple of the time between two rounds of the plan. The numbers of its
    /// probes count rounds.
    pub interval_ns: Option<u64>,
    /// Time after which an answer is late, at most that of the plan. Losses are found after the timeout of the plan.
    pub timeout_ns: Option<u64>,
    /// Payload length, at most that of the plan.
    pub payload_bytes: Option<usize>,
}

impl TargetSettings {
    /// Whether the target is probed as the plan says.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Sets [`TargetSettings::count`].
    #[must_use]
    pub fn count(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    /// Sets [`TargetSettings::interval_ns`].
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval_ns = Some(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX));
        self
    }

    /// Sets [`TargetSettings::timeout_ns`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ns = Some(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        self
    }

    /// Sets [`TargetSettings::payload_bytes`].
    #[must_use]
    pub fn payload_bytes(mut self, bytes: usize) -> Self {
        self.payload_bytes = Some(bytes);
        self
    }
}
