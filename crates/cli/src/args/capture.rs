//! Flags of `tapline capture`.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use tapline::capture::{
    Backend, DEFAULT_SNAPLEN, DirectionFilter, Mode, Sampling, TimestampSource,
};
use tapline::steering::{Setting, SteeringError};

use super::sample::sample;
use super::{
    DeliveryArgs, ModeArgs, OutputArgs, PrintArgs, ReadersArgs, RecordArgs, RpcapArgs, SandboxArgs,
    UserArgs,
};
use crate::metrics;
use crate::values::units;

/// Capture packets from interfaces to a file, a pipe or the terminal, and account for every packet
#[derive(Args, Debug)]
#[command(after_long_help = super::UNITS)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CaptureArgs {
    /// Interface to capture from, or any; can be given more than once
    ///
    /// any: every interface, also those that come up later, without promiscuous mode. - or the path of a named pipe:
    /// packets in a capture file format, as dumpcap reads them. rpcap://[USER@]HOST[:PORT]/IF: the interface IF of another
    /// host, by libpcap's remote protocol; with -D the interfaces of rpcap://HOST/. 'tapline serve rpcap' is a server.
    #[arg(
        short,
        long,
        value_name = "IF",
        value_parser = super::name(),
        required_unless_present_any = ["list_interfaces", "read_file", "netns"],
        help_heading = "Input"
    )]
    pub interface: Vec<String>,

    /// With -i any or --netns: give all packets the link type LINUX_SLL2, which records the interface of each packet
    /// [default: the link type of each interface; LINUX_SLL2 in pcap files]
    #[arg(
        hide_short_help = true,
        short = 'y',
        long,
        value_name = "LINUX_SLL2",
        value_parser = linktype,
        help_heading = "Input"
    )]
    pub linktype: Option<Cooked>,

    /// List the interfaces, and why one cannot be captured from
    #[arg(short = 'D', long, conflicts_with = "netns", help_heading = "Input")]
    pub list_interfaces: bool,

    /// Refused: 'tapline read FILE' reads files
    #[arg(short = 'r', value_name = "FILE", hide = true)]
    pub read_file: Option<PathBuf>,

    /// Capture in the network namespace NAME of 'ip netns', or in all
    ///
    /// all: also in those that are created later. Without -i from every interface. Files name an interface NAME/IF.
    #[arg(long, value_name = "NAME|all", value_parser = super::name(), help_heading = "Input")]
    pub netns: Vec<String>,

    #[command(flatten)]
    pub rpcap: RpcapArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Bytes captured per packet; 0 is the default
    ///
    /// With --delivery adaptive, packets above 1920 bytes raise the latency to 1 ms or more, unless --buffer or
    /// --stall are changed.
    #[arg(short, long, value_name = "BYTES", default_value_t = DEFAULT_SNAPLEN, help_heading = "Input")]
    pub snaplen: u32,

    /// Stop after N packets
    #[arg(short, long, value_name = "N", help_heading = "Input")]
    pub count: Option<NonZeroU64>,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = units::time, help_heading = "Input")]
    pub duration: Option<Duration>,

    /// Capture received packets, sent packets or both
    ///
    /// --mode drop captures received packets only. inout, tcpdump's word, is both.
    #[arg(short = 'Q', long, value_name = "in|out|both", default_value = "both", value_parser = direction, help_heading = "Input")]
    pub direction: DirectionFilter,

    #[command(flatten)]
    pub mode: ModeArgs,

    /// Sample accepted packets in the kernel: 1/N every N-th packet of each CPU; p=P each packet with this
    /// probability; first/TIME at most one packet of each CPU per TIME
    #[arg(hide_short_help = true, long, value_name = "1/N|p=P|first/TIME", value_parser = sample, help_heading = "Filtering")]
    pub sample: Option<Sampling>,

    /// Ring type: packet-v2, packet-v3, xdp (with --mode drop), xdp-ringbuf (copies
    /// short received packets; needs --direction in and -s) or auto
    #[arg(hide_short_help = true, long, value_name = "RING", default_value = "auto", value_parser = backend, help_heading = "Performance")]
    pub backend: BackendChoice,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    #[command(flatten)]
    pub readers: ReadersArgs,

    /// Change a setting of the interfaces during the capture, in the syntax of 'tapline ethtool set', e.g.
    /// 'rss equal 4' or 'ntuple flow-type udp4 dst-port 4789 action 2'; may be repeated
    ///
    /// The last capture that uses the setting restores it at its end; after a kill the next one or 'tapline doctor --undo' does.
    #[arg(hide_short_help = true, long, value_name = "SETTING", value_parser = steering, help_heading = "Performance")]
    pub ethtool: Vec<SteeringSettings>,

    /// Ring size per interface [default: 32M, with --mode drop 128M]
    ///
    /// With --mode drop each packet takes 2K of the ring.
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Performance")]
    pub buffer: Option<u64>,

    /// Do not put the interface into promiscuous mode
    #[arg(short = 'p', long, help_heading = "Input")]
    pub no_promisc: bool,

    /// Time stamp source
    ///
    /// software (or kernel): the kernel. driver: the kernel, when the driver passes packets on, before they wait for
    /// a CPU. hardware: the interface, converted to UTC; packets that it did not stamp have the kernel's time and a
    /// comment. auto: hardware if the interface supports it. hardware and auto make the interface stamp all received
    /// packets; its previous setting is restored at the end.
    #[arg(hide_short_help = true, long, value_name = "auto|hardware|software|driver", default_value = "software", value_parser = timestamps, help_heading = "Input")]
    pub timestamp: TimestampChoice,

    /// Read the filter from FILE; - is standard input
    ///
    /// Lines are joined; # starts a comment.
    #[arg(
        hide_short_help = true,
        short = 'F',
        long,
        value_name = "FILE",
        conflicts_with = "filter",
        help_heading = "Filtering"
    )]
    pub filter_file: Option<PathBuf>,

    /// Read a classic BPF program in decimal from a file, as 'tapline filter --at socket --emit
    /// classic-decimal EXPRESSION' or 'tcpdump -i IF -ddd EXPRESSION' prints it
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        conflicts_with = "filter_file",
        help_heading = "Filtering"
    )]
    pub bpf: Option<PathBuf>,

    /// Print statistics at this interval
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = units::nonzero_time, help_heading = "Output format")]
    pub stats_interval: Option<Duration>,

    /// Serve the counters to Prometheus at http://ADDR:PORT/metrics [default ADDR: loopback]
    #[arg(hide_short_help = true, long, value_name = "[ADDR:]PORT", value_parser = metrics::address, help_heading = "Output")]
    pub metrics: Option<SocketAddr>,

    /// Name for 'tapline ctl', which controls the capture [default: the interface and the process ID]
    ///
    /// The socket is /run/tapline/NAME.sock, for users other than root $XDG_RUNTIME_DIR/tapline/NAME.sock.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NAME",
        conflicts_with = "no_control",
        help_heading = "Output"
    )]
    pub name: Option<String>,

    /// Do not listen for 'tapline ctl'
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub no_control: bool,

    /// Find the process that sent each packet of this host
    ///
    /// Prints its name and process ID, or writes them to the pcapng file: as option epb_processid_threadid and as a comment of
    /// the packet, with a description of each process. Finds processes in this network namespace, of TCP and UDP sockets
    /// that are still open when their packets are read.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["netns", "record", "decode"], help_heading = "Output")]
    pub who: bool,

    /// With -w: write a number for each IP packet that is the same at every interface (epb_packetid)
    #[arg(
        hide_short_help = true,
        long,
        requires = "write",
        conflicts_with = "record",
        help_heading = "Output"
    )]
    pub packet_id: bool,

    /// With -w: follow FILE, an SSLKEYLOGFILE, and write its TLS secrets, so that Wireshark decrypts the packets
    ///
    /// FILE must exist. Secrets are written before the packets that are buffered; the next file of a rotation begins
    /// with all of them. Lines that are not secrets are skipped and counted.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        requires = "write",
        conflicts_with_all = ["record", "netns"],
        help_heading = "Output"
    )]
    pub keylog: Option<PathBuf>,

    /// With -w: write FILE.index beside each file, for 'read --index'
    ///
    /// The index grows with the file, and has at most 0.25 % of its size, or 4K. --keep removes it with its file. Compressed
    /// files and standard output cannot be indexed. If the index cannot be written, the capture continues.
    #[arg(
        hide_short_help = true,
        long,
        requires = "write",
        help_heading = "Output"
    )]
    pub index: bool,

    #[command(flatten)]
    pub record: RecordArgs,

    /// Exit with status 1 if more packets than this are lost: a number, or a percentage such as 0.1%
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N|P%",
        help_heading = "Output"
    )]
    pub fail_loss: Option<LossLimit>,

    /// Print JSON Lines instead of text
    #[arg(long, help_heading = "Output format")]
    pub json: bool,

    /// Print no status line and no summary (tcpdump's -q is --brief)
    ///
    /// The events of --json remain.
    #[arg(short, long, help_heading = "Output format")]
    pub quiet: bool,

    #[command(flatten)]
    pub print: PrintArgs,

    /// With -w: write each packet to the file at once, not after a second
    #[arg(short = 'U', long, hide_short_help = true, help_heading = "Output")]
    pub packet_buffered: bool,

    /// Packets to capture: an expression as in pcap-filter(7)
    #[arg(
        value_name = "FILTER",
        conflicts_with = "bpf",
        help_heading = "Filtering"
    )]
    pub filter: Vec<String>,

    /// Capture only packets of the sockets of COMMAND and of the processes that it starts
    ///
    /// Selects packets by protocol and local port, and pings by their identifier. A port that COMMAND used stays selected
    /// until the capture ends. Requires control groups of version 2.
    #[arg(
        long,
        requires = "command",
        hide_short_help = true,
        help_heading = "Filtering"
    )]
    pub own_sockets: bool,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    #[command(flatten)]
    pub user: UserArgs,

    /// Run COMMAND, in the namespace of --netns if given, and capture until it ends
    ///
    /// If it fails, the exit status is 1. If the capture ends first, COMMAND gets SIGTERM.
    #[arg(value_name = "COMMAND", last = true, help_heading = "Input")]
    pub command: Vec<String>,
}

