//! Flags of the commands that configure the stack.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use netlink::Family;

/// Flags that each of them has; words may stand before and after, and the flags before the command too.
#[derive(Args, Debug)]
pub struct NetArgs {
    /// In this network namespace, as 'ip netns' names it
    #[arg(short = 'n', long, value_name = "NAME")]
    pub netns: Option<String>,

    #[command(flatten)]
    pub show: ShowArgs,

    /// What to do, and with what, in the words of ip(8) and bridge(8)
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    /// The line of the batch it stands in.
    #[arg(skip)]
    pub line: Option<usize>,
}

/// What is shown, and how.
#[derive(Args, Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct ShowArgs {
    /// More of each object
    #[arg(short, long)]
    pub details: bool,

    /// Counters, too; twice: those of errors
    #[arg(short, long, action = ArgAction::Count)]
    pub statistics: u8,

    /// One short line for each; links and addresses
    #[arg(short, long)]
    pub brief: bool,

    /// One line for each: \ stands where a line would end
    #[arg(short, long)]
    pub oneline: bool,

    /// IPv4 alone
    #[arg(short = '4', conflicts_with = "v6")]
    pub v4: bool,

    /// IPv6 alone
    #[arg(short = '6')]
    pub v6: bool,

    /// JSON Lines, with the keys of 'ip -json' and 'bridge -json'
    #[arg(short, long)]
    pub json: bool,

    /// JSON in several lines for each object
    #[arg(short, long)]
    pub pretty: bool,

    /// Names and addresses in colours
    #[arg(
        short, long, value_name = "WHEN", num_args = 0..=1, require_equals = true,
        default_value = "never", default_missing_value = "always"
    )]
    pub color: Color,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Always,
    /// On a terminal
    Auto,
    #[default]
    Never,
}

impl NetArgs {
    /// The family that is asked for.
    pub fn family(&self) -> Option<Family> {
        self.show.family()
    }
}

impl ShowArgs {
    /// The family that is asked for.
    pub fn family(&self) -> Option<Family> {
        match (self.v4, self.v6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        }
    }

    /// With the flags of a line of a batch, which has its own family if it says one.
    pub fn of_line(self, line: Self) -> Self {
        let says_family = line.v4 || line.v6;
        Self {
            details: self.details || line.details,
            statistics: self.statistics.max(line.statistics),
            brief: self.brief || line.brief,
            oneline: self.oneline || line.oneline,
            v4: if says_family { line.v4 } else { self.v4 },
            v6: if says_family { line.v6 } else { self.v6 },
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
    pub net: NetArgs,

    /// VLANs in a row as one
    #[arg(long)]
    pub compressvlans: bool,
}

const VLAN_WORDS: &str = "\
Words:
  add | del dev PORT vid VLAN[-VLAN] [pvid] [untagged] [self] [master]
  set dev PORT vid VLAN[-VLAN] [state STATE] [mcast_router 0|1|2]
  show [dev PORT] [vid VLAN[-VLAN]]

-d shows states, -s counters.";

/// How multicast groups are typed.
pub const MDB_WORDS: &str = "\
Words:
  add | replace | del dev BRIDGE port PORT grp GROUP [src SENDER] [permanent | temp] [vid VLAN]
      [filter_mode include | exclude] [source_list SENDER,SENDER…] [proto PROTOCOL]
  show [dev BRIDGE] [port PORT] [grp GROUP] [vid VLAN]

-d shows modes, lists of senders and protocols, -s timers.";

/// Carry out many commands, each with an answer of its own
///
/// Each line of FILE is a command without 'tapline': 'link add br0 type bridge', perhaps with -4 or -6 before it.
/// Words may be quoted, # begins a comment, and a line that ends with \ goes on in the next. What a line asks
/// for is shown when all lines before it have been carried out.
#[derive(Args, Debug)]
pub struct BatchArgs {
    /// In this network namespace, as 'ip netns' names it
    #[arg(short = 'n', long, value_name = "NAME")]
    pub netns: Option<String>,

    /// Go on after a line that fails
    #[arg(long, conflicts_with = "undo")]
    pub force: bool,

    /// Take back what was done if a line fails; not what the kernel took away with it, as the routes by a
    /// link that was set down
    #[arg(long)]
    pub undo: bool,

    #[command(flatten)]
    pub show: ShowArgs,

    /// The commands; with - standard input
    pub file: PathBuf,
}

/// Tell of changes as they happen, after what is there
#[derive(Args, Debug)]
pub struct MonitorArgs {
    /// In this network namespace, as 'ip netns' names it
    #[arg(short = 'n', long, value_name = "NAME")]
    pub netns: Option<String>,

    /// End after this many changes
    #[arg(short, long, value_name = "N")]
    pub count: Option<u64>,

    /// Changes alone, without what is there at the beginning
    #[arg(long)]
    pub changes: bool,

    /// JSON Lines
    #[arg(short, long)]
    pub json: bool,

    /// What to follow: link, address, route … vlan, mdb, netns [default: all]
    #[arg(value_name = "OBJECT")]
    pub objects: Vec<String>,
}

/// Tell what a netlink message says, byte by byte
///
/// FILE holds the messages in hexadecimal digits, as strace(1) and nlmon captures show them; blanks,
/// line ends, 0x and \x may stand between.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// JSON Lines
    #[arg(long)]
    pub json: bool,

    /// The messages; with - standard input
    pub file: PathBuf,
}
