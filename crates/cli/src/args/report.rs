//! Flags of `tapline report`.

use std::path::PathBuf;

use clap::Args;

use super::{SandboxArgs, UserArgs};

/// Write a page about captures: rates, losses, hosts, protocols, TCP, DNS
///
/// The page is one HTML file without scripts or external resources. Several files count as one capture. Memory is bounded: the
/// page lists the largest hosts, flows and connections, and reports how many others were discarded.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Capture files, or - for standard input
    ///
    /// pcapng or pcap, optionally gzip or zstd.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Write the page to FILE; - is standard output. Default: the name of the first file with .html at its end
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Rows of the tables of hosts and flows
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Output")]
    pub top: u16,

    /// Print the figures as JSON
    #[arg(long, help_heading = "Output format")]
    pub json: bool,

    /// Print nothing but failures
    #[arg(short, long, conflicts_with = "json", help_heading = "Output format")]
    pub quiet: bool,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}
