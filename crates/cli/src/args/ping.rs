//! Flags of `tapline ping`.

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU32};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::TypedValueParser;
use tapline::ping::targets::Cidr;
use tapline::ping::{Backend, MAX_PATHS, MAX_PAYLOAD_BYTES, MIN_PAYLOAD_BYTES, XdpAttachMode};
use tapline::send::SendPath;

use super::{LossLimit, SandboxArgs, UserArgs};
use crate::metrics;
use crate::values::units;

/// Ping one host or a million and account for every probe.
///
/// Output to a single target reads like ping, to several targets like fping. Exit status: 0 if every target
/// answered, 1 if one did not (or, with -c and -w, did not answer -c times), 2 if a name is unknown or nothing could
/// be sent to a single target.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "TARGET is a name, an address (10.0.0.1, fe80::1%eth0), a prefix (10.0.0.0/24, \
for its hosts) or a range (10.0.0.1-10.0.0.9, 10.0.0.1-9).\n\nTimes take ns, us, ms, s, m or h. Without a unit they \
are seconds, as in ping."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct PingArgs {
    /// Hosts to ping
    #[arg(
        value_name = "TARGET",
        required_unless_present_any = ["file", "respond"],
        help_heading = "Targets"
    )]
    pub targets: Vec<String>,

    /// Read targets from FILE; - is standard input
    ///
    /// Targets are separated by white space. # starts a comment. SIGHUP reads FILE again: targets that are in both lists
    /// keep their counters. If FILE cannot be read or has an error, the list stays.
    #[arg(short, long, value_name = "FILE", help_heading = "Targets")]
    pub file: Option<PathBuf>,

    /// Never ping these addresses; can be given more than once
    #[arg(long, value_name = "CIDR", help_heading = "Targets")]
    pub exclude: Vec<Cidr>,

    /// Never ping the addresses in FILE: one prefix a line, # starts a comment, as zmap's blocklist; can be given more than
    /// once
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        help_heading = "Targets"
    )]
    pub exclude_file: Vec<PathBuf>,

    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = "Targets")]
    pub ipv4: bool,

    /// IPv6 only
    #[arg(short = '6', long, help_heading = "Targets")]
    pub ipv6: bool,

    /// Look up names again at this interval, and report changes
    ///
    /// A name keeps its counters when its address changes. A name that does not exist is not an error: it is pinged
    /// once it has an address, and is not pinged while it has none. If the resolver does not answer, the latest address is
    /// pinged. At least 100ms.
    #[arg(long, value_name = "TIME", value_parser = resolve_interval, hide_short_help = true, help_heading = "Targets")]
    pub resolve_every: Option<Duration>,

    /// Stop after N probes to each target
    ///
    /// With -w, ping a single target until it has answered N times.
    #[arg(short, long, value_name = "N", value_parser = count, help_heading = "Timing")]
    pub count: Option<NonZeroU32>,

    /// Time between two probes to one target
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = units::seconds, help_heading = "Timing")]
    pub interval: Duration,

    /// Time to wait for each answer
    ///
    /// Later answers are counted as late.
    #[arg(short = 'W', long, value_name = "TIME", default_value = "1s", value_parser = units::seconds, help_heading = "Timing")]
    pub timeout: Duration,

    /// Stop sending after this time
    ///
    /// With -c and a single target, an error also stops the run.
    #[arg(short = 'w', long, value_name = "TIME", value_parser = units::seconds, help_heading = "Timing")]
    pub duration: Option<Duration>,

    /// Maximum probes per second to all targets (10kpps, or max for no limit); the interval grows if necessary
    #[arg(long, value_name = "RATE", default_value = "10kpps", value_parser = rate, hide_short_help = true, help_heading = "Performance")]
    pub rate: Rate,

    /// Maximum probes per second to one IPv4 /24 or IPv6 /64
    #[arg(long, value_name = "RATE", value_parser = units::rate_pps, hide_short_help = true, help_heading = "Performance")]
    pub prefix_rate: Option<u32>,

    /// Send up to 256 probes to different targets at once if due within TIME; saves CPU time. At most a quarter
    /// of the interval; 0 spreads probes evenly
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = units::seconds, hide_short_help = true, help_heading = "Performance")]
    pub gather: Duration,

    /// Back end: raw, ring, ping-socket (unprivileged), xdp or auto
    ///
    /// xdp sends requests as XDP frames and counts replies in the kernel, for rates of millions per second. It prints no
    /// line per reply: several targets, -q, --csv or --live. Requires CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and what
    /// --send-path does.
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = backend, hide_short_help = true, help_heading = "Performance")]
    pub backend: PingBackend,

    /// How requests of --backend xdp leave: live-frames, xdp (AF_XDP) or auto
    ///
    /// live-frames is faster, and requires Linux 5.18, CAP_SYS_ADMIN and a driver that sends XDP frames. xdp requires Linux
    /// 5.12 and CAP_NET_RAW. auto uses live-frames if the driver reports that it sends them (Linux 6.3).
    #[arg(long, value_name = "PATH", default_value = "auto", value_parser = send_path, hide_short_help = true, help_heading = "Performance")]
    pub send_path: SendPath,

    /// With --backend xdp, send more than 10 000 probes per second on an uplink
    ///
    /// An uplink is an interface that carries a route wider than 10.0.0.0/8 or fc00::/7, such as a default route, or that is
    /// stacked with such an interface.
    #[arg(long, hide_short_help = true, help_heading = "Performance")]
    pub yes_on_uplink: bool,

    /// With --backend xdp and -c 1, write to FILE which targets have been pinged, and continue there if FILE exists
    ///
    /// FILE is written every 5 seconds and at the end, and removed when all targets have been pinged. It requires the same
    /// targets in each run. With --csv and --json, all runs together print one line for each target, and a second one for
    /// targets of the last 5 seconds before a crash.
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        help_heading = "Performance"
    )]
    pub state: Option<PathBuf>,

    /// Payload bytes after the ICMP header, at least 3
    ///
    /// Below 16 bytes, tapline keeps send times in memory and shortens the authentication tag.
    #[arg(short, long, value_name = "BYTES", default_value_t = 56, value_parser = payload, help_heading = "Probes")]
    pub size: usize,

    /// TTL or hop limit
    #[arg(short, long, value_name = "TTL", value_parser = ttl, help_heading = "Probes")]
    pub ttl: Option<NonZeroU8>,

    /// Type of service or traffic class: a number, also 0x10
    #[arg(short = 'Q', long, value_name = "TOS", default_value = "0", value_parser = tos, hide_short_help = true, help_heading = "Probes")]
    pub tos: u8,

    /// Forbid fragmentation of the probes
    #[arg(long, hide_short_help = true, help_heading = "Probes")]
    pub dont_fragment: bool,

    /// Probe N equal-cost paths to each target, each at the interval, and count each path. N is 1 to 64
    ///
    /// The probes of a path have the same IPv6 flow label and ICMP checksum; different paths have different ones.
    /// Requires a payload of at least 18 bytes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_PATHS)), hide_short_help = true, help_heading = "Probes")]
    pub paths: Option<u8>,

    /// Interface to send on, or source address
    #[arg(short = 'I', long, value_name = "IF|ADDR", value_parser = super::name().map(Origin::from), help_heading = "Probes")]
    pub interface: Option<Origin>,

    /// Answer echo requests to this host that arrive on the interface of -I, in an XDP program, instead of pinging
    ///
    /// --rate limits the answers; requests above it are dropped. Fragments, packets with IP options and damaged packets go
    /// to the network stack. Requires Linux 5.18, CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.
    #[arg(
        long,
        requires = "interface",
        conflicts_with_all = [
            "targets", "file", "exclude", "exclude_file", "ipv4", "ipv6", "resolve_every", "count", "timeout", "duration",
            "prefix_rate", "gather", "backend", "send_path", "yes_on_uplink", "state", "size", "ttl", "tos", "dont_fragment", "paths",
            "timestamps", "verbose", "numeric", "histogram", "report", "dry_run", "live", "csv", "fail_loss",
        ],
        hide_short_help = true,
        help_heading = "Probes"
    )]
    pub respond: bool,

    /// Where the program of --respond runs: native (driver), generic (network stack) or auto
    ///
    /// Default: generic on a veth interface, where native works only while the other end has an XDP program; else native
    /// if the driver supports it.
    #[arg(long, value_name = "WHERE", value_parser = super::mode::place, requires = "respond", hide_short_help = true, help_heading = "Probes")]
    pub xdp: Option<XdpAttachMode>,

    /// Print the time of day before each answer
    #[arg(short = 'D', long, help_heading = "Output")]
    pub timestamps: bool,

    /// With several targets, print a line or JSON object for each answer too
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// Do not print answers; with several targets, print only the totals
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Print addresses instead of names
    #[arg(short, help_heading = "Output")]
    pub numeric: bool,

    /// Print the histogram of all round trips in the summary
    #[arg(long, help_heading = "Output")]
    pub histogram: bool,

    /// Write a page with charts about the run to FILE (HTML), at the end
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        help_heading = "Output"
    )]
    pub report: Option<PathBuf>,

    /// Print what would be sent, and send nothing; with -v list the targets
    #[arg(long, conflicts_with = "report", help_heading = "Output")]
    pub dry_run: bool,

    /// Fill the terminal with a table of loss, round trips and percentiles, and plots
    ///
    /// The plots show the round trips of the selected target and the rates. Key s changes the order, p the plot,
    /// arrows scroll and select, q quits.
    #[arg(long, conflicts_with_all = ["json", "csv", "verbose", "quiet", "dry_run"], help_heading = "Output format")]
    pub live: bool,

    /// Print JSON Lines
    ///
    /// Includes percentiles per target for up to 65536 targets; for more, add --histogram.
    #[arg(long, conflicts_with = "csv", help_heading = "Output format")]
    pub json: bool,

    /// Print a line of comma-separated values for each target, and no totals
    #[arg(long, help_heading = "Output format")]
    pub csv: bool,

    /// Exit with status 1 if more probes than this are not answered: a number, or a percentage such as 0.1%.
    /// Default: exit with status 1 unless every target answers
    #[arg(
        long,
        value_name = "N|P%",
        hide_short_help = true,
        help_heading = "Monitoring"
    )]
    pub fail_loss: Option<LossLimit>,

    /// Serve metrics to Prometheus at http://ADDR:PORT/metrics. ADDR defaults to the loopback; PORT 0 selects a free port.
    /// Metrics are per target for up to 1000 targets; with more targets, only totals are served
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics::address, hide_short_help = true, help_heading = "Monitoring")]
    pub metrics: Option<SocketAddr>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,
}

