//! Flags of `tapline ping`.

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU32};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tapline::ping::Backend;
use tapline::probe::targets::Prefix;
use tapline::probe::{COOKIE_BYTES, MAX_PAYLOAD_BYTES};

use super::LossLimit;
use crate::{metrics, units};

/// Asks hosts for an echo, one or a million, and accounts for every probe.
///
/// One target reads like ping: a line for each answer, and its summary. Several read like fping: a line
/// for each at the end, and totals. Exit status 0 says that every target answered and 1 that one did
/// not, or, where both -c and -w are given, not -c times; 2 as of theirs that a name is unknown, or that nothing could be sent to a single target.
#[derive(Args, Debug)]
#[command(
    after_help = "TARGET is a name, an address (10.0.0.1, fe80::1%eth0), a prefix (10.0.0.0/24, \
whose hosts are asked) or a range (10.0.0.1-10.0.0.9, 10.0.0.1-9).\n\nTimes take ns, us, ms, s, m or h, and \
are seconds without, as in ping."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct PingArgs {
    /// Whom to ask
    #[arg(value_name = "TARGET", required_unless_present = "file")]
    pub targets: Vec<String>,

    /// A file with targets, parted by blanks or lines; # begins a comment; - is standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Addresses never to ask, however they were named; may be given more than once
    #[arg(long, value_name = "CIDR")]
    pub exclude: Vec<Prefix>,

    /// End after N probes to each target; with -w a single target is asked until it has answered N times
    #[arg(short, long, value_name = "N", value_parser = count)]
    pub count: Option<NonZeroU32>,

    /// Time between two probes to one target
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = units::seconds)]
    pub interval: Duration,

    /// Probes a second to all targets at most (10kpps, or max for no limit); the interval gives way
    #[arg(long, value_name = "RATE", default_value = "10kpps", value_parser = rate)]
    pub rate: Rate,

    /// Probes a second to one IPv4 /24 or IPv6 /64 at most
    #[arg(long, value_name = "RATE", value_parser = units::rate_pps)]
    pub prefix_rate: Option<u32>,

    /// Probes to different targets that are due within this time leave together, 256 at most, and at most
    /// a quarter of the interval: a fraction of the work; 0 spreads them evenly
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = units::seconds)]
    pub gather: Duration,

    /// Time after which an answer is late
    #[arg(short = 'W', long, value_name = "TIME", default_value = "1s", value_parser = units::seconds)]
    pub timeout: Duration,

    /// Send nothing after this time; with -c an error ends the asking of a single target, too
    #[arg(short = 'w', long, value_name = "TIME", value_parser = units::seconds)]
    pub duration: Option<Duration>,

    /// Bytes of payload behind the ICMP header, 16 or more
    #[arg(short, long, value_name = "BYTES", default_value_t = 56, value_parser = payload)]
    pub size: usize,

    /// TTL or hop limit
    #[arg(short, long, value_name = "TTL", value_parser = ttl)]
    pub ttl: Option<NonZeroU8>,

    /// Type of service or traffic class: a number, also 0x10
    #[arg(short = 'Q', long, value_name = "TOS", default_value = "0", value_parser = tos)]
    pub tos: u8,

    /// Let no router fragment the probes
    #[arg(long)]
    pub dont_fragment: bool,

    /// The interface to send by, or the address to send from
    #[arg(short = 'I', long, value_name = "IF|ADDR")]
    pub interface: Option<Origin>,

    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,

    /// IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// How probes leave: raw, ring, ping-socket (needs no privilege) or auto
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = backend)]
    pub backend: BackendWish,

    /// Print the time of day of each answer before its line
    #[arg(short = 'D', long)]
    pub timestamps: bool,

    /// A line or a JSON object for each answer too where there are several targets
    #[arg(short, long)]
    pub verbose: bool,

    /// No lines for answers; of several targets nothing but the totals
    #[arg(short, long)]
    pub quiet: bool,

    /// Print addresses, not the names that were given
    #[arg(short)]
    pub numeric: bool,

    /// A table that is drawn again and again: who loses most or is slowest, latest round trips,
    /// percentiles; the key s sorts it another way, q ends
    #[arg(long, conflicts_with_all = ["json", "csv", "verbose", "quiet", "dry_run"])]
    pub live: bool,

    /// JSON Lines instead of text. Percentiles of each target are kept for up to 65536 targets, and for
    /// more with --histogram
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// A line of comma-separated values for each target, and no totals
    #[arg(long)]
    pub csv: bool,

    /// The distribution of all round trips in the summary
    #[arg(long)]
    pub histogram: bool,

    /// Exit with status 1 if more probes than this were not answered: a number, or a share such as
    /// 0.1%; then it does not matter whether every target answered
    #[arg(long, value_name = "N|P%")]
    pub fail_loss: Option<LossLimit>,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics, on the loopback if no ADDR is
    /// given, at a free port if PORT is 0; those of each target up to 1000 targets, of more the sums
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics::address)]
    pub metrics: Option<SocketAddr>,

    /// Say what would be sent, and send nothing; with -v list the targets
    #[arg(long)]
    pub dry_run: bool,
}

/// Where probes come from.
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

/// How fast probes may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Option<u32>);

/// A back end, as asked for; none is the best that is permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendWish(pub Option<Backend>);

fn rate(text: &str) -> Result<Rate, String> {
    match text {
        "max" => Ok(Rate(None)),
        text => units::rate_pps(text).map(Some).map(Rate),
    }
}

fn backend(text: &str) -> Result<BackendWish, String> {
    let known = [Backend::Raw, Backend::Ring, Backend::PingSocket];
    match known.into_iter().find(|backend| backend.name() == text) {
        None if text != "auto" => Err("use raw, ring, ping-socket or auto".into()),
        found => Ok(BackendWish(found)),
    }
}

fn payload(text: &str) -> Result<usize, String> {
    let range = COOKIE_BYTES..=MAX_PAYLOAD_BYTES;
    let bytes = text.parse().ok().filter(|bytes| range.contains(bytes));
    bytes.ok_or_else(|| {
        format!("use a number from {COOKIE_BYTES} to {MAX_PAYLOAD_BYTES}: a probe's time, number and tag take {COOKIE_BYTES} bytes")
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
    fn words_mean_what_users_of_ping_mean() {
        assert_eq!((tos("16"), tos("0x10")), (Ok(16), Ok(16)));
        assert_eq!((payload("16"), payload("65507")), (Ok(16), Ok(65_507)));
        assert_eq!(rate("max"), Ok(Rate(None)));
        assert_eq!(rate("10kpps"), Ok(Rate(Some(10_000))));
        assert_eq!(backend("auto"), Ok(BackendWish(None)));
        assert_eq!(backend("ring"), Ok(BackendWish(Some(Backend::Ring))));
        let is_address = |text: &str| matches!(Origin::from(text.to_owned()), Origin::Address(_));
        assert!(is_address("10.0.0.1") && is_address("fd00::1") && !is_address("eth0"));
        for wrong in ["256", "0x100", "", "-1", "x"] {
            assert!(tos(wrong).is_err(), "{wrong}");
        }
        for wrong in ["15", "65508", "", "-1"] {
            assert!(payload(wrong).is_err(), "{wrong}");
        }
        assert!(backend("xdp").is_err() && rate("0").is_err());
    }
}
