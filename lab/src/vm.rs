//! Runs tests for features that neither the running kernel nor User-Mode Linux has, under a newer or an older Debian
//! kernel in QEMU. The guest runs from memory and holds only the test program, its shared libraries, `ip` and `ethtool`.
//!
//! A test program lists its tests in one static [`Tests`], as with [`uml`](crate::uml).

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guest::{self, Guest, GuestFile, Run, run_to_end, variables};
use crate::rerun;
use crate::skip::Feature;
use crate::tool;

/// A kernel unpacked by `tools/kernel.sh`, and the programs to boot it.
pub const NEWER_KERNEL: Feature = Feature {
    name: "a newer kernel in QEMU",
    probe: || probe(NEWER),
};

/// The same with Linux 6.1.
pub const OLDER_KERNEL: Feature = Feature {
    name: "an older kernel in QEMU",
    probe: || probe(OLDER),
};

const QEMU: &str = "qemu-system-x86_64";

// Each names the folder of a kernel, if there is one.
const NEWER: &str = "TAPLINE_LAB_KERNEL";
const OLDER: &str = "TAPLINE_LAB_OLDER_KERNEL";

fn probe(variable: &str) -> Result<(), String> {
    let order = folder(variable)?.join("order");
    fs::metadata(&order).map_err(|error| format!("{}: {error}", order.display()))?;
    for program in [QEMU, "busybox", "cpio"] {
        let known = tool::find(program);
        known.ok_or_else(|| format!("{program} is not installed"))?;
    }
    Ok(())
}

fn folder(variable: &str) -> Result<PathBuf, String> {
    let folder = env::var_os(variable).map(PathBuf::from);
    folder.ok_or_else(|| format!("{variable} names no folder that tools/kernel.sh has filled"))
}

/// A newer kernel in QEMU.
#[derive(Debug)]
pub struct VirtualMachine;

/// An older kernel in QEMU.
#[derive(Debug)]
pub struct OlderMachine;

/// The tests of a program that run in QEMU.
pub type Tests = guest::Tests<VirtualMachine>;
/// The tests of a program that run in QEMU under the older kernel.
pub type OlderTests = guest::Tests<OlderMachine>;

impl Guest for VirtualMachine {
    const INSIDE: &str = "TAPLINE_LAB_INSIDE_VM";
    const FEATURE: Feature = NEWER_KERNEL;
    const PLACE: &str = "under a newer kernel in QEMU";

    fn boot(tests: &[&str], files: &[GuestFile]) -> Run {
        boot(NEWER, Self::INSIDE, tests, files)
    }
}

impl Guest for OlderMachine {
    const INSIDE: &str = "TAPLINE_LAB_INSIDE_OLDER_VM";
    const FEATURE: Feature = OLDER_KERNEL;
    const PLACE: &str = "under an older kernel in QEMU";

    fn boot(tests: &[&str], files: &[GuestFile]) -> Run {
        boot(OLDER, Self::INSIDE, tests, files)
    }
}

/// Boots the kernel in the folder that `variable` names, and sets `inside` there.
fn boot(variable: &str, inside: &str, tests: &[&str], files: &[GuestFile]) -> Run {
    let place = tempfile::tempdir().expect("a folder");
    let kernel = folder(variable).expect("the kernel's folder");
    let memory = fill(place.path(), &kernel, inside, tests, files);
    let mut command = tool::command(QEMU);
    command.args([
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
        "-m",
        "2048",
    ]);
    // QEMU 7.2 emulates CMPXCHG16B in a way that crashes this kernel's allocator.
    command.args(["-cpu", "max,-cx16", "-serial", "stdio"]);
    // The kernel's test of its timer fails if the emulator has no CPU meanwhile.
    command.args(["-append", "console=ttyS0 quiet panic=-1 no_timer_check"]);
    command.arg("-kernel").arg(kernel.join("vmlinuz"));
    command.arg("-initrd").arg(memory);
    let (status, console) = run_to_end(command, || {});
    Run::of(
        console.replace('\r', ""),
        &format!("the kernel exited with {status}"),
    )
}

/// Builds the initramfs.
fn fill(place: &Path, kernel: &Path, inside: &str, tests: &[&str], files: &[GuestFile]) -> PathBuf {
    let root = place.join("root");
    for folder in ["proc", "sys", "dev", "run", "tmp", "modules"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    for entry in fs::read_dir(kernel).expect("the kernel's folder") {
        let entry = entry.expect("an entry");
        if entry.file_name() != "vmlinuz" {
            copy(&entry.path(), &root.join("modules").join(entry.file_name()));
        }
    }
    let program = rerun::program();
    let ip = tool::path("ip");
    let ethtool = tool::path("ethtool");
    let busybox = tool::path("busybox");
    let in_root = |path: &Path| root.join(path.strip_prefix("/").expect("a path from the root"));
    let given = files.iter().map(|file| &file.host);
    for file in [&program, &ip, &ethtool]
        .into_iter()
        .chain(given)
        .flat_map(|file| linked(file))
    {
        copy(&file, &in_root(&file));
    }
    for file in files {
        strip(&file.host, &in_root(Path::new(file.guest)));
    }
    strip(&program, &root.join("bin/tests"));
    copy(&ip, &root.join("bin/ip"));
    copy(&ethtool, &root.join("bin/ethtool"));
    copy(&busybox, &root.join("bin/busybox"));
    let init = root.join("init");
    let script = INIT
        .replace("TESTS", &tests.join(" "))
        .replace("VARIABLES", &variables());
    fs::write(&init, script.replace("INSIDE", inside)).expect("process 1");
    fs::set_permissions(&init, Permissions::from_mode(0o700))
        .expect("the script is made executable");
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "find . | cpio --quiet --create --format=newc >../memory",
    ]);
    let status = command.current_dir(&root).status().expect("sh runs");
    assert!(status.success(), "an archive");
    place.join("memory")
}

/// The script that runs as process 1.
const INIT: &str = "#!/bin/busybox sh
export PATH=/bin TMPDIR=/tmp RUST_BACKTRACE=0
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
while read module; do insmod /modules/$module; done </modules/order
ip link set lo up
INSIDE=1 VARIABLEStests --test-threads=1 TESTS
poweroff -f
";

/// The shared libraries of `program`, and the dynamic linker.
fn linked(program: &Path) -> BTreeSet<PathBuf> {
    let output = Command::new("ldd").arg(program).output();
    let text = String::from_utf8(output.expect("ldd runs").stdout).expect("text");
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// Copies a program or a shared library without its debugging information. That is most of it, and the guest unpacks all of it into
/// memory.
fn strip(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("made");
    let mut command = tool::command("strip");
    let status = command
        .arg("--strip-debug")
        .arg("-o")
        .args([to, from])
        .status();
    assert!(status.expect("strip runs").success(), "{}", from.display());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("made");
    fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}
