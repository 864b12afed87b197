//! What the reader does to the packets of one lane.

use super::exact::Exact;

/// The reader's part of a lane's filter, and what it did not deliver.
#[derive(Default)]
pub(super) struct Reading {
    /// Decides where the kernel could not.
    pub exact: Option<Exact>,
    /// Packets that `exact` refused.
    pub refused: u64,
    /// Packets read after the last one that was wanted.
    pub surplus: u64,
    /// Packets read after the consumer had failed.
    pub unwritten: u64,
}
