//! Interrupts that are pinned for as long as a capture runs.

use super::device::{Interface, IrqPaths, queue_irqs};
use super::saved_setting::{SavedSetting, undo_in};

/// An interrupt that is pinned to a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedIrq {
    /// Name of the interface.
    pub link: String,
    /// Its receive queue.
    pub queue: u32,
    /// Number of the interrupt.
    pub irq: u32,
    /// The CPU.
    pub cpu: usize,
}

/// Keeps interrupts pinned. The last one that is dropped restores their former CPUs, unless somebody else has changed them
/// since.
#[derive(Debug)]
pub struct IrqPinning {
    paths: IrqPaths,
    records: Vec<SavedSetting>,
    pinned: Vec<PinnedIrq>,
}

impl IrqPinning {
    /// Restores what captures left pinned when they were killed, and pins nothing yet.
    pub fn new(paths: IrqPaths) -> Self {
        // What cannot be restored stays for 'doctor --undo', which says why.
        let _ = undo_in(&paths);
        Self {
            paths,
            records: Vec::new(),
            pinned: Vec::new(),
        }
    }

    /// Pins the interrupt of each receive queue of `link` to the CPU that `cpu_of` names, if it names one. An interrupt that
    /// the kernel does not let go stays where it is.
    pub fn pin(&mut self, link: &Interface<'_>, cpu_of: impl Fn(u32) -> Option<usize>) {
        for one in queue_irqs(&self.paths.system, link) {
            let Some(cpu) = cpu_of(one.queue) else {
                continue;
            };
            let Ok(record) = SavedSetting::begin(&self.paths, one.irq, cpu) else {
                continue;
            };
            self.records.extend(record);
            self.pinned.push(PinnedIrq {
                link: link.name.to_owned(),
                queue: one.queue,
                irq: one.irq,
                cpu,
            });
        }
    }

    pub fn pinned(&self) -> &[PinnedIrq] {
        &self.pinned
    }
}

impl Drop for IrqPinning {
    fn drop(&mut self) {
        for record in self.records.drain(..) {
            // A record that cannot be carried out stays for the next capture or 'doctor --undo'.
            let _ = record.end(&self.paths);
        }
    }
}

#[cfg(test)]
mod tests;
