//! The interrupts of an interface.

use std::fs;
use std::path::{Path, PathBuf};

use crate::doctor::SystemPaths;
use crate::record_file::{self, RecordError};

/// How the names of interrupts end before the number of their receive queue, in lower case: `eth0-TxRx-3`, `eth0-rx-3`,
/// `eth0-rxtx-3`, `virtio0-input.3`, `mlx5_comp3@pci:0000:01:00.0`.
const STEMS: [&str; 4] = ["rx-", "rxtx-", "input.", "_comp"];

/// Where the interrupts are, and the records of their former CPUs.
#[derive(Clone, Debug)]
pub struct IrqPaths {
    pub system: SystemPaths,
    pub records: PathBuf,
}

impl IrqPaths {
    pub fn of_host() -> Result<Self, RecordError> {
        Ok(Self {
            system: SystemPaths::default(),
            records: record_file::folder()?,
        })
    }
}

/// An interface of the calling thread's network namespace. `/sys` may be that of another one.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'l> {
    pub name: &'l str,
    pub index: u32,
    pub address: &'l [u8],
}

impl Interface<'_> {
    /// Whether the folder of `/sys` with its name is that of this interface.
    fn is_in(&self, folder: &Path) -> bool {
        let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let address: Vec<_> = self
            .address
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        text("ifindex").trim() == self.index.to_string()
            && text("address").trim() == address.join(":")
    }
}

/// The interrupt of a receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueIrq {
    pub irq: u32,
    pub queue: u32,
}

/// The interrupts of the receive queues of interface `link`, by queue. A virtual interface has none. Interrupts whose name
/// has no queue number are left out.
///
/// # Source
/// Documentation/ABI/testing/sysfs-bus-pci (`msi_irqs`), sysfs-kernel-irq (`actions`).
pub fn queue_irqs(paths: &SystemPaths, link: &Interface<'_>) -> Vec<QueueIrq> {
    let folder = paths.sys.join("class/net").join(link.name);
    if !link.is_in(&folder) {
        return Vec::new();
    }
    let device = folder.join("device");
    // A virtio device has those of the PCI device above it.
    let folders = [device.join("msi_irqs"), device.join("../msi_irqs")];
    let numbers = folders.iter().find_map(|folder| numbers(folder));
    let queue_irq = |irq: u32| {
        let actions = paths.sys.join(format!("kernel/irq/{irq}/actions"));
        let names = fs::read_to_string(actions).ok()?;
        let queue = names.trim().split(',').find_map(queue_of)?;
        Some(QueueIrq { irq, queue })
    };
    let irqs = numbers.unwrap_or_default().into_iter();
    let mut irqs: Vec<_> = irqs.filter_map(queue_irq).collect();
    irqs.sort_unstable_by_key(|one| (one.queue, one.irq));
    irqs
}

/// The names of the entries of `folder`, which are numbers.
fn numbers(folder: &Path) -> Option<Vec<u32>> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Some(entries.filter_map(number).collect())
}

/// The receive queue in the name of an interrupt.
fn queue_of(name: &str) -> Option<u32> {
    let name = name.split('@').next()?;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().ok()?;
    let stem = stem.to_ascii_lowercase();
    STEMS
        .iter()
        .any(|end| stem.ends_with(end))
        .then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as drivers give them: ixgbe, igb, ena, vmxnet3, virtio_net, mlx5.
    #[test]
    fn names_say_their_receive_queue() {
        for (name, queue) in [
            ("eth0-TxRx-12", Some(12)),
            ("eth0-rx-3", Some(3)),
            ("eth0-Tx-Rx-7", Some(7)),
            ("eth0-rxtx-1", Some(1)),
            ("virtio0-input.5", Some(5)),
            ("mlx5_comp9@pci:0000:01:00.0", Some(9)),
            ("eth0-tx-3", None),
            ("virtio0-output.5", None),
            ("virtio0-config", None),
            ("mlx5_async0@pci:0000:01:00.0", None),
            ("eth0", None),
            ("", None),
            ("rx-99999999999", None),
        ] {
            assert_eq!(queue_of(name), queue, "{name}");
        }
    }
}
