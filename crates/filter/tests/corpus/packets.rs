use std::fs;
use std::path::{Path, PathBuf};
use store::read::{Item, Reader};

/// A packet of a capture file.
#[derive(Clone)]
pub struct Packet {
    pub link: u32,
    pub snaplen: u32,
    pub bytes: Vec<u8>,
    pub original_len: u32,
}

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../lab/corpus")
        .join(name)
}

/// The packets of one capture, as far as it can be read.
pub fn packets_of(path: &Path) -> Vec<Packet> {
    let mut packets = Vec::new();
    let Ok(mut reader) = Reader::open(path) else {
        return packets;
    };
    let mut interfaces = Vec::new();
    while let Ok(Some(item)) = reader.next_item() {
        match item {
            Item::Interface { interface, .. } => {
                interfaces.push((u32::from(interface.link_type.0), interface.snaplen));
            }
            Item::Packet(packet) => {
                let Some(&(link, snaplen)) = interfaces.get(packet.interface as usize) else {
                    continue;
                };
                packets.push(Packet {
                    link,
                    snaplen,
                    bytes: packet.bytes.to_vec(),
                    original_len: packet.original_len,
                });
            }
            _ => {}
        }
    }
    packets
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
