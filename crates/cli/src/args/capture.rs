//! Flags of `tapline capture`.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use ring::{DirectionFilter, TimestampSource};
use tapline::capture::{Backend, Sampling};

use super::sample::sample;
use super::{DeliveryArgs, ModeArgs, OutputArgs};
use crate::{metrics, units};

/// Takes packets from interfaces and accounts for every one: in a file, in a pipe, or a line each.
#[derive(Args, Debug)]
#[command(after_help = super::UNITS)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CaptureArgs {
    /// Interface to capture from; may be given more than once
    #[arg(short, long, value_name = "IF", required = true)]
    pub interface: Vec<String>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Bytes kept of a packet; 0 keeps as many as the default. With --delivery adaptive and the usual
    /// --buffer and --stall, up to 1920 keep --latency-target; with more it is 1 ms or longer
    #[arg(short, long, value_name = "BYTES", default_value_t = ring::DEFAULT_SNAPLEN)]
    pub snaplen: u32,

    /// End after N packets
    #[arg(short, long, value_name = "N")]
    pub count: Option<NonZeroU64>,

    /// End after this time
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub duration: Option<Duration>,

    /// Which way the packets go, as the interface sees it; --mode drop has those that come in
    #[arg(long, value_name = "in|out|both", default_value = "both", value_parser = direction)]
    pub direction: DirectionFilter,

    #[command(flatten)]
    pub mode: ModeArgs,

    /// Keep only some of the packets that the filter accepts, decided in the kernel: on each CPU the
    /// first and then every N-th; each with this probability; or on each CPU the first, and then the
    /// first after this time
    #[arg(long, value_name = "1/N|p=P|first/TIME", value_parser = sample)]
    pub sample: Option<Sampling>,

    /// How packets cross the kernel border: packet-v2, packet-v3, xdp (--mode drop), xdp-ringbuf (copies
    /// of packets that come in, short ones; with --direction in and -s) or auto
    #[arg(long, value_name = "RING", default_value = "auto", value_parser = backend)]
    pub backend: BackendChoice,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    /// Size of the ring of each interface; with --mode drop of its rings, in which a packet takes 2K
    /// however short it is [default: 32M, with --mode drop 128M]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub buffer: Option<u64>,

    /// See only packets to this host, to groups and to all
    #[arg(long)]
    pub no_promisc: bool,

    /// Who stamps the time of a packet: kernel or hardware
    #[arg(long, value_name = "kernel|hardware", default_value = "kernel", value_parser = timestamps)]
    pub timestamp: TimestampSource,

    /// Instead of a filter on the command line: a file with it; with - standard input. Lines are
    /// joined, # begins a comment
    #[arg(short = 'F', long, value_name = "FILE", conflicts_with = "filter")]
    pub filter_file: Option<PathBuf>,

    /// Instead of a filter expression: a file with the decimal program that 'tapline filter --at
    /// socket --emit classic-decimal EXPRESSION' or 'tcpdump -i IF -ddd EXPRESSION' prints
    #[arg(long, value_name = "FILE", conflicts_with = "filter_file")]
    pub bpf: Option<PathBuf>,

    /// Tell the counters at this interval
    #[arg(long, value_name = "TIME", value_parser = units::nonzero_time)]
    pub stats_interval: Option<Duration>,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics, on the loopback if no ADDR is
    /// given
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics::address)]
    pub metrics: Option<SocketAddr>,

    /// Exit with status 1 if more packets than this were lost: a number, or a share such as 0.1%
    #[arg(long, value_name = "N|P%")]
    pub fail_loss: Option<LossLimit>,

    /// JSON Lines instead of text
    #[arg(long)]
    pub json: bool,

    /// No status line, no summary; the events of --json stay
    #[arg(short, long)]
    pub quiet: bool,

    /// Print numbers, not names; tapline always does
    #[arg(short)]
    pub numeric: bool,

    /// Which packets: an expression as in pcap-filter(7), its words joined by blanks
    #[arg(value_name = "FILTER", conflicts_with = "bpf")]
    pub filter: Vec<String>,
}

/// A ring, as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendChoice {
    Auto,
    Ring(Backend),
}

pub(super) fn backend(text: &str) -> Result<BackendChoice, String> {
    match text {
        "auto" => Ok(BackendChoice::Auto),
        "packet-v2" => Ok(BackendChoice::Ring(Backend::PacketV2)),
        "packet-v3" => Ok(BackendChoice::Ring(Backend::PacketV3)),
        "xdp" => Ok(BackendChoice::Ring(Backend::Xdp)),
        "xdp-ringbuf" => Ok(BackendChoice::Ring(Backend::XdpRingbuf)),
        _ => Err("use packet-v2, packet-v3, xdp, xdp-ringbuf or auto".into()),
    }
}

pub(super) fn direction(text: &str) -> Result<DirectionFilter, String> {
    match text {
        "in" => Ok(DirectionFilter::In),
        "out" => Ok(DirectionFilter::Out),
        "both" => Ok(DirectionFilter::Both),
        _ => Err("use in, out or both".into()),
    }
}

pub(super) fn timestamps(text: &str) -> Result<TimestampSource, String> {
    match text {
        "kernel" => Ok(TimestampSource::Kernel),
        "hardware" => Ok(TimestampSource::Hardware),
        _ => Err("use kernel or hardware".into()),
    }
}

/// How much loss is tolerated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossLimit {
    /// As many packets.
    Packets(u64),
    /// This share of all packets, in percent.
    Percent(f64),
}

impl LossLimit {
    /// Whether `lost` of `all` packets are more than tolerated.
    pub fn is_exceeded(self, lost: u64, all: u64) -> bool {
        match self {
            Self::Packets(limit) => lost > limit,
            Self::Percent(limit) => lost as f64 * 100.0 > limit * all as f64,
        }
    }
}

impl FromStr for LossLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "use a number of packets, or a share such as 0.1%".to_owned();
        match text.strip_suffix('%') {
            None => text.parse().map(Self::Packets).map_err(|_| wrong()),
            Some(share) => match share.parse() {
                Ok(share) if (0.0..=100.0).contains(&share) => Ok(Self::Percent(share)),
                _ => Err(wrong()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_limits() {
        let limit = |text: &str| text.parse::<LossLimit>();
        assert_eq!(limit("0"), Ok(LossLimit::Packets(0)));
        assert!(limit("0").unwrap().is_exceeded(1, 10));
        assert!(!limit("1").unwrap().is_exceeded(1, 10));
        assert!(!limit("10%").unwrap().is_exceeded(1, 10));
        assert!(limit("9.9%").unwrap().is_exceeded(1, 10));
        for wrong in ["", "x", "-1", "101%", "%"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
