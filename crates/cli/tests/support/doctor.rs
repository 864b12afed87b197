//! `tapline doctor` on a test host, faults to find, and the host's state according to other programs.

use std::process::Command;

use lab::Host;
use tapline::net::Gro;

use super::run::{Ended, spawn};
use super::{Scene, output};

/// `tapline doctor LINE` at right, with its change records in the scene's folder.
pub fn command(scene: &Scene, line: &str) -> Command {
    let mut command = scene.command(&format!("doctor {line}"));
    command.env("XDG_STATE_HOME", scene.folder.path());
    command
}

pub fn doctor(scene: &Scene, line: &str) -> Ended {
    spawn(command(scene, line)).finish()
}

/// Like [`doctor`], for right's interface.
pub fn examine(scene: &Scene, line: &str) -> Ended {
    doctor(scene, &format!("-i right0 {line}"))
}

/// The host's changeable settings, according to other programs.
pub fn state(host: &Host) -> [String; 2] {
    // Files that cannot be read make grep fail; they are not what is compared.
    let settings = "-c 'grep -rs . /proc/sys/net || true'";
    let features = format!("-k {}", host.interface().name);
    [
        output(host, "ethtool", &features),
        output(host, "/bin/sh", settings),
    ]
}

/// Injects a fault of the interface and two of its namespace.
pub fn plant(scene: &Scene) {
    scene.right.set_gro(Gro::On);
    scene.right.set_sysctl("core/optmem_max", "20480");
    scene.right.set_sysctl("ipv4/icmp_ratelimit", "5000");
}

/// The change records.
pub fn records(scene: &Scene) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(scene.folder.path().join("tapline"));
    let entries = folder.into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}
