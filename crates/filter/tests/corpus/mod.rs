//! The filters of libpcap's test suite, and the packets of the corpus.

pub mod listed;
pub mod lists;
pub mod names;
pub mod packets;
pub mod tunnels;

use serde_json::Value;
use tapline_filter::{FilterOptions, FilterTarget, LinkType, LoopbackFamilies};

pub fn entries(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(packets::folder("filters").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap()
}

/// The options with which an entry was compiled.
pub fn options_of(entry: &Value) -> FilterOptions {
    let link = LinkType::from_name(text(entry, "link_type")).unwrap();
    let mut options = FilterOptions::new(link);
    if let Some(snaplen) = entry["snaplen"].as_u64() {
        options.snaplen = snaplen as u32;
    }
    if let Some(netmask) = entry["netmask"].as_str() {
        options.netmask = Some(netmask.parse().unwrap());
    }
    if entry["linux_extensions"] == Value::Bool(true) {
        options.target = FilterTarget::Socket;
    }
    // The name of an entry has the address families: "ip6_24LE_NULL", "ip_1LE_NULL".
    let name = text(entry, "name");
    for part in name.split('_') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse() else { continue };
        if matches!(
            link,
            LinkType::Null | LinkType::Loop | LinkType::Enc | LinkType::Pflog
        ) {
            options.families = LoopbackFamilies::One {
                ip4: number,
                ip6: number,
                is_big_endian: part.ends_with("BE"),
            };
        }
    }
    options
}
