//! `tapline doctor` on a test host, faults for it to find, and what other programs tell of the host.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lab::Host;
use serde_json::Value;
use tapline::net::Gro;

use super::run::{Ended, spawn};
use super::{PROGRAM, Scene, name};

/// `tapline doctor` at right, with its records in the scene's folder.
pub fn command(scene: &Scene, arguments: &[&str]) -> Command {
    let mut command = scene.right.command(PROGRAM);
    command.arg("doctor").args(arguments);
    command.env("XDG_STATE_HOME", scene.folder.path());
    command
}

pub fn doctor(scene: &Scene, arguments: &[&str]) -> Ended {
    spawn(command(scene, arguments)).finish()
}

/// As [`doctor`], about right's interface.
pub fn examine(scene: &Scene, arguments: &[&str]) -> Ended {
    let link = name(&scene.right);
    doctor(scene, &[&["-i", &link], arguments].concat())
}

pub fn output(host: &Host, program: &str, arguments: &[&str]) -> String {
    let output = host
        .command(program)
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What of the host may be changed, as other programs tell it.
pub fn state(host: &Host) -> [String; 2] {
    // Files that cannot be read make grep fail; they are not what is compared.
    let settings = "grep -rs '' /proc/sys/net || true";
    [
        output(host, "ethtool", &["-k", &name(host)]),
        output(host, "/bin/sh", &["-c", settings]),
    ]
}

/// Plants a fault of the interface and two of its namespace.
pub fn plant(scene: &Scene) {
    scene.right.set_gro(Gro::On);
    scene.right.set_sysctl("core/optmem_max", "20480");
    scene.right.set_sysctl("ipv4/icmp_ratelimit", "5000");
}

/// Events of one kind.
pub fn of_kind(ended: &Ended, kind: &str) -> Vec<Value> {
    let events = ended.events().into_iter();
    events.filter(|event| event["event"] == kind).collect()
}

pub fn records(scene: &Scene) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(scene.folder.path().join("tapline")) else {
        return Vec::new();
    };
    folder
        .map(|entry| entry.expect("an entry").path())
        .collect()
}
