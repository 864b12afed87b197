//! Arguments of `tapline filter`.

use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tapline::filter::{DEFAULT_SNAPLEN, FilterTarget, LinkType};

use super::SandboxArgs;

/// Show how a filter is parsed and compiled, and which term decides on a packet
///
/// FILTER is an expression as in pcap-filter(7). Without --emit and --packet, prints the syntax tree and
/// the program. Warnings go to standard error.
#[derive(Args, Debug)]
pub struct FilterArgs {
    /// Print only this form of the filter
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    pub emit: Option<Emit>,

    /// Link type of the packets: a name such as EN10MB, RAW or LINUX_SLL2, or a number
    #[arg(short = 'y', long, value_name = "TYPE", default_value = "EN10MB", value_parser = link_type, help_heading = "Compilation")]
    pub link_type: LinkType,

    /// Where the filter runs, which decides the available metadata [default: xdp with --emit ebpf,
    /// otherwise file]
    #[arg(long, value_enum, value_name = "TARGET", help_heading = "Compilation")]
    pub at: Option<FilterTargetArg>,

    /// Netmask, for 'ip broadcast'
    #[arg(long, value_name = "MASK", help_heading = "Compilation")]
    pub netmask: Option<Ipv4Addr>,

    /// Bytes to keep of a packet that matches; 0 is the default
    #[arg(short, long, value_name = "BYTES", default_value_t = DEFAULT_SNAPLEN, help_heading = "Compilation")]
    pub snaplen: u32,

    /// Apply the filter to this capture file (- is standard input): print for each packet whether it
    /// matches, and which term decided. The file has the link type
    #[arg(long, value_name = "FILE", help_heading = "Input", conflicts_with_all = ["emit", "link_type"])]
    pub packet: Option<PathBuf>,

    /// Only packet N, counted from 1, with the result of every term
    #[arg(
        long,
        value_name = "N",
        help_heading = "Input",
        requires = "packet",
        conflicts_with = "count"
    )]
    pub number: Option<NonZeroU64>,

    /// Stop after N packets
    #[arg(
        short,
        long,
        value_name = "N",
        help_heading = "Input",
        requires = "packet"
    )]
    pub count: Option<NonZeroU64>,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Read the filter from this file (- is standard input). Lines are joined; # starts a comment
    #[arg(
        short = 'F',
        long,
        value_name = "FILE",
        help_heading = "Input",
        conflicts_with = "filter"
    )]
    pub filter_file: Option<PathBuf>,

    /// Filter expression; several arguments are joined by blanks
    #[arg(value_name = "FILTER", required_unless_present = "filter_file")]
    pub filter: Vec<String>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,
}

impl FilterArgs {
    /// Where the filter runs.
    pub fn target(&self) -> FilterTargetArg {
        let default = match self.emit {
            Some(Emit::Ebpf) => FilterTargetArg::Xdp,
            _ => FilterTargetArg::File,
        };
        self.at.unwrap_or(default)
    }
}

/// A form of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The syntax tree, with inherited qualifiers
    Tree,
    /// The optimized control-flow graph
    Graph,
    /// The graph for Graphviz
    Dot,
    /// Classic BPF, as 'tcpdump -d' prints it
    Classic,
    /// Classic BPF as decimal numbers, as 'tcpdump -ddd' prints it and --bpf reads it
    ClassicDecimal,
    /// Typed eBPF instructions, for --at xdp, tc or tc-egress
    Ebpf,
    /// Machine code for this CPU
    Native,
}

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FilterTargetArg {
    /// On packets of a file
    File,
    /// On a packet socket, as in 'tapline capture'
    Socket,
    /// In an XDP program
    Xdp,
    /// In a tc ingress program
    Tc,
    /// In a tc egress program
    TcEgress,
}

impl From<FilterTargetArg> for FilterTarget {
    fn from(target: FilterTargetArg) -> Self {
        match target {
            FilterTargetArg::File => Self::File,
            FilterTargetArg::Socket => Self::Socket,
            FilterTargetArg::Xdp => Self::Xdp,
            FilterTargetArg::Tc => Self::TcIngress,
            FilterTargetArg::TcEgress => Self::TcEgress,
        }
    }
}

impl fmt::Display for FilterTargetArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::Socket => "socket",
            Self::Xdp => "xdp",
            Self::Tc => "tc",
            Self::TcEgress => "tc-egress",
        })
    }
}

fn link_type(text: &str) -> Result<LinkType, String> {
    let known = match text.parse() {
        Ok(number) => Some(LinkType::from_number(number)),
        Err(_) if text.eq_ignore_ascii_case("ethernet") => Some(LinkType::Ethernet),
        Err(_) => LinkType::from_name(text),
    };
    known.ok_or_else(|| {
        "unknown link type; give its number in capture files, or its name without DLT_, such as EN10MB or RAW"
            .to_owned()
    })
}
