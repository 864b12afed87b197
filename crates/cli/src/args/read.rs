//! Flags of `tapline read`.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use crate::moment::Moment;

/// Prints, filters, converts, merges and summarises capture files.
#[derive(Args, Debug)]
#[command(
    override_usage = "tapline read [OPTIONS] FILE... [FILTER]\n       tapline read [OPTIONS] FILE... -- FILTER",
    after_help = "The first word that names no file begins the filter; -- begins it whatever the words are. \
                  Its language is that of pcap-filter(7).\n\n\
                  A time is RFC 3339, or YYYY-MM-DD HH:MM:SS[.fraction] by the local clock, \
                  or @SECONDS[.fraction] since 1970 UTC. Sizes take k, M or G (powers of 1024)."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ReadArgs {
    /// Capture file: pcapng or pcap, also in gzip or zstd; with - standard input. Several are merged
    /// in time order. Behind them the filter: 'tcp port 443', or its words one by one
    #[arg(value_name = "FILE... [FILTER]", required = true)]
    pub words: Vec<OsString>,

    /// Only packets that match
    #[arg(value_name = "FILTER", last = true)]
    pub filter: Vec<OsString>,

    /// Instead of a filter on the command line, where all words are files then: a file
    /// with it; with - standard input. Lines are
    /// joined, # begins a comment
    #[arg(short = 'F', long, value_name = "FILE", conflicts_with = "filter")]
    pub filter_file: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Cut packets to so many bytes; 0 cuts none
    #[arg(short, long, value_name = "BYTES")]
    pub snaplen: Option<u32>,

    /// End after N packets that pass
    #[arg(short, long, value_name = "N")]
    pub count: Option<NonZeroU64>,

    /// Only packets of this time or later
    #[arg(long, value_name = "TIME")]
    pub from: Option<Moment>,

    /// Only packets before this time
    #[arg(long, value_name = "TIME")]
    pub to: Option<Moment>,

    /// Only packets of the interface of this name; may be given more than once
    #[arg(short, long, value_name = "IF")]
    pub interface: Vec<String>,

    /// A file with a filter in decimal form, as 'tcpdump -r FILE -ddd FILTER' prints it
    #[arg(long, value_name = "FILE")]
    pub bpf: Option<PathBuf>,

    /// Say of each file what it is and what is in it, instead of printing packets
    #[arg(long, conflicts_with_all = ["write", "count", "snaplen"])]
    pub summary: bool,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,

    /// No summary at the end; that of --json stays
    #[arg(short, long)]
    pub quiet: bool,

    /// Print numbers, not names; tapline always does
    #[arg(short)]
    pub numeric: bool,
}
