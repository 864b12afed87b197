//! A written file reads back unchanged: packets, interfaces, statistics, section.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tapline_store::model::{
    Checksum, Direction, Interface, LinkType, Packet, Reception, Section, Statistics,
};
use tapline_store::read::{Item, Reader};
use tapline_store::write::{CaptureFile, CaptureFileOptions, Compression, Format, Output};

/// A stream into memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A packet that owns its octets, which all equal `fill`.
#[derive(Clone, Debug)]
struct Owned {
    packet: Packet<'static>,
    length: usize,
    fill: u8,
}

/// The whole contents of a file.
#[derive(Debug, PartialEq)]
struct Contents {
    section: Section,
    interfaces: Vec<Interface>,
    packets: Vec<(Packet<'static>, Vec<u8>)>,
    statistics: Vec<Statistics>,
}

fn detached(packet: &Packet<'_>) -> (Packet<'static>, Vec<u8>) {
    let Packet {
        interface,
        timestamp_ns,
        bytes,
        original_len,
        ..
    } = *packet;
    let Packet {
        direction,
        reception,
        checksum,
        queue,
        drop_count,
        packet_id,
        ..
    } = *packet;
    let known = Packet {
        interface,
        timestamp_ns,
        original_len,
        direction,
        reception,
        checksum,
        queue,
        drop_count,
        packet_id,
        ..Packet::new(0, &[])
    };
    (known, bytes.to_vec())
}

fn read(bytes: Vec<u8>) -> Contents {
    let mut reader = Reader::from_bytes(bytes).expect("a capture");
    let (mut packets, mut statistics) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next_item().expect("a whole capture") {
        match item {
            Item::Packet(packet) => packets.push(detached(&packet)),
            Item::Statistics {
                statistics: counters,
                ..
            } => statistics.push(counters.clone()),
            _ => {}
        }
    }
    let interfaces = reader.interfaces().to_vec();
    Contents {
        section: reader.header().section.clone(),
        interfaces,
        packets,
        statistics,
    }
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-zé €]{1,12}")
}

prop_compose! {
    fn section()(
        hardware in text(), os in text(), application in text(), comment in text()
    ) -> Section {
        Section { hardware, os, application, comment }
    }
}

prop_compose! {
    fn interface()(
        link_type in any::<u16>(), snaplen in prop_oneof![Just(0), 64..2000_u32],
        texts in prop::array::uniform6(text()), speed_bps in any::<Option<u64>>(),
        mac in any::<Option<[u8; 6]>>(),
    ) -> Interface {
        let [name, description, filter, os, hardware, comment] = texts;
        let known = Interface::new(LinkType(link_type), snaplen);
        Interface { name, description, filter, os, hardware, speed_bps, mac, comment, ..known }
    }
}

prop_compose! {
    fn statistics()(
        interface in 0..3_u32, timestamp in any::<u64>(), times in any::<[Option<u64>; 2]>(),
        counters in any::<[Option<u64>; 5]>(), comment in text(),
    ) -> Statistics {
        let [start_ns, end_ns] = times;
        let [received, interface_dropped, filter_accepted, os_dropped, delivered] = counters;
        let timestamp_ns = Some(timestamp);
        Statistics {
            interface, timestamp_ns, start_ns, end_ns, received, interface_dropped,
            filter_accepted, os_dropped, delivered, comment,
        }
    }
}

prop_compose! {
    fn packet()(
        interface in 0..3_u32, timestamp in any::<u64>(), has_time in prop::bool::weighted(0.9),
        length in 0..1600_usize, more in prop_oneof![Just(0), 0..9000_u32], fill in any::<u8>(),
        direction in prop::option::of(prop_oneof![Just(Direction::In), Just(Direction::Out)]),
        reception in prop::option::of(prop_oneof![
            Just(Reception::Unicast), Just(Reception::Multicast), Just(Reception::Broadcast),
            Just(Reception::Promiscuous),
        ]),
        checksum in prop_oneof![
            Just(Checksum::Unknown), Just(Checksum::NotReady), Just(Checksum::Valid),
        ],
        queue in any::<Option<u32>>(), counters in any::<[Option<u64>; 2]>(),
    ) -> Owned {
        let [drop_count, packet_id] = counters;
        let original_len = length as u32 + more;
        let packet = Packet {
            interface, original_len, direction, reception, checksum, queue, drop_count, packet_id,
            ..Packet::new(timestamp, &[])
        };
        // Without a time there is nothing but the bytes of interface 0.
        let bare = Packet { timestamp_ns: None, original_len, ..Packet::new(0, &[]) };
        Owned { packet: if has_time { packet } else { bare }, length, fill }
    }
}

