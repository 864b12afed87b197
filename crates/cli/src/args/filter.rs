//! Flags of `tapline filter`.

use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use filter::{At, LinkType};

/// Show what becomes of a filter: how it is read, its programs, and what decides on a packet
///
/// FILTER is an expression as in pcap-filter(7). Without --emit and --packet, the filter as it was
/// read and its program are shown. Warnings go to standard error.
#[derive(Args, Debug)]
pub struct FilterArgs {
    /// Only this
    #[arg(long, value_enum, value_name = "FORM")]
    pub emit: Option<Emit>,

    /// What the packets begin with: a name such as EN10MB, RAW, LINUX_SLL2, or its number
    #[arg(short = 'y', long, value_name = "TYPE", default_value = "EN10MB", value_parser = link_type)]
    pub link_type: LinkType,

    /// Where the filter is to run, which decides what is known beside the bytes [default: xdp with
    /// --emit ebpf, else file]
    #[arg(long, value_enum, value_name = "PLACE")]
    pub at: Option<Place>,

    /// Mask of the network, for 'ip broadcast'
    #[arg(long, value_name = "MASK")]
    pub netmask: Option<Ipv4Addr>,

    /// Bytes that the program keeps of a packet; 0 keeps as many as the default
    #[arg(short, long, value_name = "BYTES", default_value_t = ring::DEFAULT_SNAPLEN)]
    pub snaplen: u32,

    /// Say of each packet of this capture file whether it passes and which term decided; with - of
    /// standard input. What the packets begin with the file says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "link_type"])]
    pub packet: Option<PathBuf>,

    /// Only the packet of this number, from 1 on, with what became of each term
    #[arg(long, value_name = "N", requires = "packet", conflicts_with = "count")]
    pub number: Option<NonZeroU64>,

    /// End after N packets
    #[arg(short, long, value_name = "N", requires = "packet")]
    pub count: Option<NonZeroU64>,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,

    /// Instead of a filter on the command line: a file with it; with - standard input. Lines are
    /// joined, # begins a comment
    #[arg(short = 'F', long, value_name = "FILE", conflicts_with = "filter")]
    pub filter_file: Option<PathBuf>,

    /// Filter expression; its words are joined by blanks
    #[arg(value_name = "FILTER", required_unless_present = "filter_file")]
    pub filter: Vec<String>,
}

impl FilterArgs {
    /// Where the filter is to run.
    pub fn place(&self) -> Place {
        let usual = match self.emit {
            Some(Emit::Ebpf) => Place::Xdp,
            _ => Place::File,
        };
        self.at.unwrap_or(usual)
    }
}

/// A form in which a filter can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The terms as they were understood, with what was left out
    Tree,
    /// What is asked of a packet and where each answer leads
    Graph,
    /// The graph for Graphviz
    Dot,
    /// Classic BPF, as 'tcpdump -d' prints it
    Classic,
    /// Classic BPF in numbers, as 'tcpdump -ddd' prints it and --bpf takes it
    ClassicDecimal,
    /// Typed eBPF instructions, for --at xdp, tc or tc-egress
    Ebpf,
    /// Code of this machine's processor
    Native,
}

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// Over packets of a file
    File,
    /// On a packet socket, as in 'tapline capture'
    Socket,
    /// In an XDP program
    Xdp,
    /// In a tc program on the way in
    Tc,
    /// In a tc program on the way out
    TcEgress,
}

impl From<Place> for At {
    fn from(place: Place) -> Self {
        match place {
            Place::File => Self::File,
            Place::Socket => Self::Socket,
            Place::Xdp => Self::Xdp,
            Place::Tc => Self::TcIngress,
            Place::TcEgress => Self::TcEgress,
        }
    }
}

impl fmt::Display for Place {
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
        Ok(number) => LinkType::from_number(number),
        Err(_) if text.eq_ignore_ascii_case("ethernet") => Some(LinkType::Ethernet),
        Err(_) => LinkType::from_name(text),
    };
    known.ok_or_else(|| format!("known are {}", names()))
}

/// The names of all link types, by what comes first in captures.
fn names() -> String {
    (0..=u32::from(u16::MAX))
        .filter_map(LinkType::from_number)
        .map(LinkType::name)
        .collect::<Vec<_>>()
        .join(", ")
}
