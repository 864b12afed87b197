//! Flags of `tapline extcap`.

use std::path::PathBuf;

use clap::Args;

use super::SandboxArgs;

/// Capture for Wireshark, which runs this command as its extcap plug-in
///
/// Wireshark and tshark list the interfaces of this plug-in as tapline-IF; 'tapline-ssh' captures on another host. You
/// need not run this command yourself. The flags of a capture are those of 'tapline capture'.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct ExtcapArgs {
    /// Print the interfaces
    #[arg(long, help_heading = "Wireshark")]
    pub extcap_interfaces: bool,

    /// Wireshark's version; ignored
    #[arg(long, value_name = "VERSION", help_heading = "Wireshark")]
    pub extcap_version: Option<String>,

    /// The interface that the other flags are about
    #[arg(long, value_name = "IF", help_heading = "Wireshark")]
    pub extcap_interface: Option<String>,

    /// Print the link type of the interface
    #[arg(long, help_heading = "Wireshark")]
    pub extcap_dlts: bool,

    /// Print the options of the interface for a dialog
    #[arg(long, help_heading = "Wireshark")]
    pub extcap_config: bool,

    /// With --extcap-config: print the values of one option
    #[arg(long, value_name = "OPTION", help_heading = "Wireshark")]
    pub extcap_reload_option: Option<String>,

    /// Filter of the capture; without --capture, print what is wrong with it
    #[arg(
        long,
        value_name = "FILTER",
        allow_hyphen_values = true,
        help_heading = "Wireshark"
    )]
    pub extcap_capture_filter: Option<String>,

    /// Capture into --fifo
    #[arg(long, requires = "fifo", help_heading = "Wireshark")]
    pub capture: bool,

    /// Where to write the packets
    #[arg(long, value_name = "FILE", help_heading = "Wireshark")]
    pub fifo: Option<PathBuf>,

    /// Named pipe with the changes that the toolbar makes
    #[arg(long, value_name = "FILE", help_heading = "Wireshark")]
    pub extcap_control_in: Option<PathBuf>,

    /// Named pipe for messages to the toolbar
    #[arg(long, value_name = "FILE", help_heading = "Wireshark")]
    pub extcap_control_out: Option<PathBuf>,

    /// Clean up after a capture that was killed: nothing to do, because it ends with this plug-in
    #[arg(long, help_heading = "Wireshark")]
    pub extcap_cleanup_postkill: bool,

    #[command(flatten)]
    pub flags: CaptureFlags,

    #[command(flatten)]
    pub remote: RemoteArgs,

    #[command(flatten)]
    pub sandbox: SandboxArgs,
}

/// Flags that `tapline capture` gets as they are. It checks them.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Capture")]
pub struct CaptureFlags {
    /// Bytes captured per packet
    #[arg(long, value_name = "BYTES")]
    pub snaplen: Option<String>,

    /// Copy packets (mirror), or take them from the stack (drop)
    #[arg(long, value_name = "mirror|drop")]
    pub mode: Option<String>,

    /// Sample accepted packets in the kernel
    #[arg(long, value_name = "1/N|p=P|first/TIME")]
    pub sample: Option<String>,

    /// Capture received packets, sent packets or both
    #[arg(long, value_name = "in|out|both")]
    pub direction: Option<String>,

    /// Ring size
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,

    /// Time stamp source
    #[arg(long, value_name = "SOURCE")]
    pub timestamp: Option<String>,

    /// Do not put the interface into promiscuous mode
    #[arg(long)]
    pub no_promisc: bool,
}

/// The host of `tapline-ssh`.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Remote host")]
pub struct RemoteArgs {
    /// Host, also as USER@HOST or a name in ssh_config(5)
    #[arg(long, value_name = "HOST")]
    pub ssh_host: Option<String>,

    /// Port of its SSH server
    #[arg(long, value_name = "PORT")]
    pub ssh_port: Option<String>,

    /// Private key
    #[arg(long, value_name = "FILE")]
    pub ssh_identity: Option<PathBuf>,

    /// Interface of the host
    #[arg(long, value_name = "IF")]
    pub remote_interface: Option<String>,

    /// How the host's shell starts tapline, e.g. sudo tapline [default: tapline]
    #[arg(long, value_name = "COMMAND")]
    pub remote_command: Option<String>,
}
