//! Flags of `tapline index`.

use std::path::PathBuf;

use clap::Args;

use super::{SandboxArgs, UserArgs};

/// Index capture files, so that 'read --index' finds a host, a port or a flow in a terabyte
///
/// Writes FILE.index beside each file: at most 0.25 % of its size, or 4K. It contains the addresses, ports, flows and times of each part
/// of a few MiB. Compressed files cannot be indexed. A file that has a valid index is left as it is.
/// With --user, NAME must be able to read the files, and to create files beside them.
#[derive(Args, Debug)]
pub struct IndexArgs {
    /// Capture files: pcapng or pcap
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Index files even if they already have a valid index
    #[arg(long, help_heading = "Input")]
    pub again: bool,

    /// Print JSON Lines instead of text
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
