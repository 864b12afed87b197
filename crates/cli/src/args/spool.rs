//! Flags of outputs on object storage, shared by `flows` and `read`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::values::units;

#[derive(Args, Clone, Debug, Default)]
pub struct SpoolArgs {
    /// With -w s3://, gs:// or az://: keep files in DIR until they are uploaded [default: ~/.local/state/tapline/spool]
    ///
    /// Files that a run leaves there are uploaded by the next run with the same bucket and DIR. Two runs at the same time need
    /// two directories.
    #[arg(
        hide_short_help = true,
        help_heading = "Output",
        long,
        value_name = "DIR",
        requires = "write"
    )]
    pub spool: Option<PathBuf>,

    /// Maximum size of the complete files in the spool [default: 1G]
    ///
    /// When it is full, a capture and a job that reads a pipe give up the oldest files, and a job that reads files waits.
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "SIZE", requires = "write", value_parser = units::nonzero_size)]
    pub spool_limit: Option<NonZeroU64>,

    /// Give up after this time without progress of uploads, at the end and when files are read into a full spool [default: 1m]
    #[arg(hide_short_help = true, help_heading = "Output", long, value_name = "TIME", requires = "write", value_parser = units::time)]
    pub spool_wait: Option<Duration>,
}

impl SpoolArgs {
    /// The flag that is given, for a message that refuses it.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--spool", self.spool.is_some()),
            ("--spool-limit", self.spool_limit.is_some()),
            ("--spool-wait", self.spool_wait.is_some()),
        ];
        flags
            .iter()
            .find(|(_, is_given)| *is_given)
            .map(|(flag, _)| *flag)
    }
}
