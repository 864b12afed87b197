//! Flags of `tapline latency`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use tapline::capture::Backend;
use tapline::capture::DirectionFilter;

use super::capture::direction;
use super::{BackendChoice, DeliveryArgs};
use crate::units;

/// How long after the kernel a program has each packet: percentiles and a histogram
#[derive(Args, Debug)]
#[command(after_help = super::UNITS)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct LatencyArgs {
    /// Interface whose packets are measured
    #[arg(short, long, value_name = "IF")]
    pub interface: String,

    /// Bytes kept of a packet; with more than 896, and the usual --buffer and --stall, packet-v3 is
    /// chosen, whose timer has a floor of 1 ms
    #[arg(short, long, value_name = "BYTES", default_value = "96")]
    pub snaplen: u32,

    /// End after N packets
    #[arg(short, long, value_name = "N")]
    pub count: Option<NonZeroU64>,

    /// End after this time [default with --compare: 5s]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub duration: Option<Duration>,

    /// Which way the packets go, as the interface sees it
    #[arg(long, value_name = "in|out|both", default_value = "both", value_parser = direction)]
    pub direction: DirectionFilter,

    /// How packets cross the kernel border: packet-v2, packet-v3 or auto
    #[arg(long, value_name = "RING", default_value = "auto", value_parser = packet_ring,
        conflicts_with = "compare")]
    pub backend: BackendChoice,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    /// Size of the ring
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = units::size)]
    pub buffer: u64,

    /// See only packets to this host, to groups and to all
    #[arg(long)]
    pub no_promisc: bool,

    /// Tell of every packet: its stamp, when the program had it, and the time between
    #[arg(long, conflicts_with = "compare")]
    pub each: bool,

    /// Measure several ways of delivery at once on the same traffic, and print a table
    ///
    /// They are tapline's own, packet-v3 with timers of 1 ms and 8 ms, and rings as libpcap asks for them, for
    /// tcpdump and in its immediate mode; each has a reader of its own.
    #[arg(long, conflicts_with_all = ["delivery", "min_bytes", "timeout", "stats_interval"])]
    pub compare: bool,

    /// Tell the percentiles at this interval
    #[arg(long, value_name = "TIME", value_parser = units::nonzero_time)]
    pub stats_interval: Option<Duration>,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,

    /// Which packets: an expression as in pcap-filter(7), its words joined by blanks
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
}

/// XDP programs stamp packets elsewhere, or not at all.
fn packet_ring(text: &str) -> Result<BackendChoice, String> {
    match text {
        "auto" => Ok(BackendChoice::Auto),
        "packet-v2" => Ok(BackendChoice::Ring(Backend::PacketV2)),
        "packet-v3" => Ok(BackendChoice::Ring(Backend::PacketV3)),
        _ => Err("use packet-v2, packet-v3 or auto".into()),
    }
}
