//! The parameters of a run.

use std::fmt;
use std::time::Duration;

use crate::cookie::RunKey;

/// Maximum payload: with the IPv4 and ICMP headers, a packet of 65535 bytes.
///
/// # Source
/// RFC 791, 3.1: total length.
pub const MAX_PAYLOAD_BYTES: usize = 65_507;
/// Maximum interval and timeout: 11 days.
pub const MAX_NS: u64 = 1_000_000_000_000_000;

/// What to send, and how fast.
#[derive(Clone, Debug)]
pub struct ProbePlan {
    /// Probes to each target, 1 to `u32::MAX - 1`; `None` continues until stopped.
    pub rounds: Option<u32>,
    /// How many probes to skip at the start, in the order of the run: [`SweepPosition::ended`] of an earlier run with the
    /// same key and targets. At most the number of probes.
    pub first_probe: u64,
    /// Time between two probes to one target. Targets are spread evenly over it.
    pub interval_ns: u64,
    /// Maximum probes per second to all targets together; `None` sets no limit. If the rate is too low
    /// for the interval, the interval is extended.
    pub rate_pps: Option<u32>,
    /// Probes to different targets that are due within this time are sent together, up to 256. The
    /// sender wakes up less often, and each target keeps its interval. 0 spreads probes evenly.
    pub gather_ns: u64,
    /// Time after which an answer is late, at least 1 ms.
    pub timeout_ns: u64,
    /// Payload length, [`MIN_PAYLOAD_BYTES`](crate::MIN_PAYLOAD_BYTES) to [`MAX_PAYLOAD_BYTES`]. With fewer bytes than
    /// [`COOKIE_BYTES`](crate::COOKIE_BYTES) the send times are kept here, and the tag is shorter
    /// ([`Prober::tag_bytes`](crate::Prober::tag_bytes)).
    pub payload_bytes: usize,
    /// Identifier in the ICMP header of all probes.
    pub identifier: u16,
    /// Secret from which cookies and the order of targets are derived.
    pub key: RunKey,
    /// Maximum probes per second to the targets of one IPv4 /24 or IPv6 /64 together.
    pub prefix_pps: Option<u32>,
    /// Pace for on-link targets that have not answered yet.
    pub neighbours: NeighbourPace,
    /// Maximum back-off time in reserve. While nothing is congested, a sixteenth of the elapsed time
    /// is returned to the reserve. Back-off thus extends a run by at most this and a sixteenth.
    pub backoff_ns: u64,
    /// Keep a histogram for each target: 864 bytes each.
    pub histograms: bool,
}

/// Pace for on-link targets that have not answered yet, and may be absent.
///
/// The kernel's neighbour table holds 1024 entries by default, and an unresolved entry stays for 3
/// seconds. When the table is full, the kernel silently drops packets.
///
/// # Source
/// `neigh_alloc`, net/core/neighbour.c; `gc_thresh3`, Documentation/networking/ip-sysctl.rst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourPace {
    /// Burst: this many at once.
    pub most: u32,
    /// Then `most` per this time, evenly. Any period of this length sees at most twice `most`.
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

impl ProbePlan {
    /// One probe per second to each target until stopped, at most 10 000 per second, with a timeout of
    /// one second and ping's 56 bytes of payload.
    pub fn new(identifier: u16, key: RunKey) -> Self {
        Self {
            rounds: None,
            first_probe: 0,
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
}

/// Where a run with one probe to each target continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepPosition {
    /// The order of the targets comes from this key.
    pub key: RunKey,
    /// How many probes have ended, in that order.
    pub ended: u64,
}

/// A value of a [`ProbePlan`] is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct PlanError {
    /// Name of the value. A name ending in ` (ns)` is a duration.
    pub what: &'static str,
    /// The value.
    pub value: u64,
    /// Minimum.
    pub low: u64,
    /// Maximum.
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
        if let Some(what) = what.strip_suffix(" (ns)") {
            let [value, low, high] = [*value, *low, *high].map(Duration::from_nanos);
            return write!(f, "{what} is {value:?}, not between {low:?} and {high:?}");
        }
        write!(f, "{what} is {value}, not between {low} and {high}")
    }
}
