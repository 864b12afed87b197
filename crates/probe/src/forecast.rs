//! How long a run takes and how much memory it needs, computed without sending.

use crate::cookie::{COOKIE_BYTES, MIN_PAYLOAD_BYTES};
use crate::plan::{MAX_NS, MAX_PAYLOAD_BYTES, PlanError, ProbePlan};
use crate::schedule::rate_limits::{PREFIX_SLOTS, max_deferred, prefix_slot};
use crate::statistics::RunStatistics;
use crate::target_plans::TargetPlans;
use crate::targets::Targets;

/// Maximum probes in flight if neither interval nor rate bounds them; further probes wait.
const MAX_UNLIMITED_FLIGHT: u64 = 1 << 22;
/// Maximum probes in flight, one bit each.
const MAX_FLIGHT: u64 = 1 << 30;
/// Maximum probes sent together.
const MAX_GROUP: u64 = 256;
/// Minimum capacity for probes in flight to one target: with two more, one word of bits.
const MIN_FLIGHT: u64 = 62;

/// The expected course of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forecast {
    /// Number of targets.
    pub targets: u32,
    /// Probes to each target; `None` for an unlimited run.
    pub rounds: Option<u32>,
    /// Time between two probes to one target: the interval, extended if the rate requires it.
    pub round_ns: u64,
    /// Number of probes sent together.
    pub group: u32,
    /// Maximum delay added by prefix and neighbour limits: [`Forecast::with_limits`].
    pub limits_ns: u64,
    /// Whether `limits_ns` is an upper bound. If more probes wait for limits than the schedule can hold,
    /// probes to one prefix may delay those to others.
    pub is_certain: bool,
    /// Memory for the statistics of a [`Prober`](crate::Prober). Limits need more: one megabyte for
    /// prefixes, in a sweep up to four, and one bit per target if some are on-link.
    pub memory_bytes: u64,
    timeout_ns: u64,
}

impl ProbePlan {
    /// Computes the course of a run to `targets` targets. Sends nothing.
    ///
    /// # Errors
    /// [`PlanError`] names the value that is out of range.
    pub fn forecast(&self, targets: u32) -> Result<Forecast, PlanError> {
        let in_range = |what, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(PlanError {
                what,
                value,
                low,
                high,
            })
        };
        let most_rounds = u64::from(u32::MAX - 1);
        let most = u64::from(u32::MAX);
        let [least_payload, most_payload] =
            [MIN_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES].map(|bytes| bytes as u64);
        let payload_bytes = self.payload_bytes as u64;
        in_range("targets", targets.into(), 1, most_rounds)?;
        in_range("count", self.rounds.unwrap_or(1).into(), 1, most_rounds)?;
        let probes = u64::from(self.rounds.unwrap_or(1)) * u64::from(targets);
        in_range("first probe", self.first_probe, 0, probes)?;
        in_range("interval (ns)", self.interval_ns, 0, MAX_NS)?;
        in_range("rate", self.rate_pps.unwrap_or(1).into(), 1, most)?;
        in_range("prefix rate", self.prefix_pps.unwrap_or(1).into(), 1, most)?;
        in_range("gathering (ns)", self.gather_ns, 0, MAX_NS)?;
        in_range("timeout (ns)", self.timeout_ns, 1_000_000, MAX_NS)?;
        in_range(
            "payload (bytes)",
            payload_bytes,
            least_payload,
            most_payload,
        )?;
        in_range("neighbours", self.neighbours.most.into(), 1, most)?;
        in_range("neighbour time (ns)", self.neighbours.time_ns, 0, MAX_NS)?;
        in_range("back-off (ns)", self.backoff_ns, 0, MAX_NS)?;
        let round_ns = round_ns(self.interval_ns, self.rate_pps, targets);
        let gap_ns = round_ns / u64::from(targets);
        let group = self.gather_ns.checked_div(gap_ns).unwrap_or(1);
        let mut forecast = Forecast {
            targets,
            group: group.clamp(1, MAX_GROUP.min(targets.into())) as u32,
            rounds: self.rounds,
            round_ns,
            timeout_ns: self.timeout_ns,
            limits_ns: 0,
            is_certain: true,
            memory_bytes: 0,
        };
        let mut each_bytes = RunStatistics::bytes_per_target(forecast.flight(), self.histograms);
        if self.payload_bytes < COOKIE_BYTES {
            each_bytes += TargetPlans::short_bytes(RunStatistics::rounds_of(forecast.flight()));
        }
        forecast.memory_bytes = each_bytes * u64::from(targets);
        Ok(forecast)
    }
}

impl Forecast {
    /// Total number of probes; `None` for an unlimited run.
    pub fn probes(&self) -> Option<u64> {
        Some(u64::from(self.rounds?) * u64::from(self.targets))
    }

    /// Maximum duration of the run: count × interval + timeout, plus the delay that
    /// [`Forecast::with_limits`] adds. `None` for an unlimited run. Back-off
    /// ([`ProbePlan::backoff_ns`]) and a host too slow for the rate can extend it.
    pub fn duration_ns(&self) -> Option<u64> {
        let sending = self.sending_ns()?;
        let ending = self.timeout_ns.saturating_add(self.limits_ns);
        Some(sending.saturating_add(ending))
    }

