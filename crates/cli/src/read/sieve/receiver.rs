use store::model::Packet;
use store::read::Item;

use crate::failure::Failure;
use crate::read::judge::Judge;

/// Who gets what is read, in the order of the file.
pub trait Receiver {
    /// Whether nothing more is wanted.
    fn must_end(&self) -> bool;
    /// Which packets pass, of the interfaces taken so far.
    fn judge(&self) -> &Judge;
    /// Takes what comes next; a packet is still to be judged.
    fn take(&mut self, item: Item<'_>) -> Result<(), Failure>;
    /// Takes a packet that passes.
    fn pass(&mut self, packet: &Packet<'_>) -> Result<(), Failure>;
    /// How many more packets may be given to [`Self::pass_blocks`] at once; 0 if none.
    fn blocks_wanted(&self) -> u64 {
        0
    }
    /// Takes packets that pass as their blocks, which the file may be written with as they are.
    fn pass_blocks(&mut self, _blocks: &[u8], _packets: u64) -> Result<(), Failure> {
        Ok(())
    }
    /// Takes note of packets that do not pass.
    fn refuse(&mut self, packets: u64);
}
