//! What the tests of the program share: running it on a test host, frames for it to see, and the
//! programs that say independently what it should have seen.

pub mod count;
pub mod doctor;
pub mod files;
pub mod frames;
pub mod ping;
pub mod run;
pub mod scrape;
pub mod stack;
pub mod terminal;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use lab::generator::{Generator, GeneratorOptions, udp_frame};
use lab::{Host, Net, tool};
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_tapline");

/// Two hosts with a link, and a folder for files.
pub struct Scene {
    pub left: Host,
    pub right: Host,
    pub folder: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        let [left, right] = Net::new().pair();
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            left,
            right,
            folder,
        }
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> String {
        text(&self.folder.path().join(name))
    }

    /// Sends `frames` from left to right.
    pub fn send(&self, frames: &[Vec<u8>]) {
        let out = self.left.interface().index;
        let sent = self
            .left
            .run(|| lab::generator::send_frames(out, frames))
            .expect("frames are sent");
        assert_eq!(sent, frames.len() as u64);
    }

    /// Has exactly `count` frames of 128 octets arrive at right.
    pub fn generate(&self, count: u64, rate_pps: Option<u64>) {
        let options = GeneratorOptions::new(self.left.interface().index, udp_frame(128));
        let mut generator = self.left.run(|| Generator::new(options));
        let peer = self.right.interface().index;
        self.right.run(|| generator.attach_peer(peer));
        let sent = self.left.run(|| generator.deliver(count, rate_pps));
        assert_eq!(sent.delivered, count);
    }

    /// Names of the files in the folder, sorted.
    pub fn listed(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder");
        let mut names: Vec<_> = entries
            .map(|entry| text(&entry.expect("an entry").path()))
            .collect();
        names.sort();
        names
    }
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The name of the host's first interface.
pub fn name(host: &Host) -> String {
    host.interface().name.to_string()
}

/// What ip(8) says on `host`.
pub fn ip_json(host: &Host, arguments: &[&str]) -> Value {
    let output = host
        .command("ip")
        .args(["-json", "-statistics"])
        .args(arguments)
        .output()
        .expect("ip runs");
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON of ip")
}

/// Runs ip(8) on `host`.
pub fn ip(host: &Host, arguments: &[&str]) {
    let output = host
        .command("ip")
        .args(arguments)
        .output()
        .expect("ip runs");
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
}

/// Packets that the host's interface received, as ip(8) says.
pub fn arrived(host: &Host) -> u64 {
    let shown = ip_json(host, &["link", "show", &name(host)]);
    shown[0]["stats64"]["rx"]["packets"]
        .as_u64()
        .expect("a counter")
}

/// Runs a tool that must succeed without a complaint; gives what it prints.
pub fn tool<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> String {
    let mut command = tool::command(name);
    command.args(arguments);
    let output = command.output().expect("the tool runs");
    uncomplaining(&command, &output);
    String::from_utf8(output.stdout).expect("text")
}

fn uncomplaining(command: &Command, output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    // tshark says so to root; tcpdump says what it reads.
    let harmless = ["Running as user", "reading from file"];
    let is_complaint = |line: &&str| !harmless.iter().any(|start| line.starts_with(start));
    let complaints: Vec<&str> = said.lines().filter(is_complaint).collect();
    assert!(
        output.status.success() && complaints.is_empty(),
        "{command:?}: {}, {complaints:?}",
        output.status
    );
}
