//! Runs `tapline read` and the programs that its answers are compared with.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// `tapline read` with `args`, its times in UTC.
pub fn command<I: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command.arg("read").args(args).env("TZ", "UTC");
    command.stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn read<I: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = I>) -> Output {
    command(args).output().expect("tapline runs")
}

/// Runs it with `input` on its standard input.
pub fn read_from(input: &[u8], args: &[&str]) -> Output {
    feed(command(args), input)
}

/// Runs `command` with `input` on its standard input.
pub fn feed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Who has read enough goes away before the end.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().expect("it ends")
    })
}

/// As [`read`], which is to succeed without a word on standard error, but for the summary.
#[track_caller]
pub fn read_well<I: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = I>) -> String {
    let output = read(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The JSON objects that it prints, the summary last.
#[track_caller]
pub fn json(args: &[&str]) -> Vec<Value> {
    objects(&read_well(args.iter().copied().chain(["--json"])))
}

pub fn objects(text: &str) -> Vec<Value> {
    let object =
        |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(object).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Name of a path that is text.
pub fn name(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus")
}

/// The capture of this name, of the test-suite of tcpdump.
pub fn capture(name: &str) -> PathBuf {
    corpus_folder().join("captures").join(name)
}

/// A file made by hand.
pub fn made(name: &str) -> PathBuf {
    corpus_folder().join("made").join(name)
}

/// Every capture file there is, sorted.
pub fn corpus() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["captures", "filters/captures", "made"] {
        let folder = std::fs::read_dir(corpus_folder().join(folder)).expect("the corpus");
        let paths = folder.map(|entry| entry.expect("an entry").path());
        files.extend(
            paths.filter(|path| path.is_file() && path.extension().is_some_and(|e| e != "md")),
        );
    }
    files.sort();
    assert!(files.len() > 300, "the corpus is there");
    files
}

/// What capinfos says of each file it can read: column by column.
pub fn capinfos(files: &[PathBuf]) -> HashMap<PathBuf, HashMap<String, String>> {
    let mut command = lab::tool::command("capinfos");
    // A table with tabs, machine-readable numbers, times in seconds; no checksums of the files.
    let options = ["-A", "-T", "-B", "-M", "-S"];
    let output = command
        .args(options)
        .args(files)
        .env("TZ", "UTC")
        .output()
        .expect("capinfos runs");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = table
        .lines()
        .map(|line| line.split('\t').map(str::to_owned));
    let titles: Vec<_> = lines.next().expect("a title line").collect();
    let row = |cells| titles.iter().cloned().zip(cells).collect::<HashMap<_, _>>();
    lines
        .map(|cells| row(cells.collect::<Vec<_>>()))
        .map(|row| (PathBuf::from(&row["File name"]), row))
        .collect()
}

/// Every packet of a file as tcpdump prints it: time in nanoseconds, link-layer header and all bytes.
/// `None` where it does not read the file.
pub fn tcpdump(path: &Path) -> Option<String> {
    let mut command = lab::tool::command("tcpdump");
    command
        .args(["-nn", "-tt", "-xx", "--nano", "-r"])
        .arg(path);
    let output = command.stdin(Stdio::null()).output().expect("tcpdump runs");
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The named fields of each packet by tshark, parted by tabs.
pub fn tshark(path: &Path, fields: &[&str]) -> Vec<String> {
    let mut command = lab::tool::command("tshark");
    command.args(["-n", "-T", "fields", "-r"]).arg(path);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .expect("tshark runs");
    assert!(
        output.status.success(),
        "{}: {}",
        path.display(),
        text(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Runs `tool` to its success and gives what it prints.
#[track_caller]
pub fn tool(tool: &str, args: &[&str]) -> Vec<u8> {
    let output = lab::tool::command(tool)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{tool} {args:?}: {}",
        text(&output.stderr)
    );
    output.stdout
}

/// A pcap file of nanoseconds, link type Ethernet, with one 60-byte packet for each time.
pub fn pcap(times_ns: &[u64]) -> Vec<u8> {
    let header: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1];
    let mut bytes = header.map(u32::to_le_bytes).as_flattened().to_vec();
    for (number, time) in (0_u32..).zip(times_ns) {
        let seconds = u32::try_from(time / 1_000_000_000).expect("before 2106");
        let nanoseconds = (time % 1_000_000_000) as u32;
        let record = [seconds, nanoseconds, 60, 60].map(u32::to_le_bytes);
        bytes.extend(record.as_flattened());
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        bytes.extend(frame);
    }
    bytes
}
