//! Flags of `tapline ctl`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::Delivery;
use crate::values::units;

/// List, inspect, change and stop running captures
///
/// A capture listens on a unix socket in /run/tapline, for users other than root in $XDG_RUNTIME_DIR/tapline. Only
/// its user and root can control it. Each change is noted in the capture file; 'tapline read --summary' shows the
/// notes.
#[derive(Args, Debug)]
#[command(after_long_help = super::UNITS)]
pub struct CtlArgs {
    /// Name of the running capture [default: the only one]
    #[arg(
        short,
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Input"
    )]
    pub name: Option<String>,

    /// Print JSON Lines instead of text
    #[arg(long, global = true, help_heading = "Output format")]
    pub json: bool,

    /// Do not restrict the program to the files and system calls that it needs
    ///
    /// Landlock and seccomp restrict it, as other commands. 'start' and 'hwtstamp' are not restricted.
    #[arg(global = true, hide_short_help = true, long, help_heading = "Sandbox")]
    pub no_sandbox: bool,

    #[command(subcommand)]
    pub command: CtlCommand,
}

/// The value of `ctl hwtstamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    On,
    Off,
}

#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// List the running captures
    List,

    /// Show settings and counters
    Stats,

    /// Change the filter; without an expression every packet is captured
    Filter {
        /// An expression as in pcap-filter(7)
        #[arg(value_name = "FILTER")]
        filter: Vec<String>,
    },

    /// Change the bytes captured per packet
    ///
    /// A file truncates packets to the snaplen that the capture began with.
    Snaplen {
        /// Bytes per packet; 0 is the default of 'capture'
        #[arg(value_name = "BYTES")]
        bytes: u32,
    },

    /// Change the ring size per interface
    Buffer {
        /// Bytes, or with k, M or G
        #[arg(value_name = "SIZE", value_parser = units::size)]
        size: u64,
    },

    /// Change the sampling of accepted packets
    Sample {
        /// 1/N, p=P or first/TIME, as 'capture --sample'; off: every packet
        #[arg(value_name = "1/N|p=P|first/TIME|off")]
        rate: String,
    },

    /// Change the direction of a capture that began with both
    Direction {
        /// Packets to capture: received, sent or both
        #[arg(value_name = "in|out|both")]
        direction: String,
    },

    /// Change when packets are delivered
    Delivery {
        /// When packets are delivered
        #[arg(value_enum)]
        delivery: Delivery,
    },

    /// Change the size of a batch
    MinBytes {
        /// Bytes, or with k, M or G
        #[arg(value_name = "SIZE", value_parser = units::size)]
        size: u64,
    },

    /// Change the longest wait after the first packet of a batch
    Timeout {
        /// A time with its unit, such as 10ms
        #[arg(value_name = "TIME", value_parser = units::nonzero_time)]
        time: Duration,
    },

    /// Change how long the reader may be stalled without loss
    Stall {
        /// A time with its unit, such as 200ms
        #[arg(value_name = "TIME", value_parser = units::time)]
        time: Duration,
    },

    /// Capture from another interface, too
    Add {
        /// Network interface
        #[arg(value_name = "IF", value_parser = super::name())]
        interface: String,
    },

    /// Stop capturing from an interface
    Remove {
        /// Network interface
        #[arg(value_name = "IF", value_parser = super::name())]
        interface: String,
    },

    /// Change the mode of an interface, or of all: set [dev IF] mode mirror|drop
    Set {
        /// mirror: the stack still receives the packets; drop: it does not
        #[arg(value_name = "[dev IF] mode mirror|drop", required = true, num_args = 1..=4)]
        words: Vec<String>,
    },

    /// Start the next file of a rotation
    Rotate,

    /// Trigger the flight recorder
    Trigger,

    /// End a capture: complete its files and print its summary
    Stop,

    /// Show or set which packets an interface stamps in hardware
    ///
    /// Affects the interface, not a capture, and stays until somebody changes it. Without on or off it is shown.
    Hwtstamp {
        /// Network interface
        #[arg(value_name = "IF", value_parser = super::name())]
        interface: String,

        /// on: all received packets; off: no received packet. What is stamped of sent packets stays
        #[arg(value_enum)]
        state: Option<OnOff>,
    },

    /// Start 'tapline capture' in the background, and return when it captures
    Start {
        /// Name of the new capture
        #[arg(value_name = "NAME")]
        start_name: String,

        /// Flags of 'tapline capture'
        #[arg(value_name = "FLAGS", last = true, required = true)]
        flags: Vec<String>,
    },
}
