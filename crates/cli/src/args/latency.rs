//! Flags of `tapline latency`.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tapline::capture::DirectionFilter;

use super::capture::{backend, direction, timestamps};
use super::{BackendChoice, DeliveryArgs, SandboxArgs, TimestampChoice, UserArgs};
use crate::metrics;
use crate::values::units;

/// Measure the time from a packet's time stamp to its delivery: percentiles and a histogram
#[derive(Args, Debug)]
#[command(after_long_help = super::UNITS)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent flag")]
pub struct LatencyArgs {
    /// Interface to measure on
    #[arg(help_heading = "Input", short, long, value_name = "IF", value_parser = super::name())]
    pub interface: String,

    /// Bytes to capture of each packet
    ///
    /// Above 896, with default --buffer and --stall, packet-v3 is chosen, whose timer is at least 1 ms.
    #[arg(
        help_heading = "Input",
        short,
        long,
        value_name = "BYTES",
        default_value = "96"
    )]
    pub snaplen: u32,

    /// Stop after N packets
    #[arg(help_heading = "Input", short, long, value_name = "N")]
    pub count: Option<NonZeroU64>,

    /// Stop after this time [default with --compare: 5s]
    #[arg(help_heading = "Input", long, value_name = "TIME", value_parser = units::time)]
    pub duration: Option<Duration>,

    /// Packets that the interface receives, sends, or both
    #[arg(help_heading = "Input", long, value_name = "in|out|both", default_value = "both", value_parser = direction)]
    pub direction: DirectionFilter,

    /// Capture back end: packet-v2, packet-v3, xdp, xdp-ringbuf or auto
    ///
    /// With xdp and xdp-ringbuf the XDP program stamps received packets, in the driver. xdp takes them from the host, as
    /// 'capture --mode drop' does.
    #[arg(hide_short_help = true, help_heading = "Performance", long, value_name = "RING", default_value = "auto", value_parser = backend,
        conflicts_with = "compare")]
    pub backend: BackendChoice,

    /// Time stamp source, as of 'capture': hardware measures from the arrival in the device
    #[arg(hide_short_help = true, help_heading = "Input", long, value_name = "auto|hardware|software|driver",
        default_value = "software", value_parser = timestamps, conflicts_with = "compare")]
    pub timestamp: TimestampChoice,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    /// Size of the ring
    #[arg(hide_short_help = true, help_heading = "Performance", long, value_name = "SIZE", default_value = "16M", value_parser = units::size)]
    pub buffer: u64,

    /// Do not set the interface to promiscuous mode
    #[arg(hide_short_help = true, help_heading = "Input", short = 'p', long)]
    pub no_promisc: bool,

    /// Print each packet: its time stamp, its delivery, and the time between them
    #[arg(help_heading = "Output", long, conflicts_with = "compare")]
    pub each: bool,

    /// Compare several delivery settings at once on the same traffic, and print a table
    ///
    /// The settings are tapline's three delivery modes, packet-v3 with timers of 1 ms and 8 ms, and libpcap's rings as
    /// tcpdump has them and in immediate mode. Each setting has its own reader.
    #[arg(help_heading = "Output", long, conflicts_with_all = ["delivery", "min_bytes", "timeout", "stats_interval"])]
    pub compare: bool,

    /// Print the percentiles at this interval
    #[arg(help_heading = "Output", long, value_name = "TIME", value_parser = units::nonzero_time)]
    pub stats_interval: Option<Duration>,

    /// Write a page with charts about the measurement to FILE (HTML), at the end
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        help_heading = "Output"
    )]
    pub report: Option<PathBuf>,

    /// Serve the delays to Prometheus at http://ADDR:PORT/metrics [default ADDR: loopback]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "[ADDR:]PORT",
        value_parser = metrics::address,
        conflicts_with = "compare",
        help_heading = "Output"
    )]
    pub metrics: Option<SocketAddr>,

    /// JSON Lines instead of text
    #[arg(help_heading = "Output format", long)]
    pub json: bool,

    /// Filter expression, as in pcap-filter(7)
    #[arg(help_heading = "Filtering", value_name = "FILTER")]
    pub filter: Vec<String>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}
