//! Format features, from handmade bytes; lengths and times are compared with tshark's.

use crate::read_support;
use std::io::Write;

use crate::read_support::build::{BIG, Build, LITTLE, frame};
use crate::read_support::{read_all, tshark};
use tapline_store::model::{Checksum, Direction, Interface, LinkType, Reception, Statistics};
use tapline_store::read::{ByteOrder, DetectedFormat, Item, ReadEnd, Reader};

/// Reads `bytes` and compares count, lengths and times with tshark.
fn as_tshark(bytes: &[u8]) -> Vec<read_support::Seen> {
    let mut file = tempfile::NamedTempFile::new().expect("file");
    file.write_all(bytes).expect("write");
    let told = read_all(Reader::open(file.path()));
    let (theirs, well) = tshark(file.path());
    assert_eq!(
        (told.error, told.end, well),
        (None, Some(ReadEnd::Complete), true)
    );
    let ours = told.packets.iter().map(|packet| {
        let time = packet.time_ns.map(i128::from);
        (packet.original_len, packet.bytes.len() as u32, time)
    });
    assert_eq!(ours.collect::<Vec<_>>(), theirs);
    told.packets
}

/// A section with every supported kind of block and option.
fn rich_section(build: Build) -> Vec<u8> {
    let text = |code, text: &str| build.option(code, text.as_bytes());
    [
        build.section(
            &[
                text(1, "one"),
                text(1, "two"),
                text(2, "cpu"),
                text(3, "os"),
                text(4, "app"),
            ]
            .concat(),
        ),
        build.interface(
            1,
            262_144,
            &[
                text(2, "eth0"),
                text(3, "uplink"),
                build.option(6, &[2, 0, 0, 0, 0, 9]),
                build.option(8, &build.u64(10_000_000_000)),
                build.option(9, &[9]),
                build.option(11, b"\0tcp port 80"),
                text(12, "Linux 6.18"),
                build.option(14, &build.u64(37)),
                text(15, "virtio\0"),
                build.option(0, &[]),
                text(2, "not read"),
            ]
            .concat(),
        ),
        build.interface(101, 20, &build.option(9, &[0x80 + 20])),
        build.block(4, &[0; 8]),
        build.block(0x0bad, &[1, 2, 3, 4]),
        build.enhanced(
            0,
            1_700_000_000_123_456_789,
            &frame(1),
            &[
                text(1, "a comment"),
                build.option(2, &build.u32(1 | 3 << 2 | 1 << 9)),
                build.option(4, &build.u64(1 << 40)),
                build.option(5, &build.u64(77)),
                build.option(6, &build.u32(5)),
                build.option(0, &[]),
            ]
            .concat(),
        ),
        build.enhanced(
            1,
            1_700_000_000 << 20,
            &[0x45; 21],
            &build.option(2, &build.u32(2 | 4 << 2 | 2 << 9)),
        ),
        build.simple(60, &frame(2)),
        build.obsolete(1, 3, 1, &[0x45; 20]),
        build.obsolete(0, 0xffff, 1_000_000_000, &frame(3)),
        build.statistics(
            0,
            1_700_000_001_000_000_000,
            &[
                build.option(2, &build.words(&[0, 1])),
                build.option(3, &build.words(&[1, 0])),
                build.option(4, &build.u64(10)),
                build.option(5, &build.u64(11)),
                build.option(6, &build.u64(12)),
                build.option(7, &build.u64(13)),
                build.option(8, &build.u64(14)),
                text(1, "end"),
            ]
            .concat(),
        ),
        build.statistics(9, 0, &[]),
    ]
    .concat()
}

