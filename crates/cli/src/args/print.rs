//! Flags of printed packets, shared by `capture` and `read`: tcpdump's letters.

use clap::{ArgAction, Args, ValueEnum};

/// How packets are printed.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct PrintArgs {
    /// Print more: IP header, bad checksums; -vv: all DNS records
    ///
    /// -v prints TTL, id, flags and length of the IP header, and marks wrong checksums. -vv also prints the records of
    /// all sections of DNS with names and TTLs, and more options of DHCP. No effect with --json.
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output format")]
    pub verbose: u8,

    /// Print the link-layer header
    #[arg(short = 'e', long, help_heading = "Output format")]
    pub link_header: bool,

    /// Print the bytes in hexadecimal; -xx: with the link-layer header
    #[arg(short = 'x', action = ArgAction::Count, help_heading = "Output format")]
    pub hex: u8,

    /// Print the bytes in hexadecimal and ASCII; -XX: with the link-layer header
    #[arg(short = 'X', action = ArgAction::Count, help_heading = "Output format")]
    pub hex_ascii: u8,

    /// Print the bytes as text
    ///
    /// Unprintable characters are dots, and every line starts with a tab.
    #[arg(short = 'A', action = ArgAction::Count, hide_short_help = true, help_heading = "Output format")]
    pub ascii: u8,

    /// Time: -t none, -tt Unix, -ttt delta, -tttt date, -ttttt since first
    ///
    /// -t prints no time, -tt seconds since 1970, -ttt the time since the previous packet, -tttt date and time, -ttttt the
    /// time since the first packet.
    #[arg(short = 't', action = ArgAction::Count, help_heading = "Output format")]
    pub time: u8,

    /// Print the number of each packet
    #[arg(short = '#', long, help_heading = "Output format")]
    pub number: bool,

    /// Print addresses, protocol and length only: tcpdump's -q
    #[arg(long, help_heading = "Output format")]
    pub brief: bool,

    /// Let another program decode and print the packets: tshark
    ///
    /// tapline pipes the packets into it as pcapng, and passes on -v (all layers), -x and -t. tshark must be installed.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "PROGRAM",
        conflicts_with_all = ["write", "json", "ascii", "brief", "number", "link_header"],
        help_heading = "Output format"
    )]
    pub decode: Option<Decoder>,

    /// Print numbers, not names; always on, accepted for compatibility with tcpdump
    #[arg(short, action = ArgAction::Count, hide_short_help = true, help_heading = "Output format")]
    pub numeric: u8,

    /// Print each line immediately; always on: lines are buffered only while more packets are waiting
    #[arg(short = 'l', hide_short_help = true, help_heading = "Output format")]
    pub line_buffered: bool,

    /// Print absolute TCP sequence numbers; always on
    #[arg(short = 'S', hide_short_help = true, help_heading = "Output format")]
    pub absolute_sequence: bool,
}

/// A program that prints packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decoder {
    /// Wireshark's tshark
    Tshark,
}
