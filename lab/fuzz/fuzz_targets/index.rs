#![no_main]

use filter::{Filter, FilterOptions, LinkType, NoNames};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use store::index::{Index, Key};

// An index file with any bytes is refused or read up to its last whole extent, and the same when it is written and read again. A packet with any bytes
// is in its index with each address and port that a filter finds in it.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(index) = Index::decode(bytes) {
        assert_eq!(index.encode(), bytes[..index.encoded_bytes as usize]);
        assert_eq!(Index::decode(&index.encode()).as_ref(), Ok(&index));
    }
    let Some((&kind, packet)) = bytes.split_first() else {
        return;
    };
    let link_type = [1_u16, 101, 113, 228, 229, 276, 105, 0][usize::from(kind) % 8];
    let length = packet.len() as u32;
    let mut pcap = Vec::new();
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x4_0000, link_type.into(), 7, 0, length, length];
    pcap.extend(head.iter().flat_map(|word| word.to_le_bytes()));
    pcap.extend(packet);
    let index = Index::of_bytes(pcap).expect("a capture");
    let extent = index.extents.last().expect("that of the packet");
    let options = FilterOptions::new(LinkType::from_number(link_type));
    // Wherever an address or a port can be.
    for at in 0..packet.len().min(64) {
        let mut questions = Vec::new();
        if let Some(&four) = packet[at..].first_chunk::<4>() {
            let address = Ipv4Addr::from(four);
            questions.push((format!("host {address}"), Key::Address(address.into())));
        }
        if let Some(&sixteen) = packet[at..].first_chunk::<16>() {
            let address = Ipv6Addr::from(sixteen);
            questions.push((format!("host {address}"), Key::Address(IpAddr::from(address))));
        }
        if let Some(&two) = packet[at..].first_chunk::<2>() {
            let port = u16::from_be_bytes(two);
            questions.push((format!("port {port}"), Key::Port(port)));
        }
        for (text, key) in questions {
            for text in [text.clone(), format!("vlan and {text}"), format!("vlan and vlan and {text}")] {
                let Ok(filter) = Filter::new(&text, &options, &NoNames) else {
                    continue;
                };
                if filter.run(packet, length, &Default::default()) > 0 {
                    assert!(extent.may_have(key), "{text}");
                }
            }
        }
    }
});
