//! The delays of captured packets.

use std::time::{SystemTime, UNIX_EPOCH};

use tapline::latency::Delays;

use crate::arguments::Output;
use crate::packet::{TAPLINE_UNKNOWN, tapline_packet};

/// How long after their time stamps packets were lent to the caller. A time without packets is `TAPLINE_UNKNOWN`.
/// Quantiles have a relative error of at most 1/256.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tapline_delays {
    /// `sizeof(tapline_delays)`; the caller sets it. The library writes no more than that.
    pub size: usize,
    /// Measured packets.
    pub packets: u64,
    /// Packets with a time stamp later than their delivery: the clock was set. Not measured.
    pub ahead: u64,
    /// Packets without a time stamp. Not measured.
    pub unstamped: u64,
    /// Shortest delay.
    pub min_ns: u64,
    /// Mean delay.
    pub mean_ns: u64,
    /// Half of the packets had at most this delay.
    pub p50_ns: u64,
    /// 99 % of the packets had at most this delay.
    pub p99_ns: u64,
    /// 99.9 % of the packets had at most this delay.
    pub p999_ns: u64,
    /// Longest delay.
    pub max_ns: u64,
}

// SAFETY: `repr(C)`, its size first, and integers after it.
unsafe impl Output for tapline_delays {
    const NAME: &'static str = "tapline_delays";
}

/// Records packets that are lent now.
pub fn record(delays: &mut Delays, packets: &[tapline_packet]) {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since_1970.map_or(0, |time| time.as_nanos() as u64);
    for packet in packets {
        match packet.time_ns {
            TAPLINE_UNKNOWN => delays.unstamped += 1,
            // Tells only what it records.
            time_ns => _ = delays.record(time_ns, now_ns),
        }
    }
}

impl From<&Delays> for tapline_delays {
    fn from(delays: &Delays) -> Self {
        let known = |time_ns: Option<u64>| time_ns.unwrap_or(TAPLINE_UNKNOWN);
        let quantile = |share| known(delays.quantile(share));
        Self {
            size: size_of::<Self>(),
            packets: delays.histogram.count(),
            ahead: delays.ahead,
            unstamped: delays.unstamped,
            min_ns: known(delays.min_ns),
            mean_ns: known(delays.mean_ns()),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: known(delays.max_ns),
        }
    }
}
