//! A ring of a capture and what its reader does.

use std::sync::Arc;

use super::counters::Counters;
use super::reading::Reading;
use super::source::Source;

/// One ring: all packets of an interface, or those of one of its queues.
pub(super) struct Lane {
    pub source: Source,
    pub reading: Reading,
    /// Number of its interface.
    pub interface: u32,
    /// Those of its interface.
    pub counters: Arc<Counters>,
}
