//! Helpers for the program's tests: running it on a test host, frames to capture, and other programs that verify its
//! output.

pub mod blocks;
pub mod count;
pub mod dns;
pub mod doctor;
pub mod engines;
pub mod files;
pub mod frames;
pub mod nft;
pub mod objects;
pub mod ping;
pub mod rpcap;
pub mod run;
pub mod scrape;
pub mod services;
pub mod stack;
pub mod terminal;

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::generator::{Generator, GeneratorOptions, send_frames, udp_frame};
use lab::{Host, Net, tool};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use run::{Ended, Running, spawn};
use stack::find_missing;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_tapline");

/// The signals that stop a job gracefully; without SIGHUP if the tests were started with it ignored, as by nohup(1).
pub fn ending() -> Vec<Signal> {
    let status = fs::read_to_string("/proc/self/status").expect("the status of a process");
    let mut ignored = status.lines().filter(|line| line.starts_with("SigIgn:"));
    let ignored = ignored.next().expect("the ignored signals");
    // The lowest bit of a hexadecimal mask.
    let ignores_hangups = ignored.ends_with(['1', '3', '5', '7', '9', 'b', 'd', 'f']);
    let all = [Signal::INT, Signal::TERM, Signal::HUP].into_iter();
    all.filter(|signal| *signal != Signal::HUP || !ignores_hangups)
        .collect()
}

/// An XDP program that copies packets, as flags of a capture.
pub const RINGBUF: &str = "--backend xdp-ringbuf --direction in -s 96";

/// Whether the calling test has run on a host with mounts of its own, which `setup` (shell) changes first; false
/// when that is where it runs now. `mark` is an environment variable that tells.
#[track_caller]
pub fn has_run_with_own_mounts(mark: &str, setup: &str) -> bool {
    if std::env::var_os(mark).is_some() {
        return false;
    }
    let host = Host::new("host");
    let mut command = host.command("unshare");
    let script = format!("{setup} && exec \"$@\"");
    command.args(["--mount", "--", "sh", "-c", &script, "sh"]);
    command
        .arg(lab::rerun::program())
        .args(lab::rerun::arguments());
    let output = command.env(mark, "1").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{errors}"
    );
    true
}

/// Splits a command line into words; single quotes group words.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, piece) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// `tapline LINE` on `host`.
pub fn tapline(host: &Host, line: &str) -> Command {
    let mut command = host.command(PROGRAM);
    command.args(words(line));
    command
}

/// Runs `PROGRAM LINE` on `host`, which must succeed. Returns its output.
#[track_caller]
pub fn output(host: &Host, program: &str, line: &str) -> String {
    let output = host.command(program).args(words(line)).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{program} {line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Two hosts with a link, `left0` and `right0`, and a folder for files.
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

    /// Writes a file in the folder; returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let file = self.file(name);
        fs::write(&file, content).expect("a file");
        file
    }

    /// Sends `frames` from left to right.
    #[track_caller]
    pub fn send(&self, frames: &[Vec<u8>]) {
        send(&self.left, frames);
    }

    /// Sends `frames` from right to left.
    #[track_caller]
    pub fn send_back(&self, frames: &[Vec<u8>]) {
        send(&self.right, frames);
    }

    /// Delivers exactly `count` frames of 128 octets to right.
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
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let names = entries.map(|entry| text(Path::new(&entry.expect("an entry").file_name())));
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// `tapline LINE` at right, in the folder.
    pub fn command(&self, line: &str) -> Command {
        let mut command = tapline(&self.right, line);
        command.current_dir(self.folder.path());
        command
    }

    /// Like [`command`](Self::command), with no capabilities except `kept`, e.g. `,+net_raw`.
    pub fn privileged_by(&self, kept: &str, line: &str) -> Command {
        let mut command = self.right.command("setpriv");
        command.args(["--bounding-set", &format!("-all{kept}"), PROGRAM]);
        command.args(words(line)).current_dir(self.folder.path());
        command
    }

    /// Runs `tapline LINE` at right, in the folder, until it exits.
    pub fn run(&self, line: &str) -> Ended {
        spawn(self.command(line)).finish()
    }

    /// Starts `tapline capture -i right0 --json LINE` with statistics every 5 ms. Returns when it is ready.
    #[track_caller]
    pub fn capture(&self, line: &str) -> Running {
        self.capture_begun(line).0
    }

    /// Like [`capture`](Self::capture), with the start event.
    #[track_caller]
    pub fn capture_begun(&self, line: &str) -> (Running, Value) {
        let often = if line.contains("--stats-interval") {
            ""
        } else {
            "--stats-interval 5ms"
        };
        let mut running = spawn(self.command(&format!("capture -i right0 --json {often} {line}")));
        let start = running.ready();
        (running, start)
    }

    /// Like [`capture`](Self::capture), with text output.
    #[track_caller]
    pub fn capture_text(&self, line: &str) -> Running {
        let mut running = spawn(self.command(&format!("capture -i right0 {line}")));
        running.ready_text();
        running
    }
}

