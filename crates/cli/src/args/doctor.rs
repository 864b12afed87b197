//! Flags of `tapline doctor`.

use clap::Args;

/// Diagnose capture and ping problems on this host and suggest fixes
///
/// Checks are safe: test rings are opened on loopback, test programs are loaded but never attached, and
/// interfaces are only queried. All checks apply to the network namespace in which the command runs.
///
/// Exit status: 1 if there is a severe finding, 3 if a missing privilege prevented a check.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Also check this interface
    #[arg(help_heading = "Input", short, long, value_name = "IF", value_parser = super::name())]
    pub interface: Option<String>,

    /// Apply the safe fixes: they affect only the interface or its network namespace. Prints each change and
    /// records it for --undo
    #[arg(help_heading = "Output", long)]
    pub fix: bool,

    /// Undo the changes that --fix made in this network namespace, and the time stamping, interrupts and device
    /// settings that killed captures left behind; run no checks
    #[arg(help_heading = "Output", long, conflicts_with_all = ["fix", "interface"])]
    pub undo: bool,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output format")]
    pub json: bool,
}
