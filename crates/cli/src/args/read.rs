//! Flags of `tapline read`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;

use super::{EditArgs, OutputArgs, PartitionArgs, PrintArgs, SandboxArgs, SpoolArgs, UserArgs};
use crate::metrics;
use crate::values::moment::Moment;

/// Print, filter, convert, merge and summarise capture files
#[derive(Args, Debug)]
#[command(
    override_usage = "tapline read [OPTIONS] FILE... [FILTER]\n       tapline read [OPTIONS] FILE... -- FILTER",
    after_long_help = "The filter begins at the first word that is not the name of a file. Use -- if the first word of the filter is \
                  also the name of a file. The filter language is pcap-filter(7).\n\n\
                  A TIME is RFC 3339, or YYYY-MM-DD HH:MM:SS[.fraction] in local time, \
                  or @SECONDS[.fraction] since 1970 UTC. Sizes take k, M or G (powers of 1024)."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ReadArgs {
    /// Capture files, or - for standard input; then the filter
    ///
    /// pcapng or pcap, optionally gzip or zstd. Several files are merged by time. The filter begins at the first word
    /// that is not the name of a file.
    #[arg(value_name = "FILE... [FILTER]", required = true)]
    pub words: Vec<OsString>,

    /// Filter as in pcap-filter(7), for example 'tcp port 443'
    #[arg(hide_short_help = true, value_name = "FILTER", last = true)]
    pub filter: Vec<OsString>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub partition: PartitionArgs,

    #[command(flatten)]
    pub spool: SpoolArgs,

    /// Read the filter from FILE; - is standard input
    ///
    /// Lines are joined; # starts a comment. All words on the command line are then input files.
    #[arg(
        short = 'F',
        long,
        value_name = "FILE",
        conflicts_with = "filter",
        help_heading = "Filtering"
    )]
    pub filter_file: Option<PathBuf>,

    /// Also filter with the classic BPF program in FILE, in the decimal form of 'tcpdump -ddd'
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Filtering"
    )]
    pub bpf: Option<PathBuf>,

    /// Only packets of this interface; can be repeated
    #[arg(short, long, value_name = "IF", help_heading = "Filtering")]
    pub interface: Vec<String>,

    /// Only packets at this time or later
    #[arg(long, value_name = "TIME", help_heading = "Filtering")]
    pub from: Option<Moment>,

    /// Only packets before this time
    #[arg(long, value_name = "TIME", help_heading = "Filtering")]
    pub to: Option<Moment>,

    /// Read only the parts of files that may contain selected packets, according to their indexes (see 'tapline index')
    ///
    /// The index is searched for the addresses and ports that the filter requires of every packet. Packets that are not
    /// read are not counted.
    #[arg(long, conflicts_with = "summary", help_heading = "Filtering")]
    pub index: bool,

    /// Only packets with these numbers, for example 1-10,20,100-
    ///
    /// Packets are numbered from 1 in the order in which they are read, as in Wireshark. The filter does not change the numbers.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        value_parser = packet_numbers,
        conflicts_with_all = ["except_packets", "index", "summary"],
        help_heading = "Filtering"
    )]
    pub packets: Vec<RangeInclusive<u64>>,

    /// All packets but those with these numbers
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        value_parser = packet_numbers,
        conflicts_with_all = ["index", "summary"],
        help_heading = "Filtering"
    )]
    pub except_packets: Vec<RangeInclusive<u64>>,

    /// Stop after N packets
    #[arg(short, long, value_name = "N", help_heading = "Filtering")]
    pub count: Option<NonZeroU64>,

    /// Truncate packets to this many bytes; 0 means no limit
    #[arg(short, long, value_name = "BYTES", help_heading = "Output")]
    pub snaplen: Option<u32>,

    /// Summarise each file: format, interfaces, times, rates
    #[arg(
        long,
        conflicts_with_all = ["write", "count", "snaplen"],
        help_heading = "Output"
    )]
    pub summary: bool,

    /// Print loss, reordering, duplication and delay of the streams of 'send --stamp'
    #[arg(
        hide_short_help = true,
        long,
        conflicts_with_all = ["write", "snaplen", "summary"],
        help_heading = "Output"
    )]
    pub stamps: bool,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics [default ADDR: loopback]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "[ADDR:]PORT",
        value_parser = metrics::address,
        conflicts_with_all = ["summary", "stamps"],
        help_heading = "Output"
    )]
    pub metrics: Option<SocketAddr>,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output format")]
    pub json: bool,

    /// Do not print the summary at the end (tcpdump's -q is --brief)
    ///
    /// With --json it is always printed.
    #[arg(short, long, help_heading = "Output format")]
    pub quiet: bool,

    #[command(flatten)]
    pub print: PrintArgs,

    /// Accepted for compatibility with tcpdump: files have no promiscuous mode
    #[arg(short = 'p', hide = true)]
    pub no_promisc: bool,

    /// Refused: 'tapline capture -D' lists interfaces
    #[arg(short = 'D', hide = true)]
    pub list_interfaces: bool,

    #[command(flatten)]
    pub edit: EditArgs,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

/// `7`, `1-10` or `100-`.
fn packet_numbers(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let last = if last.is_empty() {
        Ok(u64::MAX)
    } else {
        last.parse()
    };
    match (first.parse::<u64>(), last) {
        (Ok(0), _) => Err("packets are numbered from 1".into()),
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("use numbers and ranges such as 1-10,20,100-".into()),
    }
}
