//! Files of the writers, as read by tshark, capinfos and tcpdump.

use std::ffi::OsStr;
use std::path::Path;

use crate::write_support::*;
use tapline_store::model::{Checksum, Direction, Interface, LinkType, Packet, Reception};
use tapline_store::write::{CaptureFile, Format, WriteError};

const LENGTHS: [usize; 9] = [1, 2, 3, 4, 13, 14, 60, 97, 1514];

/// Checks time stamps, captured and original lengths and octets with tshark, and the count with capinfos and tcpdump.
fn check(file: &Path, packets: &[Packet<'_>], digits: usize) {
    let time = |packet: &Packet<'_>| {
        let ns = packet.timestamp_ns.expect("a time");
        let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        text[..text.len() - 9 + digits].to_owned()
    };
    let fields = [
        "frame.time_epoch",
        "frame.cap_len",
        "frame.len",
        "frame.interface_id",
    ];
    let rows = tshark(file, &fields);
    assert_eq!(rows.len(), packets.len());
    for (row, packet) in rows.iter().zip(packets) {
        assert_eq!(
            row[0],
            format!("{}{}", time(packet), "0".repeat(9 - digits))
        );
        assert_eq!(row[1], packet.bytes.len().to_string());
        assert_eq!(row[2], packet.original_len.to_string());
        if !row[3].is_empty() {
            assert_eq!(row[3], packet.interface.to_string());
        }
    }
    let bytes: Vec<&[u8]> = packets.iter().map(|packet| packet.bytes).collect();
    assert_eq!(tshark_bytes(file), bytes);
    assert_eq!(count(file), packets.len() as u64);

    let arguments = ["-n", "-tt", "--time-stamp-precision=nano", "-r"].map(OsStr::new);
    let text = run("tcpdump", arguments.into_iter().chain([file.as_os_str()]));
    let times: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('\t'))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let expected: Vec<String> = packets
        .iter()
        .map(|packet| format!("{}{}", time(packet), "0".repeat(9 - digits)))
        .collect();
    assert_eq!(times, expected);
}

fn frames() -> Vec<Vec<u8>> {
    LENGTHS
        .iter()
        .enumerate()
        .map(|(number, &length)| frame(number as u64, length))
        .collect()
}

fn plain_packets(frames: &[Vec<u8>]) -> Vec<Packet<'_>> {
    let mut packets: Vec<Packet<'_>> = frames
        .iter()
        .map(|bytes| Packet::new(QUARTER_PAST, bytes))
        .collect();
    for (packet, number) in packets.iter_mut().zip(0..) {
        packet.timestamp_ns = Some(QUARTER_PAST + u64::from(number) * 1_000_000_001);
        packet.original_len += number;
    }
    packets
}

#[test]
fn every_format_keeps_time_lengths_and_octets() {
    let folder = tempfile::tempdir().unwrap();
    for (format, digits) in [
        (Format::Pcapng, 9),
        (Format::PcapNanos, 9),
        (Format::PcapMicros, 6),
    ] {
        let path = folder.path().join("file");
        let mut options = options(&path);
        options.format = format;
        let mut file = CaptureFile::create(options, 0).unwrap();
        let frames = frames();
        let packets = plain_packets(&frames);
        for packet in &packets {
            file.write(packet).unwrap();
        }
        file.close(&[]).unwrap();
        assert_eq!(file.packets_written(), packets.len() as u64);
        assert_eq!(
            file.bytes_written(),
            std::fs::metadata(&path).unwrap().len()
        );
        check(&path, &packets, digits);
    }
}

#[test]
fn every_option_of_a_packet_reaches_its_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    let bytes = frame(1, 61);
    let directions = [None, Some(Direction::In), Some(Direction::Out)];
    let receptions = [
        None,
        Some(Reception::Unicast),
        Some(Reception::Multicast),
        Some(Reception::Broadcast),
        Some(Reception::Promiscuous),
    ];
    let checksums = [Checksum::Unknown, Checksum::NotReady, Checksum::Valid];
    let mut expected = Vec::new();
    for (d, direction) in directions.into_iter().enumerate() {
        for (r, reception) in receptions.into_iter().enumerate() {
            for (c, checksum) in checksums.into_iter().enumerate() {
                // Every combination of the three other options comes by as well.
                let others = expected.len();
                let some = |bit: usize, value: u64| (others >> bit & 1 == 1).then_some(value);
                let (drops, id) = (some(0, (1 << 33) + others as u64), some(1, (1 << 60) + 7));
                let queue = some(2, 65_536 + others as u64).map(|queue| queue as u32);
                let comment = (others % 3 == 1).then_some(&"stamped by the sun"[..9 + r]);
                let packet = Packet {
                    direction,
                    reception,
                    checksum,
                    queue,
                    drop_count: drops,
                    packet_id: id,
                    comment,
                    ..Packet::new(QUARTER_PAST, &bytes)
                };
                file.write(&packet).unwrap();
                let flags = d | r << 2 | c << 9;
                let text = |value: Option<u64>| value.map_or(String::new(), |v| v.to_string());
                expected.push(vec![
                    if flags == 0 {
                        String::new()
                    } else {
                        format!("0x{flags:08x}")
                    },
                    text(drops),
                    text(id),
                    text(queue.map(u64::from)),
                    comment.unwrap_or_default().to_owned(),
                ]);
            }
        }
    }
    file.close(&[]).unwrap();
    let fields = [
        "frame.packet_flags",
        "frame.drop_count",
        "frame.packet_id",
        "frame.interface_queue",
        "frame.comment",
    ];
    assert_eq!(tshark(&path, &fields), expected);
    // tshark's own reading of the two fields people filter by.
    let rows = tshark(&path, &["frame.packet_flags_direction", "frame.p2p_dir"]);
    assert_eq!(rows[expected.len() - 1], ["0x00000002", "0"]);
    assert_eq!(rows[15 + 1], ["0x00000001", "1"]);
    assert_eq!(count(&path), expected.len() as u64);
    run(
        "tcpdump",
        [OsStr::new("-n"), OsStr::new("-r"), path.as_os_str()],
    );
}