#[test]
fn both_byte_orders_say_the_same() {
    for (build, order) in [(LITTLE, ByteOrder::Little), (BIG, ByteOrder::Big)] {
        let bytes = rich_section(build);
        as_tshark(&bytes);
        let mut reader = Reader::from_bytes(bytes).expect("pcapng");
        let header = reader.header().clone();
        assert_eq!(
            (header.format, header.byte_order),
            (DetectedFormat::Pcapng, order)
        );
        assert_eq!((header.version, header.first_interface), ((1, 0), 0));
        let section = header.section;
        let said = [
            section.hardware,
            section.os,
            section.application,
            section.comment,
        ];
        assert_eq!(said.map(Option::unwrap), ["cpu", "os", "app", "one\ntwo"]);

        let mut eth0 = Interface::new(LinkType::ETHERNET, 262_144);
        eth0.name = Some("eth0".into());
        eth0.description = Some("uplink".into());
        eth0.mac = Some([2, 0, 0, 0, 0, 9]);
        eth0.speed_bps = Some(10_000_000_000);
        eth0.filter = Some("tcp port 80".into());
        eth0.os = Some("Linux 6.18".into());
        eth0.hardware = Some("virtio".into());
        eth0.offset_s = 37;
        let Ok(Some(Item::Interface {
            index: 0,
            interface,
            ..
        })) = reader.next_item()
        else {
            panic!("first interface");
        };
        assert_eq!(interface, &eth0);
        let Ok(Some(Item::Interface {
            index: 1,
            interface,
            ..
        })) = reader.next_item()
        else {
            panic!("second interface");
        };
        assert_eq!(
            (interface.link_type, interface.ticks_per_second),
            (LinkType::RAW, 1 << 20)
        );

        let packet = reader.next_packet().expect("read").expect("enhanced");
        assert_eq!(packet.timestamp_ns, Some(1_700_000_037_123_456_789));
        assert_eq!((packet.bytes, packet.original_len), (&frame(1)[..], 160));
        assert_eq!((packet.interface, packet.queue), (0, Some(5)));
        assert_eq!(
            (packet.direction, packet.reception),
            (Some(Direction::In), Some(Reception::Broadcast))
        );
        assert_eq!(
            (packet.checksum, packet.packet_id),
            (Checksum::NotReady, Some(77))
        );
        assert_eq!(packet.drop_count, Some(1 << 40));
        let packet = reader.next_packet().expect("read").expect("enhanced");
        assert_eq!(packet.timestamp_ns, Some(1_700_000_000_000_000_000));
        assert_eq!(
            (packet.direction, packet.reception),
            (Some(Direction::Out), Some(Reception::Promiscuous))
        );
        assert_eq!((packet.interface, packet.checksum), (1, Checksum::Valid));
        let packet = reader.next_packet().expect("read").expect("simple");
        assert_eq!((packet.timestamp_ns, packet.bytes), (None, &frame(2)[..]));
        let packet = reader.next_packet().expect("read").expect("obsolete");
        assert_eq!((packet.interface, packet.drop_count), (1, Some(3)));
        let packet = reader.next_packet().expect("read").expect("obsolete");
        assert_eq!((packet.interface, packet.drop_count), (0, None));

        let statistics = Statistics {
            interface: 0,
            timestamp_ns: Some(1_700_000_038_000_000_000),
            start_ns: Some(37_000_000_001),
            end_ns: Some(37_000_000_000 + (1 << 32)),
            received: Some(10),
            interface_dropped: Some(11),
            filter_accepted: Some(12),
            os_dropped: Some(13),
            delivered: Some(14),
            comment: Some("end".into()),
        };
        let Ok(Some(Item::Statistics {
            statistics: found, ..
        })) = reader.next_item()
        else {
            panic!("statistics");
        };
        assert_eq!(found, &statistics);
        assert_eq!(reader.next_item().expect("read"), None);
    }
}

#[test]
fn interfaces_are_numbered_through_all_sections() {
    let bytes = [
        rich_section(LITTLE),
        rich_section(BIG),
        rich_section(LITTLE),
    ]
    .concat();
    as_tshark(&bytes);
    let mut reader = Reader::from_bytes(bytes).expect("pcapng");
    let mut seen = Vec::new();
    while let Some(item) = reader.next_item().expect("read") {
        match item {
            Item::Packet(packet) => seen.push(packet.interface),
            Item::Statistics { statistics, .. } => seen.push(100 + statistics.interface),
            _ => {}
        }
    }
    assert_eq!(
        seen,
        [0, 1, 0, 1, 0, 100, 2, 3, 2, 3, 2, 102, 4, 5, 4, 5, 4, 104]
    );
    assert_eq!(
        (reader.interfaces().len(), reader.section_interfaces().len()),
        (6, 2)
    );
    assert_eq!(reader.header().first_interface, 4);
}

