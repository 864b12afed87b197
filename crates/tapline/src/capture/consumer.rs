//! Who takes the packets of a capture.

use std::error::Error;

use store::model::{Packet, Statistics};

use super::account::Account;

/// Why a consumer cannot go on.
pub type ConsumerError = Box<dyn Error + Send + Sync>;

/// Takes the packets of a capture, in the capture's thread.
///
/// An error from any call ends the capture, which then reports it as [`Ended::Consumer`](super::Ended::Consumer).
pub trait Consumer {
    /// Takes a packet, which lasts as long as the call.
    ///
    /// # Errors
    /// The packet was not taken.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError>;

    /// No packet is waiting: the moment to hand on what has been gathered.
    ///
    /// # Errors
    /// Why it could not be handed on.
    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Comes at the interval asked for, and more seldom if the consumer itself takes longer.
    ///
    /// # Errors
    /// Why the consumer cannot go on.
    fn tick(&mut self, _now_ns: u64, _account: &Account) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// The capture is over; `statistics` are its interfaces' final counters.
    ///
    /// # Errors
    /// Why not everything taken could be handed on.
    fn finish(&mut self, _statistics: &[Statistics]) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Packets that [`packet`](Self::packet) took and that were lost after all.
    fn lost(&self) -> u64 {
        0
    }
}
