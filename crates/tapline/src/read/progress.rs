//! How far a job is, for other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a read job is, for another thread. Made by [`Read::progress`](super::Read::progress).
#[derive(Clone, Debug)]
pub struct ReadProgress {
    pub(super) shared: Arc<SharedProgress>,
    total_bytes: Option<u64>,
}

/// Counters of a running job. They are independent of each other, so relaxed ordering is enough.
#[derive(Debug, Default)]
pub(super) struct SharedProgress {
    bytes: AtomicU64,
    received: AtomicU64,
    selected: AtomicU64,
}

impl SharedProgress {
    pub(super) fn store(&self, bytes: u64, received: u64, selected: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.received.store(received, Ordering::Relaxed);
        self.selected.store(selected, Ordering::Relaxed);
    }
}

impl ReadProgress {
    pub(super) fn new(total_bytes: Option<u64>) -> Self {
        Self {
            shared: Arc::default(),
            total_bytes,
        }
    }

    /// Bytes of the (uncompressed) captures read so far.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Packets read so far.
    pub fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// Of these, the packets that were selected.
    pub fn selected(&self) -> u64 {
        self.shared.selected.load(Ordering::Relaxed)
    }

    /// Bytes of all inputs; `None` if one is compressed or no regular file.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }
}
