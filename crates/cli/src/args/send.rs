//! Flags of `tapline send`.

use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use tapline::packet::MacAddress;
use tapline::send::{
    AddressMap, Addresses, Clients, FlowRoles, LongFrames, Rate, SendPath, ValuesError,
};

use super::{GeneratorArgs, SandboxArgs, UserArgs};
use crate::metrics;
use crate::values::units;

/// Send packets of capture files or generated ones, at full speed, a rate or recorded times
#[derive(Args, Debug)]
#[command(
    override_usage = "tapline send [OPTIONS] -i IF -r FILE... [FILTER]\n       tapline send [OPTIONS] -i IF --udp --dst ADDRESSES",
    after_long_help = "Rates: max, recorded, a number of packets such as 10kpps or 1.5Mpps, or bits such as 100Mbps: \
                       of the frames without FCS; 100Mbps-wire also counts preamble, FCS and gap.\n\n\
                       Values of generated fields: one value, a range, a list with commas, a network, or any of these \
                       after random:, for example 10.0.0.1, 10.0.0.1-10.0.0.9, 10.0.0.0/24,10.1.0.0/24, 1024-65535, \
                       random:fd00::/64."
)]
#[command(group = clap::ArgGroup::new("input").required(true))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct SendArgs {
    /// Interface to send on
    #[arg(
        short,
        long,
        value_name = "IF",
        value_parser = super::name(),
        required_unless_present = "write",
        help_heading = "Output"
    )]
    pub interface: Option<String>,

    /// Write the packets to FILE (pcapng) instead; - is standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with = "dry_run",
        help_heading = "Output"
    )]
    pub write: Option<PathBuf>,

    /// Send the Ethernet packets of FILE; - is standard input
    ///
    /// pcap or pcapng, optionally gzip or zstd. Several files are merged by time. Packets that the capture truncated are
    /// sent as far as they were captured.
    #[arg(
        short,
        long,
        value_name = "FILE",
        group = "input",
        help_heading = "Input"
    )]
    pub read: Vec<PathBuf>,

    #[command(flatten)]
    pub generator: GeneratorArgs,

    /// max, recorded, N[k|M]pps, N[k|M|G]bps or N[k|M|G]bps-wire
    #[arg(long, default_value = "max", value_parser = rate, help_heading = "Timing")]
    pub rate: Rate,

    /// Send with the recorded gaps divided by N: 2.0 is twice as fast
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = speed, requires = "read", conflicts_with = "rate", help_heading = "Timing")]
    pub speed: Option<f64>,

    /// Send the files N times; 0: until Ctrl-C, or --count packets
    #[arg(
        long = "loop",
        value_name = "N",
        default_value = "1",
        requires = "read",
        help_heading = "Input"
    )]
    pub passes: u64,

    /// Read all packets into memory before the first is sent
    ///
    /// Sending then does not wait for the files, and takes one CPU instead of two. Default: packets are read while others are
    /// sent, in 64 MiB of memory.
    #[arg(
        hide_short_help = true,
        long,
        visible_alias = "preload-pcap",
        requires = "read",
        help_heading = "Input"
    )]
    pub preload: bool,

    /// Stop after N packets
    #[arg(
        short,
        long,
        visible_alias = "limit",
        value_name = "N",
        help_heading = "Input"
    )]
    pub count: Option<NonZeroU64>,

    /// Send from N threads, each on a separate CPU; packets of one flow keep their order
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = threads,
        conflicts_with = "split",
        hide_short_help = true,
        help_heading = "Timing"
    )]
    pub threads: NonZeroUsize,

    /// How packets reach the device: auto, live-frames, xdp, bypass, qdisc, txtime, xdp-zerocopy or xdp-txtime
    ///
    /// live-frames: XDP frames without socket buffers; xdp: AF_XDP; xdp-zerocopy: AF_XDP with memory that the device reads;
    /// bypass: a packet socket without the queueing discipline; qdisc: one with it; txtime: fq or etf sends each packet at its
    /// time; xdp-txtime: as xdp-zerocopy, the device sends each packet at its time; auto: the fastest that the device
    /// supports.
    #[arg(long, value_name = "PATH", default_value = "auto", value_parser = path, help_heading = "Output")]
    pub path: SendPath,

    /// Send packets of servers on this second interface, those of clients on -i, in the recorded order
    #[arg(
        hide_short_help = true,
        long,
        value_name = "IF",
        requires_all = ["read", "interface"],
        conflicts_with_all = ["write", "dry_run"],
        help_heading = "Output"
    )]
    pub split: Option<String>,

    /// Addresses of the clients for --split, or auto or ports; addresses can be repeated [default: auto]
    ///
    /// A packet from one of these addresses, or without addresses, is a client's. auto first reads the files once: a host
    /// that sends a SYN or a DNS query is a client. In other flows, and with ports, the higher port is the client's; an echo
    /// request comes from a client; otherwise the lower address is the client's. Standard input cannot be read twice: there
    /// auto means ports.
    #[arg(hide_short_help = true, long, value_name = "ADDRESSES|auto|ports", value_parser = clients, requires = "split", help_heading = "Output")]
    pub client: Vec<ClientSide>,

    /// What to do with frames that are longer than the MTU allows
    #[arg(hide_short_help = true, long, value_name = "error|truncate|skip", default_value = "error", value_parser = fit, help_heading = "Output")]
    pub fit: LongFrames,

    /// Destination MAC address of each frame
    ///
    /// Default: as recorded. For generated packets: that of the next hop, from the neighbour table of the interface; it is
    /// not resolved. Without -i: 02:00:00:00:00:02.
    #[arg(long, value_name = "MAC", value_parser = mac, help_heading = "Changes")]
    pub dst_mac: Option<MacAddress>,

    /// Source MAC address of each frame
    ///
    /// Default: as recorded. For generated packets: that of the interface, without -i 02:00:00:00:00:01.
    #[arg(hide_short_help = true, long, value_name = "MAC", value_parser = mac, help_heading = "Changes")]
    pub src_mac: Option<MacAddress>,

    /// Add an 802.1Q tag to each frame
    #[arg(hide_short_help = true, long, value_name = "ID", value_parser = clap::value_parser!(u16).range(0..=4094), help_heading = "Changes")]
    pub vlan: Option<u16>,

    /// Replace addresses of a network by those of another; can be repeated
    ///
    /// As in 10.0.0.0/8=192.0.2.0/24. Applies to source and destination in IPv4 and IPv6, to ARP and to neighbour discovery; not to headers inside
    /// tunnels. Keeps the low bits of an address that are outside the longer of the two prefixes. Updates checksums
    /// incrementally.
    #[arg(
        long,
        value_name = "OLD=NEW",
        conflicts_with = "kind",
        help_heading = "Changes"
    )]
    pub map: Vec<AddressMap>,

    /// Recompute IPv4, TCP, UDP and ICMP checksums
    ///
    /// A capture on the sending host has wrong checksums if the device computes them. The transport checksum of a
    /// fragment and of a packet that the capture truncated stays as it is.
    #[arg(
        hide_short_help = true,
        long,
        conflicts_with = "kind",
        help_heading = "Changes"
    )]
    pub fix_checksums: bool,

    /// Send on an uplink: an interface that carries a route wider than 10.0.0.0/8 or fc00::/7, such as a default route
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub yes_on_uplink: bool,

    /// Print what would be sent, and send nothing
    #[arg(long, help_heading = "Output format")]
    pub dry_run: bool,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics; on loopback without ADDR
    #[arg(hide_short_help = true, long, value_name = "[ADDR:]PORT", conflicts_with = "dry_run", help_heading = "Output format", value_parser = metrics::address)]
    pub metrics: Option<SocketAddr>,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output format")]
    pub json: bool,

    /// Print no status line and no summary; --json prints it
    #[arg(short, long, help_heading = "Output format")]
    pub quiet: bool,

    /// Packets to send: an expression as in pcap-filter(7)
    #[arg(value_name = "FILTER", conflicts_with = "kind", help_heading = "Input")]
    pub filter: Vec<String>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

