//! Flags of `tapline doctor`.

use clap::Args;

/// What this machine can do for captures and probes, what spoils them, and what to do about it
///
/// The kernel is asked, by doing where that disturbs nothing: rings are opened on the loopback,
/// programs are loaded and not attached; an interface is only asked. It is all about the network
/// namespace in which the command runs. Exit status 1 says that something severe was found, 3 that
/// something could not be looked at for want of a privilege.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Look at this interface too
    #[arg(short, long, value_name = "IF")]
    pub interface: Option<String>,

    /// Make the changes that are safe: of the interface or its namespace only. They are shown, and
    /// recorded for --undo
    #[arg(long)]
    pub fix: bool,

    /// Take back what --fix changed in this network namespace, and look at nothing
    #[arg(long, conflicts_with_all = ["fix", "interface"])]
    pub undo: bool,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,
}
