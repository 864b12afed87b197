//! Capture files of the corpus and of the tests, and their contents according to other programs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::str::FromStr;
use std::sync::LazyLock;

use super::{text, tool};

fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus")
}

/// A capture of this name from tcpdump's test suite.
pub fn capture(name: &str) -> String {
    text(&corpus_folder().join("captures").join(name))
}

/// A handmade file.
pub fn made(name: &str) -> String {
    text(&corpus_folder().join("made").join(name))
}

/// Every capture file there is, sorted.
pub fn corpus() -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["captures", "filters/captures", "made"] {
        let folder = std::fs::read_dir(corpus_folder().join(folder)).expect("the corpus");
        let paths = folder.map(|entry| entry.expect("an entry").path());
        let paths =
            paths.filter(|path| path.is_file() && path.extension().is_none_or(|e| e != "md"));
        files.extend(paths.map(|path| text(&path)));
    }
    files.sort();
    assert!(files.len() > 300, "the corpus is there");
    files
}

type Row = HashMap<String, String>;

/// capinfos output for each readable file of the corpus, by column.
pub static KNOWN: LazyLock<HashMap<String, Row>> = LazyLock::new(|| capinfos(&corpus()));

/// The files of the corpus that capinfos can read, sorted.
pub fn known_corpus() -> Vec<String> {
    let files = corpus().into_iter();
    files.filter(|file| KNOWN.contains_key(file)).collect()
}

/// capinfos output for each readable file, by column.
pub fn capinfos(files: &[String]) -> HashMap<String, Row> {
    let mut command = lab::tool::command("capinfos");
    // A table with tabs, machine-readable numbers, times in seconds; no checksums of the files.
    let options = ["-A", "-T", "-B", "-M", "-S"];
    let output = command.args(options).args(files).env("TZ", "UTC").output();
    let table = String::from_utf8_lossy(&output.expect("capinfos runs").stdout).into_owned();
    let mut lines = table
        .lines()
        .map(|line| line.split('\t').map(str::to_owned));
    let titles: Vec<_> = lines.next().expect("a title line").collect();
    let rows = lines.map(|cells| titles.iter().cloned().zip(cells).collect::<Row>());
    rows.map(|row| (row["File name"].clone(), row)).collect()
}

/// Every packet of a file as tcpdump prints it: time in nanoseconds, link-layer header and all bytes. `None` if tcpdump
/// cannot read the file.
pub fn tcpdump(file: &str) -> Option<String> {
    let output = tcpdump_by(&["-r", file]);
    let text = || String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(text)
}

/// Like [`tcpdump`], for all `files` in order; fails if one is unreadable.
#[track_caller]
pub fn tcpdump_all(files: &[String]) -> String {
    let list = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(list.path(), files.join("\n") + "\n").expect("a list");
    // It would give up root's rights behind the first file.
    let output = tcpdump_by(&["-Z", "root", "-V", &text(list.path())]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn tcpdump_by(input: &[&str]) -> Output {
    let mut command = lab::tool::command("tcpdump");
    command.args(["-nn", "-tt", "-xx", "--nano"]).args(input);
    command.stdin(Stdio::null()).output().expect("tcpdump runs")
}

/// Every packet's octets, by tcpdump.
#[track_caller]
pub fn bytes(file: &str) -> Vec<Vec<u8>> {
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for line in tcpdump(file).expect("tcpdump reads it").lines() {
        let Some((place, digits)) = line.trim_start().split_once(":  ") else {
            continue;
        };
        match place {
            "0x0000" => packets.push(Vec::new()),
            place if place.starts_with("0x") => {}
            _ => continue,
        }
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
        let octets = digits
            .chunks_exact(2)
            .map(|pair| std::str::from_utf8(pair).expect("digits"));
        let octets = octets.map(|pair| u8::from_str_radix(pair, 16).expect("an octet"));
        packets.last_mut().expect("a packet").extend(octets);
    }
    packets
}

/// The given fields of each packet, by tshark.
#[track_caller]
pub fn tshark(file: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let fields = fields.join(" -e ");
    let text = tool("tshark", &format!("-n -T fields -r {file} -e {fields}"));
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().map(cells).collect()
}

/// One field of each packet, by tshark.
#[track_caller]
pub fn column<T: FromStr>(file: &str, field: &str) -> Vec<T> {
    let parse = |row: Vec<String>| {
        let value = row[0].parse().ok();
        value.unwrap_or_else(|| panic!("{field}: {row:?}"))
    };
    tshark(file, &[field]).into_iter().map(parse).collect()
}

/// A packet of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    pub time_ns: u64,
    pub bytes: Vec<u8>,
    pub original_len: usize,
}

/// The packets of a file with one link type, by editcap. It reads files as tshark does, and dissects nothing: tshark takes
/// half a second to start.
#[track_caller]
pub fn records(file: &str) -> Vec<Record> {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = text(&folder.path().join("copy.pcap"));
    tool("editcap", &format!("-F nsecpcap {file} {copy}"));
    let copy = std::fs::read(copy).expect("the copy");
    let (_, mut rest) = copy.split_first_chunk::<24>().expect("a file header");
    let mut records = Vec::new();
    while let Some((header, after)) = rest.split_first_chunk::<16>() {
        // In the byte order of the machine.
        let word = |at: usize| {
            let bytes = header[at..at + 4].try_into().expect("four bytes");
            u32::from_ne_bytes(bytes)
        };
        let (bytes, after) = after.split_at(word(8) as usize);
        records.push(Record {
            time_ns: u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)),
            bytes: bytes.to_vec(),
            original_len: word(12) as usize,
        });
        rest = after;
    }
    records
}

