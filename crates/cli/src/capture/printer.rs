//! Packets to the screen, a line each, written when no more packets are waiting.

use store::model::{Packet, Statistics};
use tapline::capture::{Consumer, ConsumerError};

use crate::line::Printer;

impl Consumer for Printer {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(self.print(packet)?)
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        Ok(self.flush()?)
    }

    fn finish(&mut self, _statistics: &[Statistics]) -> Result<(), ConsumerError> {
        Ok(self.flush()?)
    }

    fn lost(&self) -> u64 {
        Printer::lost(self)
    }
}