#[test]
fn packets_are_cut_to_their_interfaces_snaplen() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::Pcapng, Format::PcapNanos] {
        let path = folder.path().join("file");
        let mut options = options(&path);
        options.format = format;
        options.interfaces[0].snaplen = 96;
        let mut file = CaptureFile::create(options, 0).unwrap();
        write_frames(&mut file, QUARTER_PAST, 2, 1514);
        write_frames(&mut file, QUARTER_PAST, 1, 96);
        file.close(&[]).unwrap();
        let rows = tshark(&path, &["frame.cap_len", "frame.len"]);
        assert_eq!(rows, [["96", "1514"], ["96", "1514"], ["96", "96"]]);
        run(
            "tcpdump",
            [OsStr::new("-n"), OsStr::new("-r"), path.as_os_str()],
        );
    }
}

#[test]
fn a_packet_without_time_becomes_a_simple_packet_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let mut options = options(&path);
    options.interfaces[0].snaplen = 61;
    let mut file = CaptureFile::create(options, 0).unwrap();
    let bytes = frame(1, 61);
    let packet = Packet {
        timestamp_ns: None,
        ..Packet::new(0, &bytes)
    };
    file.write(&packet).unwrap();
    file.write(&Packet {
        original_len: 100,
        ..packet
    })
    .unwrap();
    file.write(&Packet {
        queue: Some(3),
        ..packet
    })
    .unwrap();
    file.close(&[]).unwrap();
    let rows = tshark(
        &path,
        &["frame.cap_len", "frame.len", "frame.interface_queue"],
    );
    assert_eq!(
        rows,
        [["61", "61", ""], ["61", "100", ""], ["61", "61", "3"]]
    );
    assert_eq!(tshark_bytes(&path), [&bytes[..]; 3]);
    assert_eq!(
        structure(&path)
            .matches("Block: Simple Packet Block")
            .count(),
        2
    );
}

#[test]
fn what_does_not_fit_is_refused_and_the_file_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcap");
    let mut options = options(&path);
    options.format = Format::PcapMicros;
    let mut file = CaptureFile::create(options, 0).unwrap();
    let bytes = frame(1, 60);

    let far = Packet {
        interface: 1,
        ..Packet::new(QUARTER_PAST, &bytes)
    };
    let refusal = file.write(&far).unwrap_err();
    assert!(matches!(
        refusal,
        WriteError::UnknownInterface {
            interface: 1,
            count: 1
        }
    ));

    let late = Packet::new(4_294_967_296_000_000_000, &bytes);
    assert!(matches!(
        file.write(&late).unwrap_err(),
        WriteError::TimeOutOfRange { .. }
    ));

    let huge = vec![0; 16 << 20];
    let refusal = file.write(&Packet::new(QUARTER_PAST, &huge)).unwrap_err();
    assert!(matches!(refusal, WriteError::PacketTooLong { .. }));

    let raw = Interface::new(LinkType::RAW, 0);
    let refusal = file.add_interface(raw).unwrap_err();
    assert!(matches!(
        refusal,
        WriteError::LinkTypeDiffers {
            file: LinkType::ETHERNET,
            interface: LinkType::RAW
        }
    ));
    assert_eq!(file.add_interface(ethernet()).unwrap(), 1);
    file.write(&far).unwrap();
    assert_eq!(file.packets_accepted(), 1);
    file.close(&[statistics(0)]).unwrap();
    assert!(matches!(file.write(&far).unwrap_err(), WriteError::Closed));
    file.close(&[]).unwrap();
    assert_eq!(count(&path), 1);
}

#[test]
fn the_last_moment_there_is_goes_to_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let mut file = CaptureFile::create(options(&path), 0).unwrap();
    let bytes = frame(1, 60);
    for time in [0, u64::MAX, u64::MAX - 1] {
        file.write(&Packet::new(time, &bytes)).unwrap();
    }
    file.tick(u64::MAX).unwrap();
    file.close(&[]).unwrap();
    let times = tshark(&path, &["frame.time_epoch"]).concat();
    assert_eq!(
        times,
        [
            "0.000000000",
            "18446744073.709551615",
            "18446744073.709551614"
        ]
    );
}

#[test]
fn empty_packets_and_packets_larger_than_the_buffer_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.pcapng");
    let mut options = options(&path);
    options.buffer_bytes = 512;
    let mut file = CaptureFile::create(options, 0).unwrap();
    write_frames(&mut file, QUARTER_PAST, 4, 300);
    write_frames(&mut file, QUARTER_PAST, 1, 200_000);
    write_frames(&mut file, QUARTER_PAST, 4, 0);
    file.close(&[statistics(0)]).unwrap();
    assert_eq!(count(&path), 9);
    let lengths = tshark(&path, &["frame.len"]).concat();
    assert_eq!(
        lengths.iter().filter(|&length| length == "200000").count(),
        1
    );
}
