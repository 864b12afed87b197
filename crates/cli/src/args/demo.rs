//! Flags of `tapline demo`.

use std::path::PathBuf;

use clap::Args;

/// Create two test hosts, send real traffic between them, capture it and compare
///
/// The hosts are unnamed network namespaces connected by a veth pair. The demo does not touch the interfaces
/// of this host, and the test hosts disappear with the program. An interrupted demo leaves no file. Exit
/// status 0 means that everything sent is in the file. Needs root, or 'unshare --map-root-user' if users may
/// do that.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Keep the hosts until Ctrl-C, to run other commands in them
    #[arg(help_heading = "Input", long)]
    pub keep: bool,

    /// Write demo.pcapng to DIR [default: a new temporary directory]
    #[arg(help_heading = "Output", short, long, value_name = "DIR")]
    pub write: Option<PathBuf>,

    /// Print JSON Lines instead of text
    #[arg(help_heading = "Output format", long)]
    pub json: bool,
}