    /// Maximum duration of the run if sending stops after `sending_ns`.
    pub fn duration_within_ns(&self, sending_ns: u64) -> u64 {
        let cut_short = sending_ns.saturating_add(self.timeout_ns);
        self.duration_ns().unwrap_or(u64::MAX).min(cut_short)
    }

    /// Time between two groups of probes that are sent together, rounded up; 0 without groups.
    pub fn gather_ns(&self) -> u64 {
        match self.group {
            1 => 0,
            group => ((self.gap() * u128::from(group)) >> 32) as u64 + 1,
        }
    }

    /// Time from the first probe to one interval after the last, without limits.
    fn sending_ns(&self) -> Option<u64> {
        Some(self.round_ns.saturating_mul(self.rounds?.into()))
    }

    /// Time between two probes, in 2⁻³² nanoseconds.
    pub(crate) fn gap(&self) -> u128 {
        gap(self.round_ns, self.targets)
    }

    /// Maximum number of probes in flight to one target.
    pub fn flight(&self) -> u32 {
        let share = |all: u64| (all / u64::from(self.targets)).max(MIN_FLIGHT);
        // A sixteenth for the granularity of the expiry, and two for the ends.
        let time_ns = self.timeout_ns + self.timeout_ns / 16;
        let rounds = match time_ns.checked_div(self.round_ns) {
            Some(rounds) => (rounds + 2).min(share(MAX_FLIGHT)),
            None => share(MAX_UNLIMITED_FLIGHT),
        };
        rounds.min(MAX_FLIGHT) as u32
    }

    /// Maximum number of probes to one target within twice the timeout, and some for the ends. Without an interval and a rate
    /// twice as many as may be in flight.
    pub fn within_two_timeouts(&self) -> u64 {
        let flight = 2 * u64::from(self.flight()) + 2;
        match (2 * self.timeout_ns).checked_div(self.round_ns) {
            Some(rounds) => flight.min(rounds + 4),
            None => flight,
        }
    }

    /// Adds the maximum delay of the plan's prefix and neighbour limits over `targets`, of which
    /// `on_link` are on-link. The maximum applies when no on-link target answers.
    ///
    /// Iterates over all targets if there is a prefix limit. Adds nothing to an unlimited run.
    #[must_use]
    pub fn with_limits(mut self, plan: &ProbePlan, targets: &Targets, on_link: u32) -> Self {
        let Some(rounds) = self.rounds else {
            return self;
        };
        let pace = plan.neighbours;
        let neighbours = LimitDelay {
            each_ns: pace.time_ns / u64::from(pace.most).max(1),
            burst: pace.most.into(),
        };
        self.limits_ns = neighbours.added_ns(&self, on_link.into());
        if let Some(rate) = plan.prefix_pps {
            let prefix = LimitDelay {
                each_ns: 1_000_000_000 / u64::from(rate).max(1),
                burst: 1,
            };
            let (sharing, largest) = prefix_sharing(targets);
            let added_ns = prefix.added_ns(&self, largest);
            self.limits_ns = self.limits_ns.saturating_add(added_ns);
            let waiting = sharing.saturating_mul(rounds.into());
            self.is_certain = added_ns == 0 || waiting <= max_deferred(plan) as u64;
        }
        self
    }
}

/// Time between two probes to one of `targets` targets: the interval, extended if the rate requires it.
pub(crate) fn round_ns(interval_ns: u64, rate_pps: Option<u32>, targets: u32) -> u64 {
    let by_rate = rate_pps.map_or(0, |rate| {
        (u64::from(targets) * 1_000_000_000).div_ceil(rate.into())
    });
    interval_ns.max(by_rate)
}

/// Time between two probes of a round to `targets` targets, in 2⁻³² nanoseconds.
pub(crate) fn gap(round_ns: u64, targets: u32) -> u128 {
    (u128::from(round_ns) << 32) / u128::from(targets)
}

/// A limit: `burst` probes at once, then one per `each_ns`.
struct LimitDelay {
    each_ns: u64,
    burst: u64,
}

impl LimitDelay {
    /// Time from the end of all sending to the last probe of `targets` that share this limit.
    ///
    /// The k-th probe is due by the end of its round. It is sent as much later as the probes behind it
    /// take. The last probe thus goes after the backlog since round one, or after that of the last
    /// round, whichever is later.
    fn added_ns(&self, forecast: &Forecast, targets: u64) -> u64 {
        let rounds = u64::from(forecast.rounds.unwrap_or(0));
        let take_ns = |probes: u64| {
            let waiting = probes.saturating_sub(self.burst);
            self.each_ns.saturating_mul(waiting)
        };
        let from_first = take_ns(targets.saturating_mul(rounds)).saturating_add(forecast.round_ns);
        let sending_ns = forecast.sending_ns().unwrap_or(u64::MAX);
        take_ns(targets).max(from_first.saturating_sub(sending_ns))
    }
}

/// The number of targets that share their prefix limit with others, and the size of the largest group.
fn prefix_sharing(targets: &Targets) -> (u64, u64) {
    let mut counts = vec![0_u32; PREFIX_SLOTS];
    for target in 0..targets.len() {
        if let Some(address) = targets.address(target) {
            counts[prefix_slot(address)] += 1;
        }
    }
    let shared = counts.iter().filter(|count| **count > 1);
    let sharing = shared.map(|count| u64::from(*count)).sum();
    let largest = counts.into_iter().max().unwrap_or(0);
    (sharing, largest.into())
}
