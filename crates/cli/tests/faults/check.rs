//! Checks the result of a run.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::commands::{Case, Check, SENT};
use super::run::Outcome;

/// What a run is compared with.
#[derive(Debug)]
pub struct Expected {
    /// The run without a fault.
    pub plain: Outcome,
    /// `out.pcapng` of it.
    pub file: Option<Vec<u8>>,
    /// The length of the file of [`Check::Bytes`].
    pub bytes: Option<u64>,
    /// The state of the network before any run.
    pub before: String,
}

/// What no run may do, whatever happens to it: hang, panic, fail without saying why, or leave a damaged file.
pub fn misbehaves(case: &Case, outcome: &Outcome, folder: &Path) -> Option<String> {
    let Some(status) = outcome.status else {
        return Some("it hangs".into());
    };
    if outcome.stderr.contains("panicked") {
        return Some("it panics".into());
    }
    // Rust ends a process without memory like this.
    let has_no_memory = status == 134 && outcome.stderr.contains("memory allocation of");
    if !has_no_memory && !(0..=4).contains(&status) {
        return Some(format!("exit status {status}"));
    }
    // The trace shows what failed: without standard error nothing can be said there.
    let is_mute = outcome
        .trace
        .lines()
        .any(|line| line.contains("write(2<") && line.contains("INJECTED"));
    let complaint = outcome
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("tapline: "));
    // No host has answered, as ping(8) says it; a check has failed.
    let is_report = case.line.starts_with("ping") && status == 1 || case.line.starts_with("doctor");
    let is_silence = has_no_memory || is_report && !outcome.stdout.is_empty();
    if status != 0 && !is_mute && !is_silence && complaint.is_none_or(|text| text.len() < 10) {
        return Some(format!("exit status {status} without an error"));
    }
    // What cannot be removed stays.
    let keeps_parts = has_no_memory || outcome.trace.contains("unlink");
    unreadable(folder).or_else(|| part(folder).filter(|_| !keeps_parts))
}

/// Why a run is wrong; `None` if it is right.
pub fn wrong(case: &Case, expected: &Expected, outcome: &Outcome, folder: &Path) -> Option<String> {
    if let Some(problem) = misbehaves(case, outcome, folder) {
        return Some(problem);
    }
    let status = outcome.status?;
    if status == 134 {
        return None;
    }
    let is_new = matches!(case.check, Check::Configures | Check::Undoes);
    let plain = &expected.plain;
    // A lock that could not be examined or removed stays. The kernel has unlocked it.
    let keeps_lock = ["flock(", "statx(", "unlink("]
        .iter()
        .any(|call| outcome.trace.contains(call));
    let is_left = |line: &str| {
        let is_known = plain.state.lines().any(|other| other == line);
        !(is_known || keeps_lock && line.starts_with("/run"))
    };
    if !is_new && outcome.state.lines().any(is_left) {
        return Some(format!(
            "left: {}",
            difference(&plain.state, &outcome.state)
        ));
    }
    if status != plain.status.unwrap_or(0) {
        let is_unchanged = outcome.state == expected.before;
        return match case.check {
            Check::Undoes if !is_unchanged => Some(format!(
                "not undone: {}",
                difference(&expected.before, &outcome.state)
            )),
            Check::Configures
                if !is_unchanged
                    && outcome.state != plain.state
                    && !case.line.starts_with("batch") =>
            {
                Some(format!(
                    "half done: {}",
                    difference(&plain.state, &outcome.state)
                ))
            }
            _ => None,
        };
    }
    unlike(case, expected, outcome, folder)
}

/// What a successful run has not done.
fn unlike(case: &Case, expected: &Expected, outcome: &Outcome, folder: &Path) -> Option<String> {
    let plain = &expected.plain;
    match case.check {
        // A file of /proc that ends early cannot be told from a short one.
        Check::Same
            if outcome.trace.contains("/proc/") && outcome.trace.contains(" = 0 (INJECTED)") =>
        {
            None
        }
        Check::Same if outcome.stdout != plain.stdout => Some(format!(
            "success with other output: {}",
            difference(&plain.stdout, &outcome.stdout)
        )),
        Check::Printed => {
            let count = outcome.stdout.lines().count() as u64;
            (count != SENT).then(|| format!("success with {count} lines"))
        }
        Check::Configures | Check::Undoes if outcome.state != plain.state => Some(format!(
            "success with another state: {}",
            difference(&plain.state, &outcome.state)
        )),
        Check::File if file(folder) != expected.file => Some("success with another file".into()),
        Check::Bytes(name) if bytes(case, folder) != expected.bytes => {
            let (seen, expected) = (bytes(case, folder), expected.bytes);
            Some(format!(
                "success with {name} of {seen:?} bytes, not {expected:?}"
            ))
        }
        Check::Captured(name) => captured(name, outcome, folder),
        Check::Sends => {
            let delivered = last(&outcome.stdout)?["delivered"].as_u64()?;
            (delivered != outcome.arrived)
                .then(|| format!("{delivered} delivered, {} arrived", outcome.arrived))
        }
        Check::Pings => {
            let summary = last(&outcome.stdout)?;
            let number = |key: &str| summary[key].as_u64().unwrap_or(0);
            let known = ["received", "lost", "errors", "pending"].map(number);
            (known.iter().sum::<u64>() != number("sent"))
                .then(|| format!("an account that cannot be: {summary}"))
        }
        _ => None,
    }
}

