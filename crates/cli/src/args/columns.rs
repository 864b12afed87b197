//! Flags for Parquet and Arrow, shared by `flows` and `read`.

use std::path::Path;

use clap::{Args, ValueEnum};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColumnFormat {
    /// Parquet with zstd; the file appears when it is complete
    Parquet,
    /// Arrow IPC, the streaming format
    Arrow,
}

impl ColumnFormat {
    /// The format that a file name suggests.
    pub fn by_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" => Some(Self::Parquet),
            "arrows" => Some(Self::Arrow),
            _ => None,
        }
    }
}

#[derive(Args, Clone, Debug, Default)]
pub struct PartitionArgs {
    /// Parquet or Arrow files below the directory of -w, in date=/hour=/host=/ [default HOST: the name of this host]
    ///
    /// Date and hour are those of a packet, or of the last packet of a flow, in UTC. Engines read the directory as one table that
    /// has these three as columns. Files are completed at every multiple of --rotate-interval, by default of an hour.
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        value_name = "HOST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        requires = "write"
    )]
    pub partition: Option<String>,
}
