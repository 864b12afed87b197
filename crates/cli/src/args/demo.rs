//! Flags of `tapline demo`.

use std::path::PathBuf;

use clap::Args;

/// Make two test hosts, send real traffic between them, capture it and compare
///
/// The hosts are network namespaces without names, joined by a veth pair: no interface of this machine
/// is touched, and nothing of them is left when the program ends, however it ends. The file is
/// kept once it is finished; an interrupted demo leaves none. Exit status 0 says that everything
/// sent is in the file. Needs root, or 'unshare --map-root-user' where users may do that.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Keep the hosts until Ctrl-C, to try other commands in them
    #[arg(long)]
    pub keep: bool,

    /// Put the file into DIR, as demo.pcapng [default: a new directory for temporary files]
    #[arg(short, long, value_name = "DIR")]
    pub write: Option<PathBuf>,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,
}
