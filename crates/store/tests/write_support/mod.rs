//! Helpers for the writer tests: packets to write, and programs that read them back.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tapline_store::model::{Interface, LinkType, Packet, Statistics};
use tapline_store::write::{CaptureFile, CaptureFileOptions, Output};

/// 2026-11-21 07:15:00 UTC, a multiple of five minutes.
pub const QUARTER_PAST: u64 = 1_795_245_300_000_000_000;

/// Passes the output file to a test that reruns itself in another process.
pub const FILE: &str = "TAPLINE_TEST_FILE";

/// Returns a command that reruns only the calling test, with `file` to write.
pub fn again(wrapper: &[&str], file: &Path) -> Command {
    let thread = std::thread::current();
    let name = thread.name().expect("a test runs on a thread of its name");
    let program = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(OsStr::new).chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["--exact", name, "--nocapture"])
        .env(FILE, file);
    command
}

/// An Ethernet interface without other properties.
pub fn ethernet() -> Interface {
    Interface::new(LinkType::ETHERNET, 0)
}

/// Options for one Ethernet interface.
pub fn options(path: &Path) -> CaptureFileOptions {
    CaptureFileOptions::new(Output::Path(path.to_owned()), vec![ethernet()])
}

/// A frame of `length` octets whose contents depend on `number`.
pub fn frame(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
    bytes.extend(number.to_be_bytes());
    bytes.extend((0..length).map(|place| (place as u64 * 7 + number) as u8));
    bytes.truncate(length);
    bytes
}

/// Writes `count` packets of `length` octets, starting at `start_ns`, one microsecond and one nanosecond apart.
pub fn write_frames(file: &mut CaptureFile, start_ns: u64, count: u64, length: usize) {
    for number in 0..count {
        let bytes = frame(number, length);
        file.write(&Packet::new(start_ns + number * 1001, &bytes))
            .expect("a packet is written");
    }
}

/// Statistics with a different value in each counter.
pub fn statistics(interface: u32) -> Statistics {
    Statistics {
        interface,
        timestamp_ns: Some(QUARTER_PAST + 4),
        start_ns: Some(QUARTER_PAST),
        end_ns: Some(QUARTER_PAST + 3),
        received: Some(1_000_001),
        interface_dropped: Some(1_000_002),
        filter_accepted: Some(1_000_003),
        os_dropped: Some(1_000_004),
        delivered: Some((1 << 40) + 5),
        comment: Some("all accounted for".into()),
    }
}

/// Runs a program that must succeed without error output. Returns its output.
pub fn run<S: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect(program);
    let complaints = String::from_utf8_lossy(&output.stderr);
    // tshark says so to root; tcpdump says what it reads, zstd who it is.
    let harmless = ["Running as user", "reading from file", "*** Zstandard CLI"];
    let expected = |line: &&str| !harmless.iter().any(|start| line.starts_with(start));
    let complaints: Vec<&str> = complaints.lines().filter(expected).collect();
    assert!(
        output.status.success() && complaints.is_empty(),
        "{program}: {complaints:?}"
    );
    String::from_utf8(output.stdout).expect("text")
}

/// The given fields of each packet, by tshark.
pub fn tshark(file: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut arguments: Vec<&OsStr> = ["-n", "-T", "fields", "-r"].map(OsStr::new).to_vec();
    arguments.push(file.as_os_str());
    for field in fields {
        arguments.extend(["-e", field].map(OsStr::new));
    }
    let text = run("tshark", arguments);
    text.lines()
        .map(|line| line.split('\t').map(String::from).collect())
        .collect()
}

/// Every packet's octets, by tshark.
pub fn tshark_bytes(file: &Path) -> Vec<Vec<u8>> {
    let arguments = ["-n", "-T", "jsonraw", "-j", "frame", "-r"].map(OsStr::new);
    let text = run("tshark", arguments.into_iter().chain([file.as_os_str()]));
    let frames = text.split("\"frame_raw\"").skip(1);
    frames
        .map(|rest| from_hex(rest.split('"').nth(1).expect("hexadecimal digits")))
        .collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |octet: u8| (octet as char).to_digit(16).expect("a digit") as u8;
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// The file's structure, by Wireshark's dissector of capture files.
pub fn structure(file: &Path) -> String {
    let arguments = ["-n", "-X", "read_format:MIME Files Format", "-V", "-r"].map(OsStr::new);
    run("tshark", arguments.into_iter().chain([file.as_os_str()]))
}

/// Number of packets by capinfos, which reads the whole file.
pub fn count(file: &Path) -> u64 {
    let text = run("capinfos", [OsStr::new("-TrcM"), file.as_os_str()]);
    let field = text.trim().rsplit('\t').next().expect("a count");
    field
        .parse()
        .unwrap_or_else(|_| panic!("not a count: {text:?}"))
}

/// The files in a folder, sorted by name.
pub fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

/// The file name of a path.
pub fn name(path: &Path) -> String {
    path.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}
