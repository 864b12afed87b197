use std::fs;
use std::path::{Path, PathBuf};

/// A packet of a capture file.
#[derive(Clone)]
pub struct Packet {
    pub link: u16,
    pub snaplen: u32,
    pub bytes: Vec<u8>,
    pub original_len: u32,
}

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../lab/corpus")
        .join(name)
}

/// The packets of one capture, up to the first damaged block.
pub fn packets_of(path: &Path) -> Vec<Packet> {
    let file = fs::read(path).unwrap();
    let mut packets = Vec::new();
    match file.get(..4) {
        Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]) => {
            pcap(&file, u32::from_le_bytes, &mut packets);
        }
        Some([0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d]) => {
            pcap(&file, u32::from_be_bytes, &mut packets);
        }
        Some([0x0a, 0x0d, 0x0d, 0x0a]) => {
            let order = match file.get(8) {
                Some(0x4d) => u32::from_le_bytes,
                _ => u32::from_be_bytes,
            };
            pcapng(&file, order, &mut packets);
        }
        _ => {}
    }
    packets
}

type Order = fn([u8; 4]) -> u32;

fn word(bytes: &[u8], at: usize, order: Order) -> Option<u32> {
    Some(order(*bytes.get(at..)?.first_chunk()?))
}

fn pcap(file: &[u8], order: Order, packets: &mut Vec<Packet>) -> Option<()> {
    let (snaplen, link) = (word(file, 16, order)?, word(file, 20, order)? as u16);
    let mut at = 24;
    loop {
        let length = word(file, at + 8, order)? as usize;
        packets.push(Packet {
            link,
            snaplen,
            original_len: word(file, at + 12, order)?,
            bytes: file.get(at + 16..at + 16 + length)?.to_vec(),
        });
        at += 16 + length;
    }
}

/// Section headers, interfaces and enhanced packets of one byte order.
fn pcapng(file: &[u8], order: Order, packets: &mut Vec<Packet>) -> Option<()> {
    let (mut at, mut interfaces) = (0, Vec::new());
    loop {
        let (kind, length) = (word(file, at, order)?, word(file, at + 4, order)? as usize);
        let block = file.get(at..at + length.max(12))?;
        match kind {
            1 => {
                // The link type has 16 bits, followed by 16 reserved bits, which are 0.
                let link = word(block, 8, order)?;
                let link = if link > 0xffff { link >> 16 } else { link };
                interfaces.push((link as u16, word(block, 12, order)?));
            }
            6 => {
                let &(link, snaplen) = interfaces.get(word(block, 8, order)? as usize)?;
                let captured = word(block, 20, order)? as usize;
                packets.push(Packet {
                    link,
                    snaplen,
                    original_len: word(block, 24, order)?,
                    bytes: block.get(28..28 + captured)?.to_vec(),
                });
            }
            _ => {}
        }
        at += block.len();
    }
}

/// All packets of both folders of captures.
pub fn all_packets() -> Vec<Packet> {
    let folders = [folder("captures"), folder("filters/captures")];
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| packets_of(path)).collect()
}
