//! Interrupts of a device in directories that stand for `/sys` and `/proc`.

use std::fs;

use tempfile::TempDir;

use super::super::saved_setting::{IrqError, RestoreOutcome, undo_in};
use super::*;
use crate::doctor::SystemPaths;
use crate::record_file;

const ETH0: Interface<'_> = Interface {
    name: "eth0",
    index: 2,
    address: &[2, 0, 0, 0, 0, 0xab],
};

/// A device `eth0` with interrupts 40 to 44 for its queues 0 to 3 and its configuration. All may run on CPUs 0 to 7.
fn host() -> (TempDir, IrqPaths) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let write = |path: String, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    write("sys/class/net/eth0/ifindex".to_owned(), "2\n");
    write(
        "sys/class/net/eth0/address".to_owned(),
        "02:00:00:00:00:ab\n",
    );
    for irq in 40..45 {
        let name = match irq {
            44 => "eth0".to_owned(),
            _ => format!("eth0-TxRx-{}", irq - 40),
        };
        write(
            format!("sys/class/net/eth0/device/msi_irqs/{irq}"),
            "msix\n",
        );
        write(
            format!("sys/kernel/irq/{irq}/actions"),
            &format!("{name}\n"),
        );
        write(format!("proc/irq/{irq}/smp_affinity_list"), "0-7\n");
    }
    let paths = IrqPaths {
        system: SystemPaths {
            proc: root.join("proc"),
            sys: root.join("sys"),
            dev: root.join("dev"),
        },
        records: root.join("run"),
    };
    (folder, paths)
}

fn affinities(paths: &IrqPaths) -> Vec<String> {
    let text = |irq| {
        let file = format!("irq/{irq}/smp_affinity_list");
        let text = fs::read_to_string(paths.system.proc.join(file)).expect("a list");
        text.trim().to_owned()
    };
    (40..45).map(text).collect()
}

fn records(paths: &IrqPaths) -> usize {
    record_file::records(&paths.records, "irq-")
        .expect("read")
        .len()
}

/// Pins queues 0 to 2 to CPUs 2 to 4.
fn pinned(paths: &IrqPaths) -> IrqPinning {
    let mut pinning = IrqPinning::new(paths.clone());
    pinning.pin(&ETH0, |queue| (queue < 3).then_some(2 + queue as usize));
    pinning
}

const FORMER: [&str; 5] = ["0-7"; 5];
const PINNED: [&str; 5] = ["2", "3", "4", "0-7", "0-7"];

#[test]
fn queues_are_pinned_and_restored() {
    let (_folder, paths) = host();
    let first = pinned(&paths);
    assert_eq!(affinities(&paths), PINNED);
    let found = first.pinned().iter();
    let found: Vec<_> = found.map(|one| (one.queue, one.irq, one.cpu)).collect();
    assert_eq!(found, [(0, 40, 2), (1, 41, 3), (2, 42, 4)]);
    // The last one restores.
    let second = pinned(&paths);
    drop(first);
    assert_eq!(affinities(&paths), PINNED);
    drop(second);
    assert_eq!(affinities(&paths), FORMER);
    assert_eq!(records(&paths), 0);
}

#[test]
fn what_a_killed_capture_left_is_restored_by_the_next_and_on_request() {
    let kill = |mut pinning: IrqPinning| pinning.records.clear();
    let (_folder, paths) = host();
    kill(pinned(&paths));
    assert_eq!(affinities(&paths), PINNED);
    drop(pinned(&paths));
    assert_eq!(affinities(&paths), FORMER);

    kill(pinned(&paths));
    let running = pinned(&paths);
    assert_eq!(undo_in(&paths).expect("undone").len(), 0);
    assert_eq!(affinities(&paths), PINNED);
    kill(running);
    // Somebody else's setting stays.
    fs::write(paths.system.proc.join("irq/41/smp_affinity_list"), "6\n").expect("written");
    // An interrupt that is gone.
    fs::remove_dir_all(paths.system.proc.join("irq/42")).expect("removed");
    let undone = undo_in(&paths).expect("undone");
    let found: Vec<_> = undone
        .iter()
        .map(|one| (one.irq, one.former.as_str()))
        .collect();
    assert_eq!(found, [(40, "0-7"), (41, "0-7"), (42, "0-7")]);
    assert!(matches!(undone[0].restored, RestoreOutcome::Done));
    assert!(matches!(undone[1].restored, RestoreOutcome::Left));
    assert!(matches!(undone[2].restored, RestoreOutcome::Left));
    assert_eq!(
        undone[0].command(),
        "echo 0-7 > /proc/irq/40/smp_affinity_list"
    );
    fs::create_dir(paths.system.proc.join("irq/42")).expect("made");
    fs::write(paths.system.proc.join("irq/42/smp_affinity_list"), "0-7").expect("written");
    assert_eq!(affinities(&paths), ["0-7", "6", "0-7", "0-7", "0-7"]);
    assert_eq!(records(&paths), 0);
}

/// The CPUs of interrupts that the next capture does not pin are restored when it begins.
#[test]
fn interrupts_of_an_earlier_capture_are_restored_before_new_ones_are_pinned() {
    let (_folder, paths) = host();
    pinned(&paths).records.clear();
    assert_eq!(affinities(&paths), PINNED);
    let _next = IrqPinning::new(paths.clone());
    assert_eq!(affinities(&paths), FORMER);
    assert_eq!(records(&paths), 0);
}

