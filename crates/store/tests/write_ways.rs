//! Common packets have a fast encoder. With rotation it also counts what is left of the file: with a limit that is never
//! reached, the same packets must give the same file.

use std::num::NonZeroU64;
use std::path::Path;

use crate::write_support::*;
use tapline_store::model::{Checksum, Direction, Interface, LinkType, Packet, Reception};
use tapline_store::write::{CaptureFile, CaptureFileOptions, Rotation};

const SNAPLEN: u32 = 300;

fn file(path: &Path, rotation: Rotation) -> CaptureFile {
    let mut options = CaptureFileOptions {
        rotation,
        // Small enough to be full many times, in the middle of packets of every length.
        buffer_bytes: 5000,
        ..options(path)
    };
    options.interfaces = vec![ethernet(), Interface::new(LinkType::ETHERNET, SNAPLEN)];
    CaptureFile::create(options, 0).unwrap()
}

/// Packets of every length up to beyond the snap length and a few long ones, with all possible metadata.
fn each_packet(mut take: impl FnMut(Packet<'_>)) {
    let directions = [None, Some(Direction::In), Some(Direction::Out)];
    let receptions = [
        None,
        Some(Reception::Unicast),
        Some(Reception::Multicast),
        Some(Reception::Broadcast),
        Some(Reception::Promiscuous),
    ];
    let checksums = [Checksum::Unknown, Checksum::NotReady, Checksum::Valid];
    let lengths = (0..SNAPLEN as usize + 20).chain([1514, 4900, 5000, 9000, 70_000]);
    for (number, length) in (0_u64..).zip(lengths) {
        let bytes = frame(number, length);
        let place = number as usize;
        let packet = Packet {
            interface: (number % 2) as u32,
            original_len: length as u32 + (number % 3) as u32,
            direction: directions[place % 3],
            reception: receptions[place % 5],
            checksum: checksums[place / 2 % 3],
            ..Packet::new(QUARTER_PAST + number * 4_294_967_297, &bytes)
        };
        take(packet);
        take(Packet {
            direction: Some(Direction::In),
            ..packet
        });
        take(Packet {
            drop_count: Some(number),
            ..packet
        });
        take(Packet {
            packet_id: Some(number),
            ..packet
        });
        take(Packet {
            comment: Some(&"a comment of any length"[..place % 23]),
            ..packet
        });
        take(Packet {
            queue: Some(7),
            ..packet
        });
        take(Packet {
            timestamp_ns: None,
            ..packet
        });
    }
}

#[test]
fn both_ways_write_the_same_octets() {
    let folder = tempfile::tempdir().unwrap();
    let short_path = folder.path().join("short.pcapng");
    let mut short = file(&short_path, Rotation::default());
    let never = Rotation {
        packets: NonZeroU64::new(u64::MAX),
        ..Rotation::default()
    };
    let mut long = file(&folder.path().join("long.pcapng"), never);
    let mut packets = 0;
    each_packet(|packet| {
        short.write(&packet).unwrap();
        long.write(&packet).unwrap();
        packets += 1;
    });
    short.close(&[statistics(0)]).unwrap();
    long.close(&[statistics(0)]).unwrap();
    assert_eq!(short.packets_written(), packets);
    assert_eq!(long.packets_written(), packets);
    let long_path = &long.files().next().unwrap().path;
    let octets = std::fs::read(&short_path).unwrap();
    assert!(octets == std::fs::read(long_path).unwrap());
    assert_eq!(count(&short_path), packets);
}

/// Packets of both encoders, in turns.
#[test]
fn a_rotated_file_ends_at_its_limit_by_either_way() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = frame(1, 96);
    let write = |file: &mut CaptureFile, number: u64| {
        let packet = Packet {
            direction: Some(Direction::In),
            packet_id: number.is_multiple_of(3).then_some(number),
            ..Packet::new(QUARTER_PAST + number, &bytes)
        };
        file.write(&packet).unwrap();
    };
    let packets = Rotation {
        packets: NonZeroU64::new(7),
        ..Rotation::default()
    };
    let limit = 2000;
    let size = Rotation {
        bytes: NonZeroU64::new(limit),
        ..Rotation::default()
    };
    let interval = Rotation {
        interval_ns: NonZeroU64::new(10),
        ..Rotation::default()
    };
    for (name, rotation) in [("packets", packets), ("size", size), ("interval", interval)] {
        let mut file = file(&folder.path().join(name), rotation);
        (0..100).for_each(|number| write(&mut file, number));
        file.close(&[]).unwrap();
        let written: Vec<u64> = file.files().map(|made| count(&made.path)).collect();
        assert_eq!(written.iter().sum::<u64>(), 100, "{name}");
        let (last, whole) = written.split_last().unwrap();
        match name {
            "packets" => assert!(whole.iter().all(|&count| count == 7) && *last == 100 % 7),
            "size" => {
                let sizes = file.files().map(|made| made.path.metadata().unwrap().len());
                let sizes: Vec<u64> = sizes.collect();
                assert!(whole.len() > 5 && sizes.iter().all(|&size| size <= limit));
                // No other packet of 152 octets would have fitted before the statistics of two interfaces.
                let sizes = &sizes[..whole.len()];
                assert!(
                    sizes.iter().all(|size| size + 152 + 2 * 112 > limit),
                    "{sizes:?}"
                );
            }
            // The first file is that of the time 0.
            _ => assert!(written[0] == 0 && written[1..] == [10; 10], "{written:?}"),
        }
    }
}

#[test]
fn a_closed_file_takes_no_packet_by_either_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = file(&folder.path().join("file.pcapng"), Rotation::default());
    let bytes = frame(1, 96);
    let packet = Packet {
        direction: Some(Direction::In),
        ..Packet::new(QUARTER_PAST, &bytes)
    };
    file.write(&packet).unwrap();
    file.close(&[]).unwrap();
    assert!(file.write(&packet).is_err());
    assert_eq!(file.packets_accepted(), 1);
}
