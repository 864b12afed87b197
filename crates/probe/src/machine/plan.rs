//! What a run is to be.

use std::fmt;
use std::time::Duration;

use super::cookie::{COOKIE_BYTES, Key};
use super::record::Records;

/// Longest payload: with the headers of ICMP and IPv4 it is a packet of 65535 bytes.
///
/// # Source
/// RFC 791, 3.1: total length.
pub const MAX_PAYLOAD_BYTES: usize = 65_507;
/// Longest interval and timeout: 11 days.
pub const MAX_NS: u64 = 1_000_000_000_000_000;
/// Probes in flight that are kept account of when neither interval nor rate bounds them; more wait.
const MAX_UNLIMITED_FLIGHT: u64 = 1 << 22;
/// Probes in flight at most, a bit each.
const MAX_FLIGHT: u64 = 1 << 30;
/// Probes that leave together at most.
const MAX_GROUP: u64 = 256;
/// Probes in flight to one target that there is always room for: with two more, a word of bits.
const MIN_FLIGHT: u64 = 62;

/// What to send, and how fast.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Probes to each target, 1 to `u32::MAX - 1`; `None` goes on until it is stopped.
    pub rounds: Option<u32>,
    /// Time between two probes to one target. The targets are spread evenly over it.
    pub interval_ns: u64,
    /// Probes a second to all targets together, at most; `None` sets no limit. Where it is too low for
    /// the interval, the interval is stretched.
    pub rate_pps: Option<u32>,
    /// Probes to different targets that would leave within this time of one another leave together, with
    /// the first of them, up to 256: whoever sends has to wake up less often, and each target keeps its
    /// interval. 0 spreads them evenly.
    pub gather_ns: u64,
    /// Time after which an answer is late, 1 ms at least.
    pub timeout_ns: u64,
    /// Length of the payload, [`COOKIE_BYTES`] to [`MAX_PAYLOAD_BYTES`].
    pub payload_bytes: usize,
    /// Identifier in the ICMP header, the same for all probes of the run.
    pub identifier: u16,
    /// The secret that cookies and order come of.
    pub key: Key,
    /// Probes a second to the targets of one IPv4 /24 or IPv6 /64 together, at most.
    pub prefix_pps: Option<u32>,
    /// How many targets on the link that have not answered yet are probed, and in which time.
    pub neighbours: NeighbourPace,
    /// Time that back-off may take at once. Of what is used up, a 16th of the time without it comes back, so that
    /// it adds to a run this and a 16th at most.
    pub backoff_ns: u64,
    /// Keep a histogram for each target too: 864 bytes each.
    pub histograms: bool,
}

/// How fast hosts on the link that may be absent are asked for.
///
/// The kernel's neighbour table holds 1024 unless told otherwise, and one that does not answer takes
/// its place for 3 seconds: what comes beyond is dropped without a word.
///
/// # Source
/// `neigh_alloc`, net/core/neighbour.c; `gc_thresh3`, Documentation/networking/ip-sysctl.rst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourPace {
    /// This many at once …
    pub most: u32,
    /// … and then as many in this time, evenly: in any time of this length twice as many at most.
    pub time_ns: u64,
}

impl Default for NeighbourPace {
    fn default() -> Self {
        Self {
            most: 400,
            time_ns: 3_200_000_000,
        }
    }
}

impl Plan {
    /// One probe a second to each target until stopped, 10 000 a second at most, with a timeout of a
    /// second and ping's 56 bytes of payload.
    pub fn new(identifier: u16, key: Key) -> Self {
        Self {
            rounds: None,
            interval_ns: 1_000_000_000,
            rate_pps: Some(10_000),
            gather_ns: 0,
            timeout_ns: 1_000_000_000,
            payload_bytes: 56,
            identifier,
            key,
            prefix_pps: None,
            neighbours: NeighbourPace::default(),
            backoff_ns: 1_000_000_000,
            histograms: false,
        }
    }