/// The interface or source address of probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Link(String),
    Address(IpAddr),
}

impl From<String> for Origin {
    fn from(text: String) -> Self {
        match text.parse() {
            Ok(address) => Self::Address(address),
            Err(_) => Self::Link(text),
        }
    }
}

/// A rate limit; `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Option<u32>);

/// A back end; `None` selects one automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingBackend(pub Option<Backend>);

/// A shorter interval would only load the resolver.
const MIN_RESOLVE: Duration = Duration::from_millis(100);

fn resolve_interval(text: &str) -> Result<Duration, String> {
    let time = units::seconds(text)?;
    if time < MIN_RESOLVE {
        return Err("use at least 100ms".into());
    }
    Ok(time)
}

fn rate(text: &str) -> Result<Rate, String> {
    match text {
        "max" => Ok(Rate(None)),
        text => units::rate_pps(text).map(Some).map(Rate),
    }
}

fn backend(text: &str) -> Result<PingBackend, String> {
    let known = [
        Backend::Raw,
        Backend::Ring,
        Backend::PingSocket,
        Backend::Xdp,
    ];
    match known.into_iter().find(|backend| backend.name() == text) {
        None if text != "auto" => Err("use raw, ring, ping-socket, xdp or auto".into()),
        found => Ok(PingBackend(found)),
    }
}

