//! An index never hides a packet: the keys of every packet that a filter accepts are found.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use filter::classic::Ancillary;
use tapline::file::index::{Index, Key};
use tapline::file::read::Reader;
use tapline::filter::{
    CompiledFilter, FilterOptions, FilterTarget, LinkType, NoNames, RequiredKeys, required_keys,
};
use wire::dissect;

/// Packets of each file that are looked at.
const PACKETS: usize = 12;

fn corpus() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/corpus/captures");
    let entries = fs::read_dir(folder).expect("the corpus");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

/// A pcap file with one packet.
fn pcap(link_type: u16, packet: &[u8]) -> Vec<u8> {
    let length = u32::try_from(packet.len()).expect("a length");
    let mut file = Vec::new();
    for word in [
        0xa1b2_c3d4_u32,
        0x0004_0002,
        0,
        0,
        0x4_0000,
        link_type.into(),
        7,
        0,
        length,
        length,
    ] {
        file.extend(word.to_le_bytes());
    }
    file.extend(packet);
    file
}

fn accepts(text: &str, link_type: u16, packet: &[u8]) -> bool {
    let mut options = FilterOptions::new(LinkType::from_number(link_type));
    options.target = FilterTarget::File;
    let length = u32::try_from(packet.len()).expect("a length");
    // Link types without ports refuse the words.
    let filter = CompiledFilter::new(text, &options, &NoNames);
    filter.is_ok_and(|filter| filter.run(packet, length, &Ancillary::default()) > 0)
}

/// The keys that must be in an index if a filter accepts a packet, by the filter's text.
fn questions(addresses: [IpAddr; 2], ports: (u16, u16)) -> Vec<(String, Key)> {
    let ([a, b], (from, to)) = (addresses, ports);
    let host = |address: IpAddr| match address {
        IpAddr::V4(address) => format!("host {address}"),
        IpAddr::V6(address) => format!("ip6 host {address}"),
    };
    let mut list = vec![
        (host(a), Key::Address(a)),
        (host(b), Key::Address(b)),
        (format!("port {from}"), Key::Port(from)),
        (format!("port {to}"), Key::Port(to)),
        (
            format!("{} and {} and port {from} and port {to}", host(a), host(b)),
            Key::Flow([a, b], [from, to]),
        ),
    ];
    for (text, key) in list.clone() {
        list.push((format!("vlan and {text}"), key));
        list.push((format!("vlan and vlan and {text}"), key));
    }
    list.retain(|(text, key)| {
        // Of one address or port there is no flow.
        !matches!(key, Key::Flow([a, b], [from, to]) if a == b || from == to)
            || !text.contains("and")
    });
    list
}

#[test]
fn what_a_filter_accepts_is_in_the_index() {
    let (mut accepted, mut foreign, mut pruned) = (0, 0, 0);
    let mut former = ([IpAddr::from([198, 51, 100, 7]); 2], (1, 2));
    for file in corpus() {
        let Ok(mut reader) = Reader::open(&file) else {
            continue;
        };
        let mut link_types = Vec::new();
        let mut seen = 0;
        while let Ok(Some(item)) = reader.next_item() {
            use tapline::file::read::Item;
            match item {
                Item::Interface { interface, .. } => link_types.push(interface.link_type.0),
                Item::Packet(packet) if seen < PACKETS => {
                    seen += 1;
                    let link_type = link_types[packet.interface as usize];
                    let index = Index::of_bytes(pcap(link_type, packet.bytes)).expect("a capture");
                    let extent = index.extents.last().expect("that of the packet");
                    assert_eq!(extent.packets, 1);
                    let summary = dissect(link_type, packet.bytes);
                    let addresses = summary.addresses().map_or(former.0, |(a, b)| [a, b]);
                    let own = (addresses, summary.ports().unwrap_or(former.1));
                    for (text, key) in questions(own.0, own.1) {
                        if accepts(&text, link_type, packet.bytes) {
                            accepted += 1;
                            assert!(extent.may_have(key), "{}: {text}", file.display());
                        }
                    }
                    for (text, key) in questions(former.0, former.1) {
                        if accepts(&text, link_type, packet.bytes) {
                            assert!(extent.may_have(key), "{}: {text}", file.display());
                        } else {
                            foreign += 1;
                            pruned += usize::from(!extent.may_have(key));
                        }
                    }
                    former = own;
                }
                _ => {}
            }
        }
    }
    // Nearly all of what is not there is known not to be.
    assert!(accepted > 2000, "{accepted}");
    assert!(pruned * 2 > foreign, "{pruned} of {foreign}");
}

#[test]
fn required_keys_are_those_that_all_accepted_packets_have() {
    let address = |text: &str| RequiredKeys::Address(text.parse().expect("an address"));
    let rows = [
        ("host 10.0.0.1", address("10.0.0.1")),
        ("src host 10.0.0.1", address("10.0.0.1")),
        ("arp host 10.0.0.1", address("10.0.0.1")),
        ("host fd00::1", address("fd00::1")),
        ("tcp dst port 80", RequiredKeys::Port(80)),
        ("vlan 7 and host 10.0.0.1", address("10.0.0.1")),
        ("host 10.0.0.1 and ip[8] > 1", address("10.0.0.1")),
        (
            "port 1 or port 2",
            RequiredKeys::Any(vec![RequiredKeys::Port(1), RequiredKeys::Port(2)]),
        ),
        ("host 10.0.0.1 and (port 1 or icmp)", address("10.0.0.1")),
        ("", RequiredKeys::Nothing),
        ("not port 1", RequiredKeys::Nothing),
        ("net 10.0.0.0/8", RequiredKeys::Nothing),
        ("host 10.0.0", RequiredKeys::Nothing),
        ("any host 10.0.0.1", RequiredKeys::Nothing),
        ("mpls and host 10.0.0.1", RequiredKeys::Nothing),
        ("geneve or host 10.0.0.1", RequiredKeys::Nothing),
        (
            "vlan and vlan and vlan and vlan and vlan and port 1",
            RequiredKeys::Nothing,
        ),
        ("ether host 2:0:0:0:0:1", RequiredKeys::Nothing),
        ("host example.org", RequiredKeys::Nothing),
        ("portrange 1-2", RequiredKeys::Nothing),
    ];
    for (text, expected) in rows {
        assert_eq!(required_keys(text).expect(text), expected, "{text}");
    }
}