/// Who the clients are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientSide {
    Auto,
    Ports,
    Addresses(Addresses),
}

fn clients(text: &str) -> Result<ClientSide, String> {
    match text {
        "auto" => Ok(ClientSide::Auto),
        "ports" => Ok(ClientSide::Ports),
        _ => {
            let addresses = text.parse().map(ClientSide::Addresses);
            addresses.map_err(|error: ValuesError| error.to_string())
        }
    }
}

impl SendArgs {
    /// How often the files are sent; `None` without end.
    pub fn passes(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.passes)
    }

    /// Whether packets come without end.
    pub fn is_endless(&self) -> bool {
        let of_files = !self.read.is_empty() && self.passes().is_some();
        self.count.is_none() && !of_files
    }

    /// How the packets are split between two interfaces, if they are. Roles are still to be learned.
    pub fn clients(&self) -> Option<Clients> {
        self.split.as_ref()?;
        let addresses = self.client.iter().map(|side| match side {
            ClientSide::Addresses(addresses) => Some(addresses.clone()),
            ClientSide::Auto | ClientSide::Ports => None,
        });
        let addresses: Option<Vec<_>> = addresses.collect();
        Some(match addresses {
            Some(addresses) if !addresses.is_empty() => Clients::Addresses(addresses),
            _ if self.client.contains(&ClientSide::Ports) => Clients::Auto,
            _ => Clients::Learned(FlowRoles::default()),
        })
    }
}

