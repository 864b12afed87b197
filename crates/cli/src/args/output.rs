//! Flags that say where packets are written, the same wherever packets are.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use store::write::Compression;

use crate::units;

#[derive(Args, Debug)]
pub struct OutputArgs {
    /// Write packets to FILE, or with - to standard output, instead of printing them
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// File format [default: pcapng, or pcap-ns for a name that ends in .pcap]
    #[arg(long, value_enum, requires = "write")]
    pub format: Option<FileFormat>,

    /// Begin a new file when one has this size
    #[arg(long, value_name = "SIZE", requires = "write", value_parser = units::nonzero_size)]
    pub rotate_size: Option<NonZeroU64>,

    /// Begin a new file at every multiple of this time by the clock
    #[arg(long, value_name = "TIME", requires = "write", value_parser = units::nonzero_time)]
    pub rotate_interval: Option<Duration>,

    /// Begin a new file after N packets
    #[arg(long, value_name = "N", requires = "write")]
    pub rotate_packets: Option<NonZeroU64>,

    /// Keep only the last N files of this run
    #[arg(long, value_name = "N", requires = "write")]
    pub keep: Option<NonZeroUsize>,

    /// Compress the file: zstd, or zstd:LEVEL with a level from 1 to 22 [default: zstd for a name that
    /// ends in .zst]
    #[arg(long, value_name = "zstd[:N]", requires = "write", value_parser = compression)]
    pub compress: Option<Compression>,
}

/// Format of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// pcapng, nanoseconds
    Pcapng,
    /// pcap, microseconds
    Pcap,
    /// pcap, nanoseconds
    PcapNs,
}

fn compression(text: &str) -> Result<Compression, String> {
    let (name, level) = text.split_once(':').unwrap_or((text, "3"));
    if name != "zstd" {
        return Err("use zstd or zstd:LEVEL".into());
    }
    match level.parse() {
        Ok(level @ 1..=22) => Ok(Compression::Zstd { level }),
        _ => Err("the level is a number from 1 to 22".into()),
    }
}
