//! Flags that set when packets are delivered.

use std::time::Duration;

use clap::{Args, ValueEnum};
use tapline::capture::DeliveryMode;

use crate::values::units;

/// When packets are delivered, and how long the reader may be away.
#[derive(Args, Clone, Copy, Debug)]
pub struct DeliveryArgs {
    /// When packets are delivered: immediately, in batches, or adaptively [default of capture: batch into
    /// a file, in drop mode and with --min-bytes or --timeout; adaptive otherwise]
    #[arg(hide_short_help = true, long, value_enum, help_heading = "Performance")]
    pub delivery: Option<Delivery>,

    /// With --delivery adaptive: maximum latency at high packet rates; at least 1 ms with packet-v3,
    /// which is selected for long packets (see --stall), and for targets from 1ms to below 4ms on one
    /// interface since Linux 6.18 [default: 200us]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = units::nonzero_time, help_heading = "Performance")]
    pub latency_target: Option<Duration>,

    /// With --delivery adaptive or immediate: how long to busy-wait for the next packet before sleeping; keeps
    /// a CPU busy [default: 0s]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = units::time, help_heading = "Performance")]
    pub spin: Option<Duration>,

    /// With --delivery batch: size of a batch, including ring headers. packet-v3 detects a full batch up to a block late: usually a quarter
    /// of the batch, or 1/16 of --timeout
    /// [default: as large as the ring allows into a file, 1M otherwise]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = units::size, help_heading = "Performance")]
    pub min_bytes: Option<u64>,

    /// With --delivery batch: longest wait after the first packet of a batch; at least 1 ms with packet-v3
    /// [default: 100ms into a file, 10ms otherwise]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = units::nonzero_time, help_heading = "Performance")]
    pub timeout: Option<Duration>,

    /// How long the reader may be stalled without loss at 50 000 packets/s. Selects packet-v3 where packet-v2
    /// frames of -s bytes do not fit into --buffer, and lets the ring grow beyond --buffer: packet-v2 only
    /// with --backend or with -s of at most 128. Not with --mode drop or xdp-ringbuf [default: 200ms, but not
    /// with --delivery immediate]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = units::time, help_heading = "Performance")]
    pub stall: Option<Duration>,
}

/// When packets are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Delivery {
    /// Wake for every packet
    Immediate,
    /// Wake for a batch
    Batch,
    /// Wake for every packet at low rates, and at most once per --latency-target at high rates
    Adaptive,
}

impl DeliveryArgs {
    /// The delivery mode, where `usual` is the default delivery, and `bytes` and `timeout` are the default size and time
    /// of a batch.
    pub fn policy(self, usual: Delivery, (bytes, timeout): (usize, Duration)) -> DeliveryMode {
        match self.delivery.unwrap_or(usual) {
            Delivery::Immediate => DeliveryMode::Immediate,
            Delivery::Adaptive => DeliveryMode::Adaptive {
                target: self.latency_target.unwrap_or(TARGET),
            },
            Delivery::Batch => DeliveryMode::Batch {
                min_bytes: (self.min_bytes)
                    .map_or(bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
                timeout: self.timeout.unwrap_or(timeout),
            },
        }
    }

    /// A flag that belongs to another delivery, and that delivery.
    pub fn misplaced(self, usual: Delivery) -> Option<(&'static str, &'static str)> {
        let is = self.delivery.unwrap_or(usual);
        let adaptive = self.latency_target.map(|_| "--latency-target");
        let batch = self.min_bytes.map(|_| "--min-bytes");
        let batch = batch.or(self.timeout.map(|_| "--timeout"));
        let spin = self.spin.map(|_| "--spin");
        let other = |flag: Option<&'static str>, needed: &'static str, fits: bool| {
            flag.filter(|_| !fits).map(|flag| (flag, needed))
        };
        other(adaptive, "adaptive", is == Delivery::Adaptive)
            .or(other(batch, "batch", is == Delivery::Batch))
            .or(other(spin, "adaptive or immediate", is != Delivery::Batch))
    }
}

/// Default of `--min-bytes` into a file: as large as the ring allows. A batch is a block of packet-v3 if the capture has one
/// interface, otherwise a quarter of the ring.
pub const AUTO_BYTES: usize = usize::MAX;

/// Default of `--min-bytes`, unless packets go into a file.
pub const BATCH_BYTES: usize = 1 << 20;

/// Default of `--latency-target`.
pub const TARGET: Duration = Duration::from_micros(200);
