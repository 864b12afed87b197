//! The account of files.

use std::path::PathBuf;

/// A file that was made and not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMade {
    /// Its name.
    pub path: PathBuf,
    /// Packets written to it.
    pub packets: u64,
    /// Bytes written to it.
    pub bytes: u64,
}

/// What was removed because only so many files are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// Files.
    pub files: u64,
    /// The packets they held.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}