/// A file that nobody can write, as the one of an interrupt that the kernel does not let go. Its content stands for the CPU.
const READ_ONLY: &str = "/proc/sys/kernel/ngroups_max";

/// Pins interrupt 40 to a CPU, and keeps it from being set any more.
fn held(paths: &IrqPaths) -> (SavedSetting, impl Fn() + use<>) {
    let text = fs::read_to_string(READ_ONLY).expect("a number");
    let cpu = text.trim().parse().expect("a number");
    let record = SavedSetting::begin(paths, 40, cpu).expect("pinned");
    let file = paths.system.proc.join("irq/40/smp_affinity_list");
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink(READ_ONLY, &file).expect("linked");
    let release = move || {
        fs::remove_file(&file).expect("removed");
        fs::write(&file, &text).expect("written");
    };
    (record.expect("a record"), release)
}

#[test]
fn an_interrupt_that_cannot_be_set_keeps_the_record_of_its_former_cpus() {
    // Beside a capture that runs.
    let (_folder, paths) = host();
    let (running, release) = held(&paths);
    SavedSetting::begin(&paths, 40, 3).expect_err("it cannot be set");
    release();
    running.end(&paths).expect("restored");
    assert_eq!(
        (affinities(&paths)[0].as_str(), records(&paths)),
        ("0-7", 0)
    );
    // After a capture that was killed.
    let (killed, release) = held(&paths);
    drop(killed);
    SavedSetting::begin(&paths, 40, 3).expect_err("it cannot be set");
    assert_eq!(records(&paths), 1);
    release();
    let undone = undo_in(&paths).expect("undone");
    assert!(
        matches!(undone[0].restored, RestoreOutcome::Done),
        "{undone:?}"
    );
    assert_eq!(
        (affinities(&paths)[0].as_str(), records(&paths)),
        ("0-7", 0)
    );
    // Nothing was recorded before.
    let (record, _) = held(&paths);
    drop(record);
    fs::remove_file(paths.records.join("irq-40.json")).expect("removed");
    SavedSetting::begin(&paths, 40, 3).expect_err("it cannot be set");
    assert_eq!(records(&paths), 0);
}

#[test]
fn a_record_that_cannot_be_read_does_not_keep_the_others_from_being_restored() {
    let (_folder, paths) = host();
    pinned(&paths).records.clear();
    let broken = paths.records.join("irq-40.json");
    fs::remove_file(&broken).expect("removed");
    fs::create_dir(&broken).expect("made");
    let undone = undo_in(&paths).expect("undone");
    let found: Vec<_> = undone.iter().map(|one| one.irq).collect();
    assert_eq!(found, [40, 41, 42]);
    assert!(matches!(
        undone[0].restored,
        RestoreOutcome::Failed(IrqError::Record { .. })
    ));
    assert_eq!(undone[0].command(), "tapline doctor --undo");
    assert_eq!(affinities(&paths), ["2", "0-7", "0-7", "0-7", "0-7"]);
}

#[test]
fn an_interrupt_that_is_not_let_go_stays() {
    let (_folder, paths) = host();
    // A directory cannot be written, as the file of an interrupt that the kernel manages.
    let file = paths.system.proc.join("irq/41/smp_affinity_list");
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("made");
    let pinning = pinned(&paths);
    let irqs: Vec<_> = pinning.pinned().iter().map(|one| one.irq).collect();
    assert_eq!(irqs, [40, 42]);
    assert_eq!(records(&paths), 2);
}

/// The folder of an interface with this name in another network namespace is none of it.
#[test]
fn an_interface_without_a_device_has_no_interrupts() {
    let (_folder, paths) = host();
    let mut pinning = IrqPinning::new(paths.clone());
    for other in [
        Interface {
            name: "veth0",
            ..ETH0
        },
        Interface { index: 3, ..ETH0 },
        Interface {
            address: &[2, 0, 0, 0, 0, 1],
            ..ETH0
        },
    ] {
        pinning.pin(&other, |_| Some(0));
    }
    assert_eq!(pinning.pinned(), []);
    assert_eq!(affinities(&paths), FORMER);
}

/// A virtio device has the interrupts of the PCI device above it.
#[test]
fn interrupts_are_found_above_a_virtio_device() {
    let (folder, paths) = host();
    let root = folder.path();
    let pci = root.join("sys/devices/pci0");
    fs::create_dir_all(pci.join("virtio1")).expect("made");
    let net = root.join("sys/class/net");
    fs::rename(net.join("eth0/device/msi_irqs"), pci.join("msi_irqs")).expect("moved");
    fs::remove_dir(net.join("eth0/device")).expect("removed");
    std::os::unix::fs::symlink(pci.join("virtio1"), net.join("eth0/device")).expect("linked");
    fs::write(root.join("sys/kernel/irq/41/actions"), "virtio1-input.0\n").expect("written");
    let mut pinning = IrqPinning::new(paths.clone());
    pinning.pin(&ETH0, |_| Some(5));
    assert_eq!(affinities(&paths), ["5", "5", "5", "5", "0-7"]);
}
