//! Flags of `tapline count`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use tapline::count::{Direction, Ingress, Key, Layer, XdpPlace};

use crate::{metrics, units};

/// Packets and bytes by filter, counted in the kernel: nothing is copied
///
/// A class is one argument: a name, = and a filter as in pcap-filter(7), quoted if it has blanks:
/// 'web=tcp port 80'. A filter alone is its own name, and a name with = and nothing behind counts
/// all. Without any class, all packets are counted. A packet counts in each class that it belongs to.
#[derive(Args, Debug)]
#[command(after_help = super::UNITS)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CountArgs {
    /// Interface to count on; may be given more than once
    #[arg(short, long, value_name = "IF", required = true)]
    pub interface: Vec<String>,

    /// Time from one line of each class to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::nonzero_time)]
    pub interval: Duration,

    /// End after this time
    #[arg(long, value_name = "TIME", value_parser = units::nonzero_time)]
    pub duration: Option<Duration>,

    /// Which way the packets go, as the interface sees it
    #[arg(long, value_name = "in|out|both", default_value = "both", value_parser = direction)]
    pub direction: Direction,

    /// Split each class by what its packets have in common: src, dst, sport, dport, proto, vlan,
    /// ethertype, smac or dmac
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub by: Option<Key>,

    /// Groups told of each class, those with most packets; the others are summed
    #[arg(long, value_name = "N", requires = "by", default_value = "10")]
    pub top: usize,

    /// Groups that the kernel has room for, of all classes together; each takes about 100 bytes of memory,
    /// and 16 for each processor
    #[arg(long, value_name = "N", requires = "by", default_value = "4096")]
    pub groups: NonZeroU32,

    /// Which bytes count: of the frame (l2), with its check sequence and filled up to 64 (l2+fcs), or
    /// with preamble and gap too (l1)
    #[arg(long, value_name = "l2|l2+fcs|l1", default_value = "l2", value_parser = layer)]
    pub layer: LayerChoice,

    /// Where packets that come in are counted: xdp (in the driver), tc, xdp-generic, or auto for the
    /// first of xdp and tc that can be had
    ///
    /// xdp-generic is XDP in the stack, with any driver: a super-packet, which the kernel joined from
    /// several of the wire (GRO) or has yet to split (GSO), counts as one packet there. Everywhere else it
    /// counts as the packets it is on the wire.
    ///
    /// While XDP runs in the driver of a veth, packets between the two ends are no longer joined: TCP between
    /// hosts of one machine becomes slower. tc leaves that as it is.
    #[arg(long, value_name = "PLACE", default_value = "auto", value_parser = ingress)]
    pub ingress: Ingress,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics, on the loopback if no ADDR is
    /// given
    ///
    /// With --by, of each class also the --top groups with most packets, each with its key as a label,
    /// and those called (other) and (none) as with --csv.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics::address)]
    pub metrics: Option<SocketAddr>,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,

    /// Comma-separated values instead of text, with a line that names them
    ///
    /// at_ns: when the interval ended, nanoseconds since 1970; span_ns: how long it was; class; with
    /// --by the key; packets; bytes. With --by the line of a class itself has an empty key, and in its
    /// place (more) stands for the groups beyond --top, (other) for those that --groups had no room for,
    /// (none) for packets that have no such key. The summary goes to standard error.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Only what was counted in each interval: no table, no summary. As everywhere, --json keeps its
    /// events and its summary
    #[arg(short, long)]
    pub quiet: bool,

    /// Print numbers, not names; tapline always does
    #[arg(short)]
    pub numeric: bool,

    /// What to count, a class each: 'web=tcp port 80' [default: all=]
    #[arg(value_name = "NAME=FILTER")]
    pub classes: Vec<ClassArg>,
}

/// A class, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassArg {
    pub name: String,
    /// `None` counts all.
    pub filter: Option<String>,
}

impl FromStr for ClassArg {
    type Err = &'static str;

    /// What stands before the first `=` is a name if it looks like one. Filters compare with `=`
    /// too, but hardly ever without a blank or a bracket before it, and `==` is no beginning of one.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let filter = |text: &str| {
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        match text.split_once('=') {
            Some(("", _)) => Err("the name before = is missing"),
            Some((name, rest)) if is_name(name) && !rest.starts_with('=') => Ok(Self {
                name: name.to_owned(),
                filter: filter(rest),
            }),
            _ => {
                let expression = filter(text).ok_or("use NAME=FILTER, or a filter alone")?;
                let words: Vec<&str> = expression.split_whitespace().collect();
                Ok(Self {
                    name: words.join(" "),
                    filter: Some(expression),
                })
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || "_-.:/@#%".contains(c))
}

/// [`Layer`], with the name it was asked for by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerChoice {
    pub layer: Layer,
    pub name: &'static str,
}

fn layer(text: &str) -> Result<LayerChoice, String> {
    let (layer, name) = match text {
        "l2" => (Layer::Ethernet, "l2"),
        "l2+fcs" => (Layer::EthernetFcs, "l2+fcs"),
        "l1" => (Layer::Wire, "l1"),
        _ => return Err("use l2, l2+fcs or l1".into()),
    };
    Ok(LayerChoice { layer, name })
}

fn direction(text: &str) -> Result<Direction, String> {
    match text {
        "in" => Ok(Direction::In),
        "out" => Ok(Direction::Out),
        "both" => Ok(Direction::Both),
        _ => Err("use in, out or both".into()),
    }
}

fn key(text: &str) -> Result<Key, String> {
    let mut keys = Key::ALL.into_iter();
    keys.find(|key| key.name() == text).ok_or_else(|| {
        let names = Key::ALL.map(Key::name);
        format!("use {}", names.join(", "))
    })
}

fn ingress(text: &str) -> Result<Ingress, String> {
    match text {
        "auto" => Ok(Ingress::Auto),
        // The longer word is that of the summaries.
        "xdp" | "xdp-native" => Ok(Ingress::Xdp(XdpPlace::Native)),
        "xdp-generic" => Ok(Ingress::Xdp(XdpPlace::Generic)),
        "tc" => Ok(Ingress::Tc),
        _ => Err("use auto, xdp, tc or xdp-generic".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_a_name_and_a_filter() {
        for (text, name, filter) in [
            ("web=tcp port 80", "web", Some("tcp port 80")),
            ("all=", "all", None),
            ("all= ", "all", None),
            ("a-b.c/1:2@3#4%=udp", "a-b.c/1:2@3#4%", Some("udp")),
            ("größe=greater 1000", "größe", Some("greater 1000")),
            ("syn=tcp[13]&2=2", "syn", Some("tcp[13]&2=2")),
            ("tcp port 80", "tcp port 80", Some("tcp port 80")),
            (" udp ", "udp", Some("udp")),
            ("udp\n port  53", "udp port 53", Some("udp\n port  53")),
            ("ip[8]=1", "ip[8]=1", Some("ip[8]=1")),
            ("len = 64", "len = 64", Some("len = 64")),
            ("len==64", "len==64", Some("len==64")),
            ("len>=64", "len>=64", Some("len>=64")),
            ("x=len=64", "x", Some("len=64")),
        ] {
            let expected = ClassArg {
                name: name.into(),
                filter: filter.map(str::to_owned),
            };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for wrong in ["", " ", "=", "=tcp", "==tcp"] {
            assert!(wrong.parse::<ClassArg>().is_err(), "{wrong}");
        }
    }
}
