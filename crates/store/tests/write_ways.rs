//! Common packets have a fast encoder. Rotation requires the general encoder: with a limit that is never reached, the
//! same packets must give the same file.

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