#[test]
fn time_stamps_of_every_resolution_are_tsharks() {
    // tshark's arithmetic has 64 bits, which is exact for up to 2^34 ticks per second.
    let octets: Vec<u8> = (6..=10).chain(0x80 + 20..=0x80 + 34).collect();
    let interfaces = octets
        .iter()
        .map(|&octet| LITTLE.interface(1, 0, &LITTLE.option(9, &[octet])));
    let interfaces: Vec<u8> = interfaces.flatten().collect();
    let packets = (0..octets.len() as u32).flat_map(|interface| {
        let times = [0, 1, 1_700_000_000_123_456, (1 << 52) + 1];
        times
            .map(|ticks| LITTLE.enhanced(interface, ticks, &frame(0), &[]))
            .concat()
    });
    as_tshark(&[LITTLE.section(&[]), interfaces, packets.collect()].concat());
}

#[test]
fn odd_but_whole_pcapng_is_read_as_tshark_reads_it() {
    let start = [LITTLE.section(&[]), LITTLE.interface(1, 30, &[])].concat();
    // A block whose length leaves out the padding.
    let mut unpadded = LITTLE.enhanced(0, 5, &frame(0)[..57], &[]);
    let (length, end) = (LITTLE.u32(unpadded.len() as u32 - 3), unpadded.len());
    unpadded[4..8].copy_from_slice(&length);
    unpadded[end - 4..].copy_from_slice(&length);
    for block in [
        unpadded,
        LITTLE.simple(60, &frame(0)[..32]),
        LITTLE.enhanced(0, 5, &[], &[]),
        LITTLE.enhanced(0, u64::from(u32::MAX) << 20, &vec![7; 262_144], &[]),
        LITTLE.block(0x8000_0001, &[1; 1000]),
        [
            LITTLE.interface(1, 0, &LITTLE.option(9, &[9, 9])),
            LITTLE.enhanced(1, 7, &frame(0), &[]),
        ]
        .concat(),
    ] {
        let after = LITTLE.enhanced(0, 6, &frame(9), &[]);
        as_tshark(&[&start[..], &block, &after].concat());
    }
}

#[test]
fn every_kind_of_pcap_is_read_as_tshark_reads_it() {
    for build in [LITTLE, BIG] {
        for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
            let header = build.pcap_header(magic, (2, 4), 1);
            let records = [(0, 0), (u32::MAX, 999_999), (1_700_000_000, 5)]
                .map(|time| build.record(time, (60, 1500), &frame(7)));
            let packets = as_tshark(&[header, records.concat()].concat());
            assert!(packets.iter().all(|packet| packet.bytes == frame(7)));
        }
        let patched = build.record((1, 2), (60, 60), &[0; 8]);
        let records = [&patched[..], &frame(1), &patched, &frame(2)].concat();
        let header = build.pcap_header(0xa1b2_cd34, (2, 4), 1);
        let packets = as_tshark(&[header, records].concat());
        assert_eq!(packets[1].bytes, frame(2));
    }
}

#[test]
fn old_versions_of_pcap_may_swap_the_lengths() {
    for (version, lengths) in [
        ((2, 2), (100, 60)),
        ((2, 3), (100, 60)),
        ((2, 3), (60, 100)),
        ((2, 4), (60, 100)),
        ((543, 0), (100, 60)),
    ] {
        let header = LITTLE.pcap_header(0xa1b2_c3d4, version, 1);
        let record = LITTLE.record((1, 2), lengths, &frame(1));
        let packets = as_tshark(&[&header[..], &record, &record].concat());
        assert_eq!(packets[1].original_len, 100);
    }
}

#[test]
fn the_check_sequence_bits_are_not_the_link_type() {
    for network in [0x2400_0001, 0x3000_0001, 0x0800_0001] {
        let header = LITTLE.pcap_header(0xa1b2_c3d4, (2, 4), network);
        let bytes = [header, LITTLE.record((1, 2), (60, 60), &frame(1))].concat();
        as_tshark(&bytes);
        let reader = Reader::from_bytes(bytes).expect("pcap");
        assert_eq!(reader.interfaces()[0].link_type, LinkType::ETHERNET);
    }
}