    /// What the run will be with `targets` targets, without sending anything.
    ///
    /// # Errors
    /// [`PlanError`] names the value that is out of its range.
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
        in_range("targets", targets.into(), 1, most_rounds)?;
        in_range("count", self.rounds.unwrap_or(1).into(), 1, most_rounds)?;
        in_range("interval (ns)", self.interval_ns, 0, MAX_NS)?;
        in_range(
            "rate",
            self.rate_pps.unwrap_or(1).into(),
            1,
            u32::MAX.into(),
        )?;
        in_range(
            "prefix rate",
            self.prefix_pps.unwrap_or(1).into(),
            1,
            u32::MAX.into(),
        )?;
        in_range("gathering (ns)", self.gather_ns, 0, MAX_NS)?;
        in_range("timeout (ns)", self.timeout_ns, 1_000_000, MAX_NS)?;
        let [low, high] = [COOKIE_BYTES, MAX_PAYLOAD_BYTES].map(|bytes| bytes as u64);
        in_range("payload (bytes)", self.payload_bytes as u64, low, high)?;
        in_range(
            "neighbours",
            self.neighbours.most.into(),
            1,
            u32::MAX.into(),
        )?;
        in_range("neighbour time (ns)", self.neighbours.time_ns, 0, MAX_NS)?;
        in_range("back-off (ns)", self.backoff_ns, 0, MAX_NS)?;
        let by_rate = self.rate_pps.map_or(0, |rate| {
            (u64::from(targets) * 1_000_000_000).div_ceil(rate.into())
        });
        let round_ns = self.interval_ns.max(by_rate);
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
        forecast.memory_bytes = Records::bytes(&forecast, self.histograms);
        Ok(forecast)
    }
}

/// What a run will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forecast {
    /// Number of targets.
    pub targets: u32,
    /// Probes to each; `None` without end.
    pub rounds: Option<u32>,
    /// Time between two probes to one target: the interval, or longer where the rate asks for it.
    pub round_ns: u64,
    /// Probes that leave together.
    pub group: u32,
    /// The most that limits for prefixes and for neighbours add: [`Forecast::with_limits`].
    pub limits_ns: u64,
    /// Whether that is sure. Where more probes wait for limits than are kept account of, those of one prefix hold
    /// up those of others, by chance.
    pub is_certain: bool,
    /// What the statistics of the targets take, bytes: that of a [`Prober`](crate::Prober), but for what limits need:
    /// half a megabyte for prefixes, and a bit for each target where some are on the link.
    pub memory_bytes: u64,
    timeout_ns: u64,
}

impl Forecast {
    /// Probes in all; `None` without end.
    pub fn probes(&self) -> Option<u64> {
        Some(u64::from(self.rounds?) * u64::from(self.targets))
    }

    /// The time after which the run is over whatever the network does: count × interval + timeout, and what
    /// [`Forecast::with_limits`] has added. `None` without end. Back-off ([`Plan::backoff_ns`]) and a host
    /// too slow for the rate come on top.
    pub fn duration_ns(&self) -> Option<u64> {
        let sending = self.sending_ns()?;
        let ending = self.timeout_ns.saturating_add(self.limits_ns);
        Some(sending.saturating_add(ending))
    }

    /// Time from the first probe to the interval after the last, without limits.
    pub(super) fn sending_ns(&self) -> Option<u64> {
        Some(self.round_ns.saturating_mul(self.rounds?.into()))
    }

    /// The time after which the run is over when nothing more is sent after `sending_ns`.
    pub fn duration_within_ns(&self, sending_ns: u64) -> u64 {
        let cut_short = sending_ns.saturating_add(self.timeout_ns);
        self.duration_ns().unwrap_or(u64::MAX).min(cut_short)
    }

    /// Time between two groups of probes that leave together, rounded up; 0 where each leaves by itself.
    pub fn gather_ns(&self) -> u64 {
        match self.group {
            1 => 0,
            group => ((self.gap() * u128::from(group)) >> 32) as u64 + 1,
        }
    }

    /// Time between two probes, in 2⁻³² nanoseconds.
    pub(crate) fn gap(&self) -> u128 {
        (u128::from(self.round_ns) << 32) / u128::from(self.targets)
    }

    /// How many probes to one target may be in flight.
    pub(crate) fn flight(&self) -> u32 {
        let share = |all: u64| (all / u64::from(self.targets)).max(MIN_FLIGHT);
        // A sixteenth for the graininess of the expiry, and two for the ends.
        let time_ns = self.timeout_ns + self.timeout_ns / 16;
        let rounds = match time_ns.checked_div(self.round_ns) {
            Some(rounds) => (rounds + 2).min(share(MAX_FLIGHT)),
            None => share(MAX_UNLIMITED_FLIGHT),
        };
        rounds.min(MAX_FLIGHT) as u32
    }
}

/// A value of a [`Plan`] that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanError {
    /// Which.
    pub what: &'static str,
    /// What it is.
    pub value: u64,
    /// The least it may be.
    pub low: u64,
    /// The most it may be.
    pub high: u64,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            value,
            low,
            high,
        } = self;
        // Times are read by people.
        if let Some(what) = what.strip_suffix(" (ns)") {
            let [value, low, high] = [*value, *low, *high].map(Duration::from_nanos);
            return write!(f, "{what} is {value:?}, not between {low:?} and {high:?}");
        }
        write!(f, "{what} is {value}, not between {low} and {high}")
    }
}

impl std::error::Error for PlanError {}
