//! How a count ended.

use std::io;

use super::interval::Snapshot;

/// What ended a count.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// It was asked to stop.
    Stopped,
    /// The time was over.
    Duration,
    /// Whoever takes the intervals wanted no more.
    Taker,
    /// An interface was removed.
    LinkRemoved {
        /// Its name.
        link: String,
    },
    /// The kernel refused to let it wait.
    Wait(io::Error),
    /// The counters could not be read.
    Read(io::Error),
}

/// How a count ended and what it saw.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What ended it.
    pub ended: Ended,
    /// The totals at the end of the last interval.
    pub totals: Snapshot,
}
