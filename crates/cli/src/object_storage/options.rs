//! How a job uploads.

use std::path::PathBuf;
use std::time::Duration;

/// What happens to a file for which the spool has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The oldest files are removed: packets of a capture do not wait.
    GiveUp,
    /// The job waits for uploads.
    Wait,
}

/// How a job uploads.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "objects"),
    expect(dead_code, reason = "nothing is uploaded")
)]
pub struct UploadOptions {
    /// The directory where files wait. That of the user if it is missing.
    pub spool: Option<PathBuf>,
    /// Bytes of the files there, at most.
    pub limit_bytes: u64,
    /// The longest time without progress.
    pub wait: Duration,
    pub when_full: WhenFull,
    /// The key is the beginning of many.
    pub has_partitions: bool,
}
