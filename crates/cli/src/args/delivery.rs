//! Flags that say how soon packets are delivered.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::units;

/// How soon packets are delivered, and how long the reader may be away.
#[derive(Args, Clone, Copy, Debug)]
pub struct DeliveryArgs {
    /// How soon a packet is delivered: at once; when a batch has gathered; or at once while packets are
    /// rare and several together when they are dense [default of capture: batch into a file, in drop mode
    /// and with --min-bytes or --timeout; adaptive otherwise]
    #[arg(long, value_enum)]
    pub delivery: Option<Delivery>,

    /// With --delivery adaptive: how long a packet may wait while packets are dense; packet-v3, which is
    /// chosen for long packets (see --stall), has no less than 1 ms [default: 200us]
    #[arg(long, value_name = "TIME", value_parser = units::nonzero_time)]
    pub latency_target: Option<Duration>,

    /// With --delivery adaptive or immediate: how long to look for the next packet before sleeping,
    /// which keeps a processor busy [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub spin: Option<Duration>,

    /// With --delivery batch: bytes of packets that make a batch, with the ring's headers; a packet of
    /// --mode drop counts 2K. packet-v3 notices them late, by up to 1/16 of --timeout and
    /// some milliseconds [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub min_bytes: Option<u64>,

    /// With --delivery batch: time after its first packet at which a batch is delivered though not full;
    /// with packet-v3 1 ms or more [default: 100ms into a file, 10ms otherwise]
    #[arg(long, value_name = "TIME", value_parser = units::nonzero_time)]
    pub timeout: Option<Duration>,

    /// How long the reader may be away while at most 50 000 packets/s come: without --backend, packet-v3
    /// is chosen where packet-v2 has no frame of -s bytes for each within --buffer. The ring grows
    /// beyond --buffer for it, packet-v2 only if it is asked for or -s is 128 or less; not with --mode drop or xdp-ringbuf [default:
    /// 200ms, but not with --delivery immediate]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub stall: Option<Duration>,
}

/// When packets are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Delivery {
    /// Wake for every packet
    Immediate,
    /// Wake for a batch
    Batch,
    /// Wake for every packet while they are rare, and at most once in --latency-target otherwise
    Adaptive,
}

impl DeliveryArgs {
    /// How packets are to be delivered, where `usual` is the delivery if none was asked for and
    /// `timeout` the time of a batch.
    pub fn policy(self, usual: Delivery, timeout: Duration) -> ring::Delivery {
        match self.delivery.unwrap_or(usual) {
            Delivery::Immediate => ring::Delivery::Immediate,
            Delivery::Adaptive => ring::Delivery::Adaptive {
                target: self.latency_target.unwrap_or(TARGET),
            },
            Delivery::Batch => ring::Delivery::Batch {
                min_bytes: usize::try_from(self.min_bytes.unwrap_or(1 << 20)).unwrap_or(usize::MAX),
                timeout: self.timeout.unwrap_or(timeout),
            },
        }
    }

    /// The flag that goes with another delivery than the one that is meant, and that one.
    pub fn misplaced(self, usual: Delivery) -> Option<(&'static str, &'static str)> {
        let is = self.delivery.unwrap_or(usual);
        let adaptive = self.latency_target.map(|_| "--latency-target");
        let batch = self.min_bytes.map(|_| "--min-bytes");
        let batch = batch.or(self.timeout.map(|_| "--timeout"));
        let spin = self.spin.map(|_| "--spin");
        let other = |flag: Option<&'static str>, wanted: &'static str, fits: bool| {
            flag.filter(|_| !fits).map(|flag| (flag, wanted))
        };
        other(adaptive, "adaptive", is == Delivery::Adaptive)
            .or(other(batch, "batch", is == Delivery::Batch))
            .or(other(spin, "adaptive or immediate", is != Delivery::Batch))
    }
}

/// How long a packet waits at most, if nothing is said.
pub const TARGET: Duration = Duration::from_micros(200);
