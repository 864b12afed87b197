//! What is done with what is read.

use std::sync::atomic::{AtomicBool, Ordering};

use store::model::Packet;
use store::read::Item;

use super::cut::Cut;
use super::destination::Destination;
use super::judge::Judge;
use super::selection::Selection;
use super::sieve::Receiver;
use super::tally::Tally;
use crate::failure::Failure;

/// Selects, cuts, counts, and sends to the destination.
pub struct Work<'a> {
    /// Set when a signal asks for the end.
    pub stop: &'a AtomicBool,
    pub selection: Selection,
    pub destination: Destination<'a>,
    pub cut: Cut,
    /// Packets that are to pass, at most.
    pub wanted: u64,
    pub tally: Tally,
}

impl Receiver for Work<'_> {
    fn must_end(&self) -> bool {
        // Relaxed: the flag stands for itself alone.
        self.stop.load(Ordering::Relaxed) || self.tally.passed == self.wanted
    }

    fn judge(&self) -> &Judge {
        self.selection.judge()
    }

    fn take(&mut self, item: Item<'_>) -> Result<(), Failure> {
        match item {
            Item::Packet(packet) => {
                if self.selection.passes(&packet) {
                    return self.pass(&packet);
                }
                self.refuse(1);
            }
            Item::Interface { interface, .. } => {
                self.selection.add_interface(interface)?;
                self.destination
                    .add_interface(self.cut.interface(interface))?;
            }
            Item::Statistics(statistics) => self.destination.statistics(statistics),
            _ => {}
        }
        Ok(())
    }

    fn pass(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        self.tally.received += 1;
        self.tally.passed += 1;
        self.destination.packet(&self.cut.packet(*packet))
    }

    fn blocks_wanted(&self) -> u64 {
        if self.destination.takes_blocks() && self.cut.is_none() {
            self.wanted - self.tally.passed
        } else {
            0
        }
    }

    fn pass_blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), Failure> {
        self.tally.received += packets;
        self.tally.passed += packets;
        self.destination.blocks(blocks, packets)
    }

    fn refuse(&mut self, packets: u64) {
        self.tally.received += packets;
    }
}