fn send_path(text: &str) -> Result<SendPath, String> {
    match text {
        "auto" => Ok(SendPath::Auto),
        "live-frames" => Ok(SendPath::LiveFrames),
        "xdp" => Ok(SendPath::Xdp),
        _ => Err("use auto, live-frames or xdp".into()),
    }
}

fn payload(text: &str) -> Result<usize, String> {
    let range = MIN_PAYLOAD_BYTES..=MAX_PAYLOAD_BYTES;
    let bytes = text.parse().ok().filter(|bytes| range.contains(bytes));
    bytes.ok_or_else(|| {
        format!("use {MIN_PAYLOAD_BYTES} to {MAX_PAYLOAD_BYTES} bytes: {MIN_PAYLOAD_BYTES} bytes hold the target number")
    })
}

fn count(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("use a number from 1 to {}", u32::MAX))
}

fn ttl(text: &str) -> Result<NonZeroU8, String> {
    text.parse()
        .map_err(|_| "use a number from 1 to 255".into())
}

fn tos(text: &str) -> Result<u8, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "use a number from 0 to 255, or 0x0 to 0xff".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_parse_as_in_ping() {
        assert_eq!((tos("16"), tos("0x10")), (Ok(16), Ok(16)));
        assert_eq!((payload("3"), payload("65507")), (Ok(3), Ok(65_507)));
        assert_eq!(rate("max"), Ok(Rate(None)));
        assert_eq!(rate("10kpps"), Ok(Rate(Some(10_000))));
        assert_eq!(backend("auto"), Ok(PingBackend(None)));
        assert_eq!(backend("ring"), Ok(PingBackend(Some(Backend::Ring))));
        let is_address = |text: &str| matches!(Origin::from(text.to_owned()), Origin::Address(_));
        assert!(is_address("10.0.0.1") && is_address("fd00::1") && !is_address("eth0"));
        for wrong in ["256", "0x100", "", "-1", "x"] {
            assert!(tos(wrong).is_err(), "{wrong}");
        }
        for wrong in ["2", "65508", "", "-1"] {
            assert!(payload(wrong).is_err(), "{wrong}");
        }
        assert!(backend("af_xdp").is_err() && rate("0").is_err());
    }
}
