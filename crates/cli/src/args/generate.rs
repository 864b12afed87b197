//! Flags of the packet generator of `tapline send`.

use std::net::IpAddr;
use std::num::NonZeroU64;

use clap::{ArgGroup, Args};
use tapline::send::{Addresses, Ports, Sizes};

/// What to generate.
#[derive(Args, Debug)]
#[command(next_help_heading = "Generator", group = ArgGroup::new("kind").conflicts_with("read"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct GeneratorArgs {
    /// Generate UDP packets (or --tcp-syn, --icmp, --arp, --raw; see --help)
    #[arg(long, groups = ["input", "kind"])]
    pub udp: bool,

    /// Generate TCP SYN packets
    #[arg(hide_short_help = true, long, groups = ["input", "kind"])]
    pub tcp_syn: bool,

    /// Generate echo requests, of ICMP or ICMPv6
    #[arg(hide_short_help = true, long, groups = ["input", "kind"])]
    pub icmp: bool,

    /// Generate ARP requests for --dst
    #[arg(hide_short_help = true, long, groups = ["input", "kind"])]
    pub arp: bool,

    /// Send the frame HEX, from the Ethernet header on
    #[arg(hide_short_help = true, long, value_name = "HEX", value_parser = hex, groups = ["input", "kind"])]
    pub raw: Option<Frame>,

    /// Source addresses. Default: that of the interface
    #[arg(long, value_name = "ADDRESSES", requires = "kind")]
    pub src: Option<Addresses>,

    /// Destination addresses, IPv4 or IPv6
    #[arg(long, value_name = "ADDRESSES", requires = "kind")]
    pub dst: Option<Addresses>,

    /// Source ports. Default: 49152
    #[arg(hide_short_help = true, long, value_name = "PORTS", requires = "kind")]
    pub sport: Option<Ports>,

    /// Destination ports. Default: 9, which discards
    #[arg(long, value_name = "PORTS", requires = "kind")]
    pub dport: Option<Ports>,

    /// Bytes of each frame without FCS, or imix. Default: 60, or the headers
    ///
    /// Counts from the Ethernet header to the end of the payload, with tags and tunnel headers. imix repeats seven frames
    /// of 60 bytes, four of 590 and one of 1514: with FCS 64, 594 and 1518. Its frames are never shorter than their
    /// headers.
    #[arg(long, value_name = "N|N-M|imix", requires = "kind")]
    pub size: Option<Sizes>,

    /// Number of flows: combinations of ports and addresses. Default: all
    ///
    /// The source port takes all its values before the destination port takes its second one; then come source and
    /// destination address. With random values each packet is a flow of its own, unless this limits them.
    #[arg(hide_short_help = true, long, value_name = "N", requires = "kind")]
    pub flows: Option<NonZeroU64>,

    /// Determines random values: the same seed gives the same packets
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        default_value = "0",
        requires = "kind"
    )]
    pub seed: u64,

    /// Put number and send time into each packet, for 'count --by stamp'
    ///
    /// ID distinguishes streams; default 0. The stamp is the last 18 bytes of the packet: the magic d5b17a9e, the stream (2 bytes), the sequence number (4) and
    /// the time (8), nanoseconds since 1970, all big-endian.
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "0", requires = "kind")]
    pub stamp: Option<u16>,

    /// Put each packet into a VXLAN tunnel with this network identifier
    ///
    /// --src-mac, --dst-mac and --vlan then apply to the outer frame.
    #[arg(hide_short_help = true, long, value_name = "VNI", value_parser = clap::value_parser!(u32).range(0..1 << 24), requires_all = ["kind", "outer_src", "outer_dst", "src"])]
    pub vxlan: Option<u32>,

    /// Source address of the tunnel
    #[arg(
        hide_short_help = true,
        long,
        value_name = "ADDRESS",
        requires = "vxlan"
    )]
    pub outer_src: Option<IpAddr>,

    /// Destination address of the tunnel
    #[arg(
        hide_short_help = true,
        long,
        value_name = "ADDRESS",
        requires = "vxlan"
    )]
    pub outer_dst: Option<IpAddr>,
}

/// A frame given in hexadecimal digits.
#[derive(Clone, Debug)]
pub struct Frame(pub Vec<u8>);

/// The longest frame.
const MAX_FRAME_BYTES: usize = 65_549;

/// Parses hexadecimal digits, two for each byte; blanks, colons and dashes may separate them.
fn hex(text: &str) -> Result<Frame, String> {
    let separators = [' ', ':', '-', '\n', '\t'];
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let digits: Option<Vec<u8>> = digits
        .chars()
        .filter(|digit| !separators.contains(digit))
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let wrong = || "use two hexadecimal digits for each byte".to_owned();
    let digits = digits.ok_or_else(wrong)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(wrong());
    }
    if pairs.len() > MAX_FRAME_BYTES {
        return Err(format!("a frame has at most {MAX_FRAME_BYTES} bytes"));
    }
    let bytes = pairs.iter().map(|[high, low]| high << 4 | low);
    Ok(Frame(bytes.collect()))
}