impl CaptureArgs {
    /// The flag that is given and needs an interface of this host, for a message that refuses it.
    pub fn needs_interface(&self) -> Option<&'static str> {
        let (mode, delivery) = (self.mode, self.delivery);
        let flags = [
            ("--netns", !self.netns.is_empty()),
            ("--linktype", self.linktype.is_some()),
            ("--mode drop", mode.mode != Mode::Mirror),
            ("--others", mode.others.is_some()),
            ("--xdp", mode.xdp.is_some()),
            ("--busy-poll", mode.busy_poll.is_some()),
            ("--sample", self.sample.is_some()),
            ("--direction", self.direction != DirectionFilter::Both),
            ("--backend", self.backend != BackendChoice::Auto),
            ("--queues", self.readers.queues.is_some()),
            ("--ethtool", !self.ethtool.is_empty()),
            (
                "--timestamp",
                self.timestamp.source != TimestampSource::Kernel,
            ),
            ("--stats-interval", self.stats_interval.is_some()),
            ("--name", self.name.is_some()),
            ("--buffer", self.buffer.is_some()),
            ("--delivery", delivery.delivery.is_some()),
            ("--latency-target", delivery.latency_target.is_some()),
            ("--spin", delivery.spin.is_some()),
            ("--min-bytes", delivery.min_bytes.is_some()),
            ("--timeout", delivery.timeout.is_some()),
            ("--stall", delivery.stall.is_some()),
            ("--who", self.who),
            ("--packet-id", self.packet_id),
            ("--keylog", self.keylog.is_some()),
            ("--index", self.index),
            ("--record", self.record.record.is_some()),
            ("--own-sockets", self.own_sockets),
            ("a command", !self.command.is_empty()),
        ];
        flags
            .iter()
            .find(|(_, is_given)| *is_given)
            .map(|(flag, _)| *flag)
    }
}