/// A bound for a mistyped number; no machine has more CPUs that Linux would use.
const MAX_THREADS: usize = 8192;

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok();
    threads
        .filter(|threads: &NonZeroUsize| threads.get() <= MAX_THREADS)
        .ok_or_else(|| "use a number such as 2".into())
}

fn path(text: &str) -> Result<SendPath, String> {
    let mut paths = SendPath::ALL.into_iter();
    let named = paths.find(|path| path.name() == text);
    named.ok_or_else(|| {
        "use auto, live-frames, xdp, xdp-zerocopy, xdp-txtime, bypass, qdisc or txtime".into()
    })
}

fn fit(text: &str) -> Result<LongFrames, String> {
    match text {
        "error" => Ok(LongFrames::Refuse),
        "truncate" => Ok(LongFrames::Truncate),
        "skip" => Ok(LongFrames::Skip),
        _ => Err("use error, truncate or skip".into()),
    }
}

fn mac(text: &str) -> Result<MacAddress, String> {
    let parsed = text.parse::<tapline::net::MacAddress>();
    parsed
        .map(|address| MacAddress(address.0))
        .map_err(|_| "use six bytes, such as 02:00:00:00:00:01".into())
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if f64::is_finite(speed) && speed > 0.0 => Ok(speed),
        _ => Err("use a number above 0, such as 2.0".into()),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    match text {
        "max" => return Ok(Rate::Max),
        "recorded" => return Ok(Rate::Recorded(1.0)),
        _ => {}
    }
    let text = text.to_ascii_lowercase();
    let rate = |unit: &str| units::decimal(text.strip_suffix(unit)?);
    // No unit ends with another: `bps` does not end with `pps`.
    (rate("pps").map(Rate::Packets))
        .or_else(|| rate("bps-wire").map(Rate::WireBits))
        .or_else(|| rate("bps").map(Rate::Bits))
        .ok_or_else(|| "use max, recorded, or a rate such as 10kpps, 1.5Mpps or 100Mbps".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_path_is_taken_by_the_flag() {
        for one in SendPath::ALL {
            assert_eq!(path(one.name()), Ok(one));
        }
        assert!(path("packet-bypass").is_err());
    }

    #[test]
    fn rates() {
        let number = |number| NonZeroU64::new(number).expect("not 0");
        for (text, expected) in [
            ("max", Rate::Max),
            ("recorded", Rate::Recorded(1.0)),
            ("10pps", Rate::Packets(number(10))),
            ("10kpps", Rate::Packets(number(10_000))),
            ("1.5Mpps", Rate::Packets(number(1_500_000))),
            ("100Mbps", Rate::Bits(number(100_000_000))),
            ("2.5gbps-wire", Rate::WireBits(number(2_500_000_000))),
        ] {
            assert_eq!(rate(text), Ok(expected), "{text}");
        }
        for wrong in [
            "", "10", "pps", "0pps", "-1pps", "1e3pps", "nanpps", "10xpps", "fast",
        ] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