/// Captured packets must be in the files, or be reported as lost.
fn captured(name: &str, outcome: &Outcome, folder: &Path) -> Option<String> {
    let Some(summary) = last(&outcome.stdout) else {
        return Some("success without a summary".into());
    };
    let lost: u64 = summary["lost"]
        .as_object()?
        .values()
        .filter_map(Value::as_u64)
        .sum();
    let files = fs::read_dir(folder).ok()?;
    let is_one = |path: &Path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(name) && !file.ends_with(".index")
    };
    let paths = files.filter_map(|entry| Some(entry.ok()?.path()));
    let written: u64 = paths
        .filter(|path| is_one(path))
        .map(|path| packets(&fs::read(path).unwrap_or_default()).unwrap_or(0))
        .sum();
    (written + lost != SENT)
        .then(|| format!("success with {written} packets written and {lost} lost"))
}

fn last(stdout: &str) -> Option<Value> {
    serde_json::from_str(stdout.lines().last()?).ok()
}

/// The packets in `out.pcapng`, without their times.
pub fn file(folder: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(folder.join("out.pcapng")).ok()?;
    let mut at = 0;
    let mut packets = Vec::new();
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 12) {
        let length = u32::from_le_bytes(rest[4..8].try_into().ok()?) as usize;
        if rest[0] == 6 {
            packets.extend(rest.get(20..length)?);
        }
        at += length.max(12);
    }
    Some(packets)
}

/// The length of the file of [`Check::Bytes`].
pub fn bytes(case: &Case, folder: &Path) -> Option<u64> {
    let Check::Bytes(name) = case.check else {
        return None;
    };
    Some(fs::metadata(folder.join(name)).ok()?.len())
}

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// A capture file, also a compressed one, that ends within a block, or a file of columns that ends before its end.
pub fn unreadable(folder: &Path) -> Option<String> {
    let is_damaged = |path: &PathBuf| {
        let end = path.extension().unwrap_or_default();
        let bytes = || fs::read(path).unwrap_or_default();
        match end.to_str() {
            Some("pcapng" | "pcap") => packets(&bytes()).is_none(),
            Some("zst") => {
                let packets = || packets(&decompressed(path)?);
                !bytes().is_empty() && packets().is_none()
            }
            Some("parquet") => {
                let bytes = bytes();
                !(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"))
            }
            _ => false,
        }
    };
    let damaged = files(folder).into_iter().find(is_damaged)?;
    Some(format!("{} is damaged", damaged.display()))
}

/// What zstd(1) makes of a file. `None` if its last frame is incomplete.
fn decompressed(path: &Path) -> Option<Vec<u8>> {
    let zstd = lab::tool::command("zstd").arg("-dcq").arg(path).output();
    let output = zstd.expect("zstd runs");
    output.status.success().then_some(output.stdout)
}

/// A file that was to be completed.
fn part(folder: &Path) -> Option<String> {
    let is_part = |path: &PathBuf| path.extension().is_some_and(|end| end == "part");
    let part = files(folder).into_iter().find(is_part)?;
    Some(format!("left: {}", part.display()))
}

/// The number of packets in a capture file of this machine's byte order. `None` if it does not end behind a whole packet.
pub fn packets(bytes: &[u8]) -> Option<u64> {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    };
    let is_pcapng = match word(0) {
        None if bytes.is_empty() => return Some(0),
        word => word? == 0x0a0d_0d0a,
    };
    let (mut at, mut count) = (if is_pcapng { 0 } else { 24 }, 0);
    while at < bytes.len() {
        let length = if is_pcapng {
            let length = word(at + 4)? as usize;
            if length < 12 || word(at + length - 4)? as usize != length {
                return None;
            }
            count += u64::from(word(at)? == 6);
            length
        } else {
            count += 1;
            16 + word(at + 8)? as usize
        };
        at += length;
    }
    (at == bytes.len()).then_some(count)
}

/// The first lines that differ.
fn difference(expected: &str, seen: &str) -> String {
    let missing = expected
        .lines()
        .find(|line| !seen.lines().any(|l| l == *line));
    let more = seen
        .lines()
        .find(|line| !expected.lines().any(|l| l == *line));
    format!("without {missing:?}, with {more:?}")
}