/// The value of `--linktype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooked;

fn linktype(text: &str) -> Result<Cooked, String> {
    if text.eq_ignore_ascii_case("LINUX_SLL2") {
        return Ok(Cooked);
    }
    Err("leave it out for the link type of the interface, or use LINUX_SLL2 with -i any".into())
}

/// The value of `--backend`.
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

pub fn direction(text: &str) -> Result<DirectionFilter, String> {
    match text {
        "in" => Ok(DirectionFilter::In),
        "out" => Ok(DirectionFilter::Out),
        "both" | "inout" => Ok(DirectionFilter::Both),
        _ => Err("use in, out or both".into()),
    }
}

/// The value of `--ethtool`.
#[derive(Clone, Debug)]
pub struct SteeringSettings(pub Vec<Setting>);

fn steering(text: &str) -> Result<SteeringSettings, SteeringError> {
    Setting::parse(text).map(SteeringSettings)
}

/// The value of `--timestamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampChoice {
    pub source: TimestampSource,
    /// Use the kernel's where the interface has none.
    pub falls_back: bool,
}

pub(super) fn timestamps(text: &str) -> Result<TimestampChoice, String> {
    let source = match text {
        "software" | "kernel" => TimestampSource::Kernel,
        "driver" => TimestampSource::Driver,
        "hardware" | "auto" => TimestampSource::Hardware,
        _ => return Err("use auto, hardware, software or driver".into()),
    };
    Ok(TimestampChoice {
        source,
        falls_back: text == "auto",
    })
}

/// The loss limit above which a capture fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossLimit {
    /// This number of packets.
    Packets(u64),
    /// This share of all packets, in percent.
    Percent(f64),
}

impl LossLimit {
    /// Whether `lost` of `all` packets exceed the limit.
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
    fn names_in_summaries_are_taken_by_the_flags() {
        use super::super::mode;

        for one in [
            Backend::PacketV2,
            Backend::PacketV3,
            Backend::Xdp,
            Backend::XdpRingbuf,
        ] {
            assert!(
                matches!(backend(one.name()), Ok(BackendChoice::Ring(own)) if own == one),
                "{one:?}"
            );
        }
        for one in [Mode::Mirror, Mode::Drop] {
            assert_eq!(mode(one.name()), Ok(one));
        }
        for one in [
            TimestampSource::Kernel,
            TimestampSource::Driver,
            TimestampSource::Hardware,
        ] {
            let taken = timestamps(one.name()).expect("a source");
            assert!(taken.source == one, "{one:?}");
        }
    }

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
