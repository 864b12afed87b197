//! Flags of `tapline flows`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tapline::capture::DirectionFilter;
use tapline::flows::TableOptions;

use super::capture::direction;
use super::{ColumnFormat, PartitionArgs, SandboxArgs, SpoolArgs, UserArgs};
use crate::flows::{CollectorAddress, collector};
use crate::metrics;
use crate::values::units;

/// Turn packets into flows: both directions, TCP state, retransmissions, round-trip times
///
/// A flow is what two hosts exchange between two ports. It is printed when it ends: by the idle timeout, by FIN or RST, by a new
/// connection between the same ports, when it makes room for another one, or at the end; and at the active timeout. Every packet
/// is in a flow or counted as not IP, as a later fragment, or as malformed. Headers inside tunnels are not parsed.
#[derive(Args, Debug)]
#[command(
    override_usage = "tapline flows [OPTIONS] FILE... [FILTER]\n       tapline flows [OPTIONS] -i IF [FILTER]",
    after_long_help = super::UNITS
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct FlowsArgs {
    /// Capture files, or - for standard input; then the filter, as in pcap-filter(7)
    ///
    /// Several files are merged by time. With -i, all words are the filter.
    #[arg(value_name = "FILE... [FILTER]")]
    pub words: Vec<OsString>,

    /// Filter as in pcap-filter(7), for example 'tcp port 443'
    #[arg(hide_short_help = true, value_name = "FILTER", last = true)]
    pub filter: Vec<OsString>,

    /// Capture from this interface; can be repeated
    #[arg(help_heading = "Input", short, long, value_name = "IF", value_parser = super::name())]
    pub interface: Vec<String>,

    /// Stop after N packets
    #[arg(help_heading = "Input", short, long, value_name = "N")]
    pub count: Option<NonZeroU64>,

    /// With -i: stop after this time
    #[arg(help_heading = "Input", long, value_name = "TIME", value_parser = units::time, requires = "interface")]
    pub duration: Option<Duration>,

    /// With -i: packets that the interface receives, sends, or both
    #[arg(help_heading = "Input", long, value_name = "in|out|both", default_value = "both", value_parser = direction, requires = "interface")]
    pub direction: DirectionFilter,

    /// With -i: bytes to capture of each packet; the headers must be in them
    #[arg(
        hide_short_help = true,
        help_heading = "Input",
        short,
        long,
        value_name = "BYTES",
        default_value = "128",
        requires = "interface"
    )]
    pub snaplen: u32,

    /// With -i: ring size per interface
    #[arg(hide_short_help = true, help_heading = "Input", long, value_name = "SIZE", default_value = "32M", value_parser = units::size, requires = "interface")]
    pub buffer: u64,

    /// With -i: do not put the interface into promiscuous mode
    #[arg(
        hide_short_help = true,
        help_heading = "Input",
        short = 'p',
        long,
        requires = "interface"
    )]
    pub no_promisc: bool,

    /// Read the filter from FILE; - is standard input
    #[arg(
        hide_short_help = true,
        short = 'F',
        long,
        value_name = "FILE",
        conflicts_with = "filter",
        help_heading = "Input"
    )]
    pub filter_file: Option<PathBuf>,

    /// A flow without packets for this time ends
    #[arg(help_heading = "Flows", long, value_name = "TIME", default_value = "60s", value_parser = units::nonzero_time)]
    pub idle: Duration,

    /// Print a long flow at this interval, and count it from zero again
    #[arg(help_heading = "Flows", long, value_name = "TIME", default_value = "30m", value_parser = units::nonzero_time)]
    pub active: Duration,

    /// Maximum number of concurrent flows; if there are more, flows that have been idle for long end
    ///
    /// This bounds the memory, which is allocated at the start. Its size is printed.
    #[arg(help_heading = "Flows", long, value_name = "N", default_value = "262144", value_parser = max_flows)]
    pub max_flows: usize,

    /// Write flows to FILE, as columns in Parquet or Arrow; - is standard output
    ///
    /// They are then printed only with --json or --csv. FILE may be on object storage: s3://BUCKET/KEY, gs://BUCKET/KEY,
    /// az://CONTAINER/KEY or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY.
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// Format of FILE [default: by the name, .parquet or .arrows; parquet with --partition, arrow on standard output]
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        value_enum,
        requires = "write"
    )]
    pub format: Option<ColumnFormat>,

    #[command(flatten)]
    pub partition: PartitionArgs,

    /// With --partition: complete files at every multiple of this time
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "TIME", requires = "partition", value_parser = units::nonzero_time)]
    pub rotate_interval: Option<Duration>,

    #[command(flatten)]
    pub spool: SpoolArgs,

    /// Send flows to this collector, as IPFIX over UDP or TCP [default PORT: 4739]
    ///
    /// They are then printed only with --json or --csv. A record has both directions (RFC 5103). Over UDP the templates are sent
    /// again every minute. If a TCP connection fails, tapline connects again with -i; with files, the job ends.
    #[arg(help_heading = "Output", long, value_name = "[udp:|tcp:]HOST[:PORT]", value_parser = collector)]
    pub ipfix: Option<CollectorAddress>,

    /// Observation domain of IPFIX messages [default: a random number for each run]
    ///
    /// Many collectors distinguish the senders of a host only by this number, so runs at the same time need different ones.
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        value_name = "N",
        requires = "ipfix"
    )]
    pub ipfix_domain: Option<NonZeroU32>,

    /// Maximum IPFIX messages per second over UDP; 0 means no limit [default: 1000 for files, 0 with -i while it captures]
    ///
    /// A message has about 16 flows. Over UDP, a sender does not notice that the collector is slower and loses messages. TCP
    /// needs no limit. With -i, the default for the flows that remain at the end is 1000.
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        value_name = "N",
        requires = "ipfix"
    )]
    pub ipfix_rate: Option<u32>,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics [default ADDR: loopback]
    #[arg(help_heading = "Output", long, value_name = "[ADDR:]PORT", value_parser = metrics::address)]
    pub metrics: Option<SocketAddr>,

    /// Print JSON Lines instead of text
    #[arg(help_heading = "Output format", long)]
    pub json: bool,

    /// Print CSV with a header line instead of text; the summary goes to standard error
    ///
    /// The columns are the keys of --json.
    #[arg(help_heading = "Output format", long, conflicts_with = "json")]
    pub csv: bool,

    /// Print no start and no summary; the events of --json remain
    #[arg(help_heading = "Output format", short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

fn max_flows(text: &str) -> Result<usize, String> {
    let flows = units::decimal(text).and_then(|flows| usize::try_from(flows.get()).ok());
    match flows {
        Some(flows) if flows <= TableOptions::MOST_FLOWS => Ok(flows),
        _ => Err(format!("a number from 1 to {}", TableOptions::MOST_FLOWS)),
    }
}
