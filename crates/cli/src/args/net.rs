//! Flags of the commands that configure the network.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use tapline::net::Family;

use super::{SandboxArgs, UserArgs};
use crate::metrics;

/// Flags of every object command. Flags may stand before the object, and before or after its words.
#[derive(Args, Debug)]
pub struct NetArgs {
    /// Work in this network namespace of 'ip netns'
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "Selection")]
    pub netns: Option<String>,

    #[command(flatten)]
    pub show: ShowArgs,

    /// Verb and arguments, with the syntax of ip(8) and bridge(8)
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    /// `--compressvlans` of [`VlanArgs`].
    #[arg(skip)]
    pub compress_vlans: bool,

    /// The line of the batch file.
    #[arg(skip)]
    pub line: Option<usize>,
}

/// Which objects are printed, and how.
#[derive(Args, Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct ShowArgs {
    /// Print more details
    #[arg(short, long, help_heading = "Output")]
    pub details: bool,

    /// Print counters; twice: also error counters
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output")]
    pub statistics: u8,

    /// Print one short line per link, address or neighbour
    #[arg(short, long, help_heading = "Output")]
    pub brief: bool,

    /// Print each object on one line, with \ instead of line ends
    #[arg(short, long, help_heading = "Output")]
    pub oneline: bool,

    /// Select IPv4
    #[arg(short = '4', conflicts_with = "v6", help_heading = "Selection")]
    pub v4: bool,

    /// Select IPv6
    #[arg(short = '6', help_heading = "Selection")]
    pub v6: bool,

    /// Print JSON Lines with the keys of 'ip -json' and 'bridge -json'
    #[arg(short, long, help_heading = "Output")]
    pub json: bool,

    /// Print indented JSON
    #[arg(short, long, help_heading = "Output")]
    pub pretty: bool,

    /// Color addresses and states
    #[arg(
        short, long, value_name = "WHEN", num_args = 0..=1, require_equals = true,
        default_value = "never", default_missing_value = "always", help_heading = "Output"
    )]
    pub color: Color,
}

/// When output is colored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Always,
    /// On a terminal
    Auto,
    #[default]
    Never,
}

impl NetArgs {
    pub fn family(&self) -> Option<Family> {
        self.show.family()
    }
}

impl ShowArgs {
    pub fn family(&self) -> Option<Family> {
        match (self.v4, self.v6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        }
    }

    /// The flags of a batch, extended by those of a line. A family in the line replaces that of the batch.
    pub fn with_line(self, line: Self) -> Self {
        let has_family = line.family().is_some();
        Self {
            details: self.details || line.details,
            statistics: self.statistics.max(line.statistics),
            brief: self.brief || line.brief,
            oneline: self.oneline || line.oneline,
            v4: if has_family { line.v4 } else { self.v4 },
            v6: if has_family { line.v6 } else { self.v6 },
            json: self.json || line.json,
            pretty: self.pretty || line.pretty,
            color: if line.color == Color::Never {
                self.color
            } else {
                line.color
            },
        }
    }
}

/// Flags of VLANs.
#[derive(Args, Debug)]
#[command(after_help = VLAN_WORDS)]
pub struct VlanArgs {
    #[command(flatten)]
    net: NetArgs,

    /// Print consecutive VLANs as a range
    #[arg(long, help_heading = "Output")]
    compressvlans: bool,
}

impl From<VlanArgs> for NetArgs {
    fn from(args: VlanArgs) -> Self {
        Self {
            compress_vlans: args.compressvlans,
            ..args.net
        }
    }
}

const VLAN_WORDS: &str = "\
Syntax:
  add | del dev PORT vid VLAN[-VLAN] [pvid] [untagged] [self] [master]
  set dev PORT vid VLAN[-VLAN] [state STATE] [mcast_router 0|1|2]
  show [dev PORT] [vid VLAN[-VLAN]]

-d prints states, -s prints counters.";

/// The syntax of multicast groups.
pub const MDB_WORDS: &str = "\
Syntax:
  add | replace | del dev BRIDGE port PORT grp GROUP [src SOURCE] [permanent | temp] [vid VLAN]
      [filter_mode include | exclude] [source_list SOURCE,SOURCE…] [proto PROTOCOL]
  show [dev BRIDGE] [port PORT] [grp GROUP] [vid VLAN]

-d prints filter modes, source lists and protocols, -s prints timers.";

/// Run many commands from a file and report the result of each
///
/// Each line of FILE is a command without 'tapline', e.g. 'link add br0 type bridge', optionally after -4 or -6. The
/// syntax is that of 'ip -batch': words may be quoted, # starts a comment, and \ at the end of a line continues
/// it. A line that prints objects sees the changes of all lines before it.
#[derive(Args, Debug)]
pub struct BatchArgs {
    /// Work in this network namespace of 'ip netns'
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "Selection")]
    pub netns: Option<String>,

    /// Continue after a line that fails
    #[arg(long, conflicts_with = "undo", help_heading = "Errors")]
    pub force: bool,

    /// Undo the changes if a line fails, except what the kernel removed as a side effect, such as the routes of a link
    /// that was set down
    #[arg(long, help_heading = "Errors")]
    pub undo: bool,

    #[command(flatten)]
    pub show: ShowArgs,

    /// File with the commands; - is standard input
    pub file: PathBuf,
}

/// Print existing objects, and then changes as they happen
#[derive(Args, Debug)]
pub struct MonitorArgs {
    /// Work in this network namespace of 'ip netns'
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "Selection")]
    pub netns: Option<String>,

    /// Stop after N lines
    #[arg(short, long, value_name = "N", help_heading = "Output")]
    pub count: Option<u64>,

    /// Print changes only, without the existing objects
    #[arg(long, help_heading = "Selection")]
    pub changes: bool,

    /// Print details, like 'ip -d monitor'
    #[arg(short, long, help_heading = "Output")]
    pub details: bool,

    /// Print JSON Lines
    #[arg(short, long, help_heading = "Output")]
    pub json: bool,

    /// Serve the number of changes to Prometheus at http://ADDR:PORT/metrics [default ADDR: loopback]
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics::address, help_heading = "Output")]
    pub metrics: Option<SocketAddr>,

    /// Objects to follow: link, address, route … vlan, mdb, netns [default: all]
    ///
    /// 'file FILE' behind them prints recorded messages instead, as rtmon(8) writes them.
    #[arg(value_name = "OBJECT")]
    pub objects: Vec<String>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

/// Decode netlink messages byte by byte
///
/// FILE holds the messages as hexadecimal digits, as strace(1) and nlmon captures print them. White space,
/// 0x and \x may separate bytes.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// Print JSON Lines
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// File with the messages; - is standard input
    pub file: PathBuf,

    #[command(flatten)]
    pub sandbox: SandboxArgs,
}
