//! Flags for capture files that are written, shared by `capture` and `read`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tapline::file::write::Compression;

use crate::values::units;

#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// Write packets to FILE; - is standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub write: Option<PathBuf>,

    /// File format [default: by the name, .pcap, .parquet or .arrows, or else pcapng]
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        requires = "write",
        help_heading = "Output"
    )]
    pub format: Option<FileFormat>,

    /// Start a new file at this size
    #[arg(hide_short_help = true, long, value_name = "SIZE", requires = "write", value_parser = units::nonzero_size, help_heading = "Output")]
    pub rotate_size: Option<NonZeroU64>,

    /// Start a new file at every multiple of this time
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "write", value_parser = units::nonzero_time, help_heading = "Output")]
    pub rotate_interval: Option<Duration>,

    /// Start a new file after N packets
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        requires = "write",
        help_heading = "Output"
    )]
    pub rotate_packets: Option<NonZeroU64>,

    /// Keep only the last N files of this run
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        requires = "write",
        help_heading = "Output"
    )]
    pub keep: Option<NonZeroUsize>,

    /// Compress the file with zstd at level N, 1 to 22 [default: zstd:3 if the name ends in .zst]
    #[arg(hide_short_help = true, long, value_name = "zstd[:N]", requires = "write", value_parser = compression, help_heading = "Output")]
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
    /// The headers as columns, in Parquet (not with capture)
    Parquet,
    /// The headers as columns, in Arrow IPC (not with capture)
    Arrow,
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
