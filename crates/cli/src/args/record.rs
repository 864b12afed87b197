//! Flags of the flight recorder.

use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use crate::values::units;

/// Memory with `--record TIME`, bytes.
const TIMED_BYTES: u64 = 256 << 20;

/// Least memory: room for the longest packets.
const LEAST_BYTES: u64 = 1 << 20;

/// What a flight recorder keeps, and when it writes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Flight recorder")]
pub struct RecordArgs {
    /// Keep the newest packets in memory, and write them to a file only when a trigger fires
    ///
    /// SIZE: memory to use, at least 1M. TIME: keep the packets of the last TIME, in at most 256M. The files are named
    /// after -w: FILE-trigger-00001.pcapng and so on. Triggers are the --trigger flags, SIGUSR1 and 'tapline ctl
    /// trigger'. Each packet is written at most once.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "SIZE|TIME",
        requires = "write",
        conflicts_with_all = ["rotate_size", "rotate_interval", "rotate_packets", "keep", "format", "compress"]
    )]
    pub record: Option<RecordLimit>,

    /// Trigger when a packet matches FILTER
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILTER",
        requires = "record"
    )]
    pub trigger: Option<String>,

    /// Trigger when a packet matches FILTER, and write only packets between its two addresses and ports, including those
    /// in memory; at most 64 flows at a time
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILTER",
        requires = "record"
    )]
    pub trigger_flow: Option<String>,

    /// Trigger when N packets are lost within a second, or within --stats-interval
    #[arg(hide_short_help = true, long, value_name = "N", requires = "record")]
    pub trigger_loss: Option<NonZeroU64>,

    /// Trigger at N packets per second, measured over a second or --stats-interval
    #[arg(hide_short_help = true, long, value_name = "N", requires = "record")]
    pub trigger_rate: Option<NonZeroU64>,

    /// How long packets are written after a trigger; further triggers within this time extend it [default: 1s]
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "record", value_parser = units::time)]
    pub after: Option<Duration>,
}

/// How much a flight recorder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLimit {
    /// Memory.
    pub bytes: u64,
    /// Age of the oldest packet.
    pub time: Option<Duration>,
}

impl FromStr for RecordLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(bytes) = units::size(text) {
            if bytes < LEAST_BYTES {
                return Err("use at least 1M".to_owned());
            }
            return Ok(Self { bytes, time: None });
        }
        let time = units::nonzero_time(text);
        let time = time.map_err(|_| "use a size such as 1G, or a time such as 10m".to_owned())?;
        Ok(Self {
            bytes: TIMED_BYTES,
            time: Some(time),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        let limit = |text: &str| text.parse::<RecordLimit>().map(|one| (one.bytes, one.time));
        assert_eq!(limit("1GiB"), Ok((1 << 30, None)));
        assert_eq!(limit("2M"), Ok((2 << 20, None)));
        let minutes = Duration::from_mins(10);
        assert_eq!(limit("10m"), Ok((TIMED_BYTES, Some(minutes))));
        for wrong in ["", "1k", "0s", "x"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
