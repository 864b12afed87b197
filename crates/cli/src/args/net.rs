//! Flags of the commands that configure the stack.

use std::path::PathBuf;

use clap::Args;
use netlink::Family;

/// Flags that each of them has; words may stand before and after, and the flags before the command too.
#[derive(Args, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct NetArgs {
    /// In this network namespace, as 'ip netns' names it
    #[arg(short = 'n', long, value_name = "NAME")]
    pub netns: Option<String>,

    /// More of each object
    #[arg(short, long)]
    pub details: bool,

    /// Counters, too
    #[arg(short, long)]
    pub statistics: bool,

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

    /// What to do, and with what, in the words of ip(8) and bridge(8)
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

impl NetArgs {
    /// The family that is asked for.
    pub fn family(&self) -> Option<Family> {
        family(self.v4, self.v6)
    }
}

fn family(v4: bool, v6: bool) -> Option<Family> {
    match (v4, v6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
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
/// Words may be quoted, # begins a comment, and a line that ends with \ goes on in the next.
#[derive(Args, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct BatchArgs {
    /// In this network namespace, as 'ip netns' names it
    #[arg(short = 'n', long, value_name = "NAME")]
    pub netns: Option<String>,

    /// Go on after a line that fails
    #[arg(long, conflicts_with = "undo")]
    pub force: bool,

    /// Take back what was done if a line fails
    #[arg(long)]
    pub undo: bool,

    /// IPv4 where a line does not say
    #[arg(short = '4', conflicts_with = "v6")]
    pub v4: bool,

    /// IPv6 where a line does not say
    #[arg(short = '6')]
    pub v6: bool,

    /// JSON Lines: the outcome of each line that fails, and a summary
    #[arg(short, long)]
    pub json: bool,

    /// The commands; with - standard input
    pub file: PathBuf,
}

impl BatchArgs {
    /// The family of what does not say.
    pub fn family(&self) -> Option<Family> {
        family(self.v4, self.v6)
    }
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