/// The captured and the original length of each packet of a file with one link type.
#[track_caller]
pub fn lengths(file: &str) -> Vec<[usize; 2]> {
    let records = records(file).into_iter();
    let lengths = records.map(|record| [record.bytes.len(), record.original_len]);
    lengths.collect()
}

/// The options of the file's blocks as `NAME = VALUE`, by Wireshark's dissector of capture files.
#[track_caller]
pub fn options(file: &str) -> Vec<String> {
    let text = tool(
        "tshark",
        &format!("-n -X 'read_format:MIME Files Format' -V -r {file}"),
    );
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Option: "));
    lines.map(str::to_owned).collect()
}

/// Checks that the file has options with these names and values.
#[track_caller]
pub fn assert_options<S: AsRef<str>>(file: &str, wanted: &[S]) {
    let options = options(file);
    for wanted in wanted {
        let is_there = options.iter().any(|option| option == wanted.as_ref());
        assert!(is_there, "{} in {options:#?}", wanted.as_ref());
    }
}

/// The number of packets; capinfos and tcpdump must agree.
#[track_caller]
pub fn count(file: &str) -> u64 {
    let count = count_by_capinfos(file);
    assert_eq!(count_by_tcpdump(file, ""), count, "tcpdump");
    count
}

/// The number of packets by capinfos, which reads files that tcpdump does not: compressed, of several link types.
#[track_caller]
pub fn count_by_capinfos(file: &str) -> u64 {
    let text = tool("capinfos", &format!("-TrcM {file}"));
    let field = text.trim().rsplit('\t').next().expect("a count");
    field.parse().expect("a number")
}

/// Number of packets of `file` that tcpdump's `expression` accepts.
#[track_caller]
pub fn count_by_tcpdump(file: &str, expression: &str) -> u64 {
    let said = tool("tcpdump", &format!("-nr {file} --count '{expression}'"));
    let count = said.split(' ').next().expect("a count");
    count.parse().expect("a number")
}

/// A pcap file with nanoseconds and link type Ethernet: one 60-byte packet for each time.
pub fn pcap(times_ns: &[u64]) -> Vec<u8> {
    let frame = |(number, time): (u32, &u64)| {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        (*time, frame)
    };
    pcap_of((0_u32..).zip(times_ns).map(frame))
}

/// The same of these times and frames.
pub fn pcap_of(packets: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Vec<u8> {
    let header: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1];
    let mut bytes = header.map(u32::to_le_bytes).as_flattened().to_vec();
    for (time, frame) in packets {
        let seconds = u32::try_from(time / 1_000_000_000).expect("before 2106");
        let nanoseconds = (time % 1_000_000_000) as u32;
        let length = frame.len() as u32;
        let record = [seconds, nanoseconds, length, length].map(u32::to_le_bytes);
        bytes.extend(record.as_flattened());
        bytes.extend(frame);
    }
    bytes
}
