//! Arguments of `tapline count`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use tapline::count::{CountDirection, CountLayer, GroupBy, IngressHook, XdpAttachMode};

use super::{SandboxArgs, UserArgs};
use crate::metrics;
use crate::values::units;

/// Count packets and bytes by filter in the kernel, without copying packets
///
/// A class is one argument: a name, = and a filter as in pcap-filter(7), quoted if it has blanks:
/// 'web=tcp port 80'. A filter without a name is named by its text; a name with an empty filter counts all
/// packets, as does a count without classes. A packet counts in each class that it matches.
#[derive(Args, Debug)]
#[command(after_long_help = super::UNITS)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CountArgs {
    /// Interface to count on; can be given more than once
    #[arg(
        short,
        long,
        value_name = "IF",
        value_parser = super::name(),
        required = true,
        help_heading = "Input"
    )]
    pub interface: Vec<String>,

    /// Print statistics at this interval
    #[arg(long, value_name = "TIME", help_heading = "Output", default_value = "1s", value_parser = units::nonzero_time)]
    pub interval: Duration,

    /// Stop after this time
    #[arg(long, value_name = "TIME", help_heading = "Input", value_parser = units::nonzero_time)]
    pub duration: Option<Duration>,

    /// Count received packets, sent packets, or both [default: both; with --by stamp: in]
    #[arg(long, value_name = "in|out|both", help_heading = "Filtering", value_parser = direction)]
    pub direction: Option<CountDirection>,

    /// Split each class into groups by src, dst, sport, dport, proto, vlan, ethertype, smac or dmac
    ///
    /// Or by stamp: received, lost, reordered and duplicated packets and the one-way delay of each stream that
    /// 'tapline send --stamp' sends, of received packets if --direction is not given. --interval prints the totals so far,
    /// without classes. Without the privileges to count in the kernel, packets with a stamp are captured.
    #[arg(long, value_name = "KEY", help_heading = "Filtering", value_parser = split)]
    pub by: Option<Split>,

    /// Print the N largest groups of each class, and the sum of the others
    #[arg(
        long,
        value_name = "N",
        help_heading = "Output",
        requires = "by",
        default_value = "10"
    )]
    pub top: usize,

    /// Maximum number of groups of all classes
    ///
    /// Each takes about 100 bytes of kernel memory, plus 16 bytes per CPU.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        help_heading = "Performance",
        requires = "by",
        default_value = "4096"
    )]
    pub groups: NonZeroU32,

    /// Bytes to count: the frame (l2), padded with FCS (l2+fcs), or as on the wire (l1)
    ///
    /// l2+fcs pads the frame to 64 bytes and adds the FCS; l1 also adds preamble and inter-frame gap.
    #[arg(long, value_name = "l2|l2+fcs|l1", help_heading = "Output", default_value = "l2", value_parser = layer)]
    pub layer: LayerChoice,

    /// Hook for received packets: xdp, tc, xdp-generic or auto
    ///
    /// xdp runs in the driver, xdp-generic in the stack. auto is xdp if available, otherwise tc.
    ///
    /// xdp-generic works with any driver, but a super-packet (GRO, GSO) counts as one packet there. The
    /// other hooks count the packets that it becomes on the wire.
    ///
    /// XDP in the driver of a veth disables GRO between its two ends: TCP between containers of a host
    /// becomes slower. tc does not affect it.
    #[arg(long, value_name = "HOOK", help_heading = "Performance", default_value = "auto", value_parser = ingress)]
    pub ingress: IngressHook,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics; on loopback without ADDR
    ///
    /// With --by, also serves the --top largest groups of each class, with the key as a label, and
    /// (other) and (none) as in --csv.
    #[arg(long, value_name = "[ADDR:]PORT", help_heading = "Output", value_parser = metrics::address)]
    pub metrics: Option<SocketAddr>,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output format")]
    pub json: bool,

    /// Print CSV with a header line instead of text
    ///
    /// Columns: at_ns (end of the interval, nanoseconds since 1970), span_ns (its length), class, with
    /// --by the key, packets, bytes. With --by the line of a class has an empty key; the key (more) is the
    /// sum of the groups beyond --top, (other) of those beyond --groups, (none) of packets without the
    /// key. The summary goes to standard error.
    #[arg(long, help_heading = "Output format", conflicts_with = "json")]
    pub csv: bool,

    /// Print only the intervals: no live table, no summary. --json still prints all events
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Print numbers, not names; always on
    #[arg(hide_short_help = true, short, help_heading = "Output format")]
    pub numeric: bool,

    /// Classes to count: 'web=tcp port 80' [default: all=]
    #[arg(value_name = "NAME=FILTER", help_heading = "Filtering")]
    pub classes: Vec<ClassArg>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

/// A class as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassArg {
    pub name: String,
    /// `None` counts all.
    pub filter: Option<String>,
}

impl FromStr for ClassArg {
    type Err = &'static str;

    /// The text before the first `=` is the name if it looks like one. Filters use `=` too, but hardly
    /// ever without a blank or a bracket before it, and `==` is always a comparison.
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

/// A [`CountLayer`] and its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerChoice {
    pub layer: CountLayer,
    pub name: &'static str,
}

fn layer(text: &str) -> Result<LayerChoice, String> {
    let (layer, name) = match text {
        "l2" => (CountLayer::Ethernet, "l2"),
        "l2+fcs" => (CountLayer::EthernetFcs, "l2+fcs"),
        "l1" => (CountLayer::Wire, "l1"),
        _ => return Err("use l2, l2+fcs or l1".into()),
    };
    Ok(LayerChoice { layer, name })
}

fn direction(text: &str) -> Result<CountDirection, String> {
    match text {
        "in" => Ok(CountDirection::In),
        "out" => Ok(CountDirection::Out),
        "both" => Ok(CountDirection::Both),
        _ => Err("use in, out or both".into()),
    }
}

/// By what packets are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// A field of the packet, in the kernel.
    Key(GroupBy),
    /// The stream in its stamp.
    Stamp,
}

impl CountArgs {
    /// The field that splits classes into groups.
    pub fn key(&self) -> Option<GroupBy> {
        match self.by {
            Some(Split::Key(key)) => Some(key),
            Some(Split::Stamp) | None => None,
        }
    }
}

fn split(text: &str) -> Result<Split, String> {
    if text == "stamp" {
        return Ok(Split::Stamp);
    }
    let mut keys = GroupBy::ALL.into_iter();
    let key = keys.find(|key| key.name() == text);
    key.map(Split::Key).ok_or_else(|| {
        let names = GroupBy::ALL.map(GroupBy::name);
        format!("use {}, stamp", names.join(", "))
    })
}

fn ingress(text: &str) -> Result<IngressHook, String> {
    match text {
        "auto" => Ok(IngressHook::Auto),
        // The longer name is the one in summaries.
        "xdp" | "xdp-native" => Ok(IngressHook::Xdp(XdpAttachMode::Native)),
        "xdp-generic" => Ok(IngressHook::Xdp(XdpAttachMode::Generic)),
        "tc" => Ok(IngressHook::Tc),
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
