//! Flags of `tapline ethtool`.

use clap::{Args, Subcommand, ValueEnum};

/// Show and change how a device spreads received packets over its queues
///
/// A change stays until somebody changes it again. 'tapline capture --ethtool' makes one for the time of a capture.
#[derive(Args, Debug)]
#[command(infer_subcommands = true)]
pub struct EthtoolArgs {
    /// Print JSON Lines instead of text
    #[arg(long, global = true, help_heading = "Output format")]
    pub json: bool,

    #[command(subcommand)]
    pub command: EthtoolCommand,
}

#[derive(Debug, Subcommand)]
pub enum EthtoolCommand {
    /// Show the settings of a device, in the words of 'set'
    Show {
        /// Network interface
        #[arg(value_name = "IF", value_parser = super::name())]
        interface: String,

        /// What to show [default: all that the driver has]
        #[arg(value_enum)]
        kind: Option<SettingKind>,
    },

    /// Change settings of a device
    #[command(after_help = SETTINGS)]
    Set {
        /// Network interface
        #[arg(value_name = "IF", value_parser = super::name())]
        interface: String,

        /// A setting in the words below
        #[arg(value_name = "SETTING", required = true, num_args = 1.., allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// A kind of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SettingKind {
    /// Numbers of queues
    Channels,
    /// Sizes of rings
    Rings,
    /// Moderation of interrupts
    Coalesce,
    /// Hash of received packets, and queues by hash
    Rss,
    /// Rules that choose the queue of a flow
    Ntuple,
    /// Offloads and other features
    Features,
}

/// The words of settings.
pub const SETTINGS: &str = "Settings:
  channels [rx N] [tx N] [other N] [combined N]
  rings [rx N] [tx N] [rx-mini N] [rx-jumbo N] [rx-buf-len BYTES]
  coalesce [rx-usecs N] [rx-frames N] [tx-usecs N] [tx-frames N] [adaptive-rx on|off] ...
  rss default | equal N | weight W0 W1 ... | table Q0,Q1,...
  rss hkey XX:XX:... | hfunc toeplitz|xor|crc32
  rss rx-flow-hash TYPE FIELDS    letters of m v t s d f n r, as in ethtool(8)
  ntuple flow-type TYPE [src-ip IP[/LENGTH]] [dst-ip ...] [src-port N] [dst-port N] [vlan N] ...
         action QUEUE|-1 [loc N]  -1 drops; l4proto, tos, tclass, and src, dst, proto of type ether
  ntuple delete N
  features NAME on|off ...        by the kernel's names, see 'show'
Types: ether, ip4, tcp4, udp4, sctp4, ip6, tcp6, udp6, sctp6";
