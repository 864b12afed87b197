//! The packets and expressions of the corpus.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use filter::LinkType;
use serde_json::Value;
use store::read::Reader;

use super::packet::Packet;

/// The packets of the capture files in `lab/corpus`, by link type.
pub struct Corpus {
    packets: HashMap<LinkType, Vec<Packet>>,
}

impl Corpus {
    /// Reads all capture files. Some are damaged on purpose; reading a file stops at the damage.
    pub fn read() -> Self {
        let mut packets: HashMap<LinkType, Vec<Packet>> = HashMap::new();
        for name in ["captures", "filters/captures"] {
            let entries = fs::read_dir(folder(name)).expect("a folder of captures");
            let mut paths: Vec<PathBuf> = entries
                .map(|entry| entry.expect("an entry of the folder").path())
                .collect();
            paths.sort();
            for path in paths {
                read_capture(&path, &mut packets);
            }
        }
        Self { packets }
    }

    /// The packets of one link type, ordered by file name.
    pub fn of(&self, link: LinkType) -> &[Packet] {
        self.packets.get(&link).map_or(&[], Vec::as_slice)
    }
}

fn folder(name: &str) -> PathBuf {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.join("corpus").join(name)
}

fn read_capture(path: &Path, packets: &mut HashMap<LinkType, Vec<Packet>>) {
    let Ok(mut reader) = Reader::open(path) else {
        return;
    };
    loop {
        let (interface, packet) = match reader.next_packet() {
            Ok(Some(packet)) => (
                packet.interface,
                Packet {
                    original_len: packet.original_len,
                    ..Packet::whole(packet.bytes.to_vec())
                },
            ),
            Ok(None) | Err(_) => return,
        };
        let link_type = reader.interfaces()[interface as usize].link_type;
        let link = LinkType::from_number(link_type.0);
        packets.entry(link).or_default().push(packet);
    }
}

/// The filters in `lab/corpus/filters`: those of libpcap's test suite that need no name resolution, and those in
/// `found.tsv`, which revealed differences between engines.
pub fn expressions() -> Vec<(LinkType, String)> {
    let folder = folder("filters");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file of filters");
    let listed: Vec<Value> = serde_json::from_str(&read("accept.json")).expect("JSON");
    let mut found = Vec::new();
    for entry in &listed {
        let link = entry["link_type"].as_str().and_then(LinkType::from_name);
        let texts = entry["expressions"].as_array().expect("a list");
        for text in texts.iter().filter_map(Value::as_str) {
            found.push((link.expect("a link type"), text.to_owned()));
        }
    }
    for line in read("found.tsv").lines() {
        let (link, text) = line.split_once('\t').expect("two columns");
        let link = LinkType::from_name(link).expect("a link type");
        found.push((link, text.to_owned()));
    }
    found.retain(|(_, text)| !text.contains(".libpcap.test"));
    found
}
