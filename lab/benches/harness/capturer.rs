//! Programs that capture: when they are ready, and what they print at their end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use store::read::Reader as FileReader;

use super::process::Running;

/// A program that captures packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capturer {
    /// `tapline capture --json`
    Tapline,
    Tcpdump,
    Dumpcap,
    NetsniffNg,
    Xdpdump,
}

/// Counts that a reader prints at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub captured: u64,
    /// Packets lost, according to the reader.
    pub lost: u64,
}

impl Capturer {
    /// How long after the last packet the kernel may hold back a partly filled block. Processing time comes on top.
    pub fn block_timeout(self) -> Duration {
        Duration::from_millis(match self {
            Self::Tcpdump => 1000,
            Self::Dumpcap => 250,
            Self::Tapline | Self::NetsniffNg | Self::Xdpdump => 100,
        })
    }

    /// What it prints, in a line, once it receives by XDP.
    pub fn begins(self) -> &'static str {
        match self {
            Self::Xdpdump => "listening on",
            _ => "\"start\"",
        }
    }

    /// Parses the counts from its output.
    pub fn counted(self, printed: &str) -> Option<Counted> {
        let (captured, lost) = match self {
            Self::Tapline => {
                let summary: Value = serde_json::from_str(printed.lines().last()?).ok()?;
                let lost = summary["lost"].as_object()?.values();
                let lost = lost.filter_map(Value::as_u64).sum();
                (summary["delivered"].as_u64()?, lost)
            }
            Self::Tcpdump => (
                number_before(printed, " packets captured")?,
                number_before(printed, " packets dropped by kernel")?,
            ),
            Self::Dumpcap => {
                // Packets received/dropped on interface 'right0': 10/0 (pcap:0/dumpcap:0/…
                let (_, counts) = printed.split_once("Packets received/dropped on interface")?;
                let (_, counts) = counts.split_once("': ")?;
                let (captured, rest) = counts.split_once('/')?;
                (
                    captured.parse().ok()?,
                    rest.split_once(' ')?.0.parse().ok()?,
                )
            }
            // With a TPACKET_V3 ring the incoming packets are those that it read.
            Self::NetsniffNg => (
                number_before(printed, "  packets incoming")?,
                number_before(printed, "  packets failed filter")?,
            ),
            Self::Xdpdump => (
                number_before(printed, " packets captured")?,
                number_before(printed, " packets dropped by perf ring")?,
            ),
        };
        Some(Counted { captured, lost })
    }
}

/// Waits until a program receives from the interface and sleeps in a poll. `printed` is what it prints when it receives;
/// without it, it has a packet socket.
pub fn wait_for_capture(program: &mut Running, interface: u32, printed: Option<&str>) {
    let process = program.id();
    program.wait_until(|text| {
        let is_open = match printed {
            None => has_packet_socket(process, interface),
            Some(printed) => text.contains(printed),
        };
        is_open && of_process(process, "wchan").contains("poll")
    });
}

/// Whether a packet socket in the namespace of a process receives from the interface.
pub fn has_packet_socket(process: u32, interface: u32) -> bool {
    // Columns: sk, RefCnt, Type, Proto, Iface, R(unning), …; `packet_seq_show`,
    // net/packet/af_packet.c.
    of_process(process, "net/packet").lines().any(|line| {
        let mut columns = line.split_whitespace().skip(4);
        let on = columns.next().and_then(|index| index.parse().ok());
        on == Some(interface) && columns.next() == Some("1")
    })
}

fn of_process(process: u32, name: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default()
}

/// Counts the packets of a capture file.
pub fn packets_in(path: &Path) -> u64 {
    let mut reader = FileReader::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut packets = 0;
    while reader
        .next_packet()
        .unwrap_or_else(|error| panic!("{error}"))
        .is_some()
    {
        packets += 1;
    }
    packets
}

/// The number before `words`.
fn number_before(text: &str, words: &str) -> Option<u64> {
    let (before, _) = text.split_once(words)?;
    let digits = before
        .rsplit(|letter: char| !letter.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}
