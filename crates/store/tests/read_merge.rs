//! Several files merged into one stream, compared with mergecap.

use std::path::PathBuf;
use std::process::Command;

use crate::read_support::build::{BIG, LITTLE, frame};
use crate::read_support::{corpus, other_reader, read_all};
use tapline_store::model::LinkType;
use tapline_store::read::{ErrorKind, Item, Merge, Reader};

/// Time, interface and last byte of each packet.
fn merged(merge: &mut Merge) -> Vec<(Option<u64>, u32, u8)> {
    let mut packets = Vec::new();
    while let Some(item) = merge.next_item().expect("read") {
        if let Item::Packet(packet) = item {
            let last = *packet.bytes.last().expect("bytes");
            packets.push((packet.timestamp_ns, packet.interface, last));
        }
    }
    packets
}

fn reader(parts: &[Vec<u8>]) -> Reader {
    Reader::from_bytes(parts.concat()).expect("a capture")
}

#[test]
fn sorted_corpus_files_merge_as_mergecap_merges_them() {
    let folder = tempfile::tempdir().expect("folder");
    let merged = folder.path().join("merged");
    let ethernet: Vec<PathBuf> = corpus()
        .into_iter()
        .filter(|path| {
            let reader = Reader::open(path).expect("a capture");
            let ethernet = reader.interfaces().first().map(|first| first.link_type)
                == Some(LinkType::ETHERNET);
            ethernet
                && read_all(Ok(reader))
                    .packets
                    .is_sorted_by_key(|packet| packet.time_ns)
        })
        .collect();
    for paths in ethernet.chunks(9).take(12) {
        let mergecap = Command::new("mergecap")
            .arg("-w")
            .arg(&merged)
            .args(paths)
            .output()
            .expect("mergecap");
        assert!(mergecap.status.success(), "{mergecap:?}");
        let mut theirs = other_reader(&merged).expect("editcap");
        let readers = paths
            .iter()
            .map(|path| Reader::open(path).expect("a capture"));
        let mut merge = Merge::new(readers.collect());
        let mut ours = Vec::new();
        while let Some(item) = merge.next_item().expect("read") {
            if let Item::Packet(packet) = item {
                // pcap has 32 bits for the seconds.
                let time = packet.timestamp_ns.expect("time") % (1_000_000_000 << 32);
                ours.push((time, packet.original_len, packet.bytes.to_vec()));
            }
        }
        let mut theirs: Vec<_> = theirs
            .drain(..)
            .map(|seen| (seen.time_ns.expect("time"), seen.original_len, seen.bytes))
            .collect();
        let times = |packets: &[(u64, u32, Vec<u8>)]| {
            packets.iter().map(|packet| packet.0).collect::<Vec<_>>()
        };
        assert_eq!(times(&ours), times(&theirs), "{paths:?}");
        // For equal times mergecap uses a different order.
        ours.sort();
        theirs.sort();
        assert!(ours == theirs, "{paths:?}");
    }
}

#[test]
fn equal_times_keep_the_order_of_the_inputs() {
    let packet = |ticks, last| LITTLE.enhanced(0, ticks, &frame(last), &[]);
    let start = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[])].concat();
    let first = reader(&[start.clone(), packet(5, 1), packet(5, 2), packet(7, 3)]);
    let second = reader(&[start, packet(4, 11), packet(5, 12), packet(7, 13)]);
    let packets = merged(&mut Merge::new(vec![first, second]));
    let expected = [
        (4, 1, 11),
        (5, 0, 1),
        (5, 0, 2),
        (5, 1, 12),
        (7, 0, 3),
        (7, 1, 13),
    ];
    assert_eq!(
        packets,
        expected.map(|(us, interface, last)| (Some(us * 1000), interface, last))
    );
}

#[test]
fn interfaces_of_all_inputs_and_sections_get_numbers_of_their_own() {
    let section = |link_type, ticks, last| {
        let interfaces = [
            LITTLE.interface(1, 0, &[]),
            LITTLE.interface(link_type, 0, &[]),
        ];
        let packet = LITTLE.enhanced(1, ticks, &frame(last), &[]);
        let counters = LITTLE.statistics(1, 9, &LITTLE.option(4, &LITTLE.u64(last.into())));
        [LITTLE.section(&[]), interfaces.concat(), packet, counters].concat()
    };
    let pcap = [
        BIG.pcap_header(0xa1b2_c3d4, (2, 4), 113),
        BIG.record((0, 2), (60, 60), &frame(3)),
    ];
    let mut merge = Merge::new(vec![
        reader(&[section(101, 1, 1), section(276, 3, 2)]),
        reader(&pcap),
    ]);
    let mut link_types = Vec::new();
    let mut seen = Vec::new();
    while let Some(item) = merge.next_item().expect("read") {
        match item {
            Item::Interface {
                index, interface, ..
            } => {
                assert_eq!(index as usize, link_types.len());
                link_types.push(interface.link_type);
            }
            Item::Packet(packet) => {
                let link_type = link_types[packet.interface as usize].0;
                seen.push((packet.bytes[59], link_type));
            }
            Item::Statistics { statistics, .. } => {
                let link_type = link_types[statistics.interface as usize].0;
                seen.push((statistics.received.expect("counted") as u8 + 100, link_type));
            }
            _ => {}
        }
    }
    assert_eq!(seen, [(1, 101), (101, 101), (3, 113), (2, 276), (102, 276)]);
    assert_eq!(merge.interfaces().len(), 5);
}

#[test]
fn packets_without_time_stay_behind_their_predecessor() {
    let start = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[])].concat();
    let packet = |ticks, last| LITTLE.enhanced(0, ticks, &frame(last), &[]);
    let timeless = LITTLE.simple(60, &frame(2));
    let first = reader(&[start.clone(), packet(5, 1), timeless, packet(9, 3)]);
    let second = reader(&[start, packet(4, 11), packet(6, 12)]);
    let order: Vec<u8> = merged(&mut Merge::new(vec![first, second]))
        .into_iter()
        .map(|(_, _, last)| last)
        .collect();
    assert_eq!(order, [11, 1, 2, 12, 3]);
}

#[test]
fn a_broken_input_is_named_and_the_others_go_on() {
    let start = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[])].concat();
    let packet = |ticks, last| LITTLE.enhanced(0, ticks, &frame(last), &[]);
    let whole = reader(&[start.clone(), packet(1, 1), packet(9, 2)]);
    let broken = reader(&[start, packet(2, 11), packet(3, 12)[..50].to_vec()]);
    let mut merge = Merge::new(vec![whole, broken]);
    let (mut order, mut errors) = (Vec::new(), Vec::new());
    loop {
        match merge.next_item() {
            Ok(Some(Item::Packet(packet))) => order.push(packet.bytes[59]),
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => errors.push((error.input, error.source.kind)),
        }
    }
    assert_eq!(
        (order, errors),
        (vec![1, 11, 2], vec![(1, ErrorKind::Truncated)])
    );
}
