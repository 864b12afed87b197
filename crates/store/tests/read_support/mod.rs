//! Helpers for the reader tests: the corpus, other readers, and handmade bytes.

pub mod build;

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use tapline_store::read::{Item, ReadEnd, ReadError, Reader};

/// The properties of a packet that every reader reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub time_ns: Option<u64>,
    pub original_len: u32,
    pub bytes: Vec<u8>,
}

/// Everything a reader returns: packets, interfaces and statistics as text, and how it ended.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub packets: Vec<Seen>,
    pub others: Vec<String>,
    pub end: Option<ReadEnd>,
    pub error: Option<String>,
}

/// Reads to the end. Keeps all fields of an error except its source.
pub fn read_all(reader: Result<Reader, ReadError>) -> Told {
    let mut told = Told {
        packets: Vec::new(),
        others: Vec::new(),
        end: None,
        error: None,
    };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            return Told {
                error: Some(describe(error)),
                ..told
            };
        }
    };
    loop {
        match reader.next_item() {
            Ok(Some(Item::Packet(packet))) => told.packets.push(Seen {
                time_ns: packet.timestamp_ns,
                original_len: packet.original_len,
                bytes: packet.bytes.to_vec(),
            }),
            Ok(Some(other)) => told.others.push(format!("{other:?}")),
            Ok(None) => break,
            Err(error) => told.error = Some(describe(error)),
        }
    }
    assert!(matches!(reader.next_item(), Ok(None)), "the end is the end");
    told.end = reader.end();
    assert_eq!(told.error.is_none(), told.end == Some(ReadEnd::Complete));
    told
}

pub fn describe(mut error: ReadError) -> String {
    error.source = None;
    format!("{error:?}")
}

/// A stream that returns at most `chunk` bytes per read.
pub struct Slow {
    pub from: Cursor<Vec<u8>>,
    pub chunk: usize,
}

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let bytes = into.len().min(self.chunk);
        self.from.read(&mut into[..bytes])
    }
}

pub fn stream(bytes: &[u8], chunk: usize) -> Result<Reader, ReadError> {
    Reader::from_stream(Slow {
        from: Cursor::new(bytes.to_vec()),
        chunk,
    })
}

pub fn corpus_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus")
}

fn files_of(folder: &str) -> Vec<PathBuf> {
    let folder = corpus_dir().join(folder);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("entry").path()).collect();
    files.sort();
    files
}

/// Every capture file of the corpus.
pub fn corpus() -> Vec<PathBuf> {
    let mut files = files_of("captures");
    files.extend(files_of("filters/captures"));
    assert_eq!(files.len(), 336, "the corpus is there in full");
    files
}

/// Inputs on which fuzzing found a bug.
pub fn regressions() -> Vec<PathBuf> {
    files_of("regressions")
}

/// Handmade files for cases that the corpus lacks: big-endian pcapng, several sections, ...
pub fn made() -> Vec<PathBuf> {
    files_of("made")
}

/// The packets as read by editcap (or tcpdump, for link types that editcap does not support), which copies the file to
/// a pcap file of known format. Seconds are those of pcap, modulo 2^32.
pub fn other_reader(path: &Path) -> Option<Vec<Seen>> {
    let mut editcap = Command::new("editcap");
    editcap.args(["-F", "nsecpcap"]).arg(path).arg("-");
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["--nano", "-r"]).arg(path).args(["-w", "-"]);
    // editcap turns the pseudo-header of ATM into its own terms and back, and loses bits.
    let commands = if path.ends_with("atm-oam-heapoverflow.pcap") {
        [tcpdump, editcap]
    } else {
        [editcap, tcpdump]
    };
    commands.into_iter().find_map(|mut command| {
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        output
            .status
            .success()
            .then(|| packets_of_nanosecond_pcap(&output.stdout))
    })
}

/// Reads pcap in the format of [`other_reader`]: nanoseconds, native byte order.
fn packets_of_nanosecond_pcap(file: &[u8]) -> Vec<Seen> {
    let word = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().expect("4 bytes"));
    assert_eq!(word(0), 0xa1b2_3c4d);
    let mut packets = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let captured = word(at + 8) as usize;
        packets.push(Seen {
            time_ns: Some(u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4))),
            original_len: word(at + 12),
            bytes: file[at + 16..at + 16 + captured].to_vec(),
        });
        at += 16 + captured;
    }
    packets
}

/// Each packet according to tshark (length, captured length, nanoseconds), and whether tshark read to the end without
/// an error.
pub fn tshark(path: &Path) -> (Vec<(u32, u32, Option<i128>)>, bool) {
    let output = Command::new("tshark")
        .args([
            "-n",
            "-T",
            "fields",
            "-e",
            "frame.len",
            "-e",
            "frame.cap_len",
        ])
        .args(["-e", "frame.time_epoch", "-r"])
        .arg(path)
        .output()
        .expect("tshark");
    let text = String::from_utf8(output.stdout).expect("text");
    let packets = text.lines().map(|line| {
        let mut fields = line.split('\t');
        let mut number = || fields.next().expect("field").parse().expect("number");
        (
            number(),
            number(),
            nanoseconds(fields.next().expect("time")),
        )
    });
    // tshark shows custom blocks among the packets, with no length and no time.
    let packets = packets.filter(|packet| *packet != (0, 0, None));
    (packets.collect(), output.status.success())
}

fn nanoseconds(time: &str) -> Option<i128> {
    let (seconds, fraction) = time.split_once('.')?;
    let negative = seconds.starts_with('-');
    let (seconds, fraction): (i128, i128) = (seconds.parse().ok()?, fraction.parse().ok()?);
    Some(seconds * 1_000_000_000 + if negative { -fraction } else { fraction })
}
