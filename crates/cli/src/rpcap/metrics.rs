//! The counters of a remote capture, for Prometheus.

use std::sync::Arc;

use tapline::Packet;
use tapline::capture::{Account, CaptureError, Consumer, ConsumerError, LiveAccount};
use tapline::file::model::{Interface, Statistics};

use crate::metrics::{LatestMetrics, capture_families};

/// The metrics of a capture, for the HTTP server.
pub struct CaptureMetrics {
    interface: String,
    pub latest: Arc<LatestMetrics>,
}

impl CaptureMetrics {
    pub fn new(interface: &str) -> Self {
        let account = LiveAccount::new(interface, Account::default(), 0);
        Self {
            interface: interface.to_owned(),
            latest: LatestMetrics::new(capture_families(&[account])),
        }
    }

    fn publish(&self, account: &Account, bytes: u64) {
        let account = LiveAccount::new(&self.interface, *account, bytes);
        self.latest.publish(capture_families(&[account]));
    }
}

/// Counts the packets for a consumer, and publishes the counters at each tick. The server's losses are known only at the end.
pub struct CountingConsumer<'c, C> {
    consumer: &'c mut C,
    latest: Option<CaptureMetrics>,
    bytes: u64,
}

impl<'c, C: Consumer> CountingConsumer<'c, C> {
    pub fn new(consumer: &'c mut C, latest: Option<CaptureMetrics>) -> Self {
        Self {
            consumer,
            latest,
            bytes: 0,
        }
    }
}

impl<C: Consumer> Consumer for CountingConsumer<'_, C> {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.consumer.packet(packet)?;
        self.bytes += packet.len() as u64;
        Ok(())
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.consumer.interface(interface)
    }

    fn refused(&mut self, name: &str, error: &CaptureError) {
        self.consumer.refused(name, error);
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.consumer.idle(now_ns)
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        if let Some(latest) = &self.latest {
            latest.publish(account, self.bytes);
        }
        self.consumer.tick(now_ns, account)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        self.consumer.finish(statistics)
    }

    fn lost(&self) -> u64 {
        self.consumer.lost()
    }
}
