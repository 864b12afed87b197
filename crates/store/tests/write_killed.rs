//! The files that a killed process leaves on disk.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::write_support::*;
use tapline_store::model::Packet;
use tapline_store::write::CaptureFile;

/// The child of the tests: writes forever and prints how many packets are flushed.
fn write_until_killed(path: &Path, bound: u64) {
    let mut options = options(path);
    options.buffer_bytes = 64 << 10;
    let mut file = CaptureFile::create(options, 0).unwrap();
    let mut told = 0;
    for number in 0..bound {
        let bytes = frame(number, 97);
        file.write(&Packet::new(QUARTER_PAST + number, &bytes))
            .unwrap();
        if file.packets_written() > told {
            told = file.packets_written();
            println!("\nwritten {told}");
        }
    }
    println!("\nwaiting");
    // The parent never answers.
    let _ = io::stdin().read(&mut [0]);
    // Nothing is flushed on the way out, should the parent be gone.
    std::mem::forget(file);
}

/// Starts the child and kills it when it prints `word`. Returns the last count that it printed.
fn kill_when(path: &Path, word: &str) -> u64 {
    let mut child = again(&[], path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut written = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(count) = line.strip_prefix("written ") {
            written = count.parse().unwrap();
        }
        if line.starts_with(word) {
            break;
        }
    }
    child.kill().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()),
        Some(9)
    );
    written
}

#[test]
fn a_process_killed_with_a_full_buffer_leaves_whole_blocks() {
    if let Some(path) = std::env::var_os(FILE) {
        return write_until_killed(Path::new(&path), 10_000);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let written = kill_when(&path, "waiting");
    assert!(written > 0 && written < 10_000);
    assert_eq!(count(&path), written);
    run(
        "tcpdump",
        [OsStr::new("-nq"), OsStr::new("-r"), path.as_os_str()],
    );
}

#[test]
fn a_process_killed_at_any_moment_leaves_what_it_flushed() {
    if let Some(path) = std::env::var_os(FILE) {
        return write_until_killed(Path::new(&path), 1 << 20);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let told = kill_when(&path, "written ");
    // The kill may strike within write(2); then tshark reads to the last whole block and says so.
    let output = Command::new("tshark")
        .args(["-n", "-T", "fields", "-e", "frame.time_epoch", "-r"])
        .arg(&path)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || complaint.contains("cut short"),
        "{complaint}"
    );
    let times = String::from_utf8(output.stdout).unwrap();
    for (number, line) in times.lines().enumerate() {
        assert_eq!(
            line,
            format!("{}.{number:09}", QUARTER_PAST / 1_000_000_000)
        );
    }
    assert!(times.lines().count() as u64 >= told);
}