/// Sends `frames` through the host's first interface.
#[track_caller]
pub fn send(host: &Host, frames: &[Vec<u8>]) {
    let sent = host.run(|| send_frames(host.interface().index, frames));
    assert_eq!(sent.expect("frames are sent"), frames.len() as u64);
}

/// Checks that `run` of each command line exits with its status, prints nothing to standard output, and prints one
/// error line. The line must contain the text, or equal it if the text starts with `tapline: `. Runs all before it
/// fails.
#[track_caller]
pub fn assert_refused(run: impl Fn(&str) -> Ended, rows: &[(&str, i32, &str)]) {
    let mut wrong = Vec::new();
    for (line, status, text) in rows {
        let ended = run(line);
        let is_told = |told: &str| {
            let is_whole = text.starts_with("tapline: ");
            told.starts_with("tapline: ") && told.contains(text) && (!is_whole || told == *text)
        };
        let is_refused = ended.status.code() == Some(*status) && ended.stdout.is_empty();
        if !is_refused || !matches!(&ended.stderr[..], [told] if is_told(told)) {
            wrong.push(format!("{line}: {status} and {text:?} expected, {ended:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks that `value` contains `expected`, at any depth.
#[track_caller]
pub fn assert_has(value: &Value, expected: &Value) {
    let mut missing = Vec::new();
    find_missing(value, [expected, expected], "", &mut missing);
    assert!(missing.is_empty(), "{missing:#?} in {value}");
}

/// The keys of an object, in their order.
pub fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

/// A number of an object.
#[track_caller]
pub fn number(value: &Value, key: &str) -> u64 {
    let number = value[key].as_u64();
    number.unwrap_or_else(|| panic!("{key} in {value}"))
}

/// A filter with more sources than the kernel supports; none of them sends anything.
pub fn nobodys_stations() -> String {
    let stations = (0..4000).map(|n: u32| format!("6:0:0:0:{:x}:{:x}", n / 251, n % 251));
    format!("ether src ({})", stations.collect::<Vec<_>>().join(" or "))
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The name of the host's first interface.
pub fn name(host: &Host) -> String {
    host.interface().name.to_string()
}

/// Output of ip(8) on `host`.
#[track_caller]
pub fn ip_json(host: &Host, line: &str) -> Value {
    let shown = output(host, "ip", &format!("-json -statistics {line}"));
    serde_json::from_str(&shown).expect("JSON of ip")
}

/// Runs ip(8) on `host`.
#[track_caller]
pub fn ip(host: &Host, line: &str) {
    output(host, "ip", line);
}

/// Packets received by the host's interface, according to ip(8).
pub fn arrived(host: &Host) -> u64 {
    let shown = ip_json(host, &format!("link show {}", name(host)));
    number(&shown[0]["stats64"]["rx"], "packets")
}

/// Runs a tool that must succeed without error output. Returns its output.
#[track_caller]
pub fn tool(name: &str, line: &str) -> String {
    String::from_utf8(tool_bytes(name, line)).expect("text")
}

/// Like [`tool`], for binary output.
#[track_caller]
pub fn tool_bytes(name: &str, line: &str) -> Vec<u8> {
    let mut command = tool::command(name);
    let output = command.args(words(line)).env("TZ", "UTC").output();
    let output = output.expect("the tool runs");
    let said = String::from_utf8_lossy(&output.stderr);
    // tshark says so to root; tcpdump says what it reads.
    let harmless = ["Running as user", "reading from file"];
    let is_complaint = |line: &&str| !harmless.iter().any(|start| line.starts_with(start));
    let complaints: Vec<&str> = said.lines().filter(is_complaint).collect();
    let is_fine = output.status.success() && complaints.is_empty();
    assert!(is_fine, "{command:?}: {}, {complaints:?}", output.status);
    output.stdout
}