/// Writes `contents` with the given buffer size. Returns the contents that the file should have.
fn write(
    format: Format,
    compression: Compression,
    buffer_bytes: usize,
    contents: (Section, Vec<Interface>, Vec<Owned>, Vec<Statistics>),
) -> (Vec<u8>, Contents) {
    let (section, interfaces, packets, statistics) = contents;
    let memory = Memory::default();
    let output = Output::Stream {
        writer: Box::new(memory.clone()),
        name: "memory".into(),
    };
    let mut options = CaptureFileOptions::new(output, interfaces.clone());
    options.format = format;
    options.section = section.clone();
    options.compression = compression;
    options.buffer_bytes = buffer_bytes;
    let mut file = CaptureFile::create(options, 0).expect("a file");
    let mut written = Vec::new();
    for Owned {
        mut packet,
        length,
        fill,
    } in packets
    {
        let snaplen = interfaces[packet.interface as usize].snaplen as usize;
        let most = if snaplen == 0 { usize::MAX } else { snaplen };
        if packet.timestamp_ns.is_none() {
            // A Simple Packet Block tells one length, the other follows from the snaplen.
            packet.original_len = length as u32;
        }
        let bytes = vec![fill; length];
        file.write(&Packet {
            bytes: &bytes,
            ..packet
        })
        .expect("a packet is written");
        written.push((packet, vec![fill; length.min(most)]));
    }
    file.close(&statistics).expect("the file is closed");
    assert_eq!(file.packets_written(), written.len() as u64);
    let bytes = memory.0.lock().unwrap().clone();
    assert_eq!(file.bytes_written(), bytes.len() as u64);
    (
        bytes,
        Contents {
            section,
            interfaces,
            packets: written,
            statistics,
        },
    )
}

fn compression() -> impl Strategy<Value = Compression> {
    prop_oneof![
        Just(Compression::None),
        (1..4).prop_map(|level| Compression::Zstd { level })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pcapng_keeps_everything(
        compression in compression(),
        buffer_bytes in 0..20_000_usize,
        section in section(),
        interfaces in prop::collection::vec(interface(), 3),
        packets in prop::collection::vec(packet(), 0..40),
        statistics in prop::collection::vec(statistics(), 0..5),
    ) {
        let contents = (section, interfaces, packets, statistics);
        let (bytes, expected) = write(Format::Pcapng, compression, buffer_bytes, contents);
        prop_assert_eq!(read(bytes), expected);
    }

    #[test]
    fn pcap_keeps_time_bytes_and_length(
        compression in compression(),
        format in prop_oneof![Just(Format::PcapNanos), Just(Format::PcapMicros)],
        snaplen in 64..2000_u32,
        mut packets in prop::collection::vec(packet(), 0..40),
    ) {
        for owned in &mut packets {
            owned.packet.interface = 0;
            let time = owned.packet.timestamp_ns.unwrap_or(0) % (1_000_000_000 << 32);
            owned.packet.timestamp_ns = Some(time);
        }
        let interface = Interface::new(LinkType::ETHERNET, snaplen);
        let contents = (Section::default(), vec![interface], packets, Vec::new());
        let (bytes, mut expected) = write(format, compression, 5000, contents);
        let unit = if format == Format::PcapNanos { 1 } else { 1000 };
        for (packet, _) in &mut expected.packets {
            let time = packet.timestamp_ns.map(|time| time / unit * unit);
            let original_len = packet.original_len;
            *packet = Packet { timestamp_ns: time, original_len, ..Packet::new(0, &[]) };
        }
        let found = read(bytes);
        prop_assert_eq!(found.packets, expected.packets);
        prop_assert_eq!(found.interfaces.len(), 1);
        prop_assert_eq!(found.interfaces[0].link_type, LinkType::ETHERNET);
        prop_assert_eq!(found.interfaces[0].snaplen, snaplen);
    }
}
