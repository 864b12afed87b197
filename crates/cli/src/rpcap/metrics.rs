//! The counters of a remote capture, for Prometheus.

use std::sync::Arc;

use tapline::Packet;
use tapline::capture::{Account, CaptureError, Consumer, ConsumerError, LiveAccount};
use tapline::file::model::{Interface, Statistics};

use crate::metrics::{Board, capture_families};

/// Where the counters are posted.
pub struct CaptureBoard {
    interface: String,
    pub board: Arc<Board>,
}

impl CaptureBoard {
    pub fn new(interface: &str) -> Self {
        let account = LiveAccount::new(interface, Account::default(), 0);
        Self {
            interface: interface.to_owned(),
            board: Board::new(capture_families(&[account])),
        }
    }

    fn post(&self, account: &Account, bytes: u64) {
        let account = LiveAccount::new(&self.interface, *account, bytes);
        self.board.post(capture_families(&[account]));
    }
}

/// Counts what a consumer takes, and posts the counters at each tick. What the server lost is known only at the end.
pub struct Counted<'c, C> {
    consumer: &'c mut C,
    board: Option<CaptureBoard>,
    bytes: u64,
}

impl<'c, C: Consumer> Counted<'c, C> {
    pub fn new(consumer: &'c mut C, board: Option<CaptureBoard>) -> Self {
        Self {
            consumer,
            board,
            bytes: 0,
        }
    }
}

impl<C: Consumer> Consumer for Counted<'_, C> {
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
        if let Some(board) = &self.board {
            board.post(account, self.bytes);
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
