use crate::corpus::packets::Packet;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

const FILE: &str = "packets.pcapng";

/// Packets in a file that tshark reads. Every packet is dissected on its own.
pub struct Tshark {
    folder: TempDir,
    count: usize,
}

impl Tshark {
    pub fn new(packets: &[Packet]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), pcapng(packets)).unwrap();
        let count = packets.len();
        Self { folder, count }
    }

    /// Whether the display filter accepts each packet.
    pub fn accepts(&self, display: &str) -> Vec<bool> {
        let mut accepted = vec![false; self.count];
        for (number, _) in self.fields(&["-Y", display]) {
            accepted[number - 1] = true;
        }
        accepted
    }

    /// The protocols of each packet from the outermost to the innermost, as in `eth:ethertype:ip:udp:vxlan:eth:ethertype:arp`.
    pub fn protocols(&self) -> Vec<String> {
        let rows = self.fields(&["-e", "frame.protocols"]);
        assert_eq!(rows.len(), self.count);
        rows.into_iter().map(|row| row.1).collect()
    }

    /// Runs tshark. Returns the number and the next field of each packet that it prints.
    fn fields(&self, options: &[&str]) -> Vec<(usize, String)> {
        let output = Command::new("tshark")
            .args(["-n", "-o", "ip.defragment:FALSE"])
            .args(["-o", "ipv6.defragment:FALSE"])
            .args(["-T", "fields", "-e", "frame.number"])
            .args(options)
            .arg("-r")
            .arg(self.folder.path().join(FILE))
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{options:?}: {complaint}");
        let text = String::from_utf8(output.stdout).unwrap();
        let row = |line: &str| {
            let (number, rest) = line.split_once('\t').unwrap_or((line, ""));
            (number.parse().unwrap(), rest.to_owned())
        };
        text.lines().map(row).collect()
    }
}

/// A pcapng file with an interface for each link type of the packets.
fn pcapng(packets: &[Packet]) -> Vec<u8> {
    let mut links: Vec<u16> = packets.iter().map(|packet| packet.link).collect();
    links.sort_unstable();
    links.dedup();
    let mut file = block(0x0a0d_0d0a, &[0x1a2b_3c4d, 0x0000_0001, !0, !0], &[]);
    for link in &links {
        file.extend(block(1, &[u32::from(*link), 262_144], &[]));
    }
    for packet in packets {
        let interface = links.binary_search(&packet.link).unwrap() as u32;
        let length = packet.bytes.len() as u32;
        let words = [interface, 0, 1, length, packet.original_len.max(length)];
        file.extend(block(6, &words, &packet.bytes));
    }
    file
}

/// A little-endian block. The 16-bit fields of the headers fit in words.
fn block(kind: u32, words: &[u32], data: &[u8]) -> Vec<u8> {
    let data_bytes = data.len().next_multiple_of(4);
    let length = (12 + 4 * words.len() + data_bytes) as u32;
    let mut block: Vec<u8> = Vec::new();
    for word in [kind, length].iter().chain(words) {
        block.extend(word.to_le_bytes());
    }
    block.extend(data);
    block.resize(length as usize - 4, 0);
    block.extend(length.to_le_bytes());
    block
}
